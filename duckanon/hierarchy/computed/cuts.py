"""Ranges between points that the policy names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlglot import exp

from duckanon.hierarchy.computed.units import Units, most_decimals
from duckanon.query.expressions import literal, sql
from duckanon.query.functions import extracted

_EPOCH = date(1970, 1, 1)
_TOLD = 5  # points of a level that are told in words


@dataclass(frozen=True)
class CutsKind:
    """Below the first point, from each to the next, and from the last on. Ranges of whole numbers and of days are
    written with their last value, `18 – 24`; others with what they end before, `18 – < 25`."""

    points: tuple[tuple[Decimal, ...], ...]  # of each level, the finest first; of dates, days since 1970
    type: str  # whole | decimal | float | date
    scale: int = 18  # decimals of the column's own type
    from_text: bool = False  # the values are texts that say a number, or a date
    whole: bool = False  # every value is a whole number or a day
    top: str = "*"

    @property
    def levels(self) -> int:
        return len(self.points)

    @property
    def units(self) -> Units:
        return Units(self.type, most_decimals(self.points[0]), self.scale, self.from_text)

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        return self._label(self.units.of(value), level)

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        """How many points lie at or below the value."""
        return self._place(self.units.of(value), level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        unmapped = self.units.unmapped(value)
        if self.whole and self.type == "float":  # a text that may say something else tomorrow
            broken = sql(":number <> FLOOR(:number)", number=self.units.number(value))
            return sql("(:unmapped) OR :broken", unmapped=unmapped, broken=broken)
        return unmapped

    @property
    def takes(self) -> str:
        return self.units.takes

    def describe(self, level: int) -> str:
        written = [self._written(point) for point in self.points[level - 1]]
        if len(written) > _TOLD:
            written = [*written[: _TOLD - 2], "…", written[-1]]
        return f"cut at {', '.join(written)}"

    def rule(self, level: int) -> dict[str, Any]:
        of = "date" if self.type == "date" else "number"
        return {"cuts": [self._written(point) for point in self.points[level - 1]], "of": of, "whole": self.whole}

    def raw(self, label: exp.Expr) -> exp.Expr:
        return self.units.raw(label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        """By the bounds that are written, which other points may have made: all in between must lie in one range."""
        points, said = [self.units.count(point) for point in self.points[level - 1]], self.units.said
        below, above = extracted(label, "^< (.+)$", 1), extracted(label, "^≥ (.+)$", 1)
        first, last = (extracted(label, "^(.+) – (.+)$" if self.whole else "^(.+) – < (.+)$", at) for at in (1, 2))
        last_units = said(last, up=exp.true())
        if not self.whole:
            last_units = sql(":end - 1", end=last_units)
        return sql(
            "CASE WHEN :below <> '' THEN CASE WHEN :end <= :lowest THEN :bottom END "
            "WHEN :above <> '' THEN CASE WHEN :begin >= :highest THEN :peak END "
            "WHEN :first <> '' THEN CASE WHEN (:first_place) = (:last_place) THEN :range END ELSE :single END",
            below=below,
            end=said(below, up=exp.true()),
            lowest=literal(points[0]),
            bottom=literal(self._labels(level)[0]),
            above=above,
            begin=said(above, up=exp.false()),
            highest=literal(points[-1]),
            peak=literal(self._labels(level)[-1]),
            first=first,
            first_place=self._place(said(first, up=exp.false()), level),
            last_place=self._place(exp.paren(last_units), level),
            range=self._label(said(first, up=exp.false()), level),
            single=self._label(said(label, up=exp.false()), level),
        )

    def _label(self, units: exp.Expr, level: int) -> exp.Expr:
        return self._chosen(units, level, [literal(label) for label in self._labels(level)])

    def _place(self, units: exp.Expr, level: int) -> exp.Expr:
        return self._chosen(units, level, [literal(at) for at in range(len(self.points[level - 1]) + 1)])

    def _chosen(self, units: exp.Expr, level: int, results: list[exp.Expr]) -> exp.Expr:
        """One result for each range; NULL where there are no units."""
        points = [literal(self.units.count(point)) for point in self.points[level - 1]]
        case = exp.Case()
        for point, result in zip(points, results, strict=False):
            case = case.when(sql("(:units) < :point", units=units, point=point), result, copy=False)
        return case.when(sql("(:units) >= :point", units=units, point=points[-1]), results[-1], copy=False)

    def _labels(self, level: int) -> list[str]:
        points = self.points[level - 1]
        between = [self._range(low, high) for low, high in pairwise(points)]
        return [f"< {self._written(points[0])}", *between, f"≥ {self._written(points[-1])}"]

    def _range(self, low: Decimal, high: Decimal) -> str:
        if not self.whole:
            return f"{self._written(low)} – < {self._written(high)}"
        return self._written(low) if high - low == 1 else f"{self._written(low)} – {self._written(high - 1)}"

    def _written(self, point: Decimal) -> str:
        if self.type == "date":
            return (_EPOCH + timedelta(days=int(point))).isoformat()
        return f"{point.normalize() + 0:f}"  # -0 is 0
