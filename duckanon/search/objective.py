"""What the optimal search minimizes: the loss of a node, and a bound on it that needs no measuring."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from duckanon.search.batch import NodeCounts, NodeMeasurer, Sizes
from duckanon.search.lattice import Node

# A float computed in two ways differs in its last digits; losses this close (relatively) are the same loss.
TIE = 1e-9


class Bound(Protocol):
    """Never above the loss of a node at which so many rows fail or more, and never falling towards more general
    nodes."""

    def __call__(self, node: Node, failing_rows: int = 0) -> float: ...


@dataclass(frozen=True)
class Objective:
    bound: Bound
    loss: Callable[[list[NodeCounts]], list[float]]
    failing_within: Callable[[float], float]  # no node with more failing rows has such a loss or a lower one
    # By the sizes of a finer node, and how many rows fail at the least: never above the loss. None: they tell nothing.
    bound_above: Callable[[Sizes, int], float] | None = None


def objective(batch: NodeMeasurer, loss: str) -> Objective:
    """NCP and precision are weighted by importance; a suppressed row counts as generalized to the top."""
    makers = {"ncp": _ncp, "precision": _precision, "discernibility": _discernibility}
    return makers[loss](batch)


def _ncp(batch: NodeMeasurer) -> Objective:
    """All rows at the node's levels, but for those that fail: they cost what the top does."""
    hierarchies = batch.census.hierarchies
    per_row = sum(h.importance for h in hierarchies)
    whole = batch.census.rows * per_row
    left_out = batch.census.left_out * per_row / whole
    costs = [[h.importance * level.ncp / whole for level in h.levels] for h in hierarchies]
    highest = [[h.importance * level.highest_ncp for level in h.levels] for h in hierarchies]

    def bound(node: Node, failing_rows: int = 0) -> float:
        least = left_out + sum(cost[level] for cost, level in zip(costs, node, strict=True))
        if failing_rows:
            more = per_row - sum(cost[level] for cost, level in zip(highest, node, strict=True))
            least += failing_rows * more / whole
        return least

    def losses(found: list[NodeCounts]) -> list[float]:
        failing = batch.failing_costs(found)
        extra = [(node.failing_rows * per_row - cost) / whole for node, cost in zip(found, failing, strict=True)]
        return [bound(node.node) + more for node, more in zip(found, extra, strict=True)]

    return Objective(bound, losses, lambda loss: loss * batch.census.rows - batch.census.left_out)


def _precision(batch: NodeMeasurer) -> Objective:
    census = batch.census
    weights = sum(h.importance for h in census.hierarchies)
    steps = [[h.importance * level / h.height / weights for level in range(h.height + 1)] for h in census.hierarchies]

    def loss(node: Node, failing_rows: int = 0) -> float:
        share = (failing_rows + census.left_out) / census.rows
        return (1 - share) * sum(step[level] for step, level in zip(steps, node, strict=True)) + share

    def losses(found: list[NodeCounts]) -> list[float]:
        return [loss(node.node, node.failing_rows) for node in found]

    return Objective(loss, losses, lambda most: most * census.rows - census.left_out)


def _discernibility(batch: NodeMeasurer) -> Objective:
    """n rows in at most Π values classes have Σ x² of at least n² / Π values; and no released class is below k."""
    census, k = batch.census, batch.measurer.policy.k
    left_out = census.left_out

    def bound(node: Node, failing_rows: int = 0) -> float:
        most = math.prod(h.levels[level].values for h, level in zip(census.hierarchies, node, strict=True))
        suppressed = failing_rows + left_out
        released = census.rows - suppressed
        return max(released * (released / most), float(k * released)) + float(suppressed) * census.rows

    def losses(found: list[NodeCounts]) -> list[float]:
        return [node.squares + float(node.failing_rows + left_out) * census.rows for node in found]

    def bound_above(finer: Sizes, failing_rows: int) -> float:
        """Merging raises Σ x². What fails are whole classes of the finer node, whose rows count N each in place of
        their size."""
        return finer.squares + failing_rows * float(census.rows - finer.largest) + float(left_out) * census.rows

    def failing_within(loss: float) -> float:
        """Every row counts k at the least, and N if it is suppressed."""
        beyond = loss - float(k) * (census.rows - left_out) - float(left_out) * census.rows
        return beyond / max(1, census.rows - k)

    return Objective(bound, losses, failing_within, bound_above)
