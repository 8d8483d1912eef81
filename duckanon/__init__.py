"""duckanon: a SQL-native anonymizer that runs inside the database."""

from __future__ import annotations

# ruff: noqa: E402 - whatever is loaded next, Ctrl-C has its answer
from duckanon.interrupts import starting

starting()

from collections.abc import Sequence
from contextlib import ExitStack as _ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duckanon.check import check as _check
from duckanon.engine.duckdb import DuckDB
from duckanon.errors import (
    BusyError,
    DuckanonError,
    EngineError,
    HierarchyError,
    PolicyError,
    ReleaseError,
)
from duckanon.history import as_frame as _as_frame
from duckanon.history import history as _history
from duckanon.ledger import Place as _Place
from duckanon.ledger import database_of as _database_of
from duckanon.ledger.book import noted_if_it_cannot_start as _noted_if_it_cannot_start
from duckanon.lock import one_at_a_time as _one_at_a_time
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
    "BusyError",
    "DuckanonError",
    "EngineError",
    "HierarchyError",
    "Policy",
    "PolicyError",
    "ReleaseError",
    "__version__",
    "check",
    "connect",
    "history",
    "metrics",
    "run",
]


def connect(database: str | Path | None = None, *, read_only: bool = False) -> DuckDB:
    """Open a DuckDB file that exists, or an empty database in memory. Use it in a `with` statement."""
    return DuckDB.open(Path(database) if database is not None else None, writable=not read_only)


def run(
    policy: Policy | str | Path,
    db: Any,
    *,
    replace: bool = False,
    dry_run: bool = False,
    if_changed: bool = False,
    incremental: bool = False,
    wait: float = 0,
) -> Result:
    """Anonymize: search, release and verify. `db` is what `connect` gives, or an open duckdb connection.

    Another run to the same place is waited for, at most `wait` seconds.
    """
    wanted = _policy(policy)
    with _engine(db) as engine, _ExitStack() as held:
        database = _database_of(engine)
        place = _Place.of(wanted, database)
        with _noted_if_it_cannot_start(wanted, database, dry_run):
            held.enter_context(_one_at_a_time(None if dry_run else place.key, wait))
        return _run(wanted, engine, replace=replace, dry_run=dry_run, if_changed=if_changed, incremental=incremental)


def check(policy: Policy | str | Path, db: Any, *, release: bool = False) -> Result:
    """Measure the source, or the existing release, against the policy; writes nothing."""
    with _engine(db) as engine:
        return _check(_policy(policy), engine, release=release)


def metrics(
    db: Any,
    source: str,
    *,
    qi: str | Sequence[str],
    sensitive: str | Sequence[str] = (),
    k: int = 5,
    entity: str | None = None,
) -> pandas.DataFrame:
    """Privacy metrics of a table, view or file: one row per metric, and per value where it belongs to one.

    `entity` names the column of the people, where one may have several rows: then these are counted.
    """
    asked = [qi] if isinstance(qi, str) else list(qi)
    columns = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    with _engine(db) as engine:
        return _measure(engine, source, asked, columns, k, entity).as_frame()


def history(db: Any, policy: Policy | str | None = None) -> pandas.DataFrame:
    """The ledger in `db`, newest run first, each with its constraints; `policy`: only this one's (or of this name)."""
    name = policy.name if isinstance(policy, Policy) else policy
    with _engine(db) as engine:
        return _as_frame(_history(engine, name))


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
