"""The codes of a node in few whole numbers, and what each generalized value costs."""

from __future__ import annotations

from itertools import accumulate

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, double, literal, sql
from duckanon.search.lattice import Node


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
        # Per hierarchy, the first of its cells: codes of all its levels below the top, one level after the other.
        sizes = [hierarchy.height * self._size(hierarchy) for hierarchy in hierarchies]
        self._first_cells = [0, *accumulate(sizes)]

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
        """The cells of a class that cost something and are not at the top, as a list, by the position of its node."""
        lists = [
            [
                f"{self._offset(hierarchy, level)} + {self._unpacked(hierarchy)}"
                for hierarchy, level in zip(self.hierarchies, node, strict=True)
                if level in _costly(hierarchy)
            ]
            for node in nodes
        ]
        cases = " ".join(f"WHEN {position} THEN [{', '.join(cells)}]" for position, cells in enumerate(lists) if cells)
        return f"CASE node {cases} ELSE CAST([] AS BIGINT[]) END" if cases else "CAST([] AS BIGINT[])"

    def _unpacked(self, hierarchy: Hierarchy) -> str:
        word, stride = self._strides[hierarchy.index]
        return f'"{self.names[word]}" // {stride} % {self._size(hierarchy)}'

    def _offset(self, hierarchy: Hierarchy, level: int) -> int:
        """Added to a code it names the cell among all codes of all hierarchies and levels."""
        return self._first_cells[hierarchy.index] + level * self._size(hierarchy)

    def prices(self) -> exp.Query:
        """cell and cost: the importance-weighted NCP of every code of every level below the top that costs some."""
        nothing = exp.select(sql("CAST(0 AS BIGINT)").as_("cell"), double(0.0).as_("cost")).where(exp.false())
        parts = [self._prices(hierarchy, level) for hierarchy in self.hierarchies for level in _costly(hierarchy)]
        return exp.union(nothing, *parts, distinct=False) if parts else nothing

    def _prices(self, hierarchy: Hierarchy, level: int) -> exp.Select:
        """cell and cost of the codes of one level; NULL, code 0, stays a single value and costs nothing."""
        offset, code = literal(self._offset(hierarchy, level)), column(f"code_{level}")
        cell = sql(":offset + CAST(:code AS BIGINT)", offset=offset, code=code)
        cost = sql(":ncp * :importance", ncp=exp.paren(hierarchy.ncp(level)), importance=double(hierarchy.importance))
        return exp.select(cell.as_("cell"), cost.as_("cost")).distinct().from_(hierarchy.mapping)


def _costly(hierarchy: Hierarchy) -> range:
    """The levels below the top that cost something: the lowest only where values are shown as the top even there."""
    return range(0 if hierarchy.strangers else 1, hierarchy.height)
