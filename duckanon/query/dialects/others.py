"""The dialects of other engines. What one of them has no words for is refused by name, never guessed.

What is said for PostgreSQL was executed there; of the others only the metrics are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.dialects.spark import Spark
from sqlglot.generators.bigquery import BigQueryGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.snowflake import SnowflakeGenerator
from sqlglot.generators.spark import SparkGenerator

from duckanon.query.nodes import Composed, EachBelow, FiniteNumber, KeyedHash, RowHash, TextDigest, UrlEncoded

_LARGEST = 1.7976931348623157e308
_WIDE = exp.DataType.Type.INT128

Words = Callable[..., str]


def _unsaid(what: str) -> Words:
    """A node that the dialect has no words for."""

    def refuse(generator: Any, node: exp.Expr) -> str:
        generator.unsupported(what)
        return ""

    return refuse


_REPEATED = _unsaid("rows repeated in the SELECT list (UNNEST)")


def _inside(generator: Any, node: exp.Expr) -> str:
    """What a node is made around, and nothing else."""
    text: str = generator.sql(node, "this")
    return text


def _between_the_largest(generator: Any, node: FiniteNumber) -> str:
    """NaN is above every number there."""
    low, high = (exp.cast(exp.Literal.string(f"{sign}{_LARGEST!r}"), "DOUBLE") for sign in ("-", ""))
    text: str = generator.sql(exp.paren(exp.Between(this=node.this.copy(), low=low, high=high)))
    return text


def _series(generator: Any, node: EachBelow) -> str:
    """A set of rows."""
    count = exp.cast(node.this.copy(), "BIGINT")
    text: str = generator.sql(exp.GenerateSeries(start=exp.Literal.number(0), end=count, is_end_exclusive=True))
    return text


class PostgresWords(PostgresGenerator):
    """Whole numbers of any size, a set in place of a list, finite by comparison."""

    TYPE_MAPPING: ClassVar[dict[Any, str]] = {**PostgresGenerator.TYPE_MAPPING, _WIDE: "DECIMAL(38, 0)"}
    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {
        **PostgresGenerator.TRANSFORMS,
        exp.TryCast: _unsaid("a cast that may fail (TRY_CAST)"),
        # A function that sqlglot does not know would be printed as it is.
        **dict.fromkeys(
            (exp.Anonymous, RowHash, TextDigest, UrlEncoded, Composed, KeyedHash), _unsaid("functions of DuckDB")
        ),
        FiniteNumber: _between_the_largest,
        EachBelow: _series,
        exp.Try: _inside,  # what it takes away, statistics, nobody is told there
    }

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        if expression.catalog:
            self.unsupported("tables of another database")
        if expression.db == "main":  # DuckDB's default schema
            expression = exp.Table(this=expression.this, alias=expression.args.get("alias"))
        return super().table_sql(expression, sep)


class SparkWords(SparkGenerator):
    """Has views for temporary things, and no tables."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {
        **SparkGenerator.TRANSFORMS,
        EachBelow: _REPEATED,
        exp.Create: lambda self, node: self.made(node),
    }

    def made(self, node: exp.Create) -> str:
        if node.kind == "TABLE":
            self.unsupported("temporary tables")
        return SparkGenerator.TRANSFORMS[exp.Create](self, node)


class BigQueryWords(BigQueryGenerator):
    """Has tables for temporary things, and no views."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {**BigQueryGenerator.TRANSFORMS, EachBelow: _REPEATED}

    def create_sql(self, expression: exp.Create) -> str:
        if expression.kind == "VIEW":
            self.unsupported("temporary views")
        return super().create_sql(expression)

    def datatype_sql(self, expression: exp.DataType) -> str:
        if expression.this == _WIDE:
            self.unsupported("HUGEINT")
        return super().datatype_sql(expression)


class SnowflakeWords(SnowflakeGenerator):
    """Has no rows that a SELECT list repeats."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {
        **SnowflakeGenerator.TRANSFORMS,
        EachBelow: _REPEATED,
    }

    def datatype_sql(self, expression: exp.DataType) -> str:
        if expression.this == _WIDE:
            self.unsupported("HUGEINT")
        return super().datatype_sql(expression)


# Named so that they take no place of sqlglot's own.
class PostgresDialect(Postgres):
    Generator = PostgresWords


class SparkDialect(Spark):
    Generator = SparkWords


class BigQueryDialect(BigQuery):
    Generator = BigQueryWords


class SnowflakeDialect(Snowflake):
    Generator = SnowflakeWords


OTHERS: dict[str, type[Dialect]] = {
    "postgres": PostgresDialect,
    "spark": SparkDialect,
    "bigquery": BigQueryDialect,
    "snowflake": SnowflakeDialect,
}
