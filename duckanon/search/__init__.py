"""Which node of the lattice to ask for next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duckanon.census import Census
from duckanon.lattice import Lattice, Node
from duckanon.measure import Measurement, Measurer
from duckanon.policy import Policy
from duckanon.survey import Survey, Surveyed

Seen = Callable[[Node, int], None]  # told of every node on the path: its levels and failing rows


@dataclass(frozen=True)
class Step:
    """A node on the path of a search."""

    node: Node
    failing_rows: int
    holds: bool


@dataclass(frozen=True)
class FoundNode:
    """How a search went and what it found; without an answer `top` says why even the top node does not hold."""

    path: tuple[Step, ...]
    bottom: Surveyed
    answer: Measurement | None
    top: Measurement | None = None
    effort: dict[str, Any] | None = None


def search(policy: Policy, census: Census, measurer: Measurer, seen: Seen, floor: Node | None = None) -> FoundNode:
    """Walk the lattice by the policy's method, nowhere below `floor`."""
    from duckanon.search.datafly import most_values
    from duckanon.search.greedy import least_loss
    from duckanon.search.optimal import find_optimal
    from duckanon.search.walk import walk

    policy = census.remaining(policy)
    lattice = Lattice(tuple(h.height for h in census.hierarchies), floor)
    survey = Survey(measurer)
    if policy.search.method == "optimal":
        return find_optimal(policy, lattice, survey, seen)
    if policy.search.method == "datafly":
        choose = most_values(lattice, census.hierarchies)
    else:
        choose = least_loss(lattice, census.hierarchies, policy.search.weighting)
    return walk(lattice, survey, policy.budget(census.rows), choose, seen)
