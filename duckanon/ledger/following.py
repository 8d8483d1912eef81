"""How a run follows the last release: by what its levels showed, not by their numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from duckanon.census.counting import Census
from duckanon.engine import Warehouse
from duckanon.errors import DuckanonError, ReleaseError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.rules import Rule, level_that_shows, lowest_level_nowhere_finer
from duckanon.ledger.tables import Entry
from duckanon.policy import Policy
from duckanon.release.fingerprints import hierarchy_hash

_CHANGED = "the hierarchy of {} is not what it was, and none of its levels shows {} than the last release did"


@dataclass(frozen=True)
class Following:
    """A policy whose mode, or whose increment, follows the last release."""

    policy: Policy
    census: Census
    incremental: bool
    warehouse: Warehouse

    @property
    def asked(self) -> str:
        return "--incremental" if self.incremental else f"release.mode: {self.policy.release.mode}"

    def stopped(self, why: str) -> ReleaseError:
        anew = "run without it" if self.incremental else 'release once with mode = "search"'
        return ReleaseError(f"{self.asked}: {why}; {anew}")

    def node(self, last: Entry) -> tuple[int, ...]:
        """The levels that show what the last release showed or, where it may become coarser, the lowest that show no
        more."""
        if last.levels is None:
            raise self.stopped("it follows the last release, and that has no levels")
        try:
            return self._node(last)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            raise self.stopped(
                "the ledger's entry of the last release cannot be read: somebody has changed it"
            ) from None

    def _node(self, last: Entry) -> tuple[int, ...]:
        levels: dict[str, int] = json.loads(last.levels or "{}")
        if self._was_another_query(last):
            raise self.stopped("source.query is not what it was at the last release")
        if levels.keys() != {h.column.name for h in self.census.hierarchies}:
            raise self.stopped("the last release had other quasi-identifiers")
        if last.shows is None:
            found = self._by_numbers(levels, last)
        else:
            shows = json.loads(last.shows)
            found = tuple(self._level(h, shows[h.column.name]["rule"]) for h in self.census.hierarchies)
        return tuple(map(self._allowed, self.census.hierarchies, found))

    def _level(self, hierarchy: Hierarchy, rule: Rule) -> int:
        find = lowest_level_nowhere_finer if self._may_rise else level_that_shows
        level = find(rule, hierarchy, self.census.workbench)
        if level is None:
            what = "no more" if self._may_rise else "no other"
            raise self.stopped(_CHANGED.format(hierarchy.column.name, what))
        return level

    def _allowed(self, hierarchy: Hierarchy, level: int) -> int:
        """A level that the policy allows now: the same or, where it may become coarser, the next."""
        if self._may_rise:
            level = max(level, hierarchy.lowest)
        if level not in hierarchy.allowed:
            allowed = f"the policy allows levels {hierarchy.lowest} to {hierarchy.highest}"
            raise self.stopped(f"the last release shows {hierarchy.column.name} at level {level}, {allowed}")
        return level

    @property
    def _may_rise(self) -> bool:
        return self.policy.release.mode == "monotone" and not self.incremental

    def _was_another_query(self, last: Entry) -> bool:
        """The same levels of other values may show more."""
        try:
            then = Policy.parse(last.policy_text) if last.policy_text else self.policy
        except DuckanonError:
            return False  # that it cannot be read is said elsewhere
        return then.source.query != self.policy.source.query

    def _by_numbers(self, levels: dict[str, int], last: Entry) -> tuple[int, ...]:
        """An earlier version did not say what the levels showed: their numbers are good while nothing has changed."""
        if last.hierarchy_hash != hierarchy_hash(self.policy, self.warehouse):
            raise self.stopped("the hierarchies are not what they were at the last release")
        return tuple(levels[h.column.name] for h in self.census.hierarchies)
