"""Where a database is opened: one function chooses the warehouse, by what names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duckanon.engine.duckdb.connection import Limits, make_database
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.far import FarWarehouse
from duckanon.engine.warehouse import Warehouse
from duckanon.errors import EngineError
from duckanon.policy.database import KNOWN, POSTGRES, SPARK, Database, ServerAddress

__all__ = ["DuckDB", "Limits", "install_macros", "make_database", "open_warehouse", "warehouse_of"]


def open_warehouse(
    location: Database | None, writable: bool, limits: Limits | None = None, wait: float | None = None
) -> Warehouse:
    """A database file, an empty database in memory, or a server. `wait`: seconds for another process to leave a file,
    or for a server to be there, where that can be chosen."""
    if isinstance(location, ServerAddress):
        return _connect(location, writable, limits, wait)
    return DuckDB.open(location, writable, limits, wait)


def _connect(address: ServerAddress, writable: bool, limits: Limits | None, wait: float | None) -> Warehouse:
    if not address.is_well_formed:
        what = "cannot be read without doubt; in a password write @ / ? % as %40 %2F %3F %25, or leave it to PGPASSWORD"
        raise EngineError(f"the address of the database, {address.shown}, {what}")
    if address.engine == POSTGRES:
        from duckanon.engine.postgres.warehouse import Postgres

        return Postgres.open(address, writable, limits, wait)
    if address.engine == SPARK:
        from duckanon.engine.spark.warehouse import Spark

        return Spark.open(address, limits, wait)
    raise EngineError(f"there is no warehouse for {address.shown}; name {KNOWN}")


@contextmanager
def warehouse_of(db: Any) -> Iterator[Warehouse]:
    """The warehouse of what a caller gives: itself; or a bare connection, wrapped for the time being and left open."""
    if isinstance(db, (DuckDB, FarWarehouse)):
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
