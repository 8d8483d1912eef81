"""Functions that no two engines say alike, as trees that say what is meant; a dialect finds the words."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from duckanon.query.expressions import literal, sql
from duckanon.query.own import Own

# -- numbers ------------------------------------------------------------------------------------------


def wide(number: exp.Expr) -> exp.Expr:
    """As a whole number of at least 38 digits."""
    return sql("CAST(:number AS HUGEINT)", number=number)


def quotient(number: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    """How often the divisor goes into a number, both of them whole and not negative."""
    return sql(":number // :divisor", number=number, divisor=divisor)


def each_below(count: exp.Expr) -> exp.Expr:
    """In a SELECT list: the row once for every number from 0 that is below the count."""
    return Own.EACH_BELOW.of(count)


def float_text(number: exp.Expr) -> exp.Expr:
    """A floating-point number as the workbench writes it: 1.0, where others write 1."""
    return Own.FLOAT_TEXT.of(number)


def finite_number(number: exp.Expr) -> exp.Expr:
    """Whether a floating-point number is neither infinite nor NaN."""
    return Own.FINITE_NUMBER.of(number)


# -- what may fail ------------------------------------------------------------------------------------


def cast_or_null(value: exp.Expr, kind: str) -> exp.Expr:
    """The value as one of a type; NULL if it is none."""
    return sql(f"TRY_CAST(:value AS {kind})", value=value)


# -- days ---------------------------------------------------------------------------------------------


def days_since_1970(day: exp.Expr) -> exp.Expr:
    return sql("DATE_DIFF('day', DATE '1970-01-01', :day)", day=day)


def finite_day(day: exp.Expr) -> exp.Expr:
    """Whether a date or a moment is not infinite."""
    return Own.FINITE_DAY.of(day)


def day_of_1970(days: exp.Expr) -> exp.Expr:
    """The day that is so many days after 1970-01-01."""
    return sql("DATE '1970-01-01' + CAST(:days AS INTEGER)", days=days)


def day_text(day: exp.Expr) -> exp.Expr:
    """A date as 2024-05-31, whatever the session of who asks would write."""
    return Own.DAY_TEXT.of(day)


# -- texts --------------------------------------------------------------------------------------------


def matches(text: exp.Expr, pattern: str) -> exp.Expr:
    return sql("REGEXP_MATCHES(:text, :pattern)", text=text, pattern=literal(pattern))


def extracted(text: exp.Expr, pattern: str, group: int) -> exp.Expr:
    """What a group of the pattern holds; the empty text where it does not match."""
    return sql(f"REGEXP_EXTRACT(:text, :pattern, {group})", text=text, pattern=literal(pattern))


def replaced(text: exp.Expr, pattern: str, by: str) -> exp.Expr:
    """The text with another in the place of all that matches."""
    return sql("REGEXP_REPLACE(:text, :pattern, :by, 'g')", text=text, pattern=literal(pattern), by=literal(by))


def byte_order(text: exp.Expr) -> exp.Expr:
    """What sorts by the bytes of a text, whatever the language of the database; which is also the fastest order."""
    return Own.BYTE_ORDER.of(text)


def composed(text: exp.Expr) -> exp.Expr:
    """A text in which an accent is no sign of its own: Unicode's form NFC."""
    return Own.COMPOSED.of(text)


def look(text: exp.Expr) -> exp.Expr:
    """A text without what the eye does not tell: case, kinds and numbers of spaces, signs of no width, and whether an
    accent is a sign of its own."""
    spaced = replaced(replaced(composed(text), r"\p{Cf}", ""), r"[\s\p{Z}]+", " ")
    return composed(sql("LOWER(TRIM(:spaced))", spaced=spaced))


def without_accents(text: exp.Expr) -> exp.Expr:
    """A text with plain letters in place of those with accents."""
    return Own.WITHOUT_ACCENTS.of(text)


def url_encoded(text: exp.Expr) -> exp.Expr:
    """A text with the signs of a URL."""
    return Own.URL_ENCODED.of(text)


# -- hashes -------------------------------------------------------------------------------------------


def row_hash(cells: Iterable[exp.Expr]) -> exp.Expr:
    """A number made of several cells, NULL and all."""
    return Own.ROW_HASH.of(*cells)


def digest(text: exp.Expr) -> exp.Expr:
    """Of the texts of a group, in whatever order they come."""
    return exp.BitwiseXorAgg(this=Own.TEXT_DIGEST.of(text))


def keyed_hash(text: exp.Expr) -> exp.Expr:
    """HMAC-SHA-256 of a text, in hexadecimal, with the key in the parameters `inner_pad` and `outer_pad`."""
    return Own.KEYED_HASH.of(text)
