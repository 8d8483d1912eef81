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

from duckanon.query.dialects.postgres import PostgresDialect
from duckanon.query.dialects.spark import SparkDialect
from duckanon.query.dialects.translation import Translating, Word, Words, functions, is_wide, unsaid
from duckanon.query.own import Own


def _without_main(node: exp.Table) -> exp.Expr:
    """DuckDB's default schema is the one that the reader is in."""
    if node.catalog:
        unsaid("tables of another database")()
    return exp.Table(this=node.this.copy(), alias=node.args.get("alias")) if node.db == "main" else node


def _no_view(node: exp.Create) -> exp.Expr:
    if node.kind == "VIEW":
        unsaid("temporary views")()
    return node


def _not_wide(node: exp.DataType) -> exp.Expr:
    if is_wide(node):
        unsaid("HUGEINT")()
    return node


_FUNCTIONS: Word = functions(
    {Own.EACH_BELOW: unsaid("rows repeated in the SELECT list (UNNEST)")}, unsaid("functions of DuckDB")
)


# Named so that they take no place of sqlglot's own.
class PostgresScriptDialect(Postgres, Translating):
    """For the script of a run that DuckDB executes."""

    WORDS: ClassVar[Words] = {**PostgresDialect.WORDS, exp.Table: _without_main}


class BigQueryDialect(BigQuery, Translating):
    """Has tables for temporary things, and no views."""

    WORDS: ClassVar[Words] = {exp.Anonymous: _FUNCTIONS, exp.Create: _no_view, exp.DataType: _not_wide}


class SnowflakeDialect(Snowflake, Translating):
    """Has no rows that a SELECT list repeats."""

    WORDS: ClassVar[Words] = {exp.Anonymous: _FUNCTIONS, exp.DataType: _not_wide}


OTHERS: dict[str, type[Dialect]] = {
    "postgres": PostgresScriptDialect,
    "spark": SparkDialect,
    "bigquery": BigQueryDialect,
    "snowflake": SnowflakeDialect,
}
