"""(α, L)-diversification, pan §II.C(3): classes by their levels of sensitivity."""

from __future__ import annotations

from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.search import Seen
from duckanon.search.measure import Measurer


def alpha_l_diversification(measurer: Measurer, seen: Seen) -> Placement | None:
    """Reach (α, k) on the levels, then merge the classes short of L levels on, with one that has a level they lack."""
    clusters = Clusters(measurer)
    rounds = Rounds(clusters, seen)
    rounds.settle(fully=False)
    levelled = [values.index for values in measurer.census.sensitive if values.wanted.threshold("level_l") is not None]
    if levelled:
        lacking = " OR ".join(f"(b.z{index} & ~a.z{index}) <> 0" for index in levelled)
        rounds.settle(fully=True, fitting=f"({lacking})", at_any_cost=False)
    return rounds.placement()
