"""The story of a run on one page: count, search, release, verify."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import Any

from sqlglot import exp

from duckanon.audit import Audit, People
from duckanon.audit.people import people_of
from duckanon.audit.release import audit_release
from duckanon.census.counting import Census, take_census
from duckanon.census.people import people_told
from duckanon.census.pseudonyms import policy_key
from duckanon.census.source import BoundSource, bind_source, define_source, must_be_there
from duckanon.engine import Engine, Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError, Message, discreet
from duckanon.ledger.book import Book
from duckanon.policy import Policy
from duckanon.recoding import Found, Recoding, find_recoding
from duckanon.recoding.explain import GENERALIZED, hollow, risk_before, why
from duckanon.recoding.increment import find_increment, must_be_addable
from duckanon.recoding.rows import AS_THEY_ARE, Dictionaries, Labels
from duckanon.release.difference import difference
from duckanon.release.existing import exists, is_ours
from duckanon.release.previous import GONE, Previous, look_back
from duckanon.release.targets import FileTarget, RelationTarget, mark_of, open_target
from duckanon.result import Result, step_json
from duckanon.search import feasibility
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from duckanon.version import VERSION
from duckanon.watch import Watch

_ONCE = '; if that is what you want, release once with difference = "warn"'
_LAST_STEP = {"released": "settled", "unchanged": "unchanged", "holds": "holds"}


def run(
    policy: Policy,
    engine: Engine,
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
    job = Run(policy, engine, Book(policy, engine, dry_run), watch, incremental)
    if if_changed:
        job.book.must_be_kept()
    if incremental:
        must_be_addable(policy, replace)
    watch.step("started", kind=policy.release.kind, to=policy.release.to, version=VERSION)
    try:
        result = job.release(replace, dry_run, if_changed)
    except BaseException as error:
        job.book.broken(error)
        raise
    result = changed(result, run=job.book.run)
    if result.status == "released":
        result = job.book.settled(result)
    else:
        job.book.ended(result)
    watch.step(_LAST_STEP.get(result.status, "failed"), **_told(result), seconds=job.book.seconds)
    return result


class _Undo(Exception):
    """Ends the transaction of a run that has no release to show."""


@dataclass
class Run:
    """The state of one run: what is known so far, and how long each part took."""

    policy: Policy
    engine: Engine
    book: Book
    watch: Watch
    incremental: bool = False
    key: bytes | None = field(default=None, repr=False)  # of the pseudonyms, if there are any
    mark: str = ""
    stands: bool = False  # whether a release of this policy is in the place
    previous: Previous = field(default_factory=Previous)
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scratch = Scratch(self.engine)

    def release(self, replace: bool, dry_run: bool, if_changed: bool) -> Result:
        """Make the release and let it take its place, with its entry in the ledger."""
        must_be_there(self.policy, self.engine)
        self.target = open_target(self.policy, self.engine, replace, dry_run)
        self.stands = exists(self.policy, self.engine) and (not replace or is_ours(self.policy, self.engine))
        before = Scratch(self.engine)
        try:
            self.previous = self.look_back(before)
            before.clear(keep=("previous", "previous_rows"))
            standing = self.target.standing() if if_changed and self.stands else None
            self.key = policy_key(self.policy)
            with self.engine.transaction():
                result = self.execute(dry_run, standing)
                self.scratch.clear()
                if result.status != "released":
                    raise _Undo
                self.book.released(result)
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

    def look_back(self, scratch: Scratch) -> Previous:
        """The release that stands, as far as this one is compared with it or added to it."""
        compared = self.policy.release.difference != "ignore" and self.policy.release.kind != "view"
        if self.stands and (compared or self.incremental):
            return look_back(self.policy, self.engine, scratch, compared, self.incremental)
        return GONE if compared and not self.stands and self.book.last is not None else Previous()

    def execute(self, dry_run: bool, standing: str | None) -> Result:
        policy = self.policy
        with self.timed("source", f"reading {policy.name}"):
            source = bind_source(policy, self.scratch, self.key)
            self.target.must_not_be(source)
            self.book.take(source.relation, self.engine)
        if unchanged := self.book.unchanged(standing):
            return unchanged
        self.warnings = tuple(self.book.asks_for_less())
        with self.timed("census", f"counting {policy.name}") as facts:
            census = take_census(policy, source, self.scratch)
            facts["rows"] = census.rows
        problem = Problem.of(policy, census)
        reasons = feasibility.impossible(problem)
        if reasons:
            return self.infeasible(census, None, tuple(reasons))
        with self.timed("search", "searching"):
            last = self.last_node(census)
            found = self.find(problem, last, source)
        recoding = found.recoding
        if recoding is None:
            fixed = last is not None and policy.release.mode == "fixed"
            where = "at the levels of the last release" if fixed else GENERALIZED
            told = found.reasons or tuple(why(found, problem, where))
            return self.infeasible(census, found, told, where)
        with self.timed("release", "releasing"):
            self.mark = mark_of(policy, VERSION, recoding.levels)
            self.book.levels_show(recoding.levels, census)
            query = self.release_query(recoding, source)
            released = self.target.build(query, self.mark, self.scratch)
        with self.timed("verify", "verifying") as facts:
            people = self.people(recoding, source, released)
            audited = audit_release(policy, released, census, people, self.scratch)
            facts |= {"rows": audited.rows, "classes": audited.classes, "holds": audited.holds}
            told_apart = self.difference(released, census, source)
            self.book.release_fingerprint = self.target.fingerprint(released) if self.book.ledger.kept else None
        return self.finished(census, found, recoding, audited, dry_run, told_apart)

    def find(self, problem: Problem, last: Node | None, source: BoundSource) -> Found:
        """A recoding of all rows or, to be added to the last release, of those that are new."""
        measurer = Measurer(problem)
        if not self.incremental or last is None:
            return find_recoding(measurer, self.seen, last)
        return find_increment(measurer, last, source, self.previous.rows)

    def people(self, recoding: Recoding, source: BoundSource, released: Relation) -> People | None:
        """Whose the released rows are, where people are counted."""
        if source.entity is None:
            return None
        assert recoding.levels is not None  # the policy has refused methods without
        return people_of(recoding.shown, tuple(recoding.levels.values()), source, released, self.scratch)

    def difference(self, released: Relation, census: Census, source: BoundSource) -> tuple[str, ...]:
        """What this release and the one that stands in its place tell together, and what nobody can tell of that."""
        told = difference(self.policy, self.previous, released, census, source, self.scratch)
        return tuple(Message.of("release.difference: ", said) for said in told)

    def last_node(self, census: Census) -> Node | None:
        """The node of the last release, where the policy's mode or an increment follows it."""
        return self.book.last_node(census, self.incremental, self.stands)

    def seen(self, node: Node, failing_rows: int) -> None:
        named = zip((q.column for q in self.policy.quasi_identifiers), node, strict=True)
        levels = ", ".join(f"{name} {level}" for name, level in named)
        self.watch.say(f"searching: {levels}: {failing_rows:,} rows fail")

    def release_query(self, recoding: Recoding, source: BoundSource) -> exp.Query:
        if self.policy.release.kind != "view":
            return recoding.query(source, self.labels())
        rows, keep = source.table, lambda thing, query: self.scratch.table(thing, query, "kept for the view")
        if isinstance(self.target, RelationTarget):
            self.target.clear_kept()
            keep = self.target.keeper(self.mark)
            if self.policy.source.table is None:
                name = self.target.kept_name("source")
                kept = define_source(self.policy, self.scratch, persistent=name)
                self.engine.comment(kept, self.mark)
                rows = kept.table
        return recoding.view(source, rows, keep)

    def labels(self) -> Labels:
        """A file is written (Parquet) or read back (CSV) much faster with its labels as dictionaries."""
        return Dictionaries(self.scratch) if isinstance(self.target, FileTarget) else AS_THEY_ARE

    @contextmanager
    def timed(self, part: str, message: str) -> Iterator[dict[str, Any]]:
        """Times a part of the run; what is put into the dictionary goes into the log with it."""
        self.watch.say(message)
        start, facts = time.perf_counter(), dict[str, Any]()
        yield facts
        self.seconds[part] = round(time.perf_counter() - start, 4)
        self.watch.step(part, seconds=self.seconds[part], **facts)

    def finished(
        self,
        census: Census,
        found: Found,
        recoding: Recoding,
        audited: Audit,
        dry_run: bool,
        told_apart: tuple[str, ...],
    ) -> Result:
        policy, holds = self.policy, audited.holds
        suppressed = census.rows - audited.rows
        # The search and the release must tell the same story, whatever the constraints say.
        agree = audited.rows == recoding.rows and audited.classes == recoding.classes and suppressed >= 0
        reasons = [] if agree else ["the release does not hold the rows that the search chose"]
        if policy.release.difference == "refuse":
            reasons += [Message.of(said, _ONCE) for said in told_apart]
            told_apart = ()
        new = {} if recoding.new_rows is None else {"new": recoding.new_rows}
        return self.result(
            "violated" if reasons or not holds else "holds" if dry_run else "released",
            census,
            found,
            levels=recoding.levels,
            classes_by_levels=recoding.classes_by_levels(),
            rows={"source": census.rows, "released": audited.rows, "suppressed": suppressed} | new,
            people=people_told(census.people, audited.people),
            classes=audited.classes,
            constraints=audited.findings,
            privacy=audited.told,
            utility=recoding.utility(),
            release={"kind": policy.release.kind, "to": policy.release.to},
            reasons=tuple(reasons),
            descriptions=recoding.described(),
            dry_run=dry_run,
            more_warnings=(
                *(audited.linkable.warnings(policy.k, census.telling) if audited.linkable else ()),
                *told_apart,
            ),
        )

    def infeasible(
        self, census: Census, found: Found | None, reasons: tuple[str, ...], where: str = GENERALIZED
    ) -> Result:
        findings = found.top.findings if found and found.top else ()
        return self.result(
            "infeasible",
            census,
            found,
            levels=None,
            rows={"source": census.rows, "released": 0, "suppressed": 0},
            people=people_told(census.people, 0),
            classes=0,
            constraints=findings,
            privacy=None,
            utility=None,
            release=None,
            reasons=reasons,
            failed_at=where,
            proven=found is None or found.proven,
        )

    def result(
        self, status: str, census: Census, found: Found | None, more_warnings: tuple[str, ...] = (), **known: Any
    ) -> Result:
        return Result(
            status=status,
            name=self.policy.name,
            method=self.policy.search.method,
            heights={h.column.name: h.height for h in census.hierarchies},
            path=tuple(step_json(census.hierarchies, step) for step in found.path) if found else (),
            seconds=self.seconds,
            warnings=(*self.warnings, *census.warnings, *hollow(known["levels"], census), *more_warnings),
            before=risk_before(found.bottom) if found else None,
            effort=found.effort if found else None,
            **known,
        )


def _told(result: Result) -> dict[str, Any]:
    """What a log says of the end of a run."""
    told = {"outcome": result.status, "rows": result.rows, "classes": result.classes, "levels": result.levels}
    words = {"reasons": result.reasons, "warnings": result.warnings}
    return told | {kind: [discreet(text) for text in said] for kind, said in words.items() if said}
