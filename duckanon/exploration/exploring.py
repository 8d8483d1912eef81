"""One census, looked at node by node: what a page asks, by whoever's turn it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Any

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.comparison import Choice, Comparing, Comparison, Grid
from duckanon.comparison.choices import Wanted
from duckanon.comparison.comparing import choice_of, held_census, last_node, own_scratch
from duckanon.engine import Warehouse
from duckanon.errors import said_of
from duckanon.exploration.figures import Figures, figures_of
from duckanon.exploration.labels import FrequentLabels
from duckanon.exploration.sample import Sample, sample_of, why_no_release
from duckanon.exploration.setting import Field, Setting, fields_of, policy_at
from duckanon.exploration.turns import Stopped, Turns
from duckanon.policy import Policy
from duckanon.policy.demands import weaker
from duckanon.policy.schema import FULL_DOMAIN
from duckanon.recoding.full_domain import FullDomain, kept_at_node
from duckanon.search.lattice import Lattice, Node
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from duckanon.search.progress import Progress
from duckanon.watch import Watch

_LAST_WORDS = 10.0  # seconds in which what is under way ends
_REMEMBERED = 100  # settings
_QUICK = 0.5  # seconds of a search


@dataclass(frozen=True)
class Compared:
    """How far a comparison is."""

    comparison: Comparison
    running: bool
    error: str = ""


class Exploration:
    """All that a page may ask of a policy. Every method may be called by any thread."""

    def __init__(self, policy: Policy, source: BoundSource, census: Census, last: Node | None) -> None:
        self.policy, self.census, self.last = policy, census, last
        self._shown = _without_kept(source)
        self.fields: tuple[Field, ...] = fields_of(policy)
        self.usable, self.skipped = _methods(policy)
        self._turns = Turns()
        self._whole = Measurer(Problem.of(policy, census))
        self._labels = FrequentLabels(self._whole)
        self._figures: dict[Setting, Figures] = {}  # of what was set lately
        self._searching: _Long | None = None
        self._comparing: _InBackground | None = None
        self.setting = Setting(
            Lattice.of(census.hierarchies).top, tuple(f.text for f in self.fields), policy.search.method
        )
        self.found: Choice | None = None  # by the last search
        self.is_quick = False  # whether choices may be compared without being asked for

    # -- at once ----------------------------------------------------------------------------------

    def figures(self, setting: Setting) -> Figures:
        """What a release at these levels would be; what was asked last is what the page shows when it is loaded."""
        with self._turns.first():
            known = self._figures.get(setting)
            if known is None:
                with self._recoding(setting) as recoding:
                    known = figures_of(recoding, self._shown, self._less(setting))
                if len(self._figures) >= _REMEMBERED:
                    self._figures.clear()
                self._figures[setting] = known
            self.setting = setting
            return known

    def labels(self, setting: Setting, k: int) -> list[tuple[str, ...]]:
        """Of each quasi-identifier, labels that it shows at its level and that at least k rows or people have: the k
        that is set, or the policy's where that is more."""
        with self._turns.first():
            pairs = zip(self.census.hierarchies, setting.levels, strict=True)
            return [self._labels.of(hierarchy, level, max(k, self.policy.k)) for hierarchy, level in pairs]

    def sample(self, setting: Setting) -> Sample:
        """Rows of what would be released, and of nothing else."""
        if not self.figures(setting).holds:
            return Sample(why_none="these levels do not hold, and nothing would be released")
        less = self._less(setting)
        if why := less[0] if less else why_no_release(self.policy, setting.levels, self.last):
            return Sample(why_none=why)
        with self._turns.first(), self._recoding(setting) as recoding:
            return sample_of(recoding, tuple(kept.name for kept in self.census.keep))

    def _less(self, setting: Setting) -> tuple[str, ...]:
        """In what a setting asks for less than the policy: who looks at it should know, and sees no rows of it."""
        less = weaker(policy_at(setting, self.policy, self.fields), self.policy)
        return tuple(f"this asks for less than the policy: {part}" for part in less)

    # -- what takes longer ------------------------------------------------------------------------

    def search(self, setting: Setting, watch: Watch | None = None) -> Choice:
        """What a run would come to. A search that is under way is given up for it."""
        if self._searching:
            self._searching.stopped.set()
        self._searching = long = _Long(self._turns, watch)
        policy = policy_at(setting, self.policy, self.fields)
        with self._turns.patient(), self._measurer(policy) as measurer:
            self.found = choice_of(Wanted(policy), measurer, self.last, long.say)
        return self.found

    def compare(self, setting: Setting, grid: Grid) -> None:
        """Begin to compare; a comparison that is under way is given up."""
        policy = policy_at(setting, self.policy, self.fields)
        long = _Long(self._turns)
        comparing = Comparing(policy, grid, long)
        self.stop()
        self._comparing = _InBackground(comparing, long, lambda: self._compare(comparing))

    def _compare(self, comparing: Comparing) -> None:
        with self._turns.patient(), own_scratch(self._census_for(comparing.policy)) as census:
            comparing.over(census, self.last)

    def compared(self) -> Compared | None:
        return self._comparing.so_far() if self._comparing else None

    def stop(self) -> None:
        """Give up what is compared."""
        if self._comparing:
            self._comparing.stop()

    def begin(self, watch: Watch) -> None:
        """Where the page begins: at the levels that a run would come to. A local method has none: then greedy's."""
        method = self.setting.method if not self.policy.search.is_local else FULL_DOMAIN[0]
        if method in self.usable:
            start = time.perf_counter()
            self._take(self.search(replace(self.setting, method=method), watch))
            self.is_quick = time.perf_counter() - start < _QUICK

    def _take(self, found: Choice) -> None:
        if found.levels is not None:
            self.setting = replace(self.setting, levels=tuple(found.levels.values()))

    def end(self) -> None:
        """Nothing is asked any more."""
        self.stop()
        if self._searching:
            self._searching.stopped.set()
        self.census.workbench.interrupt()
        self._turns.close(_LAST_WORDS)

    # -- what is asked ----------------------------------------------------------------------------

    def _census_for(self, policy: Policy) -> Census:
        """The census with the thresholds of this policy; what was counted is the same."""
        wanted = {part.column: part for part in policy.sensitive}
        sensitive = tuple(replace(values, wanted=wanted[values.wanted.column]) for values in self.census.sensitive)
        return replace(self.census, sensitive=sensitive)

    @contextmanager
    def _measurer(self, policy: Policy) -> Iterator[Measurer]:
        with own_scratch(self._census_for(policy)) as census:
            yield Measurer(Problem.of(policy, census), self._whole)

    @contextmanager
    def _recoding(self, setting: Setting) -> Iterator[FullDomain]:
        """What is kept as it is, or as a pseudonym, is no label, and no threshold bounds it: it is never asked for."""
        policy = policy_at(setting, self.policy, self.fields)
        with own_scratch(replace(self._census_for(policy), keep=())) as census:
            yield kept_at_node(Measurer(Problem.of(policy, census), self._whole), setting.levels)


class _Long(Watch):
    """Work that takes long: between two of its questions it gives way, or gives up."""

    def __init__(self, turns: Turns, told: Watch | None = None) -> None:
        self._turns, self._told, self.stopped = turns, told, Event()

    def say(self, message: str, progress: Progress | None = None) -> None:
        if self._told:
            self._told.say(message, progress)
        if self.stopped.is_set():
            raise Stopped
        self._turns.give_way()


class _InBackground:
    """A comparison, in a thread of its own."""

    def __init__(self, comparing: Comparing, long: _Long, work: Any) -> None:
        self._comparing, self._long, self._work, self._error = comparing, long, work, ""
        self._thread = Thread(target=self._run, name="duckanon-compare", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except (Stopped, KeyboardInterrupt):  # the latter: by who has ended the statement
            pass
        except Exception as error:
            self._error = said_of(error)

    def so_far(self) -> Compared:
        return Compared(self._comparing.so_far(), self._thread.is_alive(), self._error)

    def stop(self) -> None:
        self._long.stopped.set()


def default_grid(exploration: Exploration) -> Grid:
    """What is compared unless the page asks for something else: the methods that come to levels."""
    policy = exploration.policy
    k = sorted({2, policy.k, 2 * policy.k, 4 * policy.k})
    methods = [method for method in FULL_DOMAIN if method in exploration.usable]
    return Grid(k, [policy.suppression, *([0] if policy.suppression else [])], methods)


def _without_kept(source: BoundSource) -> BoundSource:
    names = [c.name for _, c in (*source.quasi_identifiers, *source.sensitive)]
    return replace(source, keep=(), released=tuple(names))


def _methods(policy: Policy) -> tuple[tuple[str, ...], dict[str, str]]:
    """Those that the policy can use, and why it cannot use the others."""
    wanted, skipped = Grid().wanted(policy)
    return tuple(dict.fromkeys(part.policy.search.method for part in wanted)), skipped


@contextmanager
def explored(policy: Policy, warehouse: Warehouse, watch: Watch) -> Iterator[Exploration]:
    """Count the source once, for all that can be set."""
    wanted, _ = Grid().wanted(policy)
    with held_census([part.policy for part in wanted], warehouse, watch) as (source, census):
        exploration = Exploration(policy, source, census, last_node(policy, warehouse, census))
        exploration.begin(watch)
        try:
            yield exploration
        finally:
            exploration.end()
