"""No hierarchy at all: the value, then nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp


@dataclass(frozen=True)
class FlatKind:
    """The value, then nothing: height 1."""

    top: str = "*"
    levels: int = 0
    takes: ClassVar[str] = "value"

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        raise AssertionError("a flat hierarchy has no level between value and top")

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        return self.label(value, level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return None

    def describe(self, level: int) -> str:
        return ""

    def rule(self, level: int) -> dict[str, Any]:
        raise AssertionError("a flat hierarchy has no level between value and top")

    def raw(self, label: exp.Expr) -> exp.Expr:
        return label.copy()

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        return self.label(label, level)
