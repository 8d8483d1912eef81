"""What one run writes into the ledger, from its beginning to its end."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from duckanon.engine import Engine, Relation
from duckanon.errors import DuckanonError, Message, ReleaseError, discreet, said_of
from duckanon.ledger import EmptyLedger, Ledger, NoLedger, Place, database_of, open_ledger
from duckanon.ledger.fingerprints import Fingerprints, policy_hash, take_fingerprints
from duckanon.ledger.tables import ConstraintEntry, Entry
from duckanon.policy import Policy
from duckanon.release.targets import open_target
from duckanon.result import Result, finding_json, plain_figures
from duckanon.version import VERSION


class Book:
    """Knows what the run is made from, and writes down how it ends. A dry run leaves no trace."""

    def __init__(self, policy: Policy, engine: Engine, dry_run: bool) -> None:
        self.policy, self.engine, self.dry_run = policy, engine, dry_run
        self.started = time.perf_counter()
        self.place = Place.of(policy, database_of(engine))
        self.ledger: Ledger = NoLedger() if dry_run else open_ledger(policy, engine)
        self.fingerprints: Fingerprints | None = None
        self.entry: Entry | None = None  # of the release

    @property
    def seconds(self) -> float:
        return round(time.perf_counter() - self.started, 4)

    def must_be_kept(self) -> None:
        """Without a ledger nobody knows what the last release was made from."""
        if self.dry_run:
            raise ReleaseError("--if-changed: does not go with --dry-run")
        if not self.ledger.kept:
            remedy = 'name a file for it: [ledger] database = "ledger.duckdb"'
            raise ReleaseError(f"--if-changed: needs a ledger, and this run keeps none; {remedy}")

    def last_node(self, heights: dict[str, int], incremental: bool, stands: bool) -> tuple[int, ...] | None:
        """The node of the last release in this place, if the policy's mode or an increment follows it; None: there is
        none. `stands`: a release of this policy is in the place, so the ledger must know it."""
        mode = self.policy.release.mode
        if mode == "search" and not incremental:
            return None
        asked = "--incremental" if incremental else f"release.mode: {mode}"
        anew = "run without it" if incremental else 'release once with mode = "search"'
        known = self._read if self.dry_run else self.ledger
        if not known.kept:
            remedy = 'name a file for it: [ledger] database = "ledger.duckdb"'
            raise ReleaseError(f"{asked} needs a ledger, and this run keeps none; {remedy}")
        last = known.last(self.policy, self.place)
        if last is None and stands:
            raise ReleaseError(f"{asked}: the ledger does not know the release that is in the place; {anew}")
        if last is None:
            return None
        if last.levels is None:
            raise ReleaseError(f"{asked} follows the last release, and that has no levels; {anew}")
        otherwise = f"{asked}: the last release had other quasi-identifiers or levels; {anew}"
        return _node(json.loads(last.levels), heights, otherwise)

    @property
    def _read(self) -> Ledger:
        """The ledger for a dry run, which does not even make the file."""
        missing = self.policy.ledger is not None and not self.policy.ledger.exists()
        return EmptyLedger() if missing else open_ledger(self.policy, self.engine)

    def take(self, source: Relation) -> None:
        """Take the fingerprints of what the release is made from."""
        if self.ledger.kept:
            self.fingerprints = take_fingerprints(self.policy, source.table, self.engine)

    def unchanged(self) -> Result | None:
        """The last release in this place, if it still stands and would come out the same."""
        last = self.ledger.last(self.policy, self.place)
        if last is None:
            return None
        then = Fingerprints(last.policy_hash, last.hierarchy_hash, last.source_fingerprint)
        return _unchanged(self.policy, last) if then == self.fingerprints and self._stands(last) else None

    def _stands(self, last: Entry) -> bool:
        """Whether what is in the place is ours and is that very release: a run that was killed before it could write
        into the ledger may have left another."""
        policy = self.policy
        try:
            open_target(policy, self.engine, replace=False, dry_run=False)
        except ReleaseError:
            return False
        if self._in_warehouse:
            found = self.engine.find(policy.release.to)
            kind, mark = (found.kind, found.comment or "{}") if found else (None, "{}")
            return kind == policy.release.kind and json.loads(mark).get("made_from") == self._made_from
        path = Path(self.place.to)
        return path.exists() and path.stat().st_mtime <= last.finished_at.replace(tzinfo=UTC).timestamp()

    def signed(self, mark: str) -> str:
        """The mark of a relation says what it was made from; a file that goes out into the world does not."""
        known = {"made_from": self._made_from} if self._in_warehouse and self.fingerprints else {}
        return json.dumps(json.loads(mark) | known, ensure_ascii=False)

    @property
    def _in_warehouse(self) -> bool:
        return self.policy.release.kind in ("table", "view")

    @property
    def _made_from(self) -> str | None:
        return self.fingerprints.together if self.fingerprints else None

    # -- the end ----------------------------------------------------------------------------------

    def released(self, result: Result) -> None:
        """Inside the transaction of the release."""
        new = result.rows.get("new")
        self.entry = self._entry("released", result, None if new is None else f"incremental: {new:,} new rows")
        self.ledger.released(self.entry, _constraints(self.entry, result))

    def settled(self, result: Result) -> Result:
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

    def refused(self, result: Result) -> None:
        """There is no release, for the reasons that the result gives."""
        reasons = "; ".join(map(discreet, result.reasons))
        self._failed(self._entry(result.status, result, reasons or None), result)

    def broken(self, error: BaseException) -> None:
        """The run did not come to its end."""
        interrupted = isinstance(error, KeyboardInterrupt)
        message = None if interrupted else said_of(error)
        self._failed(self._entry("interrupted" if interrupted else "error", None, message), None)

    def _failed(self, entry: Entry, result: Result | None) -> None:
        with suppress(
            DuckanonError, OSError
        ):  # that the ledger cannot be written must not hide why there is no release
            self.ledger.failed(entry, _constraints(entry, result))

    def _entry(self, outcome: str, result: Result | None, message: str | None) -> Entry:
        taken = self.fingerprints
        rows: dict[str, int] = result.rows if result else {}
        utility: dict[str, Any] = plain_figures((result.utility if result else None) or {})
        return Entry(
            id=str(uuid.uuid4()),
            finished_at=_now(),
            policy=self.policy.name,
            outcome=outcome,
            warehouse=self.place.warehouse,
            target_kind=self.place.kind,
            target_place=self.place.to,
            method=self.policy.search.method,
            levels=json.dumps(result.levels, ensure_ascii=False) if result and result.levels else None,
            rows_source=rows.get("source"),
            rows_released=rows.get("released"),
            rows_suppressed=rows.get("suppressed"),
            classes=result.classes if result else None,
            ncp=utility.get("ncp"),
            precision=utility.get("precision"),
            discernibility=utility.get("discernibility"),
            seconds=self.seconds,
            policy_hash=taken.policy if taken else policy_hash(self.policy),
            hierarchy_hash=taken.hierarchies if taken else None,
            source_fingerprint=taken.source if taken else None,
            version=VERSION,
            message=message,
        )


def _node(levels: dict[str, int], heights: dict[str, int], otherwise: str) -> tuple[int, ...]:
    """The levels as a node, if the policy still has these columns and levels."""
    fits = levels.keys() == heights.keys() and all(level <= heights[name] for name, level in levels.items())
    if not fits:
        raise ReleaseError(otherwise)
    return tuple(levels[name] for name in heights)


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
