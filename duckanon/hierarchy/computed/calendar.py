"""How far the calendar goes in which days are counted."""

from __future__ import annotations

from sqlglot import exp

from duckanon.query.expressions import literal, sql
from duckanon.query.functions import cast_or_null, days_since_1970, finite_day, matches

_FARTHEST = 2_000_000_000  # days from 1970: near the ends of the calendar a week or an interval may begin outside of it
WIDEST = 100_000_000  # days of an interval: one around such a date is still in the calendar
_ISO = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?\s*$"
KNOWN_DAYS = f"finite date within {_FARTHEST:,} days of 1970"


def day_of(text: exp.Expr) -> exp.Expr:
    """The day that a text says, with or without a time; NULL if it says none."""
    return cast_or_null(text, "DATE")


def iso_day(text: exp.Expr) -> exp.Expr:
    """The same of a text that may as well be none of a day: only as ISO writes it."""
    return sql("CASE WHEN :written THEN :day END", written=matches(text, _ISO), day=day_of(text))


def no_day(date: exp.Expr) -> exp.Expr:
    """Whether a date has no label: infinite ones have no year, and of the farthest the calendar ends within a label."""
    return sql(
        ":date IS NULL OR NOT :finite OR ABS(:days) > :farthest",
        date=date,
        finite=finite_day(date),
        days=days_since_1970(sql("CAST(:date AS DATE)", date=date)),
        farthest=literal(_FARTHEST),
    )
