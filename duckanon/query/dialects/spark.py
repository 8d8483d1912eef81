"""Spark's words. What is said here was executed there; what it has no words for is refused by name."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from duckanon.query.dialects.unsaid import Words, inside, unsaid
from duckanon.query.expressions import sql
from duckanon.query.nodes import (
    ByteOrder,
    Composed,
    DayText,
    EachBelow,
    FiniteDay,
    FiniteNumber,
    FloatText,
    KeyedHash,
    RowHash,
    TextDigest,
    UrlEncoded,
    WithoutAccents,
)


def _exploded(generator: Any, node: EachBelow) -> str:
    """The first so many of the numbers from 0; a sequence to -1 would count down."""
    last, length = (generator.sql(exp.cast(node.this.copy(), kind)) for kind in ("BIGINT", "INT"))
    return f"EXPLODE(SLICE(SEQUENCE(CAST(0 AS BIGINT), {last}), 1, {length}))"


def _hashed(generator: Any, node: RowHash) -> str:
    """A NULL is skipped there, so whether there is one is hashed with each cell."""
    cells = [part for cell in node.expressions for part in (sql(":cell IS NULL", cell=cell), cell)]
    return f"XXHASH64({', '.join(generator.sql(part) for part in cells)})"


def _finite(generator: Any, node: FiniteNumber) -> str:
    """NaN is above every number there."""
    text: str = generator.sql(sql("ABS(:number) < CAST('Infinity' AS DOUBLE)", number=node.this))
    return f"({text})"


class SparkWords(SparkGenerator):
    """Has views for temporary things and no tables, whole numbers of 38 digits, and arrays in place of lists."""

    TYPE_MAPPING: ClassVar[dict[Any, str]] = {
        **SparkGenerator.TYPE_MAPPING,
        exp.DataType.Type.INT128: "DECIMAL(38, 0)",
    }
    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {
        **SparkGenerator.TRANSFORMS,
        # A function that sqlglot does not know would be printed as it is.
        **dict.fromkeys(
            (exp.Anonymous, TextDigest, UrlEncoded, Composed, WithoutAccents, KeyedHash), unsaid("functions of DuckDB")
        ),
        EachBelow: _exploded,
        RowHash: _hashed,
        FiniteNumber: _finite,
        FloatText: lambda self, node: self.sql(exp.cast(node.this.copy(), "VARCHAR")),  # but for exponents, the same
        ByteOrder: inside,
        DayText: lambda self, node: self.sql(exp.cast(node.this.copy(), "VARCHAR")),
        FiniteDay: lambda self, node: self.sql(sql(":day IS NOT NULL", day=node.this)),  # there are no others
        exp.Try: inside,  # what it takes away, statistics, nobody is told there
        exp.Create: lambda self, node: self.made(node),
    }

    def made(self, node: exp.Create) -> str:
        if node.kind == "TABLE" and node.args.get("properties"):
            self.unsupported("temporary tables")
        return SparkGenerator.TRANSFORMS[exp.Create](self, node)


# Named so that it takes no place of sqlglot's own.
class SparkDialect(Spark):
    Generator = SparkWords
