"""Bare DuckDB; as a process of its own, `python -m bench.bare QUERY …`."""

from __future__ import annotations

import sys
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


if __name__ == "__main__":
    with database() as opened:
        for query in sys.argv[1:]:
            opened.execute(query).fetchall()
