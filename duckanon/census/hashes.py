"""The hashes of rows, as the warehouse makes them: what a fingerprint tells of a relation. Counts can bring them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Engine
from duckanon.engine.types import Family
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.functions import row_hash, wide
from duckanon.query.names import free_name


@dataclass(frozen=True)
class RowHashes:
    """The sum and the XOR of the hashes of all rows: the same in any order, and a row that is there twice counts."""

    rows: int
    total: int | None
    odd: int | None


def hashes_of_rows(relation: exp.Table, columns: Sequence[Column], engine: Engine) -> RowHashes:
    """Of a relation that is read for it."""
    hashed = exp.select(_hash(columns, {c.name: c.name for c in columns}).as_("h")).from_(relation)
    figures = exp.select("COUNT(*)", sql("SUM(:h)", h=wide(column("h"))), exp.BitwiseXorAgg(this=column("h")))
    return _summed(figures.from_(hashed.subquery("hashed")), engine)


def hashes_of_counts(columns: Sequence[Column], counts: RowCounts, engine: Engine) -> RowHashes | None:
    """The same of rows that were counted, in whatever engine the counts are; None: these do not tell all columns. A
    hash that is there an even number of times leaves nothing in an XOR."""
    if any(c.name not in counts.names for c in columns):
        return None
    row = column(counts.hashes) if counts.hashes else _hash(columns, counts.names)
    odd = exp.BitwiseXorAgg(this=sql("CASE WHEN n % 2 = 1 THEN h END"))
    figures = exp.select(
        sql("CAST(SUM(n) AS BIGINT)"), sql("SUM(:h * n)", h=wide(column("h"))), sql("COALESCE(:odd, 0)", odd=odd)
    )
    hashed = exp.select(row.as_("h"), column(counts.copies).as_("n")).from_(counts.table)
    return _summed(figures.from_(hashed.subquery("hashed")), engine)


def with_hashes(
    counts: exp.Select, columns: Sequence[Column], names: Mapping[str, str], copies: str = "n"
) -> tuple[exp.Select, str | None]:
    """A query that counts rows where they lie, each count with the hash of its row; and the name of that column. None:
    not all `columns` of the relation are counted, under the `names` given."""
    if any(c.name not in names for c in columns):
        return counts, None
    name = free_name("h", [*names.values(), copies])
    hashed = _hash(columns, names).as_(name, quoted=True)
    return exp.select("*", hashed).from_(counts.subquery("counted")), name


def _summed(figures: exp.Select, engine: Engine) -> RowHashes:
    ((rows, total, odd),) = engine.fetch(figures, "the fingerprint")
    return RowHashes(rows, total, odd)


def _hash(columns: Sequence[Column], names: Mapping[str, str]) -> exp.Expr:
    return row_hash(_hashable(c, names[c.name]) for c in columns)


def _hashable(c: Column, name: str) -> exp.Expr:
    """The cells of a column, under the name that it has there. Of a list the hash does not tell NULL from an empty one,
    and of some types there is none; their texts do."""
    texts = c.type.is_list or (c.type.family is Family.OTHER and c.type.released != c.type)
    return text_of(column(name)) if texts else column(name)
