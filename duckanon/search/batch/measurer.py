"""Many nodes of the lattice per statement, each measured from a finer aggregate that is at hand already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.models.classes import judged_classes
from duckanon.query.dialects import WORKBENCH
from duckanon.search.batch.aggregates import Aggregate, Aggregates
from duckanon.search.batch.keys import NodeKeys
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer


@dataclass(frozen=True)
class NodeCounts:
    """What a search knows of a measured node."""

    node: Node
    classes: int
    smallest: int  # rows, or people, of the smallest class
    members: int  # rows, or people, of all classes
    failing_classes: int
    failing_rows: int
    squares: float  # Σ x² over the classes that do not fail

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
    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        """Per node the importance-weighted NCP of all cells of its failing rows."""

    @abstractmethod
    def is_light_at(self, node: Node, nodes: int) -> bool:
        """Whether so many nodes from this one upwards are measured in hardly more time than one."""

    @abstractmethod
    def affordable(self, looks: int) -> int:
        """How many nodes may be measured for so many looks at a cell of the census; some always may."""

    def holds(self, counts: NodeCounts) -> bool:
        """Whether a node is an answer: also by the rules on the whole table, which are asked last."""
        budget = self.measurer.problem.budget
        if not counts.within(budget):
            return False
        return not self.measurer.table_rules or self.alone(counts.node).holds(budget)

    def alone(self, node: Node) -> Measurement:
        """A node by itself, against all constraints; what was asked once is known."""
        if node not in self._alone:
            self._alone[node] = self.measurer.measure(node)
        return self._alone[node]

    def at_top(self, node: Node) -> float:
        """The cost of the cells of a row that are generalized to the top."""
        pairs = zip(self.census.hierarchies, node, strict=True)
        return sum(h.importance * h.levels[level].highest_ncp for h, level in pairs if level == h.height)


class BatchMeasurer(NodeMeasurer):
    """Counts the classes of nodes on the workbench. The statement is built once; a node only chooses other columns of
    an aggregate.

    A row of an aggregate is repeated for every node of the statement, with the number of the node and the codes of its
    levels packed into one key: one GROUP BY counts the classes of all of them.
    """

    def __init__(self, measurer: Measurer) -> None:
        super().__init__(measurer)
        self.keys = NodeKeys(self.census.hierarchies)
        self._sensitive = sorted({part.index for part in measurer.judged})
        self._aggregates = Aggregates(self.census, measurer.base, self._sensitive)
        self._classes = self._written()
        self._prices: exp.Table | None = None
        size = measurer.unit.size
        self._figures = f"COUNT(*), MIN({size}), SUM({size}), {_FIGURES}"

    def measure(self, nodes: list[Node]) -> list[NodeCounts]:
        """Those that share an aggregate in one statement."""
        found: dict[Node, NodeCounts] = {}
        for group, base in self._aggregates.groups(nodes):
            query = f"SELECT node, {self._figures} FROM ({self._classes_of(group, base)}) AS classes GROUP BY node"
            for position, classes, smallest, members, failing_classes, failing, squares in self.census.workbench.fetch(
                query, f"counts of {len(group)} nodes"
            ):
                sizes = int(smallest), int(members)
                node = group[position]
                found[node] = NodeCounts(node, classes, *sizes, failing_classes, int(failing), squares)
                self._aggregates.learn(node, classes)
        return [found[node] for node in nodes]

    def is_light_at(self, node: Node, nodes: int) -> bool:
        return self._aggregates.at(node).is_light_for(nodes)

    def affordable(self, looks: int) -> int:
        each = self._aggregates.most * (_ALONE if self.measurer.table_rules else 1)
        return max(_FEWEST, looks // each)

    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        costs = {found.node: found.failing_rows * self.at_top(found.node) for found in counts}
        asked = [found.node for found in counts if found.failing_rows]
        for group, base in self._aggregates.groups(asked) if asked else ():
            query = f"""SELECT node, SUM(x * cost) FROM (
                SELECT node, x, UNNEST({self.keys.cells(group)}) AS cell
                FROM ({self._classes_of(group, base)}) AS classes WHERE failing
            ) AS cells JOIN {_name(self._priced())} AS prices USING (cell) GROUP BY node"""
            for position, cost in self.census.workbench.fetch(query, f"the cost of what fails at {len(group)} nodes"):
                costs[group[position]] += cost
        return [costs[found.node] for found in counts]

    def _priced(self) -> exp.Table:
        if self._prices is None:
            self._prices = self.census.scratch.table(
                "prices", self.keys.prices(), "the cost of every generalized value"
            )
        return self._prices

    def _written(self) -> str:
        """The classes of `cells`: their node and keys, the size x, and whether each is failing."""
        keys, judged = ["node", *self.keys.names], self.measurer.judged
        k, unit = self.measurer.policy.k, self.measurer.unit
        classes = judged_classes(exp.to_table("cells"), keys, k, judged, nulls=False, unit=unit)
        return classes.sql(WORKBENCH, identify=True).removeprefix("WITH ")

    def _classes_of(self, nodes: list[Node], base: Aggregate) -> str:
        """The classes of the nodes; all names are the driver's own."""
        positions = ", ".join(str(position) for position in range(len(nodes)))
        values = "".join(f'"s{index}", ' for index in self._sensitive)
        values += "".join(f"{name}, " for name in self.measurer.unit.columns)
        cells = f"SELECT UNNEST([{positions}]) AS node, {self.keys.keys(nodes)}, {values}n FROM {_name(base.table)}"
        return f'WITH "cells" AS ({cells}), {self._classes}'


_FEWEST = 60  # nodes that any census affords
_ALONE = (
    10  # what a node costs that is asked for the rules on the whole table, too: these are not asked of many at once
)

_FIGURES = """COUNT(CASE WHEN failing THEN 1 END), COALESCE(SUM(CASE WHEN failing THEN x END), 0),
COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)"""


def _name(table: exp.Table) -> str:
    return table.sql(WORKBENCH, identify=True)
