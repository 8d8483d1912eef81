"""Which node of the lattice to ask for next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duckanon.lattice import Lattice, Node
from duckanon.measure import Measurement, Measurer
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


def search(measurer: Measurer, seen: Seen, floor: Node | None = None, method: str | None = None) -> FoundNode:
    """Search the lattice by a method, the policy's unless another is named, nowhere below `floor`."""
    from duckanon.search.datafly import most_values
    from duckanon.search.greedy import least_loss
    from duckanon.search.optimal import find_optimal
    from duckanon.search.walk import walk

    wanted, hierarchies = measurer.policy.search, measurer.census.hierarchies
    lattice = Lattice(tuple(h.height for h in hierarchies), floor)
    survey = Survey(measurer)
    method = method or wanted.method
    if method == "optimal":
        return find_optimal(lattice, survey, seen)
    if method == "datafly":
        choose = most_values(lattice, hierarchies)
    else:
        choose = least_loss(lattice, hierarchies, wanted.weighting)
    return walk(lattice, survey, choose, seen)
