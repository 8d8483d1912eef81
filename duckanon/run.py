"""The story of a run on one page: count, search, release, verify."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import cached_property
from typing import Any

from duckanon.audit.people import people_of_release
from duckanon.audit.release import audit_release
from duckanon.census.counting import take_census
from duckanon.census.pseudonyms import policy_key
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError
from duckanon.ledger.record import RunRecord
from duckanon.outcome import Outcome, logged
from duckanon.policy import Policy
from duckanon.recoding import Found, find_recoding
from duckanon.recoding.explain import GENERALIZED, why
from duckanon.recoding.increment import find_increment, must_be_addable
from duckanon.release.difference import difference
from duckanon.release.existing import exists, is_ours
from duckanon.release.previous import GONE, Previous, edited, look_back
from duckanon.release.targets import mark_of, open_target
from duckanon.result import Result
from duckanon.search import feasibility
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from duckanon.version import VERSION
from duckanon.watch import Watch

_LAST_STEP = {"released": "settled", "unchanged": "unchanged", "holds": "holds"}


def run(
    policy: Policy,
    warehouse: Warehouse,
    *,
    replace: bool = False,
    dry_run: bool = False,
    if_changed: bool = False,
    incremental: bool = False,
    watch: Watch | None = None,
) -> Result:
    """Search, release, and verify the release by an independent query.

    The whole run is one transaction over one view of the data: whatever ends it early leaves nothing behind but a
    line in the ledger.
    """
    watch = watch or Watch()
    job = Run(policy, warehouse, RunRecord(policy, warehouse, dry_run), watch, incremental)
    if if_changed:
        job.record.must_be_kept()
    if incremental:
        must_be_addable(policy, replace)
    watch.step("started", kind=policy.release.kind, to=policy.release.to, version=VERSION)
    try:
        result = job.release(replace, dry_run, if_changed)
    except BaseException as error:
        job.record.broken(error)
        raise
    result = changed(result, run=job.record.run)
    if result.status == "released":
        result = job.record.settled(result)
    else:
        job.record.ended(result)
    watch.step(_LAST_STEP.get(result.status, "failed"), **logged(result), seconds=job.record.seconds)
    return result


class _Undo(Exception):
    """Ends the transaction of a run that has no release to show."""


@dataclass
class Run:
    """The state of one run: what is known so far, and how long each part took."""

    policy: Policy
    warehouse: Warehouse
    record: RunRecord
    watch: Watch
    incremental: bool = False
    key: bytes | None = field(default=None, repr=False)  # of the pseudonyms, if there are any
    mark: str = ""
    stands: bool = False  # whether a release of this policy is in the place
    previous: Previous = field(default_factory=Previous)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scratch = Scratch(self.warehouse.workbench)

    def release(self, replace: bool, dry_run: bool, if_changed: bool) -> Result:
        """Make the release and let it take its place, with its entry in the ledger."""
        self.target = open_target(self.policy, self.warehouse, replace, dry_run)
        self.stands = exists(self.policy, self.warehouse) and (not replace or is_ours(self.policy, self.warehouse))
        before = Scratch(self.warehouse.workbench)
        try:
            self.previous = self.look_back(before)
            before.clear(keep=("previous", "previous_rows"))
            standing = self.standing if if_changed and self.stands else None
            self.key = policy_key(self.policy)
            with self.warehouse.transaction():
                result = self.execute(dry_run, standing)
                self.scratch.clear()
                if result.status != "released":
                    raise _Undo
                self.record.released(result)
            self.target.settle(self.mark)
        except _Undo:
            self.target.abandon()
        except BaseException:
            self.target.abandon()
            raise
        finally:
            with suppress(DuckanonError):  # whatever went wrong before is the error to see
                before.clear()
        return result

    @cached_property
    def standing(self) -> str | None:
        """The fingerprint of what stands in the place, which is read whole for it: once."""
        return self.target.standing()

    def look_back(self, scratch: Scratch) -> Previous:
        """The release that stands, as far as this one is compared with it or added to it."""
        compared = self.policy.release.difference != "ignore" and self.policy.release.kind != "view"
        if not (compared or self.incremental):
            return Previous()
        if not self.stands:
            return GONE if self.record.last else self.record.elsewhere()
        if self.record.is_another(self.standing):
            return edited(self.incremental)
        rules = self.record.last_rules()
        return look_back(self.policy, self.warehouse, scratch, compared, self.incremental, rules)

    def execute(self, dry_run: bool, standing: str | None) -> Result:
        policy, scratch = self.policy, self.scratch
        with self.timed("source", f"reading {policy.name}"):
            source = bind_source(policy, self.warehouse, scratch, self.key)
            self.target.must_not_be(source)
            self.record.take(source.relation)
        if unchanged := self.record.unchanged(standing):
            return unchanged
        warnings = tuple(self.record.asks_for_less())
        with self.timed("census", f"counting {policy.name}") as facts:
            census = take_census(policy, source, scratch)
            facts["rows"] = census.rows
        problem = Problem.of(policy, census)
        reasons = feasibility.impossible(problem)
        if reasons:
            return Outcome(policy, census, None, warnings, self.seconds).infeasible(tuple(reasons))
        with self.timed("search", "searching"):
            last = self.record.last_node(census, self.incremental, self.stands)
            found = self.find(problem, last, source)
        outcome = Outcome(policy, census, found, warnings, self.seconds)
        if found.recoding is None:
            fixed = last is not None and policy.release.mode == "fixed"
            where = "at the levels of the last release" if fixed else GENERALIZED
            return outcome.infeasible(found.reasons or tuple(why(found, problem, where)), where)
        with self.timed("release", "releasing"):
            self.mark = mark_of(policy, VERSION, found.recoding.levels)
            self.record.levels_show(found.recoding.levels, census)
            query = self.target.query(found.recoding, source, self.mark, scratch)
            released = self.target.build(query, self.mark, scratch)
        with self.timed("verify", "verifying") as facts:
            people = people_of_release(found.recoding, source, released, scratch)
            audited = audit_release(policy, released, census, people, scratch)
            facts |= {"rows": audited.rows, "classes": audited.classes, "holds": audited.holds}
            levels = found.recoding.levels
            told_apart = difference(policy, self.previous, released, levels, census, source, scratch)
            self.record.release_fingerprint = self.target.fingerprint(released) if self.record.ledger.kept else None
        return outcome.verified(found.recoding, audited, dry_run, told_apart)

    def find(self, problem: Problem, last: Node | None, source: BoundSource) -> Found:
        """A recoding of all rows or, to be added to the last release, of those that are new."""
        measurer = Measurer(problem)
        if not self.incremental or last is None:
            return find_recoding(measurer, self.seen, last)
        return find_increment(measurer, last, source, self.previous.rows)

    def seen(self, node: Node, failing_rows: int) -> None:
        named = zip((q.column for q in self.policy.quasi_identifiers), node, strict=True)
        levels = ", ".join(f"{name} {level}" for name, level in named)
        self.watch.say(f"searching: {levels}: {failing_rows:,} rows fail")

    @contextmanager
    def timed(self, part: str, message: str) -> Iterator[dict[str, Any]]:
        """Times a part of the run; what is put into the dictionary goes into the log with it."""
        self.watch.say(message)
        start, facts = time.perf_counter(), dict[str, Any]()
        yield facts
        self.seconds[part] = round(time.perf_counter() - start, 4)
        self.watch.step(part, seconds=self.seconds[part], **facts)
