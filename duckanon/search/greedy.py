"""The greedy walk (wang §III.C): always generalize the attribute that loses the least."""

from __future__ import annotations

import math

from duckanon.hierarchy import Hierarchy
from duckanon.search.lattice import Lattice, Node
from duckanon.search.walk import Choice

_TIE = 1e-9  # relative


def weight(hierarchy: Hierarchy, weighting: str) -> float:
    """How much an attribute's loss counts. "printed" is wang eq. 10 as printed, against the paper's own text."""
    return 1 - hierarchy.importance if weighting == "printed" else hierarchy.importance


def least_loss(lattice: Lattice, hierarchies: tuple[Hierarchy, ...], weighting: str) -> Choice:
    """The attribute with the least edge cost; ties go to the lower importance, then to the order of the policy."""

    def cost(index: int, node: Node) -> float:
        return weight(hierarchies[index], weighting) * hierarchies[index].levels[node[index] + 1].loss

    def choose(node: Node) -> int:
        costs = {index: cost(index, node) for index in lattice.raisable(node)}
        least = min(costs.values())
        tied = [index for index, value in costs.items() if math.isclose(value, least, rel_tol=_TIE, abs_tol=0)]
        return min(tied, key=lambda index: (hierarchies[index].importance, index))

    return choose
