"""Databases of other engines than DuckDB, for a test: filled with the tables of a DuckDB, and asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import adbc_driver_postgresql.dbapi as postgresql
import duckdb
import pyarrow

from duckanon.engine.far import plain_values
from duckanon.query.names import quoted


class FarDatabase(Protocol):
    """An empty database, as a test fills and asks it."""

    @property
    def address(self) -> str:
        """As --db takes it."""

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute; the rows of the last statement."""

    def said(self, *parts: str) -> str:
        """A name in a statement."""

    def copy(self, source: duckdb.DuckDBPyConnection, name: str) -> None:
        """A table of a DuckDB, with its name as SQL spells it, under the same name."""

    def empty(self) -> None:
        """Nothing is there any more."""


class PostgresDatabase:
    """A database of a PostgreSQL server, over one connection that stays open."""

    # Where PostgreSQL has another word than DuckDB.
    _words: Mapping[str, str] = {
        "VARCHAR": "text", "DOUBLE": "double precision", "FLOAT": "real", "TINYINT": "smallint", "HUGEINT": "numeric",
        "UBIGINT": "numeric(20, 0)", "UINTEGER": "bigint", "TIMESTAMP WITH TIME ZONE": "timestamptz", "BLOB": "bytea",
    }  # fmt: skip

    def __init__(self, address: str) -> None:
        self.address = address
        self._connection = postgresql.connect(address, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self._connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                table = cursor.fetch_arrow_table()
                rows = list(zip(*map(plain_values, table.columns), strict=True))
        return rows

    def said(self, *parts: str) -> str:
        return quoted(*parts)

    def empty(self) -> None:
        self.sql("DROP SCHEMA IF EXISTS duckanon CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")

    def copy(self, source: duckdb.DuckDBPyConnection, name: str) -> None:
        """By texts, which are the same in both."""
        types = {column: kind for column, kind, *_ in source.execute(f"DESCRIBE {name}").fetchall()}
        texts = ", ".join(f"CAST({quoted(column)} AS VARCHAR) AS {quoted(column)}" for column in types)
        self._load(name, source.sql(f"SELECT {texts} FROM {name}").to_arrow_table(), types)

    def _load(self, name: str, rows: pyarrow.Table, types: Mapping[str, str]) -> None:
        words = {column: self._words.get(kind, kind) for column, kind in types.items()}
        columns = ", ".join(f"{quoted(column)} {word}" for column, word in words.items())
        texts = ", ".join(f"CAST({quoted(column)} AS {word})" for column, word in words.items())
        self.sql(f"CREATE TABLE {name} ({columns})")
        if not rows.num_rows:
            return
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest("texts", rows, mode="create", temporary=True)
        self.sql(f"INSERT INTO {name} SELECT {texts} FROM pg_temp.texts", "DROP TABLE pg_temp.texts")


@contextmanager
def on_postgres(address: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(address)
    try:
        yield database
    finally:
        database.close()
