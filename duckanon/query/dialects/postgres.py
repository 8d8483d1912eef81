"""PostgreSQL's words. What is said here was executed there; what it has no words for is refused by name."""

from __future__ import annotations

from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres

from duckanon.query.dialects.translation import (
    Translating,
    Words,
    called,
    functions,
    inside,
    narrower,
    unsaid,
)
from duckanon.query.own import Own


def _parsed(template: str) -> exp.Expr:
    return sqlglot.parse_one(template, dialect="postgres")


_LARGEST = 1.7976931348623157e308
# As the workbench writes it: 1.0, not 1; 1000000.0, not 1e+06; nan and inf.
_FLOAT_TEXT = _parsed(
    """CASE WHEN :number = 0 OR ABS(:number) >= 1e-4 AND ABS(:number) < 1e16
        THEN REGEXP_REPLACE(CAST(CAST(CAST(:number AS TEXT) AS NUMERIC) AS TEXT), '^[^.]*$', '\\&.0')
        ELSE REPLACE(REPLACE(CAST(:number AS TEXT), 'NaN', 'nan'), 'Infinity', 'inf') END"""
)
# DateStyle, which every reader of a view may set, changes what a cast gives.
_DAY_TEXT = _parsed(
    """LPAD(CAST(EXTRACT(YEAR FROM :day) AS TEXT), 4, '0')
        || '-' || LPAD(CAST(EXTRACT(MONTH FROM :day) AS TEXT), 2, '0')
        || '-' || LPAD(CAST(EXTRACT(DAY FROM :day) AS TEXT), 2, '0')"""
)
_FIRST_GROUP = _parsed("COALESCE(SUBSTRING(:text FROM :pattern), '')")
_IN_BYTES = _parsed(':text COLLATE "C"')


def _between_the_largest(number: exp.Expr) -> exp.Expr:
    """NaN is above every number there."""
    low, high = (exp.cast(exp.Literal.string(f"{sign}{_LARGEST!r}"), "DOUBLE") for sign in ("-", ""))
    return exp.paren(exp.Between(this=number, low=low, high=high), copy=False)


def _series(count: exp.Expr) -> exp.Expr:
    """A set of rows."""
    last = exp.cast(count, "BIGINT")
    return exp.GenerateSeries(start=exp.Literal.number(0), end=last, is_end_exclusive=True)


def _hashed(*cells: exp.Expr) -> exp.Expr:
    return called("HASH_RECORD_EXTENDED")(called("ROW")(*cells), exp.Literal.number(0))


def _same(node: exp.NullSafeEQ) -> exp.Expr:
    """By arrays of one element, of which NULL equals NULL: by IS NOT DISTINCT FROM PostgreSQL joins in nested loops
    only. Never by text, which depends on settings that a reader of a view may change."""
    sides = node.this, node.expression
    if any(isinstance(side, (exp.Literal, exp.Null)) for side in sides):
        return node
    arrays = [exp.Array(expressions=[side.copy()]) for side in sides]
    return exp.EQ(this=arrays[0], expression=arrays[1])


def _first_group(node: exp.RegexpExtract) -> exp.Expr:
    """A pattern gives its first group there, if it has any."""
    if node.args.get("group") != exp.Literal.number(1):
        unsaid("another group of a pattern than the first")()
    return exp.replace_placeholders(_FIRST_GROUP, text=node.this, pattern=node.expression)


_FUNCTIONS = {
    Own.FINITE_NUMBER: _between_the_largest,
    Own.FINITE_DAY: called("ISFINITE"),
    Own.FLOAT_TEXT: lambda number: exp.replace_placeholders(_FLOAT_TEXT, number=number),
    Own.DAY_TEXT: lambda day: exp.replace_placeholders(_DAY_TEXT, day=day),
    Own.BYTE_ORDER: lambda value: exp.replace_placeholders(_IN_BYTES, text=value),
    Own.EACH_BELOW: _series,
    Own.ROW_HASH: _hashed,
}


# Named so that it takes no place of sqlglot's own.
class PostgresDialect(Postgres, Translating):
    """Whole numbers of any size, a set in place of a list, finite by comparison."""

    WORDS: ClassVar[Words] = {
        # A function that sqlglot does not know would be printed as it is.
        exp.Anonymous: functions(_FUNCTIONS, unsaid("functions of DuckDB")),
        exp.DataType: narrower,
        exp.NullSafeEQ: _same,
        exp.RegexpExtract: _first_group,
        exp.Try: inside,  # what it takes away, statistics, nobody is told there
        exp.TryCast: unsaid("a cast that may fail (TRY_CAST)"),
    }
