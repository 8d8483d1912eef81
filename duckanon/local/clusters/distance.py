"""How far apart two classes are: han's weighted hierarchical distance (eq. 2, 7), as SQL over whole numbers."""

from __future__ import annotations

from duckanon.hierarchy import Hierarchy
from duckanon.local.costs import UNIT


def distances_from_raw(height: int, beta: float) -> list[float]:
    """WHD from the raw value to each level, han eq. 2. The step up from level l has the weight 1/(height - l)^β."""
    weights = [(height - level) ** -beta for level in range(height)]
    return [sum(weights[:level]) / sum(weights) for level in range(height + 1)]


def cell_costs(hierarchy: Hierarchy, beta: float) -> list[int]:
    """What a cell costs at each level; an important column costs more, so that it is generalized less."""
    return [round(UNIT * hierarchy.importance * share) for share in distances_from_raw(hierarchy.height, beta)]


class Distance:
    """The SQL of distances between two rows `a` and `b` of the table of clusters.

    A cluster has the codes q{i}_{l} of one of its members, the cost c{i} of each column at the cluster's level, their
    sum `cost`, and x rows. Costs rise with the level, so the cost of the lowest common ancestor is the greatest of both
    clusters' costs and that of the lowest level at which their codes agree.
    """

    def __init__(self, hierarchies: tuple[Hierarchy, ...], beta: float) -> None:
        self.hierarchies = hierarchies
        self.costs = [cell_costs(hierarchy, beta) for hierarchy in hierarchies]

    def common_cost(self) -> str:
        """The cost of one row of the two clusters once they are merged; what their rows lose by it is eq. 7."""
        return " + ".join(self._common(hierarchy) for hierarchy in self.hierarchies)

    def _common(self, hierarchy: Hierarchy) -> str:
        costs = self.costs[hierarchy.index]
        codes = {level: hierarchy.code(level) for level in hierarchy.coded}
        cases = [f"WHEN a.{code} = b.{code} THEN {costs[level]}" for level, code in codes.items()]
        own, highest = f"c{hierarchy.index}", str(costs[hierarchy.highest])
        common = f"CASE {' '.join(cases)} ELSE {highest} END" if cases else highest
        return f"GREATEST(a.{own}, b.{own}, {common})"

    def can_meet(self) -> str:
        """Whether they have the same codes at the highest levels allowed; at the top all do."""
        capped = (h.code(h.highest) for h in self.hierarchies if h.highest < h.height)
        return " AND ".join(f"a.{code} = b.{code}" for code in capped) or "TRUE"
