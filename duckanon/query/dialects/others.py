"""The dialects of other engines. What one of them has no words for is refused by name, never guessed.

What is said for PostgreSQL and for Spark was executed there; of the others only the metrics are.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.generators.bigquery import BigQueryGenerator
from sqlglot.generators.snowflake import SnowflakeGenerator

from duckanon.query.dialects.postgres import PostgresWords
from duckanon.query.dialects.spark import SparkDialect
from duckanon.query.dialects.unsaid import Words, unsaid
from duckanon.query.nodes import EachBelow

_WIDE = exp.DataType.Type.INT128

_REPEATED = unsaid("rows repeated in the SELECT list (UNNEST)")


class PostgresScriptWords(PostgresWords):
    """For the script of a run that DuckDB executes: DuckDB's default schema is the one that the reader is in."""

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        if expression.catalog:
            self.unsupported("tables of another database")
        if expression.db == "main":  # DuckDB's default schema
            expression = exp.Table(this=expression.this, alias=expression.args.get("alias"))
        return super().table_sql(expression, sep)


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
class PostgresScriptDialect(Postgres):
    Generator = PostgresScriptWords


class BigQueryDialect(BigQuery):
    Generator = BigQueryWords


class SnowflakeDialect(Snowflake):
    Generator = SnowflakeWords


OTHERS: dict[str, type[Dialect]] = {
    "postgres": PostgresScriptDialect,
    "spark": SparkDialect,
    "bigquery": BigQueryDialect,
    "snowflake": SnowflakeDialect,
}
