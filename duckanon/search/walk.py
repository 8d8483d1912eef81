"""Upwards through the lattice, one attribute and one level at a time."""

from __future__ import annotations

from collections.abc import Callable

from duckanon.lattice import Lattice, Node
from duckanon.measure import Measurement, Measurer
from duckanon.search import Found, Seen, Step

# Chooses, of the attributes that can still be generalized, the one to generalize by one level.
Choice = Callable[[Node], int]


def walk(lattice: Lattice, measurer: Measurer, budget: int, choose: Choice, seen: Seen) -> Found:
    """From the bottom node until a node holds or the top fails. Rows suppressed at one node come back at the next."""
    path: list[Measurement] = []
    node = lattice.bottom
    while True:
        measured = measurer.measure(node, budget)
        path.append(measured)
        seen(node, measured.failing_rows)
        if measured.holds(budget) or node == lattice.top:
            break
        node = lattice.raised(node, choose(node))
    steps = tuple(Step(m.node, m.failing_rows, m.holds(budget)) for m in path)
    if measured.holds(budget):
        return Found(steps, path[0], measured)
    return Found(steps, path[0], None, top=measured)
