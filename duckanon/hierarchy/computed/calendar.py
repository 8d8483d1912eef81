"""How far the calendar goes in which days are counted."""

from __future__ import annotations

from sqlglot import exp

from duckanon.query.expressions import literal, sql

_FARTHEST = 2_000_000_000  # days from 1970: near the ends of the calendar a week or an interval may begin outside of it
WIDEST = 100_000_000  # days of an interval: one around such a date is still in the calendar
_ISO = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?\s*$"
KNOWN_DAYS = f"finite date within {_FARTHEST:,} days of 1970"


def day_of(text: exp.Expr) -> exp.Expr:
    """The day that a text says, with or without a time; NULL if it says none."""
    return sql("TRY_CAST(:text AS DATE)", text=text)


def iso_day(text: exp.Expr) -> exp.Expr:
    """The same of a text that may as well be none of a day: only as ISO writes it."""
    written = sql("REGEXP_MATCHES(:text, :iso)", text=text, iso=literal(_ISO))
    return sql("CASE WHEN :written THEN :day END", written=written, day=day_of(text))


def no_day(date: exp.Expr) -> exp.Expr:
    """Whether a date has no label: infinite ones have no year, and of the farthest the calendar ends within a label."""
    return sql(
        ":date IS NULL OR NOT ISFINITE(:date) "
        "OR ABS(DATE_DIFF('day', DATE '1970-01-01', CAST(:date AS DATE))) > :farthest",
        date=date,
        farthest=literal(_FARTHEST),
    )
