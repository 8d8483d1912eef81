"""The domains of the quasi-identifiers: which values each has, and in how many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import with_tops, without_unknown
from duckanon.query.expressions import column, literal, sql
from duckanon.query.packed import value_counts
from duckanon.query.steps import select


class Domains(Protocol):
    """Counts the values of the columns, of all rows or, once some are left out, of the others."""

    def count(self) -> list[exp.Expr]:
        """Of each column a relation of the workbench (value, n)."""

    def leave_out(self, schemes: list[Scheme]) -> None:
        """The rows with a value that one of the hierarchies does not know."""

    def show_tops(self, schemes: list[Scheme]) -> None:
        """The top in place of every value that its hierarchy does not know."""

    def forget(self) -> None:
        """What was counted; more may be counted again."""


class TupleDomains:
    """Of tuples that are counted already: their columns are q0, q1, … and n."""

    def __init__(self, tuples: exp.Table, columns: int, scratch: Scratch) -> None:
        self.tuples, self._scratch = tuples, scratch
        self._names = [f"q{index}" for index in range(columns)]
        self._values: exp.Table | None = None

    def count(self) -> list[exp.Expr]:
        values = value_counts(self.tuples, self._names, "CAST(SUM(n) AS BIGINT)")
        table = self._values = self._scratch.table("values", values, "values of the quasi-identifiers")
        return domains_of(table, self._names)

    def leave_out(self, schemes: list[Scheme]) -> None:
        self.tuples = without_unknown(self.tuples, schemes, self._scratch)

    def show_tops(self, schemes: list[Scheme]) -> None:
        self.tuples = with_tops(self.tuples, schemes, self._scratch)

    def forget(self) -> None:
        if self._values is not None:
            self._scratch.drop(self._values)


def domains_of(values: exp.Table, names: Sequence[str]) -> list[exp.Expr]:
    """Of the first columns whose `value_counts` are kept a relation (value, n) each."""
    return [_of(values, index, name) for index, name in enumerate(names)]


def _of(values: exp.Table, index: int, name: str) -> exp.Expr:
    own = select(value=column(name), n=column("n")).from_(values)
    return own.where(sql("q = :index", index=literal(index))).subquery("domain")
