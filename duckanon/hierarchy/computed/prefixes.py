"""Codes of which fewer and fewer leading characters are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from duckanon.query.expressions import literal, sql, text_of
from duckanon.query.functions import matches


@dataclass(frozen=True)
class PrefixesKind:
    """The beginning of a code is the name of its group."""

    pattern: str  # of a code
    kept: tuple[int, ...]
    top: str = "*"
    takes: ClassVar[str] = "code of this classification"

    @property
    def levels(self) -> int:
        return len(self.kept)

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        return sql("LEFT(:text, :kept)", text=text_of(value), kept=literal(self.kept[level - 1]))

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        return self.label(value, level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return exp.not_(matches(text_of(value), self.pattern))

    def describe(self, level: int) -> str:
        return f"first {self.kept[level - 1]} characters"

    def rule(self, level: int) -> dict[str, Any]:
        return {"prefix": self.kept[level - 1]}

    def raw(self, label: exp.Expr) -> exp.Expr:
        """Only one that is longer than any group; a shorter code may be one, too, but nobody can tell."""
        return sql("CASE WHEN LENGTH(:label) > :longest THEN :label END", label=label, longest=literal(self.kept[0]))

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        told = sql("LENGTH(:label) >= :kept", label=label, kept=literal(self.kept[level - 1]))
        return sql("CASE WHEN :told THEN :group END", told=told, group=self.label(label, level))
