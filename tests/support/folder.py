"""A folder with a warehouse in it, and what any reader finds in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb


class Folder:
    """A folder with a warehouse in it and a policy beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "warehouse.duckdb"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Execute in the warehouse; the rows of the last statement."""
        rows: list[tuple[Any, ...]] = []
        with duckdb.connect(str(self.database)) as connection:
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
        return [(name, comment, self.sql(f"FROM {name} ORDER BY ALL")) for name, comment in quoted] + [
            ("macros", macros)
        ]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


def query(statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(statement).fetchall()


def rows(path: Path, kind: str = "parquet") -> list[tuple[Any, ...]]:
    """What any reader of partitioned folders finds, sorted."""
    reader = f"read_{kind}('{path}/**/*.{kind}', hive_partitioning = true, hive_types_autocast = false)"
    return query(f"SELECT age, zip, sex, disease FROM {reader} ORDER BY ALL")
