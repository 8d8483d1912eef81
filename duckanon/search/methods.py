"""The methods that search the lattice for one node."""

from __future__ import annotations

from duckanon.search.afar import node_measurer
from duckanon.search.found import FoundNode, Seen
from duckanon.search.lattice import Lattice, Node
from duckanon.search.measure import Measurer

_LOOKS = 10_000_000  # cells times nodes that a walk may look at off its path, where the top proves nothing


def search(measurer: Measurer, seen: Seen, floor: Node | None = None, method: str | None = None) -> FoundNode:
    """Search the lattice by a method, the policy's unless another is named, nowhere below `floor`."""
    from duckanon.search.greedy import least_loss
    from duckanon.search.monotone import top_is_best
    from duckanon.search.walk import walk

    wanted, hierarchies = measurer.policy.search, measurer.census.hierarchies
    lattice = Lattice.of(hierarchies, floor)
    batch = node_measurer(measurer)
    method = method or wanted.method
    if method == "optimal":
        from duckanon.search.optimal import find_optimal

        return find_optimal(lattice, batch, seen)
    if method == "datafly":
        from duckanon.search.datafly import most_values

        choose = most_values(lattice, hierarchies)
    else:
        choose = least_loss(lattice, hierarchies, wanted.weighting)
    walked = walk(lattice, batch, choose, seen)
    if walked.answer or top_is_best(measurer):
        return walked
    from duckanon.search.clock import Clock
    from duckanon.search.effort import SearchLimits
    from duckanon.search.optimal import search_on

    limits = SearchLimits(Clock(wanted.time_limit), wanted.nodes)
    return search_on(walked, lattice, batch, limits.at_most(batch.affordable(_LOOKS)), seen)
