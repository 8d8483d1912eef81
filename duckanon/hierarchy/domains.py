"""The domains of the quasi-identifiers: which values each has, and in how many rows."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import with_tops, without_unknown
from duckanon.query.expressions import column, sql


class Domains(Protocol):
    """Counts the values of the columns, of all rows or, once some are left out, of the others."""

    def count(self, index: int, name: str) -> exp.Table:
        """The table values_{index} of the workbench (value, n), of the column of that name."""

    def leave_out(self, schemes: list[Scheme]) -> None:
        """The rows with a value that one of the hierarchies does not know."""

    def show_tops(self, schemes: list[Scheme]) -> None:
        """The top in place of every value that its hierarchy does not know."""


class TupleDomains:
    """Of tuples that are counted already: their columns are q0, q1, … and n."""

    def __init__(self, tuples: exp.Table, scratch: Scratch) -> None:
        self.tuples, self._scratch = tuples, scratch

    def count(self, index: int, name: str) -> exp.Table:
        value = column(f"q{index}")
        values = exp.select(value.as_("value"), sql("CAST(SUM(n) AS BIGINT)").as_("n"))
        values = values.from_(self.tuples).group_by(value)
        return self._scratch.table(f"values_{index}", values, f"values of {name}")

    def leave_out(self, schemes: list[Scheme]) -> None:
        self.tuples = without_unknown(self.tuples, schemes, self._scratch)

    def show_tops(self, schemes: list[Scheme]) -> None:
        self.tuples = with_tops(self.tuples, schemes, self._scratch)
