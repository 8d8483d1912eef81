"""Spark's words. What is said here was executed there; what it has no words for is refused by name."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from duckanon.query.dialects.translation import (
    Translating,
    Words,
    called,
    functions,
    inside,
    itself,
    narrower,
    text,
    unsaid,
)
from duckanon.query.expressions import sql
from duckanon.query.own import Own


def _exploded(count: exp.Expr) -> exp.Expr:
    """The first so many of the numbers from 0; a sequence to -1 would count down."""
    last, length = exp.cast(count, "BIGINT"), exp.cast(count, "INT")
    numbers = called("SEQUENCE")(exp.cast(exp.Literal.number(0), "BIGINT"), last)
    return called("EXPLODE")(called("SLICE")(numbers, exp.Literal.number(1), length))


def _hashed(*cells: exp.Expr) -> exp.Expr:
    """A NULL is skipped there, so whether there is one is hashed with each cell."""
    return called("XXHASH64")(*(part for cell in cells for part in (sql(":cell IS NULL", cell=cell), cell)))


def _finite(number: exp.Expr) -> exp.Expr:
    """NaN is above every number there."""
    return exp.paren(sql("ABS(:number) < CAST('Infinity' AS DOUBLE)", number=number), copy=False)


def _there(day: exp.Expr) -> exp.Expr:
    """There are no others."""
    return sql(":day IS NOT NULL", day=day)


def _made(node: exp.Create) -> exp.Expr:
    if node.kind == "TABLE" and node.args.get("properties"):
        unsaid("temporary tables")()
    return node


_FUNCTIONS = {
    Own.FINITE_NUMBER: _finite,
    Own.FINITE_DAY: _there,
    Own.FLOAT_TEXT: text,  # but for exponents, the same
    Own.DAY_TEXT: text,
    Own.BYTE_ORDER: itself,
    Own.EACH_BELOW: _exploded,
    Own.ROW_HASH: _hashed,
}


# Named so that it takes no place of sqlglot's own.
class SparkDialect(Spark, Translating):
    """Has views for temporary things and no tables, whole numbers of 38 digits, and arrays in place of lists."""

    WORDS: ClassVar[Words] = {
        # A function that sqlglot does not know would be printed as it is.
        exp.Anonymous: functions(_FUNCTIONS, unsaid("functions of DuckDB")),
        exp.Create: _made,
        exp.DataType: narrower,
        exp.Try: inside,  # what it takes away, statistics, nobody is told there
    }
