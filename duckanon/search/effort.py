"""How much a search may do, and how much it did."""

from __future__ import annotations

from dataclasses import dataclass

from duckanon.search.clock import Clock


@dataclass
class Effort:
    """How the search went: for the user to read."""

    nodes: int
    measured: int = 0
    pruned_by_bound: int | None = None  # None: not counted, the search was cut short or the lattice is vast
    pruned_by_failing: int | None = None
    proven: bool = True
    bound: float | None = None  # no node is better than this, when it is not proven

    def as_json(self) -> dict[str, object]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class SearchLimits:
    clock: Clock
    nodes: int | None = None

    def at_most(self, nodes: int) -> SearchLimits:
        """The same, and no more than so many nodes."""
        return SearchLimits(self.clock, nodes if self.nodes is None else min(self.nodes, nodes))
