"""Upwards through the lattice, one attribute and one level at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from duckanon.search import FoundNode, Seen, Step
from duckanon.search.batch import NodeCounts, NodeMeasurer
from duckanon.search.clock import Clock
from duckanon.search.lattice import Lattice, Node
from duckanon.search.progress import Progress

# Chooses, of the attributes that can still be generalized, the one to generalize by one level.
Choice = Callable[[Node], int]

_BATCH = 8  # nodes per statement: the path does not depend on what is measured


def walk(lattice: Lattice, batch: NodeMeasurer, choose: Choice, seen: Seen, clock: Clock | None = None) -> FoundNode:
    """From the bottom node until a node holds, the top fails, or the clock is over. Rows suppressed at one node come
    back at the next."""
    path: list[NodeCounts] = []
    longest = sum(lattice.top) - sum(lattice.bottom) + 1
    for counts in _measured(lattice, batch, choose):
        path.append(counts)
        # Each node is measured from what is left of one before it.
        seen(counts.node, counts.failing_rows, Progress(len(path), longest, "nodes", at_most=True, even=True))
        holds = batch.holds(counts)
        if holds or (clock is not None and clock.is_over):
            break
    last = path[-1]
    steps = tuple(Step(p.node, p.failing_rows, holds and p is last) for p in path)
    if holds:
        return FoundNode(steps, path[0], batch.alone(last.node))
    return FoundNode(steps, path[0], None, top=batch.alone(lattice.top))


def _measured(lattice: Lattice, batch: NodeMeasurer, choose: Choice) -> Iterator[NodeCounts]:
    """The nodes of the path, each measured from the aggregate of one before it."""
    ahead = list(_path(lattice, choose))
    while ahead:
        batch.expect(ahead)
        # What is small already is read faster than a statement is planned.
        together = ahead[: _BATCH if batch.is_light_at(ahead[0], _BATCH) else 1]
        yield from batch.measure(together)
        del ahead[: len(together)]


def _path(lattice: Lattice, choose: Choice) -> Iterator[Node]:
    node = lattice.bottom
    yield node
    while node != lattice.top:
        node = lattice.raised(node, choose(node))
        yield node
