"""duckanon: a SQL-native anonymizer that runs inside the database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duckanon.check import check as _check
from duckanon.engine.duckdb import DuckDB
from duckanon.errors import (
    DuckanonError,
    EngineError,
    HierarchyError,
    PolicyError,
    ReleaseError,
)
from duckanon.metrics import measure as _measure
from duckanon.policy import Policy
from duckanon.run import run as _run
from duckanon.version import VERSION

if TYPE_CHECKING:
    import pandas

    from duckanon.engine import Engine
    from duckanon.result import Result

__version__ = VERSION

__all__ = [
    "DuckanonError",
    "EngineError",
    "HierarchyError",
    "Policy",
    "PolicyError",
    "ReleaseError",
    "__version__",
    "check",
    "connect",
    "metrics",
    "run",
]


def connect(database: str | Path | None = None, *, read_only: bool = False) -> DuckDB:
    """Open a DuckDB file that exists, or an empty database in memory. Use it in a `with` statement."""
    return DuckDB.open(Path(database) if database is not None else None, writable=not read_only)


def run(policy: Policy | str | Path, db: Any, *, replace: bool = False, dry_run: bool = False) -> Result:
    """Anonymize: search, release and verify. `db` is what `connect` gives, or an open duckdb connection."""
    with _engine(db) as engine:
        return _run(_policy(policy), engine, replace=replace, dry_run=dry_run)


def check(policy: Policy | str | Path, db: Any, *, release: bool = False) -> Result:
    """Measure the source, or the existing release, against the policy; writes nothing."""
    with _engine(db) as engine:
        return _check(_policy(policy), engine, release=release)


def metrics(
    db: Any, source: str, *, qi: str | Sequence[str], sensitive: str | Sequence[str] = (), k: int = 5
) -> pandas.DataFrame:
    """Privacy metrics of a table, view or file: one row per metric, and per value where it belongs to one."""
    asked = [qi] if isinstance(qi, str) else list(qi)
    columns = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    with _engine(db) as engine:
        return _measure(engine, source, asked, columns, k).as_frame()


def _policy(policy: Policy | str | Path) -> Policy:
    return policy if isinstance(policy, Policy) else Policy.load(policy)


class _engine:  # noqa: N801 - reads as a function
    """The engine of `db`; a bare connection is wrapped for the time being and left open."""

    def __init__(self, db: Any) -> None:
        self.wrapped = None if isinstance(db, DuckDB) else DuckDB.wrap(db)
        self.engine: Engine = self.wrapped or db

    def __enter__(self) -> Engine:
        return self.engine

    def __exit__(self, *_: object) -> None:
        if self.wrapped is not None:
            self.wrapped.close()
