"""Where a database is opened: one function chooses the warehouse, by what names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duckanon.engine.duckdb.connection import Limits, make_database
from duckanon.engine.duckdb.warehouse import DuckDB

__all__ = ["DuckDB", "Limits", "install_macros", "make_database", "open_warehouse", "warehouse_of"]


def open_warehouse(
    location: Path | None, writable: bool, limits: Limits | None = None, wait: float | None = None
) -> DuckDB:
    """A database file, or an empty database in memory. `wait`: seconds for another process to leave it, where that can
    be chosen."""
    return DuckDB.open(location, writable, limits, wait)


@contextmanager
def warehouse_of(db: Any) -> Iterator[DuckDB]:
    """The warehouse of what a caller gives: itself; or a bare connection, wrapped for the time being and left open."""
    if isinstance(db, DuckDB):
        yield db
        return
    wrapped = DuckDB.wrap(db)
    try:
        yield wrapped
    finally:
        wrapped.close()


def install_macros(location: Path) -> int:
    """Put the analysts' macros into a database file, for good; says how many there are."""
    with DuckDB.open(location, writable=True) as warehouse:
        return warehouse.install_macros()
