"""A folder with a warehouse in it, and what any reader finds in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

# Opening a database takes DuckDB ten times as long as attaching one to another that is open.
_HOUSE = duckdb.connect()


class Folder:
    """A folder with a warehouse in it and a policy beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "warehouse.duckdb"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute in the warehouse; the rows of the last statement."""
        rows: list[tuple[Any, ...]] = []
        with opened(self.database) as connection:
            for statement in statements:
                rows = connection.execute(statement).fetchall()
        return rows

    def policy(self, text: str, name: str = "policy.toml") -> Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path

    def dump(self) -> list[Any]:
        """All that the warehouse holds: relations with their comments, and their rows."""
        relations = self.sql(
            "SELECT schema_name, table_name, comment FROM duckdb_tables() "
            "UNION ALL SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        )
        macros = self.sql("SELECT schema_name, function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL")
        quoted = [(f'"{s}"."' + t.replace('"', '""') + '"', comment) for s, t, comment in relations]
        with opened(self.database) as connection:
            rows = [
                (name, comment, connection.execute(f"FROM {name} ORDER BY ALL").fetchall()) for name, comment in quoted
            ]
        return [*rows, ("macros", macros)]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


@contextmanager
def opened(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database file, which is closed again for whoever comes next."""
    if is_open(database):  # the connection shares what this process has open
        with duckdb.connect(str(database)) as connection:
            yield connection
        return
    name = database.stem
    _HOUSE.execute(f"ATTACH '{database}' AS \"{name}\"")
    try:
        with _HOUSE.cursor() as connection:
            connection.execute(f'USE "{name}"')
            yield connection
    finally:
        _HOUSE.execute(f'DETACH "{name}"')


def is_open(file: Path) -> bool:
    """Whether this process has the file open; where nobody can tell, it may have."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        return True
    links = (path for path in descriptors.iterdir() if path.is_symlink())
    return any(os.readlink(link) == str(file.resolve()) for link in links)


def query(statement: str) -> list[tuple[Any, ...]]:
    with _HOUSE.cursor() as connection:
        return connection.execute(statement).fetchall()


def rows(path: Path, kind: str = "parquet") -> list[tuple[Any, ...]]:
    """What any reader of partitioned folders finds, sorted."""
    reader = f"read_{kind}('{path}/**/*.{kind}', hive_partitioning = true, hive_types_autocast = false)"
    return query(f"SELECT age, zip, sex, disease FROM {reader} ORDER BY ALL")
