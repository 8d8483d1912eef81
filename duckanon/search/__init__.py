"""Which node of the lattice to ask for next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duckanon.lattice import Lattice, Node
from duckanon.measure import Measurement, Measurer


@dataclass(frozen=True)
class Walk:
    """The nodes that were measured, in order; `answer` is the last of them if it holds."""

    path: tuple[Measurement, ...]
    answer: Measurement | None


# Chooses, of the attributes that can still be generalized, the one to generalize by one level.
Choice = Callable[[Node], int]


def walk(
    lattice: Lattice, measurer: Measurer, budget: int, choose: Choice, seen: Callable[[Measurement], None]
) -> Walk:
    """From the bottom node upwards, one attribute and one level at a time, until a node holds or the top fails."""
    path: list[Measurement] = []
    node = lattice.bottom
    while True:
        measured = measurer.measure(node, budget)
        path.append(measured)
        seen(measured)
        if measured.holds(budget):
            return Walk(tuple(path), measured)
        if node == lattice.top:
            return Walk(tuple(path), None)
        node = lattice.raised(node, choose(node))
