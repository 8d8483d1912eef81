"""Bare DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


def answer(query: str) -> object:
    """The answer of a database of its own."""
    with database() as connection:
        return connection.execute(query).fetchall()
