"""Aggregates of the census at nodes of the lattice, from which more general nodes are measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, prod

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.search.cells import rolled_up
from duckanon.search.lattice import Node, meet, nowhere_above

_MOST_KEPT = 48  # aggregates kept at a time
_LIGHT = 120_000  # rows that are read about as fast as a statement is planned
_SHRINKS = 2.5  # an aggregate is made where it is smaller than the one at hand by this factor


@dataclass(frozen=True)
class Aggregate:
    """One row per combination of a node's codes (and sensitive values): these, the codes of all levels above, and n."""

    node: Node
    table: exp.Table
    rows: int

    def is_light_for(self, nodes: int) -> bool:
        """Whether so many nodes are measured from it without noticing its size."""
        return self.rows * nodes <= _LIGHT


class Aggregates:
    """Keeps aggregates, and rolls up new ones where several nodes gain from it."""

    def __init__(self, census: Census, base: exp.Table, sensitive: list[int]) -> None:
        self.census, self.sensitive = census, sensitive
        self._kept = [Aggregate(census.bottom, base, self._rows(base))]
        self._persons = self._rows(base, "COUNT(e)") if census.people is not None else 0  # rows of single people
        self._sizes: dict[Node, int] = {}  # the rows of an aggregate at a measured node, at most
        self._made = 0

    def learn(self, node: Node, classes: int) -> None:
        """How many classes a node has."""
        self._sizes[node] = classes * self._values + self._persons

    @property
    def _values(self) -> int:
        return prod(self.census.sensitive[index].distinct + 1 for index in self.sensitive)  # and NULL

    @property
    def most(self) -> int:
        """The rows of the finest aggregate, from which any node can be measured."""
        return self._kept[0].rows

    def at(self, node: Node) -> Aggregate:
        """The smallest aggregate at hand that is nowhere more general than a node."""
        return min((kept for kept in self._kept if nowhere_above(kept.node, node)), key=lambda kept: kept.rows)

    def groups(self, nodes: list[Node]) -> Iterator[tuple[list[Node], Aggregate]]:
        """The nodes in groups, each with the aggregate that it is measured from."""
        aggregate = self._best_for(nodes)
        if aggregate.is_light_for(len(nodes)) or len(set(nodes)) == 1:
            yield nodes, aggregate
        else:
            for part in self._parted(nodes):
                yield from self.groups(part)

    def _best_for(self, nodes: list[Node]) -> Aggregate:
        """The aggregate for a group of nodes: one at hand, or a new one where that pays."""
        finest = meet(nodes)
        at_hand = self.at(finest)
        if at_hand.is_light_for(len(nodes)):
            return at_hand
        known = [(size, node) for node, size in self._sizes.items() if nowhere_above(node, finest)]
        size, node = min(known, default=(at_hand.rows, at_hand.node))
        if len(nodes) > 1 and (guess := self._guessed(finest, at_hand)) < size:
            size, node = guess, finest
        return self._rolled_up(node) if size * _SHRINKS < at_hand.rows else at_hand

    def _guessed(self, node: Node, finer: Aggregate) -> int:
        """The rows of an aggregate at a node, as if it shrank as the domains of its columns do."""
        most, most_of_finer = self._most(node), self._most(finer.node)
        return min(most * self._values, finer.rows * most // most_of_finer) + self._persons

    def _most(self, node: Node) -> int:
        return prod(h.levels[level].values for h, level in zip(self.census.hierarchies, node, strict=True))

    def _parted(self, nodes: list[Node]) -> tuple[list[Node], list[Node]]:
        """Two parts of a group, by the column and level that bring each part's meet up the most."""
        whole = log(self._most(meet(nodes)))

        def gain(part: list[Node]) -> float:
            return len(part) * (whole - log(self._most(meet(part))))

        splits = {(index, node[index]) for node in nodes for index in range(len(node))}
        parts = [
            ([node for node in nodes if node[index] < level], [node for node in nodes if node[index] >= level])
            for index, level in sorted(splits)
        ]
        return max((part for part in parts if part[0] and part[1]), key=lambda part: gain(part[0]) + gain(part[1]))

    def _rolled_up(self, node: Node) -> Aggregate:
        query = rolled_up(self.census, self.at(node).table, node, self.sensitive)
        self._made += 1
        scratch = self.census.scratch
        table = scratch.table(f"aggregate_{self._made}", query, f"aggregate at node {node}")
        if len(self._kept) >= _MOST_KEPT:
            scratch.drop(self._kept.pop(1).table)
        self._kept.append(Aggregate(node, table, self._rows(table)))
        return self._kept[-1]

    def _rows(self, table: exp.Table, what: str = "COUNT(*)") -> int:
        ((rows,),) = self.census.workbench.fetch(exp.select(what).from_(table))
        return int(rows)
