"""Whom a model may ask: the source as it was counted, before a search; the release itself, after it.

The rooms of the census and of the audit lie further on; what a model needs of them is said here, and they provide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp

from duckanon.models.wanted import Wanted
from duckanon.query.counts import ValueCounts


class CountedColumn(Protocol):
    """A sensitive column of the source. `table` has a row for each of its `distinct` values: value, code, rows, named,
    level, number and share. Of the source's `rows` as many as the `budget` may be suppressed."""

    @property
    def wanted(self) -> Wanted: ...
    @property
    def table(self) -> exp.Table: ...
    @property
    def distinct(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def budget(self) -> int: ...
    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]: ...


class ReleasedRows(Protocol):
    """What was released, by rows or by the people that they are of. It is asked by SQL that is not that of a rule: a
    mistake in one is found by the other. Every engine must understand it."""

    @property
    def qi(self) -> Sequence[str]: ...
    def ask(self, query: exp.Query, note: str) -> list[tuple[Any, ...]]: ...


class ReleasedColumn(Protocol):
    """A sensitive column of a release: what every audit asks of it, and who has which value, to ask for more."""

    @property
    def wanted(self) -> Wanted: ...
    @property
    def column(self) -> str:
        """As the relation spells it."""
        ...

    @property
    def rows(self) -> ReleasedRows: ...
    @property
    def counts(self) -> ValueCounts:
        """Who has which value, by class."""
        ...

    @property
    def levels(self) -> ValueCounts:
        """Who has which level of sensitivity, by class."""
        ...

    @property
    def distinct_l(self) -> int | None: ...
    @property
    def entropy_l(self) -> float | None: ...
    @property
    def value_l(self) -> Mapping[str, int]:
        """Of the values that the policy names, the distinct values of the least diverse class with it."""
        ...

    @property
    def t(self) -> float | None: ...
    @property
    def leaks(self) -> exp.Table:
        """Per value: its text, its ordinal among the `named` values, row_count, alpha, alp, dif."""
        ...

    @property
    def worst_leaks(self) -> Mapping[int, Mapping[str, float | None]]:
        """By the ordinals of values, 0 of all that are not named: their highest alpha, alp and dif."""
        ...


def only_figure(rows: list[tuple[Any, ...]]) -> Any:
    """The one figure of a query that gives at most one."""
    return rows[0][0] if rows else None
