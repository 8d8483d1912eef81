"""Many nodes of the lattice per statement, each measured from a finer aggregate that is at hand already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.search.batch.classes import NodeClasses
from duckanon.search.cells import rolled_up
from duckanon.search.gathering import Gatherings
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer


@dataclass(frozen=True)
class Sizes:
    """What the sizes of all classes of a node tell of others."""

    lasting: int  # rows that fail at every finer node, too, at the least
    squares: float  # Σ x²
    largest: int  # x

    @classmethod
    def of(cls, figures: Sequence[Any]) -> Sizes:
        """From a row of what SIZES asks."""
        lasting, squares, largest = figures
        return cls(int(lasting), float(squares), int(largest))


@dataclass(frozen=True)
class NodeCounts:
    """What a search knows of a measured node."""

    node: Node
    sizes: Sizes
    classes: int
    smallest: int  # rows, or people, of the smallest class
    members: int  # rows, or people, of all classes
    failing_classes: int
    failing_rows: int
    squares: float  # Σ x² over the classes that do not fail

    @classmethod
    def of(cls, node: Node, figures: Sequence[Any]) -> NodeCounts:
        """From a row of what `node_figures` asks."""
        classes, smallest, members, failing_classes, failing, squares, *sizes = figures
        counts = int(smallest), int(members)
        return cls(node, Sizes.of(sizes), classes, *counts, failing_classes, int(failing), float(squares))

    @property
    def lasting(self) -> int:
        return self.sizes.lasting

    def within(self, budget: int) -> bool:
        """Whether the class rules hold once the failing rows are suppressed; some row must remain."""
        return self.failing_rows <= budget and self.failing_classes < self.classes


class NodeMeasurer(ABC):
    """Measures many nodes at a time, for a search; and any alone."""

    def __init__(self, measurer: Measurer) -> None:
        self.measurer = measurer
        self.census: Census = measurer.census
        self._alone: dict[Node, Measurement] = {}

    @abstractmethod
    def measure(self, nodes: list[Node]) -> list[NodeCounts]:
        """What a search knows of each node."""

    @abstractmethod
    def sizes(self, nodes: list[Node]) -> list[Sizes]:
        """Of each node, with the rows of classes that are too small to hold, whatever their values: that is counted
        faster than values are."""

    @abstractmethod
    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        """Per node the importance-weighted NCP of all cells of its failing rows."""

    @abstractmethod
    def is_light_at(self, node: Node, nodes: int) -> bool:
        """Whether so many nodes from this one upwards are measured in hardly more time than one."""

    @abstractmethod
    def affordable(self, looks: int) -> int:
        """How many nodes may be measured for so many looks at a cell of the census; some always may."""

    @abstractmethod
    def expect(self, path: list[Node]) -> None:
        """That these nodes are asked for one after the other, none finer than the one before it."""

    def holds(self, counts: NodeCounts) -> bool:
        """Whether a node is an answer: also by the rules on the whole table, which are asked last."""
        budget = self.measurer.problem.budget
        if not counts.within(budget):
            return False
        return not self.measurer.asks_everything or self.alone(counts.node).holds(budget)

    def alone(self, node: Node) -> Measurement:
        """A node by itself, against all constraints; what was asked once is known."""
        if node not in self._alone:
            self._alone[node] = self.measurer.measure_for_release(node)
        return self._alone[node]

    def at_top(self, node: Node) -> float:
        """The cost of the cells of a row that are generalized to the top."""
        pairs = zip(self.census.hierarchies, node, strict=True)
        return sum(h.importance * h.levels[level].highest_ncp for h, level in pairs if level == h.height)


class BatchMeasurer(NodeMeasurer):
    """Counts the classes of nodes on the workbench."""

    def __init__(self, measurer: Measurer) -> None:
        super().__init__(measurer)
        cells = measurer.gatherings or measurer.counted
        self._classes = NodeClasses(measurer, cells, measurer.policy.k, measurer.judged)
        self._figures = ", ".join(node_figures(measurer.unit.size).values())

    def measure(self, nodes: list[Node]) -> list[NodeCounts]:
        found: dict[Node, NodeCounts] = {}
        for node, figures in self._classes.asked(nodes, self._figures, "counts"):
            found[node] = NodeCounts.of(node, figures)
            self._classes.aggregates.learn(node, found[node].classes)
        return [found[node] for node in nodes]

    def sizes(self, nodes: list[Node]) -> list[Sizes]:
        found: dict[Node, Sizes] = {}
        for node, (classes, *sizes) in self._sizes.asked(nodes, f"COUNT(*), {', '.join(SIZES.values())}", "sizes"):
            found[node] = Sizes.of(sizes)
            self._sizes.aggregates.learn(node, classes)
        return [found[node] for node in nodes]

    def expect(self, path: list[Node]) -> None:
        if self.measurer.gatherings:
            self.measurer.gatherings.expect(path)

    def is_light_at(self, node: Node, nodes: int) -> bool:
        return self._classes.aggregates.is_light_for(nodes, node)

    def affordable(self, looks: int) -> int:
        each = self._classes.aggregates.most * (_ALONE if self.measurer.asks_everything else 1)
        return max(_FEWEST, looks // each)

    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        costs = {found.node: found.failing_rows * self.at_top(found.node) for found in counts}
        for node, cost in self._classes.costs([found.node for found in counts if found.failing_rows], self._prices):
            costs[node] += cost
        return [costs[found.node] for found in counts]

    @cached_property
    def _prices(self) -> exp.Table:
        prices = self._classes.keys.prices()
        return self.census.scratch.table("prices", prices, "the cost of every generalized value")

    @cached_property
    def _sizes(self) -> NodeClasses:
        """The classes without their values."""
        if not self.measurer.judged:
            return self._classes
        if self.measurer.gatherings:
            cells: exp.Table | Gatherings = self.measurer.gatherings.without_values()
        else:
            population = bool(self.measurer.size_rules)
            counts = rolled_up(self.census, self.measurer.counted, self.census.bottom, [], population)
            cells = self.census.scratch.table("sizes", counts, "the census, without sensitive values")
        return NodeClasses(self.measurer, cells, self.measurer.least_size, [])


_FEWEST = 60  # nodes that any census affords
_ALONE = (
    10  # what a node costs that is asked for the rules on the whole table, too: these are not asked of many at once
)


# Of the classes of a node, as Sizes tells them.
SIZES = {"lasting": "CAST(SUM(lasting) AS BIGINT)", "all_squares": "SUM(x * x)", "largest": "CAST(MAX(x) AS BIGINT)"}


def node_figures(size: str) -> dict[str, str]:
    """Of the classes of a node, as NodeCounts tells them; `size` is what k bounds."""
    return {
        "classes": "COUNT(*)",
        "smallest": f"MIN({size})",
        "members": f"SUM({size})",
        "failing_classes": "COUNT(CASE WHEN failing THEN 1 END)",
        "failing_rows": "COALESCE(SUM(CASE WHEN failing THEN x END), 0)",
        "squares": "COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)",
        **SIZES,
    }
