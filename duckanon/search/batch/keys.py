"""The keys of the classes of many nodes, and what each generalized value in them costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from sqlglot import exp

from duckanon.census.words import CensusWords
from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, double, literal, sql
from duckanon.query.packing import Packing
from duckanon.search.lattice import Node


class NodeKeys:
    """The codes of a node's levels, packed into the columns `names`. A column at its top tells nothing: code 0."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...], largest: tuple[int, ...] | None = None) -> None:
        """`largest`: the codes of a population that go beyond those of the source."""
        self.hierarchies, self._largest = hierarchies, largest
        self._packing = Packing(self._size(hierarchy) for hierarchy in hierarchies)
        self.names = [f"k{word}" for word in range(self._packing.words)]
        # Per hierarchy, the first of its cells: codes of all its levels below the top, one level after the other.
        sizes = [hierarchy.height * self._size(hierarchy) for hierarchy in hierarchies]
        self._first_cells = [0, *accumulate(sizes)]

    def _size(self, hierarchy: Hierarchy) -> int:
        return max(hierarchy.base, self._largest[hierarchy.index] + 1 if self._largest else 0)

    def keys(self, nodes: list[Node]) -> str:
        """The keys of the nodes, one below the other."""
        words = zip(self.names, *map(self._packed, nodes), strict=True)
        return ", ".join(f'{one_below_another(keys)} AS "{name}"' for name, *keys in words)

    def _packed(self, node: Node) -> Sequence[str]:
        """The key of a node, of the columns of an aggregate."""
        pairs = zip(self.hierarchies, node, strict=True)
        return self._packing.packed(f'"{h.code(level)}"' if level < h.height else None for h, level in pairs)

    def _code(self, hierarchy: Hierarchy, level: int) -> str:
        """That of a level of the node that it is, of its key."""
        slot = self._packing.slots[hierarchy.index]
        return slot.of(f'"k{slot.word}"')

    def cells(self, nodes: list[Node]) -> str:
        """The cells of a class that cost something and are not at the top, as a list, by the position of its node."""
        lists = [
            [
                f"{self._offset(hierarchy, level)} + {self._code(hierarchy, level)}"
                for hierarchy, level in zip(self.hierarchies, node, strict=True)
                if level in costly_levels(hierarchy)
            ]
            for node in nodes
        ]
        cases = " ".join(f"WHEN {position} THEN [{', '.join(cells)}]" for position, cells in enumerate(lists) if cells)
        return f"CASE node {cases} ELSE CAST([] AS BIGINT[]) END" if cases else "CAST([] AS BIGINT[])"

    def _offset(self, hierarchy: Hierarchy, level: int) -> int:
        """Added to a code it names the cell among all codes of all hierarchies and levels."""
        return self._first_cells[hierarchy.index] + level * self._size(hierarchy)

    def prices(self) -> exp.Query:
        """cell and cost: the importance-weighted NCP of every code of every level below the top that costs some."""
        nothing = exp.select(sql("CAST(0 AS BIGINT)").as_("cell"), double(0.0).as_("cost")).where(exp.false())
        parts = [self._prices(hierarchy, level) for hierarchy in self.hierarchies for level in costly_levels(hierarchy)]
        return exp.union(nothing, *parts, distinct=False) if parts else nothing

    def _prices(self, hierarchy: Hierarchy, level: int) -> exp.Select:
        """cell and cost of the codes of one level; NULL, code 0, stays a single value and costs nothing."""
        offset, code = literal(self._offset(hierarchy, level)), column(f"code_{level}")
        cell = sql(":offset + CAST(:code AS BIGINT)", offset=offset, code=code)
        cost = sql(":ncp * :importance", ncp=exp.paren(hierarchy.ncp(level)), importance=double(hierarchy.importance))
        return exp.select(cell.as_("cell"), cost.as_("cost")).distinct().from_(hierarchy.mapping)


class WordKeys(NodeKeys):
    """The same of a census of words: what is left of them at a node."""

    def __init__(self, words: CensusWords) -> None:
        super().__init__(words.hierarchies)
        self._words = words
        self.names = [f"k{word}" for word in range(len(words.names))]

    def _packed(self, node: Node) -> Sequence[str]:
        pairs = zip(self.hierarchies, node, strict=True)
        return [*self._words.masked(h.code(level) for h, level in pairs if level < h.height).values()]

    def _code(self, hierarchy: Hierarchy, level: int) -> str:
        return self._words.code(hierarchy.code(level), prefix="k")


def one_below_another(values: list[str]) -> str:
    """In a SELECT list: the row once for each of the values. To repeat it once takes time, too."""
    return f"UNNEST([{', '.join(values)}])" if len(values) > 1 else values[0]


def costly_levels(hierarchy: Hierarchy) -> range:
    """The levels below the top that cost something: the lowest only where values are shown as the top even there."""
    return range(0 if hierarchy.strangers else 1, hierarchy.height)
