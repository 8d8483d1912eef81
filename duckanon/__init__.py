"""duckanon: a SQL-native anonymizer that runs inside the database.

Importing it loads next to nothing and changes nothing in the program that does; each part is loaded when it is used.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from duckanon.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas

    from duckanon.engine import Warehouse
    from duckanon.errors import (
        BusyError,
        DuckanonError,
        EngineError,
        HierarchyError,
        InfeasibleError,
        PolicyError,
        ReleaseError,
        SourceError,
        UsageError,
    )
    from duckanon.models import Finding
    from duckanon.policy import Policy
    from duckanon.proposal.proposal import Proposal
    from duckanon.result import Result

__version__ = VERSION

__all__ = [
    "BusyError",
    "DuckanonError",
    "EngineError",
    "Finding",
    "HierarchyError",
    "InfeasibleError",
    "Policy",
    "PolicyError",
    "ReleaseError",
    "Result",
    "SourceError",
    "UsageError",
    "__version__",
    "check",
    "compare",
    "connect",
    "history",
    "metrics",
    "propose",
    "run",
]

# Where the classes are that are no errors.
_HOMES = {"Policy": "duckanon.policy", "Result": "duckanon.result", "Finding": "duckanon.models"}


def connect(database: str | Path | None = None, *, read_only: bool = False) -> Warehouse:
    """Open a DuckDB file that exists, a server by its address, or an empty database in memory. Use it in a `with`
    statement."""
    from duckanon.engine.opening import open_warehouse
    from duckanon.policy.database import database_of

    return open_warehouse(None if database is None else database_of(str(database)), writable=not read_only)


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
    """Anonymize: search, release and verify. `db` is what `connect` gives, or an open DuckDB connection.

    Another run to the same place is waited for, at most `wait` seconds. How the run goes stands in the log `duckanon`.
    """
    from contextlib import ExitStack

    from duckanon.engine.lock import one_at_a_time
    from duckanon.engine.opening import warehouse_of
    from duckanon.ledger import ReleaseAddress
    from duckanon.ledger.record import noted_if_it_cannot_start
    from duckanon.run import RunOptions, run
    from duckanon.watch import Logged

    wanted = _policy(policy)
    with Logged(wanted.name) as watch, warehouse_of(db) as warehouse, ExitStack() as held:
        database = warehouse.database
        address = ReleaseAddress.of(wanted, database)
        with noted_if_it_cannot_start(wanted, database, dry_run):
            held.enter_context(one_at_a_time(None if dry_run else address.key, wait))
            held.enter_context(warehouse.one_at_a_time(None if dry_run else address.key, wait))
        return run(wanted, warehouse, address, RunOptions(replace, dry_run, if_changed, incremental), watch)


def check(
    policy: Policy | str | Path, db: Any, *, release: bool = False, levels: Mapping[str, int] | str | None = None
) -> Result:
    """Measure the source, or the existing release, against the policy; writes nothing. `levels`: the source at this
    node of the lattice, as if it were released; columns that are not named are as fine as they may be."""
    from duckanon.audit.check import check
    from duckanon.audit.node import check_node
    from duckanon.engine.opening import warehouse_of
    from duckanon.errors import Fault, UsageError

    if release and levels is not None:
        raise UsageError([Fault("levels", "have no meaning with release=True", "it is at the levels that it is at")])
    with warehouse_of(db) as warehouse:
        if levels is not None:
            return check_node(_policy(policy), warehouse, levels)
        return check(_policy(policy), warehouse, release=release)


def compare(
    policy: Policy | str | Path,
    db: Any,
    *,
    k: Sequence[int] = (),
    suppression: Sequence[float | int] = (),
    method: Sequence[str] = (),
) -> pandas.DataFrame:
    """Other k, budgets and methods side by side, from one census: a row per combination; writes nothing.

    None of k or suppression: the policy's own; none of method: every one that it can use.
    """
    from duckanon.comparison import Comparing, Grid
    from duckanon.comparison.told import as_frame
    from duckanon.engine.opening import warehouse_of

    comparing = Comparing(_policy(policy), Grid(list(k), list(suppression), list(method)))
    with warehouse_of(db) as warehouse:
        return as_frame(comparing.run(warehouse))


def propose(
    db: Any,
    source: str,
    *,
    k: int = 5,
    qi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    identifiers: str | Sequence[str] = (),
    to: str | Path | None = None,
) -> Proposal:
    """A first policy for a table, view, query or file. Nothing is written until the proposal is asked to, to the file
    `to`."""
    from pathlib import Path

    from duckanon.engine.opening import warehouse_of
    from duckanon.proposal.proposal import Given, propose
    from duckanon.proposal.sources import source_named

    given = Given(*([names] if isinstance(names, str) else names for names in (qi, sensitive, identifiers)))
    with warehouse_of(db) as warehouse:
        wanted = source_named(source, warehouse.database, in_memory=True)
        return propose(wanted, warehouse, k, given, None if to is None else Path(to))


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
    from duckanon.analysts.metrics import measure
    from duckanon.engine.opening import warehouse_of

    asked = [qi] if isinstance(qi, str) else list(qi)
    columns = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    with warehouse_of(db) as warehouse:
        return measure(warehouse, source, asked, columns, k, entity).as_frame()


def history(db: Any, policy: Policy | str | Path | None = None) -> pandas.DataFrame:
    """The ledger in `db`, newest run first, each with its constraints; `policy`: only this one's, or of this name.

    A name has letters, digits and _ only: any other text is the path of a policy file.
    """
    from duckanon.engine.opening import warehouse_of
    from duckanon.ledger.history import as_frame, history

    if not isinstance(policy, str) or not re.fullmatch(r"\w+", policy, re.ASCII):
        policy = policy if policy is None else _policy(policy).name
    with warehouse_of(db) as warehouse:
        return as_frame(history(warehouse, policy))


def _policy(policy: Policy | str | Path) -> Policy:
    from duckanon.policy import Policy

    return policy if isinstance(policy, Policy) else Policy.load(policy)


class _Package(ModuleType):
    """Classes are loaded when they are asked for; and `duckanon.run` stays the function, whoever loads the module of
    that name."""

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'duckanon' has no attribute '{name}'")
        return getattr(import_module(_HOMES.get(name, "duckanon.errors")), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
