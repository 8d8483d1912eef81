"""The story of a run on one page: bind the source, look back, count, search, release, verify."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial
from typing import Any

from duckanon.audit.people import people_of_release
from duckanon.audit.release import audit_release
from duckanon.audit.shown import count_rows
from duckanon.census.counting import take_census
from duckanon.census.pseudonyms import policy_key
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError
from duckanon.ledger import ReleaseAddress
from duckanon.ledger.record import RunRecord
from duckanon.outcome import Outcome, logged
from duckanon.policy import Policy
from duckanon.recoding import Found, find_recoding
from duckanon.recoding.explain import why_none
from duckanon.release.difference import difference
from duckanon.release.previous import Previous, Standing
from duckanon.release.targets import mark_of, open_target
from duckanon.result import Result
from duckanon.search import feasibility
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from duckanon.search.progress import Progress
from duckanon.version import VERSION
from duckanon.watch import Stopwatch, Watch

_LAST_STEP = {"released": "settled", "unchanged": "unchanged", "holds": "holds"}


@dataclass(frozen=True)
class RunOptions:
    """What is asked of this run and not of the policy."""

    replace: bool = False
    dry_run: bool = False
    if_changed: bool = False
    incremental: bool = False
    closes: bool = False  # the session ends with the run


def run(
    policy: Policy, warehouse: Warehouse, address: ReleaseAddress, options: RunOptions, watch: Watch | None = None
) -> Result:
    """Search, release to the address, and verify the release by an independent query.

    The whole run is one transaction over one view of the data: whatever ends it early leaves nothing behind but a
    line in the ledger.
    """
    watch = watch or Watch()
    record = RunRecord(policy, warehouse, address, options.dry_run)
    if options.if_changed:
        record.must_be_kept()
    if options.incremental:
        from duckanon.recoding.increment import must_be_addable

        must_be_addable(policy, options.replace)
    watch.step("started", kind=policy.release.kind, to=policy.release.to, version=VERSION)
    try:
        result = Run(policy, warehouse, record, options, watch).release()
    except BaseException as error:
        record.broken(error)
        raise
    result = record.ended(changed(result, run=record.run))
    watch.step(_LAST_STEP.get(result.status, "failed"), **logged(result), seconds=record.seconds)
    return result


class _Undo(Exception):
    """Ends the transaction of a run that has no release to show."""


class Run:
    """The state of one run: what is known so far, and how long each part took."""

    def __init__(
        self, policy: Policy, warehouse: Warehouse, record: RunRecord, options: RunOptions, watch: Watch
    ) -> None:
        self.policy, self.warehouse, self.record, self.options = policy, warehouse, record, options
        self.watch = Stopwatch(watch)
        self.scratch, self.there = Scratch(warehouse.workbench), Scratch(warehouse)
        self.previous = Previous()
        self.mark = ""

    def release(self) -> Result:
        """Make the release and let it take its place, with its entry in the ledger."""
        replace, dry_run = self.options.replace, self.options.dry_run
        self.target = open_target(self.policy, self.warehouse, replace, dry_run)
        self.standing = Standing(self.policy, self.warehouse, replace)
        outer = Scratch(self.warehouse.workbench)  # what is read before the transaction, and outlives it
        try:
            with self.watch.timed("source", f"reading {self.policy.name}", more=True):
                source = bind_source(self.policy, self.warehouse, outer, policy_key(self.policy))
                self.target.must_not_be(source)
            self.previous = self.record.look_back(self.standing, source, outer, self.options.incremental)
            with self.warehouse.transaction():
                result = self.execute(source)
                self.there.clear()
                self._clear(self.scratch)
                if result.status != "released":
                    raise _Undo
                self.target.let_in(self.mark)
                self.record.released(result)
            self.target.settle(self.mark)
        except _Undo:
            self.target.abandon()
        except BaseException:
            self.target.abandon()
            if not self.warehouse.transactional:
                self._forget(self.there, self.scratch)
            raise
        finally:
            self._forget(outer)
        return result

    def _clear(self, made: Scratch) -> None:
        if self.options.closes:
            made.leave(self.warehouse.workbench)
        made.clear()

    def _forget(self, *made: Scratch) -> None:
        """What no transaction undoes."""
        for scratch in made:
            with suppress(DuckanonError):  # whatever went wrong before is the error to see
                self._clear(scratch)

    def execute(self, source: BoundSource) -> Result:
        policy, scratch, timed = self.policy, self.scratch, self.watch.timed
        with timed("source", f"reading {policy.name}"):
            source.must_be_as_bound(policy)
            if self.options.if_changed or not self.warehouse.transactional:
                # Taken before the source is counted: should it change in between, the next run will see that it did.
                self.record.take_fingerprints(source)
        if self.options.if_changed and (unchanged := self.record.unchanged(self.standing)):
            return unchanged
        warnings = tuple(self.record.asks_for_less())
        with timed("census", f"counting {policy.name}") as facts:
            told = partial(self.counting, facts=facts)
            census = take_census(
                policy, source, scratch, told, self.options.incremental, hashed=self.record.takes_fingerprints
            )
            self.record.take_fingerprints(source, census.hashes)
            facts["rows"] = census.rows
        problem = Problem.of(policy, census)
        if reasons := feasibility.impossible(problem):
            return Outcome(policy, census, None, warnings, self.watch.seconds).infeasible(tuple(reasons))
        with timed("search", "searching"):
            last = self.record.last_node(census, self.options.incremental, self.standing)
            found = self.find(problem, last, source)
        outcome = Outcome(policy, census, found, warnings, self.watch.seconds)
        if found.recoding is None:
            return outcome.infeasible(*why_none(found, problem, last))
        with timed("release", "releasing"):
            self.mark = mark_of(policy, VERSION, found.recoding.levels)
            self.record.levels_show(found.recoding.levels, census)
            query = self.target.query(found.recoding, source, self.mark, scratch)
            with self.warehouse.meanwhile(lambda: outcome.utility):
                released = self.target.build(query, self.mark, scratch)
        with timed("verify", "verifying") as facts:
            home = self.target.home
            there = scratch if home is scratch.engine else self.there
            shown = count_rows(released, census, there, hashed=self.record.ledger.kept)
            people = people_of_release(found.recoding, source, shown.counts, there)
            audited = audit_release(policy, shown, census, people, found.recoding.node)
            facts |= {"rows": audited.rows, "classes": audited.classes, "holds": audited.holds}
            levels = found.recoding.levels
            told_apart = difference(policy, self.previous, released, levels, census, source, home, scratch)
            if self.record.ledger.kept:
                self.record.release_fingerprint = self.target.fingerprint(released, shown.counts, shown.engine)
        return outcome.verified(found.recoding, audited, self.options.dry_run, told_apart)

    def find(self, problem: Problem, last: Node | None, source: BoundSource) -> Found:
        """A recoding of all rows or, to be added to the last release, of those that are new."""
        measurer = Measurer(problem)
        if not self.options.incremental or last is None:
            return find_recoding(measurer, self.seen, last)
        from duckanon.recoding.increment import find_increment

        return find_increment(measurer, last, source, self.previous.rows)

    def counting(self, counts: int, more: bool = False, *, facts: dict[str, Any]) -> None:
        facts["counts"] = counts
        self.watch.say(f"counting {self.policy.name}: {counts:,} counts")

    def seen(self, node: Node, failing_rows: int, progress: Progress | None = None) -> None:
        named = zip((q.column for q in self.policy.quasi_identifiers), node, strict=True)
        levels = ", ".join(f"{name} {level}" for name, level in named)
        self.watch.say(f"searching: {levels}: {failing_rows:,} rows fail", progress)
