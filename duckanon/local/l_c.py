"""(l, c)-clustering, yang: clusters of the most sensitive values are seen to first, and what grew large is split."""

from __future__ import annotations

from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.local.losses import information_lost
from duckanon.search import Seen
from duckanon.search.measure import Measurer


def l_c_clustering(measurer: Measurer, seen: Seen) -> Placement | None:
    """Every row starts as a cluster; those with the most sensitive values take in others until they hold, then the
    rest. yang takes for a partner a row of the least sensitive value left, wherever it is; here it is the nearest that
    breaks no bound, which loses a third of that. Where all clusters at once lose less than the most sensitive first, as
    with a large l, it is that."""
    tried = [_placed(measurer, seen, first) for first in (True, False)]
    found = [placement for placement in tried if placement is not None]
    best = min(found, key=lambda placement: information_lost(measurer.census, placement), default=None)
    for other in found:
        if other is not best:
            measurer.census.scratch.drop(other.table)
    return best


def _placed(measurer: Measurer, seen: Seen, sensitive_first: bool) -> Placement | None:
    clusters = Clusters(measurer, "sensitive_first" if sensitive_first else "clusters")
    rounds = Rounds(clusters, seen)
    if sensitive_first:
        _serve_most_sensitive(rounds)
    else:
        rounds.settle(fully=False)
    rounds.settle(fully=True)
    while sum(clusters.split(hierarchy) for hierarchy in measurer.census.hierarchies):
        pass
    return rounds.placement()


def _serve_most_sensitive(rounds: Rounds) -> None:
    clusters = rounds.clusters
    for index in clusters.values:
        named = clusters.census.sensitive[index].wanted.values.values()
        for sensitivity in sorted({own.sensitivity for own in named if own.sensitivity}, reverse=True):
            rounds.serve_first(f"a.u{index} >= {sensitivity!r}")
