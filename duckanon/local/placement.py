"""Local recoding: every class is released at its own levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.search import Seen
from duckanon.search.measure import Measurer


@dataclass(frozen=True)
class Placement:
    """Where the cells of the census go. `table` has the columns `keys` of the census, and l0, l1, …: the level at which
    each quasi-identifier of the cell is released. A cell without a row in it is suppressed."""

    table: exp.Table
    keys: tuple[str, ...]  # q0_0, q1_0, …; and s0, … where the cells of one tuple may part
    effort: dict[str, Any] | None = None  # how it went, where there is more to say than that it was found


def find_placement(measurer: Measurer, seen: Seen) -> Placement | None:
    """Place the cells by the policy's method; None: no release within the budget was found."""
    from duckanon.local.alpha_k import alpha_k_clustering
    from duckanon.local.alpha_l import alpha_l_diversification
    from duckanon.local.climb import climb
    from duckanon.local.l_c import l_c_clustering

    methods = (climb, alpha_k_clustering, l_c_clustering, alpha_l_diversification)
    (method,) = (method for method in methods if method.__name__ == measurer.policy.search.method)
    return method(measurer, seen)
