"""A hierarchy that is listed, once it is known to be one: a table of the workbench, one column per level."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.hierarchy.matching import EXACTLY, Matching
from duckanon.query.expressions import column, sql, text_of


@dataclass(frozen=True)
class Listing:
    """A temporary table level_0 … level_h of distinct texts that forms a tree under one top."""

    table: exp.Table
    height: int
    top: str
    values: int
    matching: Matching = EXACTLY
    unfilled: str = ""  # what of it is left to fill in, in words; such values are not among its own

    def lacks(self, value: exp.Expr) -> exp.Expr:
        """Whether a value that is not NULL finds no row."""
        return not_listed(self.matching.key(text_of(value)), self.table)


def not_listed(key: exp.Expr, listing: exp.Table, name: str = "level_0") -> exp.Expr:
    """Whether the listing has no such text in its column `name`. A NULL there would make every value a known one."""
    known = exp.select(column(name)).from_(listing.copy()).where(sql(":name IS NOT NULL", name=column(name)))
    return exp.not_(exp.In(this=key.copy(), query=known.subquery()))
