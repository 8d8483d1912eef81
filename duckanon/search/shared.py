"""Searches of one census at the same k: what a node is like depends on no budget, so it is measured once for all."""

from __future__ import annotations

from duckanon.search.afar import node_measurer
from duckanon.search.batch import NodeCounts, NodeMeasurer, Sizes
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer
from duckanon.search.problem import Problem


class SharedNodes:
    """The nodes of a census at one k, whichever budget or method asks for them."""

    def __init__(self, problem: Problem, like: Measurer | None = None) -> None:
        self.measurer = Measurer(problem, like)
        self.nodes = node_measurer(self.measurer)
        self.counts: dict[Node, NodeCounts] = {}
        self.sizes: dict[Node, Sizes] = {}
        self.costs: dict[Node, float] = {}
        self.alone: dict[Node, Measurement] = {}

    def at(self, problem: Problem) -> Measurer:
        """A measurer of a problem at this k, to which all of these are known."""
        measurer = Measurer(problem, self.measurer)
        measurer.nodes = lambda asking: KnownNodes(asking, self)
        return measurer


class KnownNodes(NodeMeasurer):
    """Measures for one budget what no other has asked for."""

    def __init__(self, measurer: Measurer, shared: SharedNodes) -> None:
        super().__init__(measurer)
        self.shared = shared

    def measure(self, nodes: list[Node]) -> list[NodeCounts]:
        known = self.shared.counts
        if unknown := [node for node in dict.fromkeys(nodes) if node not in known]:
            known |= dict(zip(unknown, self.shared.nodes.measure(unknown), strict=True))
        return [known[node] for node in nodes]

    def sizes(self, nodes: list[Node]) -> list[Sizes]:
        known = self.shared.sizes
        if unknown := [node for node in dict.fromkeys(nodes) if node not in known]:
            known |= dict(zip(unknown, self.shared.nodes.sizes(unknown), strict=True))
        return [known[node] for node in nodes]

    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        known = self.shared.costs
        if unknown := [found for found in counts if found.node not in known]:
            costs = self.shared.nodes.failing_costs(unknown)
            known |= {found.node: cost for found, cost in zip(unknown, costs, strict=True)}
        return [known[found.node] for found in counts]

    def alone(self, node: Node) -> Measurement:
        """Beyond a budget the rules on the whole table are not asked: that is of no use to another."""
        known = self.shared.alone.get(node)
        if known is None or known.failing_rows > self.measurer.problem.budget:
            known = super().alone(node)
            if known.table_findings is not None:
                self.shared.alone[node] = known
        return known

    def expect(self, path: list[Node]) -> None:
        self.shared.nodes.expect(path)

    def is_light_at(self, node: Node, nodes: int) -> bool:
        return self.shared.nodes.is_light_at(node, nodes)

    def affordable(self, looks: int) -> int:
        return self.shared.nodes.affordable(looks)
