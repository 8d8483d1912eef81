"""Collations, by which texts that look different are equal: no class of theirs could be trusted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from duckanon.engine import Column, Relation, Warehouse
from duckanon.query.expressions import any_of, column, sql

# Two texts that are equal only under a collation, which the column's own type lends to the literal.
COLLATED = tuple(
    f"CASE WHEN FALSE THEN :text ELSE {one} END = {other}"
    for one, other in (("'a'", "'A'"), ("'e'", "'é'"), ("CHR(233)", "'e' || CHR(769)"))
)

HAS_COLLATION = "has a collation, by which texts that look different are equal"


def collated(columns: Sequence[Column], relation: Relation, warehouse: Warehouse) -> list[str]:
    """The columns of texts that have a collation."""
    texts = [c for c in columns if c.type.is_text]
    if not texts:
        return []
    probes = [any_of(sql(probe, text=column(c.name)) for probe in COLLATED).as_(f"c{i}") for i, c in enumerate(texts)]
    found = warehouse.fetch(exp.select(*probes).from_(relation.table).limit(1))
    return [c.name for row in found for c, hit in zip(texts, row, strict=True) if hit]
