"""Whether the exports are well: the last run of every policy in every place, for who looks in the morning."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from duckanon.engine import Warehouse
from duckanon.ledger import ReleaseAddress
from duckanon.ledger.history import wrapped
from duckanon.ledger.tables import Entry, LedgerTables

_GOOD = ("released", "unchanged")
_CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True)
class Status:
    """A policy in one place: its last run, its last two releases, and what is wrong, if anything is."""

    policy: str
    kind: str
    place: str
    last: Entry | None = None
    releases: tuple[Entry, ...] = ()  # the last, and the one before it
    age: timedelta | None = None  # since the last run that ended well
    problem: str | None = None

    @property
    def levels_changed(self) -> dict[str, list[int | None]]:
        """The levels that the last release has and the one before it had not: [then, now]."""
        if len(self.releases) < 2:
            return {}
        now, then = (json.loads(entry.levels or "{}") for entry in self.releases)
        return {name: [then.get(name), now.get(name)] for name in then | now if then.get(name) != now.get(name)}

    @property
    def policy_changed(self) -> bool:
        return len({entry.policy_hash for entry in self.releases}) > 1

    @property
    def warnings(self) -> list[str]:
        """Of the last run, and of the release that stands."""
        entries = {entry.id: entry for entry in (self.last, *self.releases[:1]) if entry is not None}
        return list(dict.fromkeys(said for entry in entries.values() for said in json.loads(entry.warnings or "[]")))

    def as_json(self) -> dict[str, Any]:
        last, release = self.last, self.releases[0] if self.releases else None
        return {
            "policy": self.policy,
            "kind": self.kind,
            "to": self.place,
            "problem": self.problem,
            "outcome": last.outcome if last else None,
            "finished": f"{last.finished_at.isoformat(sep=' ', timespec='seconds')} UTC" if last else None,
            "age_seconds": None if self.age is None else round(self.age.total_seconds()),
            "rows": release.rows_released if release else None,
            "levels": json.loads(release.levels) if release and release.levels else None,
            "levels_changed": self.levels_changed,
            "policy_changed": self.policy_changed,
            "message": last.message if last else None,
            "warnings": self.warnings,
        }


def status_of(policy: str, address: ReleaseAddress, ledger: Warehouse | None, longest: timedelta | None) -> Status:
    """A policy in the place that it is released to; None: there is no ledger."""
    tables = LedgerTables(ledger) if ledger else None
    entries = tables.entries(policy=policy) if tables and tables.exist else []
    here = [entry for entry in entries if _address(entry) == address]
    if not here:
        return Status(policy, address.kind, address.to, problem="missing: no run is recorded")
    return _status(here, longest)


def every_status(ledger: Warehouse, longest: timedelta | None) -> list[Status]:
    """Every policy of a ledger in every place that it has been released to."""
    tables, by_address = LedgerTables(ledger), dict[tuple[str, ReleaseAddress], list[Entry]]()
    for entry in tables.entries() if tables.exist else []:
        by_address.setdefault((entry.policy, _address(entry)), []).append(entry)
    return [_status(here, longest) for here in by_address.values()]


def _address(entry: Entry) -> ReleaseAddress:
    return ReleaseAddress(entry.target_kind, entry.target_place, entry.warehouse)


def _status(here: list[Entry], longest: timedelta | None) -> Status:
    """From the runs of one policy to one place, the last one first."""
    good = next((entry for entry in here if entry.outcome in _GOOD), None)
    age = datetime.now(UTC).replace(tzinfo=None) - good.finished_at if good else None
    problem = None
    if here[0].outcome not in _GOOD:
        problem = f"failed: {here[0].outcome}"
    elif age is not None and age < -_CLOCKS_DIFFER:
        problem = "dated in the future: nobody can tell how old it is"
    elif longest is not None and age is not None and age > longest:
        problem = "too old"
    releases = tuple(entry for entry in here if entry.outcome == "released")[:2]
    return Status(here[0].policy, here[0].target_kind, here[0].target_place, here[0], releases, age, problem)


def status_json(found: Iterable[Status]) -> dict[str, Any]:
    policies = [status.as_json() for status in found]
    return {"well": bool(policies) and all(p["problem"] is None for p in policies), "policies": policies}


def status_text(found: Iterable[Status]) -> str:
    """A line per policy and place, and below it what an operator should look at."""
    return "\n".join(line for status in found for line in _lines(status)) or "no run is recorded"


def _lines(status: Status) -> list[str]:
    said = ["well" if status.problem is None else f"NOT WELL, {status.problem}"]
    release = status.releases[0] if status.releases else None
    if status.age is not None:
        said.append(f"last good run {_told(status.age)} ago")
    if release is not None:
        said.append(f"{release.rows_released or 0:,} rows")
    changed = [f"{name} {then}→{now}" for name, (then, now) in status.levels_changed.items()]
    said += [f"levels changed: {', '.join(changed)}"] if changed else []
    said += ["policy changed"] if status.policy_changed else []
    below = [status.last.message] if status.last and status.last.message and status.problem else []
    below += [f"warning: {warning}" for warning in status.warnings]
    head = f"{status.policy} → {status.kind} {status.place}: {'; '.join(said)}"
    return [head, *(line for text in below for line in wrapped(" ".join(text.split())))]


def _told(age: timedelta) -> str:
    minutes = max(0, round(age.total_seconds() / 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes / 60:.0f} h" if minutes < 72 * 60 else f"{minutes / 1440:.0f} days"
