"""The ledger: where it lies, and when a run is written into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from duckanon.engine import Warehouse
from duckanon.engine.lock import locked
from duckanon.engine.opening import make_database, open_warehouse
from duckanon.errors import EngineError, Fault, PolicyError, ReleaseError
from duckanon.ledger.tables import SCHEMA, ConstraintEntry, Entry, LedgerTables
from duckanon.policy import Policy
from duckanon.policy.database import Database, shown_database
from duckanon.policy.schema import RELATIONS
from duckanon.query.expressions import sql
from duckanon.query.names import folded, split_name

Constraints = Sequence[ConstraintEntry]

_PATIENCE = 30.0  # seconds: other policies write into the same file, each for a moment


@dataclass(frozen=True)
class ReleaseAddress:
    """Where a release goes: a relation of a warehouse, a file by its full path, or an address."""

    kind: str
    to: str
    warehouse: str | None

    @classmethod
    def of(cls, policy: Policy, database: Database | None) -> ReleaseAddress:
        release, to = policy.release, policy.release.to
        if not (release.is_relation or release.is_address):
            to = shown_database(policy.folder / to)
        return cls(release.kind, to, None if database is None else shown_database(database))

    @property
    def in_warehouse(self) -> bool:
        return self.kind in RELATIONS

    @property
    def key(self) -> tuple[str, ...] | None:
        """What two runs must not write at the same time; None: a relation in memory, which only this process has."""
        if not self.in_warehouse:
            return (self.to,)
        return (self.to, self.warehouse) if self.warehouse else None


class LastReleases(NamedTuple):
    """The last good releases of a policy, as they were recorded: in a place, and wherever it went."""

    here: Entry | None = None
    anywhere: Entry | None = None


class Ledger(Protocol):
    """Told that a run has `released` inside its transaction, `settled` when the release stands, or that it `ended`
    without one. Only a release begins a ledger."""

    kept: bool

    def last(self, policy: Policy, address: ReleaseAddress) -> LastReleases:
        """Asked once, when a run begins. Tables that are no ledger of ours are an error."""

    def released(self, entry: Entry, constraints: Constraints) -> None: ...
    def settled(self, entry: Entry, constraints: Constraints) -> None: ...
    def ended(self, entry: Entry, constraints: Constraints) -> None: ...


def open_ledger(policy: Policy, warehouse: Warehouse) -> Ledger:
    """The policy's ledger, which must be possible before any work is done."""
    in_warehouse = policy.release.is_relation and warehouse.persistent and warehouse.keeps_ledger
    if policy.ledger is None or (in_warehouse and is_warehouse(policy.ledger, warehouse)):
        return WarehouseLedger(policy, warehouse) if in_warehouse and _has_room(warehouse) else NoLedger()
    if is_warehouse(policy.ledger, warehouse):
        what = f"is the source's database, which an export to {policy.release.kind} only reads"
        raise PolicyError([Fault("ledger.database", what, "name a file of its own")], policy.file)
    if ReleaseAddress.of(policy, None).to == shown_database(policy.ledger):
        raise ReleaseError(f"release.to: {policy.ledger} is the ledger; choose another name")
    return FileLedger(policy.ledger)


class NoLedger:
    """An export from a database that is only read, with no file named for a ledger."""

    kept = False

    def last(self, policy: Policy, address: ReleaseAddress) -> LastReleases:
        return LastReleases()

    def released(self, entry: Entry, constraints: Constraints) -> None:
        pass

    def settled(self, entry: Entry, constraints: Constraints) -> None:
        pass

    def ended(self, entry: Entry, constraints: Constraints) -> None:
        pass


class WarehouseLedger:
    """In the warehouse itself: a release and its entry are one transaction."""

    kept = True

    def __init__(self, policy: Policy, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        parts = [folded(part) for part in split_name(policy.release.to) or []]
        if parts[-2:] in ([SCHEMA, "releases"], [SCHEMA, "release_constraints"]):
            raise ReleaseError(f"release.to: {policy.release.to} is the ledger; choose another name")

    def last(self, policy: Policy, address: ReleaseAddress) -> LastReleases:
        return _last_releases(LedgerTables(self.warehouse), policy, address)

    def released(self, entry: Entry, constraints: Constraints) -> None:
        LedgerTables(self.warehouse).add(entry, constraints)

    def settled(self, entry: Entry, constraints: Constraints) -> None:
        pass

    def ended(self, entry: Entry, constraints: Constraints) -> None:
        tables = LedgerTables(self.warehouse)
        if tables.exist:
            with self.warehouse.transaction():
                tables.add(entry, constraints)


class FileLedger:
    """In a file of its own, opened only for the moment of reading or writing."""

    kept = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._must_be_possible()

    def last(self, policy: Policy, address: ReleaseAddress) -> LastReleases:
        if not self.path.exists():
            return LastReleases()
        with self._tables() as tables:
            return _last_releases(tables, policy, address)

    def released(self, entry: Entry, constraints: Constraints) -> None:
        pass

    def settled(self, entry: Entry, constraints: Constraints) -> None:
        with self._tables() as tables:
            tables.add(entry, constraints)

    def ended(self, entry: Entry, constraints: Constraints) -> None:
        if self.path.exists():
            with self._tables() as tables:
                if tables.exist:
                    tables.add(entry, constraints)

    def _must_be_possible(self) -> None:
        if not self.path.parent.is_dir():
            raise EngineError(f"ledger.database: there is no folder {self.path.parent}; make it first")
        if folded(self.path.stem) == SCHEMA:
            what = "in a database of that name the ledger's would be ambiguous"
            raise EngineError(f"ledger.database: {self.path}: {what}; rename the file")

    @contextmanager
    def _tables(self) -> Iterator[LedgerTables]:
        with locked(
            f"{self.path}: another run writes to this ledger", ("ledger", shown_database(self.path)), _PATIENCE
        ):
            if not self.path.exists():
                make_database(self.path)
            with open_warehouse(self.path, writable=True, wait=_PATIENCE) as warehouse:
                warehouse.must_have_room_for_our_schema()
                warehouse.execute(sql("BEGIN"))  # what does not come to its end is gone when the file is closed
                yield LedgerTables(warehouse)
                warehouse.execute(sql("COMMIT"))


def _last_releases(tables: LedgerTables, policy: Policy, address: ReleaseAddress) -> LastReleases:
    wanted = {"policy": policy.name, "outcome": "released"}
    anywhere = tables.entries(1, **wanted) if tables.exist else []
    if not anywhere:
        return LastReleases()
    place: dict[str, str | None] = {"target_kind": address.kind, "target_place": address.to}
    place |= {"warehouse": address.warehouse} if address.in_warehouse else {}
    here = tables.entries(1, **wanted, **place)
    return LastReleases(here[0] if here else None, anywhere[0])


def is_warehouse(path: Path, warehouse: Warehouse) -> bool:
    database = warehouse.database
    return database is not None and shown_database(database) == shown_database(path)


def _has_room(warehouse: Warehouse) -> bool:
    """Not in a database called duckanon: there the names of the ledger would be ambiguous."""
    try:
        warehouse.must_have_room_for_our_schema()
    except EngineError:
        return False
    return True
