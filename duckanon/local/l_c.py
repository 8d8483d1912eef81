"""(l, c)-clustering, yang: clusters of the most sensitive values are seen to first, and what grew large is split."""

from __future__ import annotations

from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.search import Seen
from duckanon.search.measure import Measurer


def l_c_clustering(measurer: Measurer, seen: Seen) -> Placement | None:
    """Every row starts as a cluster; those with the most sensitive values take in others until they hold, then the
    rest. yang takes for a partner a row of the least sensitive value left, wherever it is; here it is the nearest that
    breaks no bound, which loses a third of that."""
    clusters = Clusters(measurer)
    rounds = Rounds(clusters, seen)
    for index in clusters.values:
        named = measurer.census.sensitive[index].wanted.values.values()
        for sensitivity in sorted({own.sensitivity for own in named if own.sensitivity}, reverse=True):
            rounds.serve_first(f"a.u{index} >= {sensitivity!r}")
    rounds.settle(fully=True)
    while sum(clusters.split(hierarchy) for hierarchy in measurer.census.hierarchies):
        pass
    return rounds.placement()
