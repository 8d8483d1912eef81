"""What every computed hierarchy can say of a value, as SQL over the value itself."""

from __future__ import annotations

from typing import Any, Protocol

from sqlglot import exp

from duckanon.query.expressions import column

VALUE = column("value")


class Kind(Protocol):
    """Labels of the levels between the raw value and the top."""

    @property
    def levels(self) -> int:
        """How many levels lie strictly between the raw value and the top."""

    @property
    def top(self) -> str: ...

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        """The label of a non-NULL value at `level` ≥ 1."""

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        """What labels of `level` are sorted by, a function of the label."""

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        """Which non-NULL values cannot be labelled at all."""

    @property
    def takes(self) -> str:
        """What a value must be to be labelled, in words."""

    def describe(self, level: int) -> str: ...

    def rule(self, level: int) -> dict[str, Any]:
        """By what the labels of `level` ≥ 1 are computed, in plain JSON: equal rules give equal labels."""

    def raw(self, label: exp.Expr) -> exp.Expr:
        """A label itself, if it is a raw value; NULL otherwise."""

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        """The label at `level` ≥ 1 that a label, or a raw value as text, belongs to; NULL if it spans several."""
