"""Dates cut to growing calendar units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from duckanon.hierarchy.computed.calendar import KNOWN_DAYS, day_of, no_day
from duckanon.policy.hierarchy import NESTS_IN
from duckanon.query.expressions import sql
from duckanon.query.functions import day_text, matches


@dataclass(frozen=True)
class DatesKind:
    """Calendar units, written so that they sort as text."""

    units: tuple[str, ...]
    from_text: bool

    top: str = "*"
    takes: ClassVar[str] = KNOWN_DAYS

    @property
    def levels(self) -> int:
        return len(self.units)

    _LABELS: ClassVar[dict[str, str]] = {
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
        return self._said(self._date(value), level)

    def order(self, value: exp.Expr, level: int) -> exp.Expr:
        return self.label(value, level)

    def unmapped(self, value: exp.Expr) -> exp.Expr | None:
        return no_day(self._date(value))

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
        return sql("CASE WHEN :day IS NOT NULL THEN :label END", day=day_of(label), label=label)

    def relabel(self, label: exp.Expr, level: int) -> exp.Expr:
        unit, itself = self.units[level - 1], label.copy()
        if unit == "week":  # nothing but a day lies in a week
            week = matches(label, "^-?[0-9]+-W[0-9][0-9]$")
            of_day = self._of_date(label, level)
            return sql("CASE WHEN :week THEN :itself ELSE :of_day END", week=week, itself=itself, of_day=of_day)
        case = exp.Case()
        for finer, (pattern, first) in self._FIRST_DAYS.items():
            inside = unit in NESTS_IN[finer]
            day = sql(first, label=label)
            within = self._of_date(day, level) if inside else exp.cast(exp.null(), "VARCHAR")
            case = case.when(matches(label, pattern), itself.copy() if unit == finer else within)
        return case.else_(self._of_date(label, level))

    def _of_date(self, text: exp.Expr, level: int) -> exp.Expr:
        return self._said(day_of(text), level)

    def _said(self, date: exp.Expr, level: int) -> exp.Expr:
        unit = self.units[level - 1]
        if unit == "day":
            return day_text(exp.cast(date, "DATE"))
        return sql(self._LABELS[unit], date=date)

    def _date(self, value: exp.Expr) -> exp.Expr:
        return day_of(value) if self.from_text else value.copy()
