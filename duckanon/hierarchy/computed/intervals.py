"""Ranges of growing width."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from duckanon.hierarchy.computed.units import Units, most_decimals
from duckanon.query.expressions import double, literal, sql
from duckanon.query.functions import extracted


@dataclass(frozen=True)
class IntervalsKind:
    """Half-open ranges."""

    widths: tuple[Decimal, ...]
    origin: Decimal
    type: str  # whole | decimal | float | date
    scale: int = 18  # decimals of the column's own type
    top: str = "*"
    from_text: bool = False  # the values are texts that say a float, or a date

    @property
    def levels(self) -> int:
        return len(self.widths)

    @property
    def units(self) -> Units:
        return Units(self.type, most_decimals((*self.widths, self.origin)), self.scale, self.from_text)

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        """The lower bound of the range, in units."""
        return self._lower(self.units.of(value), level)

    def _lower(self, units: exp.Expr, level: int) -> exp.Expr:
        return sql(
            ":units - ((((:units - :origin) % :width) + :width) % :width)",
            units=units,
            origin=literal(self.units.count(self.origin)),
            width=literal(self._width(level)),
        )

    def _width(self, level: int) -> int:
        return self.units.count(self.widths[level - 1])

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        return self._range(self.order(value, level), level)

    def _range(self, lower: exp.Expr, level: int) -> exp.Expr:
        upper = sql("(:lower) + :width", lower=lower, width=literal(self._width(level)))
        lower, upper = (self.units.written(bound) for bound in (lower, upper))
        return sql("'[' || :lower || ', ' || :upper || ')'", lower=lower, upper=upper)

    def middle(self, value: exp.Expr, level: int) -> exp.Expr:
        """The middle of the range that a value lies in, at `level` ≥ 1."""
        return sql(
            "(CAST(:lower AS DOUBLE) + :half) / :scale",
            lower=exp.paren(self.order(value, level)),
            half=double(self._width(level) / 2),
            scale=double(10**self.units.decimals),
        )

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return self.units.unmapped(value)

    @property
    def takes(self) -> str:
        return self.units.takes

    def share(self, level: int, span: float) -> float:
        """The NCP of a cell: the width of its range over the span of the column, at most 1."""
        return min(1.0, self._width(level) / span) if span > 0 else 1.0

    def describe(self, level: int) -> str:
        width = self.widths[level - 1].normalize()
        return f"ranges of {width:f}" + (" days" if self.type == "date" else "")

    def rule(self, level: int) -> dict[str, Any]:
        numbers = {"intervals": self.widths[level - 1], "origin": self.origin}
        written = {name: f"{number.normalize():f}" for name, number in numbers.items()}
        return written | {"of": "date" if self.type == "date" else "number", "decimals": self.units.decimals}

    def raw(self, label: exp.Expr) -> exp.Expr:
        return self.units.raw(label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        """By the first and the last unit that a range, or a raw value, holds: both must lie in one range."""
        lower, upper = (self._written_units(label, part) for part in (1, 2))
        first, last = (self._lower(exp.paren(units), level) for units in (lower, upper))
        return sql(
            "CASE WHEN (:first) = (:last) THEN :range END", first=first, last=last, range=self._range(first, level)
        )

    def _written_units(self, label: exp.Expr, part: int) -> exp.Expr:
        """The first (1) or last (2) unit of a range as it is written; of a raw value, its only one."""
        bound = extracted(label, r"^\[(.+), (.+)\)$", part)
        text = sql("COALESCE(NULLIF(:bound, ''), :label)", bound=bound, label=label)
        if part == 1:
            return self.units.said(text, up=exp.false())
        open_ = sql(":bound <> ''", bound=bound)
        units = self.units.said(text, up=open_)
        return sql("CASE WHEN :open THEN :units - 1 ELSE :units END", open=open_, units=units)
