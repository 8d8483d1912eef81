"""Hierarchies that are computed: how a value looks at each level, as SQL over the value itself."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Protocol

from sqlglot import exp

from duckanon.expressions import column, double, literal, sql, text_of
from duckanon.policy.hierarchy import NESTS_IN

_LARGEST = 1e19  # numbers beyond it cannot be placed in an interval
_FARTHEST = 2_000_000_000  # days from 1970: near the ends of the calendar a week or an interval may begin outside of it
WIDEST = 100_000_000  # days of an interval: one around such a date is still in the calendar


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


@dataclass(frozen=True)
class MaskKind:
    """Leading characters kept, the others starred. A last level that keeps nothing is the top itself."""

    kept: tuple[int, ...]
    longest: int
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
        return {"text": text_of(value), "kept": literal(self.kept[level - 1])}


@dataclass(frozen=True)
class DatesKind:
    """Calendar units, written so that they sort as text."""

    units: tuple[str, ...]
    from_text: bool

    top: str = "*"
    takes: ClassVar[str] = f"finite date within {_FARTHEST:,} days of 1970"

    @property
    def levels(self) -> int:
        return len(self.units)

    _LABELS: ClassVar[dict[str, str]] = {
        "day": "CAST(CAST(:date AS DATE) AS VARCHAR)",
        "week": "CAST(EXTRACT(ISOYEAR FROM :date) AS VARCHAR) || '-W' "
        "|| LPAD(CAST(EXTRACT(WEEK FROM :date) AS VARCHAR), 2, '0')",
        "month": "CAST(EXTRACT(YEAR FROM :date) AS VARCHAR) || '-' "
        "|| LPAD(CAST(EXTRACT(MONTH FROM :date) AS VARCHAR), 2, '0')",
        "quarter": "CAST(EXTRACT(YEAR FROM :date) AS VARCHAR) || '-Q' || CAST(EXTRACT(QUARTER FROM :date) AS VARCHAR)",
        "year": "CAST(EXTRACT(YEAR FROM :date) AS VARCHAR)",
        "decade": "CAST(CAST(FLOOR(EXTRACT(YEAR FROM :date) / 10) AS BIGINT) * 10 AS VARCHAR) || 's'",
        "century": "CAST(CAST(FLOOR(EXTRACT(YEAR FROM :date) / 100) AS BIGINT) * 100 AS VARCHAR) || '-' "
        "|| CAST(CAST(FLOOR(EXTRACT(YEAR FROM :date) / 100) AS BIGINT) * 100 + 99 AS VARCHAR)",
    }

    def label(self, value: exp.Expr, level: int) -> exp.Expr:
        return sql(self._LABELS[self.units[level - 1]], date=self._date(value))

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        return self.label(value, level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return _no_day(self._date(value))

    def describe(self, level: int) -> str:
        return f"by {self.units[level - 1]}"

    # How the first day of a label is written; the patterns exclude each other.
    _FIRST_DAYS: ClassVar[dict[str, tuple[str, str]]] = {
        "month": ("^-?[0-9]+-[0-9][0-9]$", ":label || '-01'"),
        "quarter": ("^-?[0-9]+-Q[1-4]$", "LEFT(:label, LENGTH(:label) - 3) || '-01-01'"),
        "year": ("^-?[0-9]+$", ":label || '-01-01'"),
        "decade": ("^-?[0-9]+s$", "LEFT(:label, LENGTH(:label) - 1) || '-01-01'"),
        "century": ("^-?[0-9]+-[0-9]{3,}$", "REGEXP_EXTRACT(:label, '^-?[0-9]+') || '-01-01'"),
    }

    def rule(self, level: int) -> dict[str, Any]:
        return {"dates": self.units[level - 1]}

    def raw(self, label: exp.Expr) -> exp.Expr:
        return sql("CASE WHEN TRY_CAST(:label AS DATE) IS NOT NULL THEN :label END", label=label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        unit, itself = self.units[level - 1], label.copy()
        if unit == "week":  # nothing but a day lies in a week
            week = sql("REGEXP_MATCHES(:label, '^-?[0-9]+-W[0-9][0-9]$')", label=label)
            of_day = self._of_date(label, level)
            return sql("CASE WHEN :week THEN :itself ELSE :of_day END", week=week, itself=itself, of_day=of_day)
        case = exp.Case()
        for finer, (pattern, first) in self._FIRST_DAYS.items():
            matches = sql("REGEXP_MATCHES(:label, :pattern)", label=label, pattern=literal(pattern))
            inside = unit in NESTS_IN[finer]
            day = sql(first, label=label)
            within = self._of_date(day, level) if inside else exp.cast(exp.null(), "VARCHAR")
            case = case.when(matches, itself.copy() if unit == finer else within)
        return case.else_(self._of_date(label, level))

    def _of_date(self, text: exp.Expr, level: int) -> exp.Expr:
        return sql(self._LABELS[self.units[level - 1]], date=sql("TRY_CAST(:text AS DATE)", text=text))

    def _date(self, value: exp.Expr) -> exp.Expr:
        return sql("TRY_CAST(:value AS DATE)", value=value) if self.from_text else value.copy()


@dataclass(frozen=True)
class IntervalsKind:
    """Half-open ranges, computed in whole units of the finest decimal so that no bound is ever rounded."""

    widths: tuple[Decimal, ...]
    origin: Decimal
    type: str  # whole | decimal | float | date
    places: int = 18  # decimals of the column's own type
    top: str = "*"

    @property
    def levels(self) -> int:
        return len(self.widths)

    @property
    def decimals(self) -> int:
        return max(_decimals(number) for number in (*self.widths, self.origin))

    def units(self, value: exp.Expr) -> exp.Expr:
        """The value in whole units, rounded down, as a wide integer."""
        if self.type == "date":
            return sql("CAST(DATE_DIFF('day', DATE '1970-01-01', CAST(:value AS DATE)) AS HUGEINT)", value=value)
        scale = literal(10**self.decimals)
        if self.type == "whole":
            return sql("CAST(:value AS HUGEINT) * :scale", value=value, scale=scale)
        # A float stands for the number that it prints as; whole part and fraction apart, so nothing overflows.
        exact = value
        if self.type == "float":
            exact = sql("TRY_CAST(CAST(:value AS VARCHAR) AS DECIMAL(38, 18))", value=value)
        return sql(
            f"CAST(FLOOR(:exact) AS HUGEINT) * :scale + CAST(FLOOR(CAST(:exact - FLOOR(:exact) "
            f"AS DECIMAL({self.places + 1}, {self.places})) * :scale) AS HUGEINT)",
            exact=exact,
            scale=scale,
        )

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
        if self.type == "date":
            return _no_day(value)
        return sql(
            "NOT ISFINITE(CAST(:v AS DOUBLE)) OR ABS(CAST(:v AS DOUBLE)) >= :most", v=value, most=double(_LARGEST)
        )

    @property
    def takes(self) -> str:
        return DatesKind.takes if self.type == "date" else f"finite number below {_LARGEST:g}"

    def share(self, level: int, span: float) -> float:
        """The NCP of a cell: the width of its range over the span of the column, at most 1."""
        return min(1.0, self._in_units(self.widths[level - 1]) / span) if span > 0 else 1.0

    def describe(self, level: int) -> str:
        width = self.widths[level - 1].normalize()
        return f"ranges of {width:f}" + (" days" if self.type == "date" else "")

    def rule(self, level: int) -> dict[str, Any]:
        numbers = {"intervals": self.widths[level - 1], "origin": self.origin}
        return {name: f"{number.normalize():f}" for name, number in numbers.items()}

    def raw(self, label: exp.Expr) -> exp.Expr:
        bound = "DATE" if self.type == "date" else "DOUBLE"
        return sql(f"CASE WHEN TRY_CAST(:label AS {bound}) IS NOT NULL THEN :label END", label=label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        """By the first and the last unit that a range, or a raw value, holds: both must lie in one range."""
        lower, upper = (self._written_units(label, part) for part in (1, 2))
        first, last = (self._lower(exp.paren(units), level) for units in (lower, upper))
        return sql(
            "CASE WHEN (:first) = (:last) THEN :range END", first=first, last=last, range=self._range(first, level)
        )

    def _written_units(self, label: exp.Expr, part: int) -> exp.Expr:
        """The first (1) or last (2) unit of a range as it is written; of a raw value, its only one."""
        bound = sql(f"REGEXP_EXTRACT(:label, '^\\[(.+), (.+)\\)$', {part})", label=label)
        text = sql("COALESCE(NULLIF(:bound, ''), :label)", bound=bound, label=label)
        before = sql("CASE WHEN :bound = '' THEN 0 ELSE 1 END", bound=bound) if part == 2 else literal(0)
        if self.type == "date":
            days = "CAST(DATE_DIFF('day', DATE '1970-01-01', TRY_CAST(:text AS DATE)) AS HUGEINT) - :before"
            return sql(days, text=text, before=before)
        exact = sql("TRY_CAST(:text AS DECIMAL(38, 9)) * :scale", text=text, scale=literal(10**self.decimals))
        rounded = "CASE WHEN :before = 1 THEN CEIL(:exact) ELSE FLOOR(:exact) END"
        return sql(f"CAST({rounded} AS HUGEINT) - :before", exact=exact, before=before)

    def _in_units(self, number: Decimal) -> int:
        return int(number * 10**self.decimals)

    def _written(self, units: exp.Expr) -> exp.Expr:
        if self.type == "date":
            return sql("CAST(DATE '1970-01-01' + CAST(:units AS INTEGER) AS VARCHAR)", units=units)
        if self.decimals == 0:
            return sql("CAST(:units AS VARCHAR)", units=units)
        scale = literal(10**self.decimals)
        return sql(
            "CASE WHEN :units < 0 THEN '-' ELSE '' END || CAST(ABS(:units) // :scale AS VARCHAR) || '.' "
            "|| LPAD(CAST(ABS(:units) % :scale AS VARCHAR), :decimals, '0')",
            units=exp.paren(units),
            scale=scale,
            decimals=literal(self.decimals),
        )


def _no_day(date: exp.Expr) -> exp.Expr:
    """Whether a date has no label: infinite ones have no year, and of the farthest the calendar ends within a label."""
    return sql(
        ":date IS NULL OR NOT ISFINITE(:date) "
        "OR ABS(DATE_DIFF('day', DATE '1970-01-01', CAST(:date AS DATE))) > :farthest",
        date=date,
        farthest=literal(_FARTHEST),
    )


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


VALUE = column("value")
