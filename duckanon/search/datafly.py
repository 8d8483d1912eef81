"""DataFly (Sweeney; wang §II.B), the baseline: generalize the attribute that has the most distinct values."""

from __future__ import annotations

from duckanon.hierarchy import Hierarchy
from duckanon.search.lattice import Lattice, Node
from duckanon.search.walk import Choice


def most_values(lattice: Lattice, hierarchies: tuple[Hierarchy, ...]) -> Choice:
    """The attribute with the most distinct values at its present level; ties go to the order of the policy."""

    def choose(node: Node) -> int:
        return max(lattice.raisable(node), key=lambda index: (hierarchies[index].levels[node[index]].values, -index))

    return choose
