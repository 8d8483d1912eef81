"""(α, k)-clustering, han fig. 1: classes too small, or with a value too frequent, merge with their nearest."""

from __future__ import annotations

from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.search import Seen
from duckanon.search.measure import Measurer


def alpha_k_clustering(measurer: Measurer, seen: Seen) -> Placement | None:
    """First k and the frequencies, as the paper has it; then whatever else the policy asks of a class."""
    clusters = Clusters(measurer)
    rounds = Rounds(clusters, seen)
    rounds.settle(fully=False)
    return rounds.placement()
