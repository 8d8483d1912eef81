"""Many nodes of the lattice per statement, each measured from a finer aggregate that is at hand already."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sqlglot import exp

from duckanon.census import Census
from duckanon.expressions import column, double, literal, sql
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.kinds import IntervalsKind
from duckanon.lattice import Node, meet, nowhere_above
from duckanon.measure import Measurer, judged_classes

_MOST_KEPT = 24  # aggregates kept at a time
_WORTH_IT = 4_000  # below this many rows an aggregate is as cheap to read as to shrink
_SHRINKS = 3  # an aggregate is made where it is smaller than the one at hand by this factor


@dataclass(frozen=True)
class Surveyed:
    """What a search knows of a measured node."""

    node: Node
    classes: int
    smallest: int  # rows of the smallest class
    failing_classes: int
    failing_rows: int
    squares: float  # Σ x² over the classes that do not fail

    def within(self, budget: int) -> bool:
        """Whether the class rules hold once the failing rows are suppressed; some row must remain."""
        return self.failing_rows <= budget and self.failing_classes < self.classes


@dataclass(frozen=True)
class _Aggregate:
    node: Node
    table: exp.Table
    rows: int


class Survey:
    """Counts the classes of nodes. The statement is built once; a node only chooses other columns of an aggregate.

    A row of an aggregate is repeated for every node of the statement, with the number of the node and the
    codes of its levels packed into one key; so classes of all nodes are counted by one GROUP BY.
    """

    def __init__(self, measurer: Measurer) -> None:
        self.measurer = measurer
        self.census: Census = measurer.census
        self.packing = Packing(self.census.hierarchies)
        self._values = sorted({part.index for part in measurer.judged})
        self._classes = self._written()
        bottom = (0,) * len(self.census.hierarchies)
        self._kept = [_Aggregate(bottom, measurer.base, self._rows(measurer.base))]
        self._sizes: dict[Node, int] = {}  # what an aggregate at a measured node would have, at most
        self._made = 0
        self._prices: exp.Table | None = None

    def measure(self, nodes: list[Node]) -> list[Surveyed]:
        """Measure the nodes in one statement."""
        query = f"SELECT node, {_FIGURES} FROM ({self._classes_of(nodes)}) AS classes GROUP BY node"
        found: dict[int, Surveyed] = {}
        rows = self.census.engine.fetch(query, f"survey of {len(nodes)} nodes")
        for place, classes, smallest, failing_classes, failing, squares in rows:
            found[place] = Surveyed(nodes[place], classes, int(smallest), failing_classes, int(failing), squares)
            self._sizes[nodes[place]] = classes * prod(self._values_of(index) for index in self._values)
        return [found[place] for place in range(len(nodes))]

    def is_small_at(self, node: Node) -> bool:
        """Whether a node is measured from an aggregate that takes no time to read."""
        return self._smallest(node).rows <= _WORTH_IT

    def holds(self, surveyed: Surveyed, budget: int) -> bool:
        """Whether a node is an answer: also by the rules on the whole table, which are asked last."""
        if not surveyed.within(budget):
            return False
        return not self.measurer.table_rules or self.measurer.measure(surveyed.node, budget).holds(budget)

    def failing_costs(self, surveyed: list[Surveyed]) -> list[float]:
        """Per node the importance-weighted NCP of all cells of its failing rows, in one statement."""
        costs = [found.failing_rows * self._at_top(found.node) for found in surveyed]
        asked = [place for place, found in enumerate(surveyed) if found.failing_rows]
        if asked:
            nodes = [surveyed[place].node for place in asked]
            query = f"""SELECT node, SUM(x * cost) FROM (
                SELECT node, x, UNNEST({self.packing.cells(nodes)}) AS cell
                FROM ({self._classes_of(nodes)}) AS classes WHERE failing
            ) AS cells JOIN {_name(self._priced())} AS prices USING (cell) GROUP BY node"""
            for place, cost in self.census.engine.fetch(query, f"the cost of what fails at {len(nodes)} nodes"):
                costs[asked[place]] += cost
        return costs

    def _written(self) -> str:
        """The classes of `cells`: their node and keys, the size x, and whether each is failing."""
        keys, judged = ["node", *self.packing.names], self.measurer.judged
        classes = judged_classes(exp.to_table("cells"), keys, self.measurer.policy.k, judged, nulls=False)
        return classes.sql(self.census.engine.dialect, identify=True).removeprefix("WITH ")

    def _classes_of(self, nodes: list[Node]) -> str:
        """The classes of the nodes; all names are the driver's own."""
        base = self._aggregate(meet(nodes))
        places = ", ".join(str(place) for place in range(len(nodes)))
        values = "".join(f'"s{index}", ' for index in self._values)
        cells = f"SELECT UNNEST([{places}]) AS node, {self.packing.keys(nodes)}, {values}n FROM {_name(base.table)}"
        return f'WITH "cells" AS ({cells}), {self._classes}'

    def _aggregate(self, node: Node) -> _Aggregate:
        """The smallest aggregate that is nowhere more general than `node`; a new one where that pays."""
        smallest = self._smallest(node)
        if smallest.rows <= _WORTH_IT:
            return smallest
        sizes = [(size, finer) for finer, size in self._sizes.items() if nowhere_above(finer, node)]
        if sizes and min(sizes)[0] * _SHRINKS < smallest.rows:
            return self._keep(min(sizes)[1], smallest)
        return smallest

    def _smallest(self, node: Node) -> _Aggregate:
        return min((kept for kept in self._kept if nowhere_above(kept.node, node)), key=lambda kept: kept.rows)

    def _keep(self, node: Node, finer: _Aggregate) -> _Aggregate:
        """Roll an aggregate up to a node: the codes of its levels tell the cells apart, those above follow them."""
        pairs = list(zip(self.census.hierarchies, node, strict=True))
        names = [hierarchy.code(level) for hierarchy, level in pairs if level < hierarchy.height]
        names += [f"s{index}" for index in self._values]
        above = [hierarchy.code(level + up) for hierarchy, level in pairs for up in range(1, hierarchy.height - level)]
        query = exp.select(
            *map(column, names),
            *(sql("MIN(:code)", code=column(name)).as_(name) for name in above),
            sql("CAST(SUM(n) AS BIGINT)").as_("n"),
        ).from_(finer.table)
        query = query.group_by(*map(column, names)) if names else query
        self._made += 1
        scratch = self.census.scratch
        table = scratch.table(f"aggregate_{self._made}", query, f"aggregate at node {node}")
        if len(self._kept) >= _MOST_KEPT:
            scratch.drop(self._kept.pop(1).table)
        self._kept.append(_Aggregate(node, table, self._rows(table)))
        return self._kept[-1]

    def _rows(self, table: exp.Table) -> int:
        ((rows,),) = self.census.engine.fetch(exp.select("COUNT(*)").from_(table))
        return int(rows)

    def _values_of(self, index: int) -> int:
        return self.census.sensitive[index].distinct + 1  # and NULL

    def _at_top(self, node: Node) -> float:
        """The cost of the cells of a row that are generalized to the top."""
        pairs = zip(self.census.hierarchies, node, strict=True)
        return sum(h.importance * h.levels[level].highest_ncp for h, level in pairs if level == h.height)

    def _priced(self) -> exp.Table:
        """The importance-weighted NCP of every code of every level between the raw values and the top."""
        if self._prices is None:
            parts = [
                _prices(hierarchy, level)
                for hierarchy in self.census.hierarchies
                for level in range(1, hierarchy.height)
            ]
            nothing = exp.select(sql("CAST(0 AS BIGINT)").as_("cell"), double(0.0).as_("cost")).where(exp.false())
            priced = exp.union(nothing, *parts, distinct=False) if parts else nothing
            self._prices = self.census.scratch.table("prices", priced, "the cost of every generalized value")
        return self._prices


class Packing:
    """The codes of a node's levels as few whole numbers, and back. A column at its top tells nothing: code 0."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...]) -> None:
        self.hierarchies = hierarchies
        self._strides: list[tuple[int, int]] = []  # per hierarchy: in which number, and what its code is multiplied by
        word, stride = 0, 1
        for hierarchy in hierarchies:
            if stride * self._size(hierarchy) >= 2**62:
                word, stride = word + 1, 1
            self._strides.append((word, stride))
            stride *= self._size(hierarchy)
        self.names = [f"k{index}" for index in range(word + 1)]

    @staticmethod
    def _size(hierarchy: Hierarchy) -> int:
        return hierarchy.levels[0].values + 1  # code 0 is NULL, or the top

    def keys(self, nodes: list[Node]) -> str:
        """The keys of the nodes, one below the other."""
        packed = [[self._packed(node, word) for node in nodes] for word in range(len(self.names))]
        lists = zip(packed, self.names, strict=True)
        return ", ".join(f'UNNEST([{", ".join(keys)}]) AS "{name}"' for keys, name in lists)

    def _packed(self, node: Node, word: int) -> str:
        codes = zip(self.hierarchies, node, self._strides, strict=True)
        parts = [
            f'CAST("{hierarchy.code(level)}" AS BIGINT) * {stride}'
            for hierarchy, level, (at, stride) in codes
            if at == word and level < hierarchy.height
        ]
        return " + ".join(parts) or "CAST(0 AS BIGINT)"

    def cells(self, nodes: list[Node]) -> str:
        """The cells of a class that are neither as they were nor at the top, as a list, by the place of its node."""
        lists = [
            [
                f"{offset(hierarchy, level)} + {self._unpacked(hierarchy)}"
                for hierarchy, level in zip(self.hierarchies, node, strict=True)
                if 0 < level < hierarchy.height
            ]
            for node in nodes
        ]
        cases = " ".join(f"WHEN {place} THEN [{', '.join(cells)}]" for place, cells in enumerate(lists) if cells)
        return f"CASE node {cases} ELSE CAST([] AS BIGINT[]) END" if cases else "CAST([] AS BIGINT[])"

    def _unpacked(self, hierarchy: Hierarchy) -> str:
        word, stride = self._strides[hierarchy.index]
        return f'"{self.names[word]}" // {stride} % {self._size(hierarchy)}'


_FIGURES = """COUNT(*), MIN(x), COUNT(CASE WHEN failing THEN 1 END), COALESCE(SUM(CASE WHEN failing THEN x END), 0),
COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)"""


def offset(hierarchy: Hierarchy, level: int) -> int:
    """Added to a code it names the cell among all codes of all hierarchies and levels."""
    return (hierarchy.index << 48) + (level << 40)


def _prices(hierarchy: Hierarchy, level: int) -> exp.Select:
    """cell and cost of the codes of one level; NULL, code 0, stays a single value and costs nothing."""
    cell = sql(":offset + CAST(:code AS BIGINT)", offset=literal(offset(hierarchy, level)),
               code=column(f"code_{level}"))  # fmt: skip
    if isinstance(hierarchy.kind, IntervalsKind):
        # Every range of a level has the same width.
        cost: exp.Expr = double(hierarchy.importance * hierarchy.levels[level].highest_ncp)
    else:
        size, weight = column(f"size_{level}"), double(hierarchy.importance / hierarchy.domain)
        cost = sql("CASE WHEN :size > 1 THEN CAST(:size AS DOUBLE) * :weight ELSE 0 END", size=size, weight=weight)
    return exp.select(cell.as_("cell"), cost.as_("cost")).distinct().from_(hierarchy.mapping)


def _name(table: exp.Table) -> str:
    return table.sql("duckdb", identify=True)
