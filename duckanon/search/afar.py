"""The lattice, walked where the rows lie: many nodes per statement over the census that has stayed there.

What a statement asks is what the workbench asks of one node (`Measurer.class_steps`), in the words of any engine. Only
the figures of nodes come down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.models.classes import judged_classes
from duckanon.models.column_steps import SensitiveRules
from duckanon.query.expressions import column, double, literal, sql
from duckanon.search.batch import SIZES, BatchMeasurer, NodeCounts, NodeMeasurer, Sizes, node_figures
from duckanon.search.batch.keys import costly_levels
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer

_TOGETHER = 24  # nodes per statement
_FEWEST = 60  # nodes that a search may look at in any census


def node_measurer(measurer: Measurer) -> NodeMeasurer:
    """Who measures the nodes of a search: on the workbench, or in the warehouse where the census has stayed."""
    if measurer.nodes is not None:
        return measurer.nodes(measurer)
    return BatchMeasurer(measurer) if measurer.census.afar is None else WarehouseMeasurer(measurer)


class WarehouseMeasurer(NodeMeasurer):
    """Every node is measured from the census itself; those of a statement are the parts of one UNION ALL."""

    def __init__(self, measurer: Measurer) -> None:
        super().__init__(measurer)
        self._prices: exp.Table | None = None

    def measure(self, nodes: list[Node]) -> list[NodeCounts]:
        found = dict(self._asked(nodes, node_figures(self.measurer.unit.size), self._classes, "counts"))
        return [NodeCounts.of(node, found[node]) for node in nodes]

    def sizes(self, nodes: list[Node]) -> list[Sizes]:
        found = dict(self._asked(nodes, SIZES, self._sized, "sizes"))
        return [Sizes.of(found[node]) for node in nodes]

    def _asked(
        self, nodes: list[Node], figures: dict[str, str], classes: Callable[[Node], exp.Select], what: str
    ) -> Iterator[tuple[Node, list[Any]]]:
        """Figures of the classes of each node."""
        named = [sql(figure).as_(name) for name, figure in figures.items()]
        for group in _groups(nodes):
            parts = [
                exp.select(literal(position).as_("node"), *named).from_(classes(node).subquery("classes"))
                for position, node in enumerate(group)
            ]
            for position, *row in self.census.engine.fetch(_united(parts), f"{what} of {len(group)} nodes"):
                yield group[position], row

    def failing_costs(self, counts: list[NodeCounts]) -> list[float]:
        costs = {found.node: found.failing_rows * self.at_top(found.node) for found in counts}
        asked = [found.node for found in counts if found.failing_rows and self._priced_levels(found.node)]
        for group in _groups(asked):
            query = _united([self._failing_cost(position, node) for position, node in enumerate(group)])
            for position, cost in self.census.engine.fetch(query, f"the cost of what fails at {len(group)} nodes"):
                costs[group[position]] += float(cost or 0)
        return [costs[found.node] for found in counts]

    def expect(self, path: list[Node]) -> None:
        """Every node is asked of the census."""

    def is_light_at(self, node: Node, nodes: int) -> bool:
        return nodes <= _TOGETHER

    def affordable(self, looks: int) -> int:
        ((cells,),) = self.census.engine.fetch(exp.select("COUNT(*)").from_(self.measurer.base))
        return max(_FEWEST, looks // max(1, int(cells)))

    def _classes(self, node: Node) -> exp.Select:
        return self._judged(node, self.measurer.policy.k, self.measurer.judged)

    def _sized(self, node: Node) -> exp.Select:
        return self._judged(node, self.measurer.least_size, [])

    def _judged(self, node: Node, k: int, judged: list[SensitiveRules]) -> exp.Select:
        keys, unit = self.census.keys(node), self.measurer.unit
        return judged_classes(self.measurer.base, keys, k, judged, nulls=False, unit=unit, lasting=True)

    # -- costs -----------------------------------------------------------------------------------------

    def _priced_levels(self, node: Node) -> list[tuple[Hierarchy, int]]:
        """The columns of a node whose cells cost something, below the top."""
        pairs = zip(self.census.hierarchies, node, strict=True)
        return [(h, level) for h, level in pairs if level in costly_levels(h)]

    def _failing_cost(self, position: int, node: Node) -> exp.Select:
        query = exp.select(literal(position).as_("node")).from_(self._classes(node).subquery("classes"))
        costs = []
        for h, level in self._priced_levels(node):
            alias = f"prices_{h.index}"
            on = exp.and_(
                exp.EQ(this=column("attribute", alias), expression=literal(h.index)),
                exp.EQ(this=column("level", alias), expression=literal(level)),
                exp.EQ(this=column("code", alias), expression=column(h.code(level), "classes")),
            )
            query = query.join(exp.alias_(self._sent_prices(), alias, table=True), on=on, join_type="left")
            costs.append(sql("COALESCE(:cost, :none)", cost=column("cost", alias), none=double(0)))
        total = costs[0]
        for cost in costs[1:]:
            total = exp.Add(this=total, expression=cost)
        summed = sql("SUM(classes.x * :total)", total=exp.paren(total))
        return query.select(summed.as_("cost")).where(sql("classes.failing"))

    def _sent_prices(self) -> exp.Table:
        """attribute, level, code and cost: the importance-weighted NCP of every code that costs some; NULL, code 0,
        costs nothing."""
        if self._prices is None:
            parts = [_prices(h, level) for h in self.census.hierarchies for level in costly_levels(h)]
            self._prices = self.census.sent("prices_afar", _united(parts), "the cost of every generalized value")
        return self._prices


def _prices(hierarchy: Hierarchy, level: int) -> exp.Select:
    cost = sql(":ncp * :importance", ncp=exp.paren(hierarchy.ncp(level)), importance=double(hierarchy.importance))
    where = [literal(hierarchy.index).as_("attribute"), literal(level).as_("level")]
    code = column(f"code_{level}").as_("code")
    return exp.select(*where, code, cost.as_("cost")).distinct().from_(hierarchy.mapping)


def _groups(nodes: list[Node]) -> list[list[Node]]:
    distinct = list(dict.fromkeys(nodes))
    return [distinct[start : start + _TOGETHER] for start in range(0, len(distinct), _TOGETHER)]


def _united(parts: list[exp.Select]) -> exp.Query:
    first, *others = parts
    return exp.union(first, *others, distinct=False) if others else first
