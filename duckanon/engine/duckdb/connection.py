"""How a DuckDB database is opened: never made by accident, within the limits that the user sets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
from sqlglot import exp

from duckanon.engine.duckdb.client_errors import is_lock, opening_fault
from duckanon.engine.duckdb.spill import Spill
from duckanon.errors import EngineError

_BETWEEN_TRIES = 0.2  # seconds


@dataclass(frozen=True)
class Limits:
    """What a run may take of the machine; None: as DuckDB decides."""

    memory: str | None = None
    threads: int | None = None


def connect(
    path: Path | None, writable: bool, limits: Limits, wait: float | None
) -> tuple[duckdb.DuckDBPyConnection, Spill]:
    """A database file, or an empty database in memory, and the folder that it spills to. Never creates a file."""
    connection = duckdb.connect() if path is None else _connect_file(path, writable, wait)
    spill = Spill()
    try:
        _limit(connection, limits, spill, lasting=path is not None)
    except BaseException:
        connection.close()
        spill.close()
        raise
    return connection, spill


def _connect_file(path: Path, writable: bool, wait: float | None) -> duckdb.DuckDBPyConnection:
    if path.is_dir():
        raise EngineError(f"{path}: is a folder, not a DuckDB database")
    if not path.exists():
        found = path.resolve()
        raise EngineError(f"{path}: there is no such database" + (f"; looked for {found}" if found != path else ""))
    if not path.is_file():
        raise EngineError(f"{path}: is a pipe, a socket or a device, not a DuckDB database")
    with path.open("rb") as file:
        if file.read(12)[8:] != b"DUCK":  # DuckDB would open a CSV file as a database of its own making
            raise EngineError(f"{path}: is not a DuckDB database")
    end = time.monotonic() + (wait or 0)
    while True:
        try:
            return duckdb.connect(str(path), read_only=not writable)
        except duckdb.Error as error:
            left = end - time.monotonic()
            if left <= 0 or not is_lock(error):
                raise EngineError(f"{path}: {opening_fault(error, wait)}") from error
            time.sleep(min(_BETWEEN_TRIES, left))


def _limit(connection: duckdb.DuckDBPyConnection, limits: Limits, spill: Spill, lasting: bool) -> None:
    settings: dict[str, str | int] = {
        "enable_progress_bar": False,  # it would go to standard output, in between the result
        "async_threads": 0,  # of several threads that write to a full disk, DuckDB 2.0 may wait for one for ever
        "temp_directory": str(spill.path or ""),
    }
    if not lasting:
        # A commit that changes 16 MB would compress whatever is in memory: seconds, for tables that are about to go.
        settings["checkpoint_threshold"] = "1TB"
    connection.execute("; ".join(_setting(name, value) for name, value in settings.items()))
    for name, limit in {"memory_limit": limits.memory, "threads": limits.threads}.items():
        if limit is None:
            continue
        try:
            connection.execute(_setting(name, limit))
        except duckdb.Error:
            remedy = "write such as --memory-limit 2GB, --threads 2"
            raise EngineError(f"--{name.replace('_', '-')}: '{limit}' is not possible; {remedy}") from None


def _setting(name: str, value: str | int) -> str:
    return f"SET {name} = {exp.convert(value).sql('duckdb')}"


def make_database(path: Path, script: str = "") -> None:
    """A new database file with what a script puts into it, in a format that older command lines can read, too."""
    try:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {exp.convert(str(path)).sql('duckdb')} AS made (STORAGE_VERSION 'v1.4.0')")
            connection.execute(f"USE made; {script}")
    except duckdb.Error as error:
        raise EngineError(f"{path}: {opening_fault(error)}") from error
