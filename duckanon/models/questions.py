"""Whom a model may ask: the source as it was counted, before a search; the release itself, after it.

The rooms of the census and of the audit lie further on; what a model needs of them is said here, and they provide it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    def likenesses(self) -> exp.Table:
        """Per value, of the source's, too: its ordinal among the `named` values, its share of the source, the highest
        and the lowest of q / p, and how many classes are missing it."""
        ...

    @property
    def worst_leaks(self) -> Mapping[int, Mapping[str, float | None]]:
        """By the ordinals of values, 0 of all that are not named: their highest alpha, alp and dif."""
        ...


@dataclass(frozen=True)
class Covered:
    """What the labels of a release cover of the population."""

    everybody: int  # rows of the population
    covered: int  # of these, below some label that is released
    fewest: int  # below the same label
    least_presence: float  # released rows of a label, for every row of the population below it
    most_presence: float
    average_risk: float  # of a released row: one in so many rows below its label
    at_risk: int  # released rows whose label covers too few


@dataclass(frozen=True)
class ReleasedSizes:
    """The classes of a release by their sizes: how many rows each has, and how many classes have so many."""

    sizes: Sequence[tuple[int, int]]
    covered: Covered | None = None  # of the population, if there is one

    @property
    def rows(self) -> int:
        return sum(size * classes for size, classes in self.sizes)

    @property
    def classes(self) -> int:
        return sum(classes for _, classes in self.sizes)

    def share_below(self, size: int) -> float | None:
        """The share of rows in classes of fewer rows; None: there is none at all."""
        small = sum(rows * classes for rows, classes in self.sizes if rows < size)
        return small / self.rows if self.rows else None


@dataclass(frozen=True)
class Sample:
    """How much of a population the source is, where that is all that is known of it."""

    rows: int
    people: int

    @property
    def fraction(self) -> float:
        return self.rows / self.people


@dataclass(frozen=True)
class CountedSizes:
    """The source and its population, before a search. Of the source's rows as many as the `budget` may be
    suppressed."""

    rows: int
    budget: int
    population: int | None  # rows of it


def only_figure(rows: list[tuple[Any, ...]]) -> Any:
    """The one figure of a query that gives at most one."""
    return rows[0][0] if rows else None
