"""Constraints, and how a search judges by them: SQL over class aggregates.

A class rule judges each class by one figure. It is written over the class's value rows, one per distinct sensitive
value: `value` (NULL: none), `y` rows (or people) of the class with that value, and of the value `named` (its ordinal
among the policy's named values, else 0), `level`, `number`, `code`, and the source distribution `share`, `cumulated`,
`prefix`. `:size` stands for the number of rows (or people) of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.query.expressions import TOLERANCE, double

# How a window over the rows of one class is written, given an aggregate, an order (or None), and perhaps a column that
# parts the class further.
Over = Callable[..., exp.Expr]
Windows = Callable[[Over], Mapping[str, exp.Expr]]


@dataclass(frozen=True)
class Constraint:
    """A named bound. `at_least`: the measured figure must reach the threshold; else it must not exceed it."""

    name: str
    column: str | None
    value: str | None
    threshold: float | int
    at_least: bool = False
    strict: bool = False

    def holds(self, measured: float | int | None) -> bool:
        if measured is None:
            return True
        if self.at_least:
            return measured >= self.threshold - TOLERANCE
        bound = self.threshold - TOLERANCE if self.strict else self.threshold + TOLERANCE
        return measured < bound if self.strict else measured <= bound

    def fails(self, figure: exp.Expr) -> exp.Expr:
        """The same verdict as SQL; a class without the figure (NULL) does not fail."""
        if self.at_least:
            broken: exp.Expr = exp.LT(this=figure, expression=double(self.threshold - TOLERANCE))
        elif self.strict:
            broken = exp.GTE(this=figure, expression=double(self.threshold - TOLERANCE))
        else:
            broken = exp.GT(this=figure, expression=double(self.threshold + TOLERANCE))
        return exp.Coalesce(this=broken, expressions=[exp.false()])

    @property
    def worst(self) -> str:
        return "MIN" if self.at_least else "MAX"


@dataclass(frozen=True)
class Finding:
    """A constraint with what was measured."""

    constraint: Constraint
    measured: float | int | None

    @property
    def holds(self) -> bool:
        return self.constraint.holds(self.measured)


@dataclass(frozen=True)
class ClassRule:
    """A constraint on every class, with the SQL of the figure it is judged by."""

    constraint: Constraint
    figure: exp.Expr
    describes_values: bool = True  # whether the figure asks for more of a value than its count
    # What it asks of a value that is not known of all: SQL over all values of the source.
    known: Mapping[str, exp.Expr] = field(default_factory=dict)
    windows: Windows | None = None
    crossing: bool = False  # whether it needs to know where the source's distribution passes the class's
    homogeneous: exp.Expr | None = None  # among people: the figure of a class of which everybody has the same value
    of_levels: bool = False  # whether it counts who has a level, rather than a value
    # Of a class that fails: how many of its rows, at the least, fail however it is parted; None: perhaps none.
    lasting: exp.Expr | None = None
    own: Mapping[int, float] = field(default_factory=dict)  # bounds of single values, by their ordinals

    @property
    def bound(self) -> str:
        """What the figure calls the bound of a value; NULL: it has none of its own."""
        return f"own_{self.constraint.name}"


@dataclass(frozen=True)
class ValueMeasure:
    """What is measured of each value over all classes that are released.

    `figures`: aggregates over the classes with the value, in each of which y of `:size` rows (or people) have it.
    `judged`: by the name of a constraint, what of the figures must not exceed its threshold.
    """

    name: str
    figures: Mapping[str, str]
    judged: Mapping[str, str]


@dataclass(frozen=True)
class TableRule:
    """A constraint on the whole table, by a measure of the values `ordinals`: the named ones (0: every unnamed one).

    `guilty`, where it is broken: which classes `s` (s.y of s.x rows have a value with the figures `l`) should grow;
    `gradually`: those in which the value has the largest share, to begin with.
    """

    constraint: Constraint
    measure: ValueMeasure
    ordinals: tuple[int, ...]
    guilty: exp.Expr
    gradually: bool = False


@dataclass(frozen=True)
class SizeRule:
    """A constraint on every class by its size alone: a figure of its rows `:x` and of the `:population`, the
    rows of the population that its label covers."""

    constraint: Constraint
    figure: exp.Expr
    lasting: exp.Expr  # of a class that fails: rows that fail however it is parted, at the least
    closed_under_growing: bool = False  # whether a class that holds keeps holding, whatever joins it; merged with one
    # that holds, it does in any case


@dataclass(frozen=True)
class TotalRule:
    """A constraint on the sizes of all classes that are released, together: an aggregate over them. `:x` stands for the
    rows (or people) of a class, `:population` for the rows of it that its label covers, `:everybody` for all of them.
    No node is better than all rows as one class."""

    constraint: Constraint
    figure: exp.Expr
