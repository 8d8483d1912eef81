"""Numbers and days counted in whole units, so that no bound is ever rounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from duckanon.hierarchy.computed.calendar import KNOWN_DAYS, day_of, iso_day, no_day
from duckanon.query.expressions import double, literal, sql
from duckanon.query.functions import (
    cast_or_null,
    day_of_1970,
    day_text,
    days_since_1970,
    finite_number,
    matches,
    quotient,
    wide,
)

# How a text says a number; what the database would accept beyond that (1_000, nan) says none.
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_EXACT = "DECIMAL(38, 18)"
_LARGEST = 1e19  # numbers beyond it cannot be placed in a range


@dataclass(frozen=True)
class Units:
    """How the values of a column are counted: in days, or by the finest decimal of all bounds."""

    type: str  # whole | decimal | float | date
    decimals: int = 0  # of a unit
    scale: int = 18  # decimals of the column's own type
    from_text: bool = False  # the values are texts that say a float, or a date

    def of(self, value: exp.Expr) -> exp.Expr:
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
        return iso_day(value) if self.type == "date" else number_of(value)

    def unmapped(self, value: exp.Expr) -> exp.Expr:
        """Which non-NULL values cannot be counted."""
        number = self.number(value)
        if self.type == "date":
            return no_day(number)
        none = "NOT :finite OR ABS(:float) >= :most"
        float_ = exp.cast(number, "DOUBLE")
        parts = {"float": float_, "finite": finite_number(float_), "most": double(_LARGEST)}
        return sql(f":v IS NULL OR {none}", v=number, **parts) if self.from_text else sql(none, **parts)

    @property
    def takes(self) -> str:
        """What a value must be to be counted, in words."""
        if self.type == "date":
            return KNOWN_DAYS
        number = f"finite number below {_LARGEST:g}"
        return f"{number}, nor are all dates such as 2024-05-31" if self.from_text else number

    def count(self, number: Decimal) -> int:
        return int(number * 10**self.decimals)

    def written(self, units: exp.Expr) -> exp.Expr:
        """So many units as a text."""
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

    def said(self, text: exp.Expr, up: exp.Expr) -> exp.Expr:
        """The units that a text of a label says, rounded down or, where `up` is true, up; NULL if it says none."""
        if self.type == "date":
            return wide(days_since_1970(day_of(text)))
        number = cast_or_null(text, "DECIMAL(38, 9)")
        exact = sql(":number * :scale", number=number, scale=literal(10**self.decimals))
        return wide(sql("CASE WHEN :up THEN CEIL(:exact) ELSE FLOOR(:exact) END", exact=exact, up=up))

    def raw(self, label: exp.Expr) -> exp.Expr:
        """A label itself, if it is a number or a day; NULL otherwise."""
        bound = "DATE" if self.type == "date" else "DOUBLE"
        return sql("CASE WHEN :bound IS NOT NULL THEN :label END", bound=cast_or_null(label, bound), label=label)


def number_of(text: exp.Expr) -> exp.Expr:
    """The number that a text says; NULL if it says none."""
    number = cast_or_null(sql("TRIM(:text)", text=text), _EXACT)
    return sql("CASE WHEN :says THEN :number END", says=matches(text, _NUMBER), number=number)


def most_decimals(numbers: Iterable[Decimal]) -> int:
    """Of the number that has the most."""
    return max(map(_decimals, numbers))


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
