"""Aggregates of the census at nodes of the lattice, from which more general nodes are measured."""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterator
from dataclasses import dataclass
from math import log, prod

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.search.cells import rolled_up
from duckanon.search.gathering import Gatherings
from duckanon.search.lattice import Node, join, meet, nowhere_above

_MOST_KEPT = 47  # aggregates kept at a time, beside what they are made of
_LIGHT = 120_000  # rows that are read about as fast as a statement is planned
_STATEMENT = 60_000  # rows that are read while a statement is planned
_MAKING = 3  # what it costs to make an aggregate, in nodes measured from the one at hand


@dataclass(frozen=True)
class Aggregate:
    """One row per combination of a node's codes (and sensitive values): these, the codes of all levels above, and n; of
    a census of words, the words of all that, and n."""

    node: Node
    ceiling: Node  # where people are counted, nodes above it need other ones
    table: exp.Table
    rows: int

    def covers(self, finest: Node, highest: Node) -> bool:
        """Whether all nodes between these two can be measured from it."""
        return nowhere_above(self.node, finest) and nowhere_above(highest, self.ceiling)


@dataclass(frozen=True)
class _Plan:
    """Groups of nodes, with the node of the aggregate to be made for each (None: it is at hand); what they cost."""

    rows: int
    groups: tuple[tuple[list[Node], Node | None], ...]


class Aggregates:
    """Keeps aggregates, and rolls up new ones where several nodes gain from it."""

    def __init__(
        self, census: Census, base: exp.Table | Gatherings, sensitive: list[int], population: bool = False
    ) -> None:
        """Of the `base`, from which any node can be measured, or that makes what nodes are measured from."""
        self.census, self.sensitive, self.population = census, sensitive, population
        self._top = tuple(h.height for h in census.hierarchies)
        self._gatherings = base if isinstance(base, Gatherings) else None
        self._given: list[Aggregate] = []
        if not isinstance(base, Gatherings):
            self._given.append(Aggregate(census.bottom, self._top, base, self._rows(base)))
        self._kept: list[Aggregate] = []
        self._known: list[tuple[float, int]] = []  # of measured nodes: how large the domains, how many rows, at most
        self._made = 0

    def learn(self, node: Node, classes: int) -> None:
        """How many classes a node has."""
        insort(self._known, (log(self._most(node)), classes * self._values + self._persons(node)))

    def _persons(self, node: Node) -> int:
        """Rows of single people, whom no node makes fewer."""
        return self._gatherings.at(node, node).persons if self._gatherings else 0

    @property
    def _values(self) -> int:
        return prod(self.census.sensitive[index].distinct + 1 for index in self.sensitive)  # and NULL

    @property
    def most(self) -> int:
        """The rows of the finest aggregate, from which any node can be measured."""
        return self._gatherings.rows if self._gatherings else self._given[0].rows

    def at(self, finest: Node, highest: Node) -> Aggregate:
        """The smallest aggregate at hand from which all nodes between two can be measured."""
        found = self._at_hand(finest, highest)
        if found is None and self._gatherings:
            self._gatherings.at(finest, highest)
            found = self._at_hand(finest, highest)
        assert found is not None  # what is given covers every node
        return found

    def is_light_for(self, nodes: int, node: Node) -> bool:
        """Whether so many nodes from one upwards are measured without noticing the size of what they are asked of."""
        return self._rows_at(node, self._top) * nodes <= _LIGHT

    def _rows_at(self, finest: Node, highest: Node) -> int:
        """Of what there is now."""
        found = self._at_hand(finest, highest)
        return self.most if found is None else found.rows

    def _at_hand(self, finest: Node, highest: Node) -> Aggregate | None:
        for made in self._gatherings.made[len(self._given) :] if self._gatherings else ():
            self._given.append(Aggregate(made.node, made.ceiling, made.table, self._rows(made.table)))
        covering = [kept for kept in (*self._given, *self._kept) if kept.covers(finest, highest)]
        return min(covering, key=lambda kept: kept.rows, default=None)

    def groups(self, nodes: list[Node]) -> Iterator[tuple[list[Node], Aggregate]]:
        """The nodes in groups, each with the aggregate that it is measured from."""
        for group, made in self._planned(nodes).groups:
            yield group, self._rolled_up(made, join(group)) if made else self.at(meet(group), join(group))

    def _planned(self, nodes: list[Node]) -> _Plan:
        """How to measure some nodes: together, from the aggregate at hand or from a new one, or in parts."""
        whole = self._together(nodes)
        if len(set(nodes)) == 1 or whole.rows <= 2 * _STATEMENT:
            return whole
        one, other = map(self._planned, self._parted(nodes))
        return min(whole, _Plan(one.rows + other.rows, one.groups + other.groups), key=lambda plan: plan.rows)

    def _together(self, nodes: list[Node]) -> _Plan:
        finest = meet(nodes)
        at_hand = self._rows_at(finest, join(nodes))
        as_it_is = _Plan(_STATEMENT + len(nodes) * at_hand, ((nodes, None),))
        size = self._guessed(finest, at_hand)
        made = _Plan(2 * _STATEMENT + _MAKING * at_hand + len(nodes) * size, ((nodes, finest),))
        return min(as_it_is, made, key=lambda plan: plan.rows)

    def _guessed(self, node: Node, at_most: int) -> int:
        """The rows of an aggregate at a node: about as many as of the known one whose domains are about as large."""
        if not self._known:
            return at_most
        fineness = log(self._most(node))
        place = bisect(self._known, (fineness, 0))
        near = self._known[max(0, place - 1) : place + 1]
        _, size = min(near, key=lambda known: abs(known[0] - fineness))
        return min(size, at_most)

    def _most(self, node: Node) -> int:
        return prod(max(1, h.levels[level].values) for h, level in zip(self.census.hierarchies, node, strict=True))

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

    def _rolled_up(self, node: Node, highest: Node) -> Aggregate:
        of = self.at(node, highest)
        query = rolled_up(self.census, of.table, node, self.sensitive, self.population)
        self._made += 1
        scratch = self.census.scratch
        named = "".join(f"_s{index}" for index in self.sensitive)
        table = scratch.table(f"aggregate{named}_{self._made}", query, f"aggregate at node {node}")
        if len(self._kept) >= _MOST_KEPT:
            scratch.drop(self._kept.pop(0).table)
        self._kept.append(Aggregate(node, of.ceiling, table, self._rows(table)))
        return self._kept[-1]

    def _rows(self, table: exp.Table, what: str = "COUNT(*)") -> int:
        ((rows,),) = self.census.workbench.fetch(exp.select(what).from_(table))
        return int(rows)
