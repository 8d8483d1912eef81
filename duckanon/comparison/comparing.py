"""One census, searched for every choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from duckanon.census.counting import Census, take_census
from duckanon.census.source import BoundSource, bind_source
from duckanon.comparison.choices import Choice, Grid, Wanted
from duckanon.comparison.column_words import column_words
from duckanon.comparison.front import front
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.ledger import ReleaseAddress
from duckanon.ledger.record import RunRecord
from duckanon.policy import Policy
from duckanon.recoding import Recoding, find_recoding
from duckanon.recoding.explain import why_none
from duckanon.release.previous import Standing
from duckanon.search import feasibility
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from duckanon.search.progress import Progress
from duckanon.search.shared import SharedNodes
from duckanon.watch import Watch


@dataclass(frozen=True)
class Comparison:
    """The choices that were measured, in the order in which they were asked for."""

    name: str
    rows: int
    choices: tuple[Choice, ...]
    skipped: dict[str, str]  # methods that the policy cannot use, and why
    missing: int = 0  # choices that were not come to
    warnings: tuple[str, ...] = ()

    @property
    def front(self) -> frozenset[Choice]:
        return front(self.choices)


class Comparing:
    """The state of a comparison: whatever ends it early, what was measured until then is known."""

    def __init__(self, policy: Policy, grid: Grid, watch: Watch | None = None) -> None:
        self.policy, self.watch = policy, watch or Watch()
        self.wanted, self.skipped = grid.wanted(policy)
        self.census: Census | None = None
        self.choices: list[Choice] = []

    def run(self, warehouse: Warehouse) -> Comparison:
        """Measure every choice. Those of one k follow each other: they share what is measured at it."""
        with held_census([part.policy for part in self.wanted], warehouse, self.watch) as (_, census):
            return self.over(census, last_node(self.policy, warehouse, census))

    def over(self, census: Census, last: Node | None) -> Comparison:
        """The same of a census that somebody holds; `last`: the node that the policy's mode binds every choice by."""
        self.census = census
        whole = Measurer(Problem.of(self.policy, census))
        for _, group in groupby(sorted(self.wanted, key=_k), key=_k):
            self._measure(list(group), whole, last)
        return self.so_far()

    def so_far(self) -> Comparison:
        """What is known already."""
        measured = {choice.wanted: choice for choice in self.choices}
        choices = tuple(measured[part] for part in self.wanted if part in measured)
        rows, warnings = (self.census.rows, self.census.warnings) if self.census else (0, ())
        missing = len(self.wanted) - len(choices)
        return Comparison(self.policy.name, rows, choices, self.skipped, missing, warnings)

    def _measure(self, group: list[Wanted], whole: Measurer, last: Node | None) -> None:
        with own_scratch(whole.census) as kept:
            shared = SharedNodes(Problem.of(group[0].policy, kept), whole)
            for part in group:
                self._say(part.name)
                with own_scratch(whole.census) as own:
                    self.choices.append(self._choice(part, shared.at(Problem.of(part.policy, own)), last))

    def _say(self, what: str) -> None:
        self.watch.say(f"comparing {what}", Progress(len(self.choices), len(self.wanted), "done", even=True))

    def _choice(self, wanted: Wanted, measurer: Measurer, last: Node | None) -> Choice:
        return choice_of(wanted, measurer, last, lambda said: self._say(f"{wanted.name}: {said}"))


def choice_of(wanted: Wanted, measurer: Measurer, last: Node | None, say: Callable[[str], None]) -> Choice:
    """What a run with it would come to; `say` hears of every node on the way."""
    start, problem = time.perf_counter(), measurer.problem

    def seen(node: Node, failing_rows: int, progress: Progress | None = None) -> None:
        say(f"{failing_rows:,} rows fail{f', {progress}' if progress else ''}")

    def choice(status: str, **known: Any) -> Choice:
        return Choice(wanted, status, round(time.perf_counter() - start, 4), **known)

    if reasons := feasibility.impossible(problem):
        return choice("infeasible", reasons=tuple(reasons))
    found = find_recoding(measurer, seen, last)
    if found.recoding is None:
        return choice("infeasible", reasons=why_none(found, problem, last)[0], path=found.path)
    return choice("holds", **_figures(found.recoding, measurer.census), path=found.path)


def _k(wanted: Wanted) -> int:
    return wanted.policy.k


def _figures(recoding: Recoding, census: Census) -> dict[str, Any]:
    utility = recoding.utility()
    return {
        "levels": recoding.levels,
        "suppressed": census.rows - recoding.rows,
        "classes": recoding.classes,
        "highest_risk": 1 / recoding.smallest if recoding.smallest else None,
        "utility": utility,
        "columns": column_words(utility["columns"], census.hierarchies),
    }


# -- the census ---------------------------------------------------------------------------------------


@contextmanager
def held_census(policies: list[Policy], warehouse: Warehouse, watch: Watch) -> Iterator[tuple[BoundSource, Census]]:
    """The source, counted once for policies that differ by k, budget and method only. Where one of the methods is
    local it counts what these need: to the others that makes no difference."""
    policy = next((part for part in policies if part.search.is_local), policies[0])
    scratch = Scratch(warehouse.workbench)
    try:
        watch.say(f"counting {policy.name}")
        source = bind_source(policy, warehouse, scratch)
        yield source, take_census(policy, source, scratch)
    finally:
        scratch.clear()


@contextmanager
def own_scratch(census: Census) -> Iterator[Census]:
    """The census with a scratch of its own, for what is made of it under way."""
    scratch = Scratch(census.workbench)
    try:
        yield replace(census, scratch=scratch)
    finally:
        scratch.clear()


def last_node(policy: Policy, warehouse: Warehouse, census: Census) -> Node | None:
    """The node that the policy's mode binds every choice by, as it binds a run."""
    if policy.release.mode == "search":
        return None
    record = RunRecord(policy, warehouse, ReleaseAddress.of(policy, warehouse.database), dry_run=True)
    return record.last_node(census, False, Standing(policy, warehouse, replace=False))
