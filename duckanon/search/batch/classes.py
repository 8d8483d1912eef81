"""The classes of many nodes as one statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from duckanon.models.classes import judged_classes
from duckanon.models.column_steps import SensitiveRules
from duckanon.query.dialects import WORKBENCH
from duckanon.search.batch.aggregates import Aggregate, Aggregates
from duckanon.search.batch.keys import NodeKeys, WordKeys, one_below_another
from duckanon.search.gathering import Gatherings
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer


class NodeClasses:
    """The statement is built once; a node only chooses other columns of an aggregate.

    A row of an aggregate is repeated for every node of the statement, with the number of the node and the codes of its
    levels packed into one key: one GROUP BY counts the classes of all of them.
    """

    def __init__(self, measurer: Measurer, cells: exp.Table | Gatherings, k: int, judged: list[SensitiveRules]) -> None:
        """From `cells`, which have the values that are judged."""
        self._gatherings = cells if isinstance(cells, Gatherings) else None
        self._sizes = measurer.size_rules
        population = measurer.census.population if self._sizes else None
        self._words = None if population else measurer.census.words
        largest = population.largest if population else None
        self.keys = WordKeys(self._words) if self._words else NodeKeys(measurer.census.hierarchies, largest)
        self._workbench, self._unit = measurer.census.workbench, measurer.unit
        self._sensitive = sorted({part.index for part in judged})
        self.aggregates = Aggregates(measurer.census, cells, self._sensitive, population is not None)
        self._text = self._written(k, judged)

    def asked(self, nodes: list[Node], figures: str, what: str) -> Iterator[tuple[Node, list[Any]]]:
        """Figures of each node, over its `classes`; of nodes that share an aggregate in one statement."""
        if self._gatherings and nodes:
            self._gatherings.expect_together(nodes)
        for group, base in self.aggregates.groups(nodes) if nodes else ():
            query = f"SELECT node, {figures} FROM ({self._of(group, base)}) AS classes GROUP BY node"
            for position, *row in self._workbench.fetch(query, f"{what} of {len(group)} nodes"):
                yield group[position], row

    def costs(self, nodes: list[Node], prices: exp.Table) -> Iterator[tuple[Node, float]]:
        """What all priced cells of the failing rows of each node cost."""
        for group, base in self.aggregates.groups(nodes) if nodes else ():
            query = f"""SELECT node, SUM(x * cost) FROM (
                SELECT node, x, UNNEST({self.keys.cells(group)}) AS cell
                FROM ({self._of(group, base)}) AS classes WHERE failing
            ) AS cells JOIN {_name(prices)} AS prices USING (cell) GROUP BY node"""
            for position, cost in self._workbench.fetch(query, f"the cost of what fails at {len(group)} nodes"):
                yield group[position], cost

    def _written(self, k: int, judged: list[SensitiveRules]) -> str:
        """The classes of `cells`: their node and keys, the size x, and whether each is failing."""
        keys, cells, unit = ["node", *self.keys.names], exp.to_table("cells"), self._unit
        classes = judged_classes(cells, keys, k, judged, nulls=False, unit=unit, lasting=True, sizes=self._sizes)
        return classes.sql(WORKBENCH, identify=True).removeprefix("WITH ")

    def _of(self, nodes: list[Node], base: Aggregate) -> str:
        """The classes of the nodes; all names are the driver's own."""
        positions = one_below_another([str(position) for position in range(len(nodes))])
        values = "".join(f"{self._value(index)}, " for index in self._sensitive)
        values += "".join(f"{name}, " for name in (*self._unit.columns, *(["m"] if self._sizes else [])))
        cells = f"SELECT {positions} AS node, {self.keys.keys(nodes)}, {values}n FROM {_name(base.table)}"
        return f'WITH "cells" AS ({cells}), {self._text}'

    def _value(self, index: int) -> str:
        name = f"s{index}"
        return f'{self._words.code(name)} AS "{name}"' if self._words else f'"{name}"'


def _name(table: exp.Table) -> str:
    return table.sql(WORKBENCH, identify=True)
