"""Text of which fewer and fewer leading characters are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from duckanon.engine.types import TEXT, Type
from duckanon.query.expressions import literal, sql


@dataclass(frozen=True)
class MaskKind:
    """Leading characters kept, the others starred. A last level that keeps nothing is the top itself."""

    kept: tuple[int, ...]
    longest: int
    type: Type = TEXT  # of what is masked
    takes: ClassVar[str] = "text"

    @property
    def levels(self) -> int:
        return len(self.kept) - (self.kept[-1] == 0)

    @property
    def top(self) -> str:
        return "*" * max(1, self.longest) if self.kept[-1] == 0 else "*"

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        stars = sql("REPEAT('*', GREATEST(LENGTH(:text) - :kept, 0))", **self._parts(value, level))
        return exp.DPipe(this=sql("LEFT(:text, :kept)", **self._parts(value, level)), expression=stars)

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        return self.label(value, level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return None

    def describe(self, level: int) -> str:
        kept = self.kept[level - 1]
        return "first character" if kept == 1 else f"first {kept} characters"

    def rule(self, level: int) -> dict[str, Any]:
        return {"mask": self.kept[level - 1]}

    def raw(self, label: exp.Expr) -> exp.Expr:
        return sql("CASE WHEN :label NOT LIKE '%*' THEN :label END", label=label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        """A label that ends in stars does not tell more characters than stand before them."""
        told = sql(
            ":label NOT LIKE '%*' OR LENGTH(RTRIM(:label, '*')) >= :kept",
            label=label,
            kept=literal(self.kept[level - 1]),
        )
        return sql("CASE WHEN :told THEN :label END", told=told, label=self.label(label, level))

    def _parts(self, value: exp.Expr, level: int) -> dict[str, exp.Expr]:
        return {"text": self.type.text(value), "kept": literal(self.kept[level - 1])}
