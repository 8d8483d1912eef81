"""(α, L)-diversification, pan §II.C(3): classes by their levels of sensitivity."""

from __future__ import annotations

from duckanon.census import Census
from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.measure import Measurer
from duckanon.policy import Policy
from duckanon.search import Seen


def alpha_l_diversification(policy: Policy, census: Census, measurer: Measurer, seen: Seen) -> Placement | None:
    """Reach (α, k) on the levels, then merge the classes short of L levels on, with one that has a level they lack."""
    clusters = Clusters(policy, census, measurer)
    rounds = Rounds(clusters, policy.budget(census.rows), seen)
    rounds.settle(fully=False)
    levelled = [values.index for values in census.sensitive if values.wanted.level_l is not None]
    if levelled:
        lacking = " OR ".join(f"(b.z{index} & ~a.z{index}) <> 0" for index in levelled)
        rounds.settle(fully=True, fitting=f"({lacking})", at_any_cost=False)
    return rounds.placement()
