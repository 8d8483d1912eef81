"""The generalization lattice: nodes are levels per quasi-identifier. Pure arithmetic, no SQL."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from operator import le

from duckanon.hierarchy import Hierarchy

Node = tuple[int, ...]


def nowhere_above(lower: Node, upper: Node) -> bool:
    """Whether `lower` is `upper` or finer: no attribute of it is more general."""
    return all(map(le, lower, upper))


def meet(nodes: list[Node]) -> Node:
    """The most general node that is nowhere above any of them."""
    return tuple(min(levels) for levels in zip(*nodes, strict=True))


def join(nodes: list[Node]) -> Node:
    """The finest node that is nowhere below any of them."""
    return tuple(max(levels) for levels in zip(*nodes, strict=True))


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels, from the raw table at the bottom to nothing at all at the top, or some in between."""

    heights: tuple[int, ...]
    floor: Node | None = None  # nodes below it are left out; None: none is
    caps: Node | None = None  # nodes above it are left out; None: none is

    @classmethod
    def of(cls, hierarchies: Iterable[Hierarchy], floor: Node | None = None) -> Lattice:
        """The nodes that the policy allows and, of these, those nowhere below the floor."""
        known = list(hierarchies)
        lowest = tuple(h.lowest for h in known)
        bottom = tuple(map(max, lowest, floor)) if floor else lowest
        return cls(tuple(h.height for h in known), bottom, tuple(h.highest for h in known))

    @property
    def bottom(self) -> Node:
        return self.floor or (0,) * len(self.heights)

    @property
    def top(self) -> Node:
        return self.caps or self.heights

    @property
    def size(self) -> int:
        """pan eq. 1."""
        return prod(high - low + 1 for high, low in zip(self.top, self.bottom, strict=True))

    def raisable(self, node: Node) -> Iterator[int]:
        """The attributes that can still be generalized."""
        return (index for index, level in enumerate(node) if level < self.top[index])

    def lowerable(self, node: Node) -> Iterator[int]:
        """The attributes that can be less generalized."""
        return (index for index, level in enumerate(node) if level > self.bottom[index])

    @staticmethod
    def raised(node: Node, index: int) -> Node:
        return (*node[:index], node[index] + 1, *node[index + 1 :])

    @staticmethod
    def lowered(node: Node, index: int) -> Node:
        return (*node[:index], node[index] - 1, *node[index + 1 :])

    def rise(self, node: Node) -> float:
        """How far up a node is, each attribute by its own height."""
        return sum(level / height for level, height in zip(node, self.heights, strict=True))

    def neighbours(self, node: Node) -> list[Node]:
        """The nodes that differ by one level of one attribute."""
        below = [self.lowered(node, index) for index in self.lowerable(node)]
        return below + [self.raised(node, index) for index in self.raisable(node)]

    def ascending(
        self,
        bound: Callable[[Node], float],
        failing: Callable[[Node], Node | None] = lambda _: None,
        too_general: Callable[[Node], bool] = lambda _: False,
    ) -> Iterator[tuple[float, Node]]:
        """All nodes by rising bound, ties in order, without enumerating the lattice first.

        `bound` never falls towards more general nodes. `failing` names a more general node that is known to fail, and
        with it all nodes in between: these are passed over. So is a node that is `too_general`, with all above it.
        """
        heap, reached = [(bound(self.bottom), self.bottom)], {self.bottom}
        while heap:
            value, node = heapq.heappop(heap)
            if too_general(node):
                continue
            if failing(node) is None:
                yield value, node
            # Every node above that is not below the failing one exceeds it in some column.
            highest = failing(node) or node
            for index, level in enumerate(highest):
                raised = (*node[:index], level + 1, *node[index + 1 :])
                if level < self.top[index] and raised not in reached:
                    reached.add(raised)
                    heapq.heappush(heap, (bound(raised), raised))

    @property
    def is_vast(self) -> bool:
        """Too many nodes to count subsets of them."""
        return self.size > 1_000_000

    def count_below(self, nodes: Iterable[Node]) -> int | None:
        """How many nodes are nowhere above one of these; None in a vast lattice."""
        steps = [tuple(level - low for level, low in zip(node, self.bottom, strict=True)) for node in nodes]
        return None if self.is_vast else _count_below(_highest(steps))


def _highest(nodes: Iterable[Node]) -> frozenset[Node]:
    """Those that are not below another."""
    highest: list[Node] = []
    for node in sorted(nodes, key=sum, reverse=True):
        if not any(nowhere_above(node, known) for known in highest):
            highest.append(node)
    return frozenset(highest)


def _count_below(nodes: frozenset[Node]) -> int:
    """Level by level of the first attribute; between two levels at which a node ends, the rest is the same."""
    if len(nodes) <= 1:
        return sum(prod(level + 1 for level in node) for node in nodes)
    count, last = 0, -1
    for level in sorted({node[0] for node in nodes}):
        rest = _highest(node[1:] for node in nodes if node[0] >= level)
        count += (level - last) * _count_below(rest)
        last = level
    return count
