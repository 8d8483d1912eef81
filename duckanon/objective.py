"""What the optimal search minimizes: the loss of a node, and a bound on it that needs no measuring."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from duckanon.census import Census
from duckanon.lattice import Node
from duckanon.policy import Policy

# A float computed in two ways differs in its last digits; losses this close (relatively) are the same loss.
TIE = 1e-9


@dataclass(frozen=True)
class Surveyed:
    """What the search knows of a measured node."""

    node: Node
    classes: int
    failing_rows: int
    failing_classes: int
    squares: float  # Σ x² over the classes that do not fail
    covered: float  # Σ over their rows of the importance-weighted NCP of all cells


@dataclass(frozen=True)
class Objective:
    """`bound` never exceeds the loss of a node, and never falls from a node to a more general one."""

    bound: Callable[[Node], float]
    loss: Callable[[Surveyed], float]


def objective(policy: Policy, census: Census) -> Objective:
    """NCP and precision are weighted by importance; a suppressed row counts as generalized to the top."""
    makers = {"ncp": _ncp, "precision": _precision, "discernibility": _discernibility}
    return makers[policy.search.loss](policy, census)


def _ncp(policy: Policy, census: Census) -> Objective:
    whole = census.rows * sum(h.importance for h in census.hierarchies)
    costs = [[h.importance * level.ncp / whole for level in h.levels] for h in census.hierarchies]
    per_row = sum(h.importance for h in census.hierarchies)
    return Objective(
        lambda node: sum(cost[level] for cost, level in zip(costs, node, strict=True)),
        lambda found: (found.covered + found.failing_rows * per_row) / whole,
    )


def _precision(policy: Policy, census: Census) -> Objective:
    weights = sum(h.importance for h in census.hierarchies)
    steps = [[h.importance * level / h.height / weights for level in range(h.height + 1)] for h in census.hierarchies]

    def bound(node: Node) -> float:
        return sum(step[level] for step, level in zip(steps, node, strict=True))

    def loss(found: Surveyed) -> float:
        share = found.failing_rows / census.rows
        return (1 - share) * bound(found.node) + share

    return Objective(bound, loss)


def _discernibility(policy: Policy, census: Census) -> Objective:
    """N rows in at most Π values classes have Σ x² of at least N² / Π values; and no released class is below k."""

    def bound(node: Node) -> float:
        most = math.prod(h.levels[level].values for h, level in zip(census.hierarchies, node, strict=True))
        return max(census.rows * (census.rows / most), float(policy.k * census.rows))

    return Objective(bound, lambda found: found.squares + float(found.failing_rows) * census.rows)
