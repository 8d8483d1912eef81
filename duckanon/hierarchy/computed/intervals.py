"""Ranges of growing width."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from duckanon.hierarchy.computed.calendar import KNOWN_DAYS, day_of, iso_day, no_day
from duckanon.query.expressions import double, literal, sql
from duckanon.query.functions import (
    cast_or_null,
    day_of_1970,
    day_text,
    days_since_1970,
    extracted,
    finite_number,
    matches,
    quotient,
    wide,
)

# How a text says a number; what the database would accept beyond that (1_000, nan) says none.
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_EXACT = "DECIMAL(38, 18)"
_LARGEST = 1e19  # numbers beyond it cannot be placed in an interval


@dataclass(frozen=True)
class IntervalsKind:
    """Half-open ranges, computed in whole units of the finest decimal so that no bound is ever rounded."""

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
    def decimals(self) -> int:
        return max(_decimals(number) for number in (*self.widths, self.origin))

    def units(self, value: exp.Expr) -> exp.Expr:
        """The value in whole units, rounded down, as a wide integer."""
        if self.type == "date":
            return wide(days_since_1970(sql("CAST(:day AS DATE)", day=self.number(value))))
        scale = literal(10**self.decimals)
        if self.type == "whole":
            return sql(":units * :scale", units=wide(value), scale=scale)
        # A float stands for the number that it prints as; whole part and fraction apart, so nothing overflows.
        exact = self.number(value)
        if self.type == "float" and not self.from_text:
            exact = cast_or_null(sql("CAST(:value AS VARCHAR)", value=value), _EXACT)
        fraction = sql(
            f"FLOOR(CAST(:exact - FLOOR(:exact) AS DECIMAL({self.scale + 1}, {self.scale})) * :scale)",
            exact=exact,
            scale=scale,
        )
        whole = wide(sql("FLOOR(:exact)", exact=exact))
        return sql(":whole * :scale + :fraction", whole=whole, scale=scale, fraction=wide(fraction))

    def number(self, value: exp.Expr) -> exp.Expr:
        """The number or date that a value is or, as a text, says: exactly, not by way of a DOUBLE; NULL if it says
        none."""
        if not self.from_text:
            return value.copy()
        return iso_day(value) if self.type == "date" else _number_of(value)

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        """The lower bound of the range, in units."""
        return self._lower(self.units(value), level)

    def _lower(self, units: exp.Expr, level: int) -> exp.Expr:
        return sql(
            ":units - ((((:units - :origin) % :width) + :width) % :width)",
            units=units,
            origin=literal(self._in_units(self.origin)),
            width=literal(self._in_units(self.widths[level - 1])),
        )

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        return self._range(self.order(value, level), level)

    def _range(self, lower: exp.Expr, level: int) -> exp.Expr:
        width = literal(self._in_units(self.widths[level - 1]))
        upper = sql("(:lower) + :width", lower=lower, width=width)
        return sql("'[' || :lower || ', ' || :upper || ')'", lower=self._written(lower), upper=self._written(upper))

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        number = self.number(value)
        if self.type == "date":
            return no_day(number)
        none = "NOT :finite OR ABS(:float) >= :most"
        float_ = exp.cast(number, "DOUBLE")
        parts = {"float": float_, "finite": finite_number(float_), "most": double(_LARGEST)}
        return sql(f":v IS NULL OR {none}", v=number, **parts) if self.from_text else sql(none, **parts)

    @property
    def takes(self) -> str:
        if self.type == "date":
            return KNOWN_DAYS
        number = f"finite number below {_LARGEST:g}"
        return f"{number}, nor are all dates such as 2024-05-31" if self.from_text else number

    def share(self, level: int, span: float) -> float:
        """The NCP of a cell: the width of its range over the span of the column, at most 1."""
        return min(1.0, self._in_units(self.widths[level - 1]) / span) if span > 0 else 1.0

    def describe(self, level: int) -> str:
        width = self.widths[level - 1].normalize()
        return f"ranges of {width:f}" + (" days" if self.type == "date" else "")

    def rule(self, level: int) -> dict[str, Any]:
        numbers = {"intervals": self.widths[level - 1], "origin": self.origin}
        written = {name: f"{number.normalize():f}" for name, number in numbers.items()}
        return written | {"of": "date" if self.type == "date" else "number", "decimals": self.decimals}

    def raw(self, label: exp.Expr) -> exp.Expr:
        bound = "DATE" if self.type == "date" else "DOUBLE"
        return sql("CASE WHEN :bound IS NOT NULL THEN :label END", bound=cast_or_null(label, bound), label=label)

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
        before = sql("CASE WHEN :bound = '' THEN 0 ELSE 1 END", bound=bound) if part == 2 else literal(0)
        if self.type == "date":
            return sql(":days - :before", days=wide(days_since_1970(day_of(text))), before=before)
        number = cast_or_null(text, "DECIMAL(38, 9)")
        exact = sql(":number * :scale", number=number, scale=literal(10**self.decimals))
        rounded = sql("CASE WHEN :before = 1 THEN CEIL(:exact) ELSE FLOOR(:exact) END", exact=exact, before=before)
        return sql(":rounded - :before", rounded=wide(rounded), before=before)

    def _in_units(self, number: Decimal) -> int:
        return int(number * 10**self.decimals)

    def _written(self, units: exp.Expr) -> exp.Expr:
        if self.type == "date":
            return day_text(day_of_1970(units))
        if self.decimals == 0:
            return sql("CAST(:units AS VARCHAR)", units=units)
        scale = literal(10**self.decimals)
        whole = quotient(sql("ABS(:units)", units=exp.paren(units)), scale)
        return sql(
            "CASE WHEN :units < 0 THEN '-' ELSE '' END || CAST(:whole AS VARCHAR) || '.' "
            "|| LPAD(CAST(ABS(:units) % :scale AS VARCHAR), :decimals, '0')",
            units=exp.paren(units),
            whole=whole,
            scale=scale,
            decimals=literal(self.decimals),
        )


def _number_of(text: exp.Expr) -> exp.Expr:
    """The number that a text says; NULL if it says none."""
    number = cast_or_null(sql("TRIM(:text)", text=text), _EXACT)
    return sql("CASE WHEN :says THEN :number END", says=matches(text, _NUMBER), number=number)


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
