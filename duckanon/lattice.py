"""The generalization lattice: nodes are levels per quasi-identifier. Pure arithmetic, no SQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from operator import le

Node = tuple[int, ...]


def nowhere_above(lower: Node, upper: Node) -> bool:
    """Whether `lower` is `upper` or finer: no attribute of it is more general."""
    return all(map(le, lower, upper))


def meet(nodes: list[Node]) -> Node:
    """The most general node that is nowhere above any of them."""
    return tuple(min(levels) for levels in zip(*nodes, strict=True))


@dataclass(frozen=True)
class Lattice:
    """All combinations of levels, from the raw table at the bottom to nothing at all at the top."""

    heights: tuple[int, ...]

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.heights)

    @property
    def top(self) -> Node:
        return self.heights

    @property
    def size(self) -> int:
        """pan eq. 1."""
        return prod(height + 1 for height in self.heights)

    def raisable(self, node: Node) -> Iterator[int]:
        """The attributes that can still be generalized."""
        return (index for index, level in enumerate(node) if level < self.heights[index])

    @staticmethod
    def raised(node: Node, index: int) -> Node:
        return (*node[:index], node[index] + 1, *node[index + 1 :])
