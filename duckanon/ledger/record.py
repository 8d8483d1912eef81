"""What one run writes into the ledger, from its beginning to its end."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from duckanon.census.counting import Census
from duckanon.census.hashes import RowHashes
from duckanon.census.source import BoundSource
from duckanon.engine import Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError, EngineError, Message, ReleaseError, discreet, outcome_of
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.rules import level_rule
from duckanon.ledger import FileLedger, Ledger, ReleaseAddress, open_ledger
from duckanon.ledger.following import Following
from duckanon.ledger.tables import ConstraintEntry, Entry
from duckanon.policy import Policy
from duckanon.policy.database import Database
from duckanon.policy.demands import weaker
from duckanon.release.fingerprints import Fingerprints, take_fingerprints
from duckanon.release.previous import GONE, Previous, Standing, edited, read_previous, unread
from duckanon.result import Result, finding_json, plain_figures
from duckanon.version import VERSION

_NAME_ONE = 'name a file for it: [ledger] database = "ledger.duckdb"'


class RunRecord:
    """Knows what the run is made from and what was released before, and writes down how it ends. A dry run leaves no
    trace."""

    def __init__(self, policy: Policy, warehouse: Warehouse, address: ReleaseAddress, dry_run: bool) -> None:
        self.policy, self.warehouse, self.dry_run = policy, warehouse, dry_run
        self.started, self.started_at = time.perf_counter(), _now()
        self.address = address
        self.ledger: Ledger = open_ledger(policy, warehouse)
        self.last, self.last_anywhere = self.ledger.last(policy, address)
        self.fingerprints: Fingerprints | None = None
        self.release_fingerprint: str | None = None
        self.shows: dict[str, Any] | None = None  # what the levels of the release show
        self.entry: Entry | None = None  # of the release

    @property
    def seconds(self) -> float:
        return round(time.perf_counter() - self.started, 4)

    @property
    def run(self) -> dict[str, str]:
        """Which run it is, for its result."""
        started = f"{self.started_at.isoformat(sep=' ', timespec='seconds')} UTC"
        return {"policy_hash": self.policy.hash, "version": VERSION, "started": started}

    def look_back(self, standing: Standing, source: BoundSource, scratch: Scratch, added_to: bool) -> Previous:
        """The release that stands, as far as this one is compared with it or added to it."""
        compared = self.policy.release.difference != "ignore" and self.policy.release.kind != "view"
        if not (compared or added_to):
            return Previous()
        if not standing.is_release:
            return GONE if self.last else self._elsewhere()
        known = self.last.release_fingerprint if self.last else None
        if known is not None and standing.fingerprint not in (None, known):
            return edited(added_to)
        rules = _read_json(self.last.shows) if self.last and self.last.shows else None
        return read_previous(self.policy, source, scratch, compared, added_to, rules)

    def _elsewhere(self) -> Previous:
        """Nothing was released here; if it was elsewhere, readers may have that."""
        last = self.last_anywhere
        if last is None:
            return Previous()
        return unread(f"the last release of this policy went to {last.target_kind} {last.target_place}")

    def must_be_kept(self) -> None:
        """Without a ledger nobody knows what the last release was made from."""
        if self.dry_run:
            raise ReleaseError("--if-changed: does not go with --dry-run")
        if self.policy.release.is_address:
            what = "a folder of the cluster's is not read back, so nobody knows whether it is as it was released"
            raise ReleaseError(f"--if-changed: {what}; run without it, or release a table")
        if not self.ledger.kept:
            raise ReleaseError(f"--if-changed: needs a ledger, and this run keeps none; {_NAME_ONE}")

    def last_node(self, census: Census, incremental: bool, standing: Standing) -> tuple[int, ...] | None:
        """The node of the last release in this place, if the policy's mode or an increment follows it; None: there is
        none. If a release of this policy stands there, the ledger must know it."""
        if self.policy.release.mode == "search" and not incremental:
            return None
        following = Following(self.policy, census, incremental, self.warehouse)
        if not self.ledger.kept:
            raise ReleaseError(f"{following.asked} needs a ledger, and this run keeps none; {_NAME_ONE}")
        if self.last is None and standing.is_release:
            raise following.stopped("the ledger does not know the release that is in the place")
        # Who keeps old releases keeps those that went elsewhere, too.
        last = self.last if incremental else self.last or self.last_anywhere
        return None if last is None else following.node(last)

    def asks_for_less(self) -> Iterator[str]:
        """What the last release of this policy, wherever it went, was asked for and this one is not."""
        last = self.last_anywhere
        if last is None or last.policy_text is None or last.policy_hash == self.policy.hash:
            return
        try:
            then = Policy.parse(last.policy_text, self.policy.folder)
        except DuckanonError:
            yield "the policy of the last release cannot be read by this version: nobody can tell if it asked for more"
            return
        less = "; ".join(weaker(self.policy, then))
        if less:
            yield f"the policy asks for less than at the last release: {less}"

    @property
    def takes_fingerprints(self) -> bool:
        return self.fingerprints is None and self.ledger.kept and not self.dry_run

    def take_fingerprints(self, source: BoundSource, hashes: RowHashes | None = None) -> None:
        """Of what the release is made from, once. Without hashes of its rows that takes a scan of its own: on the
        workbench, to hash the rows while they are counted costs more than reading them again."""
        if self.takes_fingerprints:
            self.fingerprints = take_fingerprints(self.policy, source, self.warehouse, hashes)

    def unchanged(self, standing: Standing) -> Result | None:
        """The last release in this place, if it would come out the same and is what stands, by its fingerprint."""
        last = self.last
        if last is None or not standing.is_release or standing.fingerprint is None:
            return None
        if last.release_fingerprint != standing.fingerprint:
            return None
        then = Fingerprints(last.policy_hash, last.hierarchy_hash, last.source_fingerprint)
        return _unchanged(self.policy, last) if then == self.fingerprints else None

    def levels_show(self, levels: dict[str, int] | None, census: Census) -> None:
        """Remember what the levels of the release show, for the next run to compare with."""
        if levels is None or not self.ledger.kept or self.dry_run:
            return
        self.shows = {h.column.name: _shown(h, levels[h.column.name], census.workbench) for h in census.hierarchies}

    # -- the end ----------------------------------------------------------------------------------

    def released(self, result: Result) -> None:
        """Inside the transaction of the release."""
        new = result.rows.get("new")
        self.entry = self._entry("released", result, None if new is None else f"incremental: {new:,} new rows")
        self.ledger.released(self.entry, _constraints(self.entry, result))

    def ended(self, result: Result) -> Result:
        """The transaction is over: the release stands, or there is none, or there was nothing to do."""
        if result.status == "released":
            return self._settled(result)
        reasons = "; ".join(map(discreet, result.reasons))
        self._end(self._entry(result.status, result, reasons or None), result)
        return result

    def _settled(self, result: Result) -> Result:
        """The release stands, whatever becomes of its entry."""
        assert self.entry is not None
        entry = replace(self.entry, finished_at=_now(), seconds=self.seconds)
        try:
            self.ledger.settled(entry, _constraints(entry, result))
        except (DuckanonError, OSError, KeyboardInterrupt) as error:
            why = error.message if isinstance(error, DuckanonError) else str(error) or "interrupted"
            warning = Message.of("the release stands, but the ledger could not be written: ", why)
            return replace(result, warnings=(*result.warnings, warning))
        return result

    def broken(self, error: BaseException) -> None:
        """The run did not come to its end."""
        outcome, message = outcome_of(error)
        self._end(self._entry(outcome, None, message), None)

    def _end(self, entry: Entry, result: Result | None) -> None:
        # That the ledger cannot be written must not hide why there is no release.
        with suppress(DuckanonError, OSError):
            if not self.dry_run:
                self.ledger.ended(entry, _constraints(entry, result))

    def _entry(self, outcome: str, result: Result | None, message: str | None) -> Entry:
        return replace(
            _entry(self.policy, self.address, outcome, message, self.seconds),
            **(_figures(result) if result else {}),
            **(_hashes(self.fingerprints) if self.fingerprints else {}),
            started_at=self.started_at,
            shows=json.dumps(self.shows, ensure_ascii=False) if outcome == "released" and self.shows else None,
            release_fingerprint=self.release_fingerprint if outcome == "released" else None,
        )


def _shown(hierarchy: Hierarchy, level: int, workbench: Workbench) -> dict[str, Any]:
    """In words, but not by example: a label is only for who may see the release."""
    listed = hierarchy.kind is None and 0 < level < hierarchy.height
    words = f"level {level} of {hierarchy.height} as listed" if listed else hierarchy.describe(level)
    return {"level": level, "says": words, "rule": level_rule(hierarchy, level, workbench)}


@contextmanager
def noted_if_it_cannot_start(policy: Policy, database: Database | None, dry_run: bool) -> Iterator[None]:
    """Around all that comes before a run: another run, or somebody who holds the database, is to be found in the
    ledger, too, where that is a file which can be written."""
    try:
        yield
    except BaseException as error:
        if policy.ledger is not None and policy.ledger.exists() and not dry_run:
            with suppress(DuckanonError, OSError):
                address = ReleaseAddress.of(policy, database)
                FileLedger(policy.ledger).ended(_entry(policy, address, *outcome_of(error), 0.0), ())
        raise


def _entry(policy: Policy, address: ReleaseAddress, outcome: str, message: str | None, seconds: float) -> Entry:
    """What is known of every run."""
    return Entry(
        id=str(uuid.uuid4()),
        finished_at=_now(),
        policy=policy.name,
        outcome=outcome,
        warehouse=address.warehouse,
        target_kind=address.kind,
        target_place=address.to,
        method=policy.search.method,
        seconds=seconds,
        policy_hash=policy.hash,
        version=VERSION,
        message=message,
        started_at=_now() - timedelta(seconds=seconds),
        policy_text=policy.text,
    )


def _figures(result: Result) -> dict[str, Any]:
    utility: dict[str, Any] = plain_figures(result.utility or {})
    known = {f"rows_{part}": result.rows.get(part) for part in ("source", "released", "suppressed")}
    known |= {name: utility.get(name) for name in ("ncp", "precision", "discernibility")}
    return known | {
        "classes": result.classes,
        "levels": json.dumps(result.levels, ensure_ascii=False) if result.levels else None,
        "warnings": json.dumps([*map(discreet, result.warnings)], ensure_ascii=False),
    }


def _hashes(taken: Fingerprints) -> dict[str, Any]:
    return {"hierarchy_hash": taken.hierarchies, "source_fingerprint": taken.source}


def _read_json(cell: str) -> dict[str, Any]:
    """What an entry of the ledger holds; the ledger is only a database, which somebody may have edited."""
    try:
        found = json.loads(cell)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise EngineError("the ledger has an entry that cannot be read: somebody has changed it")
    return found


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _constraints(entry: Entry, result: Result | None) -> list[ConstraintEntry]:
    told = [plain_figures(finding_json(finding)) for finding in result.constraints] if result else []
    return [
        ConstraintEntry(entry.id, c["name"], c["column"], c["value"], c["threshold"], c["measured"], c["holds"])
        for c in told
    ]


def _unchanged(policy: Policy, last: Entry) -> Result:
    """The last release as the result of a run that had nothing to do."""
    rows = {"source": last.rows_source, "released": last.rows_released, "suppressed": last.rows_suppressed}
    return Result(
        status="unchanged",
        name=policy.name,
        method=policy.search.method,
        levels=json.loads(last.levels) if last.levels else None,
        heights={},
        rows={name: count or 0 for name, count in rows.items()},
        classes=last.classes or 0,
        constraints=(),
        privacy=None,
        utility=None,
        path=(),
        release={"kind": policy.release.kind, "to": policy.release.to},
        since=f"{last.finished_at:%Y-%m-%d %H:%M:%S} UTC",
    )
