"""How far the calendar goes in which days are counted."""

from __future__ import annotations

from sqlglot import exp

from duckanon.query.expressions import literal, sql

_FARTHEST = 2_000_000_000  # days from 1970: near the ends of the calendar a week or an interval may begin outside of it
WIDEST = 100_000_000  # days of an interval: one around such a date is still in the calendar
KNOWN_DAYS = f"finite date within {_FARTHEST:,} days of 1970"


def no_day(date: exp.Expr) -> exp.Expr:
    """Whether a date has no label: infinite ones have no year, and of the farthest the calendar ends within a label."""
    return sql(
        ":date IS NULL OR NOT ISFINITE(:date) "
        "OR ABS(DATE_DIFF('day', DATE '1970-01-01', CAST(:date AS DATE))) > :farthest",
        date=date,
        farthest=literal(_FARTHEST),
    )
