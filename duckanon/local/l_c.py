"""(l, c)-clustering, yang: clusters are seeded with the most sensitive values, then filled at the least loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.hierarchy import Hierarchy
from duckanon.local import Placement
from duckanon.local.clusters import Clusters
from duckanon.local.clusters.rounds import Rounds
from duckanon.policy import Sensitive
from duckanon.query.dialects import WORKBENCH
from duckanon.search import Seen
from duckanon.search.lattice import Lattice, Node
from duckanon.search.measure import Measurer

_RUNGS = 24  # nodes at which seeds look for partners


@dataclass
class Bucket:
    """The cells of one sensitive value that are not yet in a cluster."""

    code: int
    cells: int
    needs: int  # distinct values that a cluster seeded here must have


@dataclass(frozen=True)
class Wave:
    """So many clusters of one cell each of the seed's and the partners' buckets."""

    seed: int
    partners: tuple[int, ...]
    clusters: int


def l_c_clustering(measurer: Measurer, seen: Seen) -> Placement | None:
    """Seed the clusters, place the remaining cells where they cost least, split what grew large."""
    clusters = Clusters(measurer)
    rounds = Rounds(clusters, seen)
    bucketed = _bucketed_column(measurer.census, clusters.values)
    if bucketed is not None:
        _seed(clusters, bucketed)
        enough = "".join(f" AND b.v{index} >= a.w{index}" for index in clusters.values)
        rounds.settle(fully=True, fitting=f"NOT b.failing{enough}", at_any_cost=False)
    rounds.settle(fully=True)
    while sum(clusters.split(hierarchy) for hierarchy in measurer.census.hierarchies):
        pass
    return rounds.placement()


def _bucketed_column(census: Census, judged: list[int]) -> ValueTable | None:
    """The column whose values make the buckets: the first that says which are sensitive, else the first judged."""
    columns = [census.sensitive[index] for index in judged]
    named = [values for values in columns if _names_sensitive_values(values.wanted)]
    return next(iter(named or columns), None)


def _names_sensitive_values(wanted: Sensitive) -> bool:
    return any(own.threshold("l") or own.sensitivity for own in wanted.values.values())


def _seed(clusters: Clusters, values: ValueTable) -> None:
    clusters.make("free", f"FROM {clusters.name('cells')}")
    for wave in waves(_buckets(clusters, values)):
        _cluster(clusters, values.index, wave)


def _buckets(clusters: Clusters, values: ValueTable) -> list[Bucket]:
    """The most sensitive first. A value of which nothing is said is not sensitive; of those the rare come first."""
    wanted = values.wanted
    named = list(wanted.values.values())
    table = values.table.sql(WORKBENCH, identify=True)
    found = clusters.workbench.fetch(
        f"SELECT v.code, v.named, v.rows, COUNT(*) FROM {clusters.name('cells')} c JOIN {table} v "
        f"ON v.code = c.s{values.index} GROUP BY v.code, v.named, v.rows"
    )
    ordered = []
    for code, ordinal, rows, cells in found:
        own = named[ordinal - 1] if ordinal else None
        sensitivity = (own.sensitivity or 0.0) if own else 0.0
        needs = _least_values(wanted, own.threshold("l") if own else None)
        ordered.append((-sensitivity, rows, code, Bucket(code, cells, needs)))
    return [bucket for *_, bucket in sorted(ordered, key=lambda entry: entry[:3])]


def _least_values(wanted: Sensitive, own: int | None) -> int:
    """Distinct values of a cluster: the value's own l, the column's, and what the highest frequency c asks for."""
    alpha = wanted.threshold("alpha")
    by_frequency = math.ceil(1 / alpha - 1e-9) if alpha else 1
    return max(own or 1, wanted.threshold("l") or 1, by_frequency)


def waves(buckets: list[Bucket]) -> list[Wave]:
    """yang's steps 1 and 2 on the numbers alone. The most sensitive bucket seeds, the least sensitive others each add a
    cell, until one of them is empty; a bucket with too few others beside it leaves its cells to be placed."""
    found = []
    for seed in buckets:
        while seed.cells:
            others = [bucket for bucket in reversed(buckets) if bucket is not seed and bucket.cells]
            if seed.needs < 2 or len(others) < seed.needs - 1:
                break
            partners = others[: seed.needs - 1]
            times = min(bucket.cells for bucket in (seed, *partners))
            found.append(Wave(seed.code, tuple(bucket.code for bucket in partners), times))
            for bucket in (seed, *partners):
                bucket.cells -= times
    return found


def _cluster(clusters: Clusters, column: int, wave: Wave) -> None:
    """Make the clusters of a wave: every seed takes the nearest cell that it can get of each partner's bucket."""
    free, value = clusters.name("free"), f"s{column}"
    clusters.make("seeds", f"SELECT * FROM {free} WHERE {value} = {wave.seed} ORDER BY cell LIMIT {wave.clusters}")
    clusters.make("joined", f"SELECT cell AS old, cell AS id FROM {clusters.name('seeds')}")
    partners = ", ".join(map(str, wave.partners))
    wanted = f"(SELECT UNNEST([{partners}]) AS {value})"
    clusters.make(
        "hungry", f"SELECT s.* EXCLUDE ({value}), w.{value} FROM {clusters.name('seeds')} s CROSS JOIN {wanted} w"
    )
    clusters.make("offered", f"SELECT * FROM {free} WHERE {value} IN ({partners})")
    for node in ladder(clusters.census.hierarchies, clusters.distance.costs):
        if not _pair_off(clusters, value, clusters.census.keys(node)):
            break
    clusters.merge("joined")
    clusters.make("free", f"SELECT * FROM {free} WHERE cell NOT IN (SELECT old FROM {clusters.name('joined')})")


def _pair_off(clusters: Clusters, value: str, codes: list[str]) -> int:
    """Pair hungry seeds with offered cells of the value they lack and of the same codes; says how many stay hungry."""
    keys = [value, *codes]
    on = " AND ".join(f"h.{key} = o.{key}" for key in (*keys, "turn"))
    turn = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {', '.join(keys)} ORDER BY cell) AS turn FROM"
    clusters.make(
        "paired",
        f"SELECT o.cell AS old, h.cell AS id, h.{value} FROM ({turn} {clusters.name('hungry')}) h "
        f"JOIN ({turn} {clusters.name('offered')}) o ON {on}",
    )
    if clusters.count("paired"):
        paired, hungry, offered = map(clusters.name, ("paired", "hungry", "offered"))
        clusters.add("joined", f"SELECT old, id FROM {paired}")
        clusters.make("offered", f"FROM {offered} WHERE cell NOT IN (SELECT old FROM {paired})")
        fed = f"SELECT id AS cell, {value} FROM {paired}"
        clusters.make("hungry", f"SELECT h.* FROM {hungry} h ANTI JOIN ({fed}) f USING (cell, {value})")
    return clusters.count("hungry")


def ladder(hierarchies: tuple[Hierarchy, ...], costs: list[list[int]]) -> list[Node]:
    """Nodes from the bottom to the top by rising cost: on several ways up, each with another column that goes first."""
    lattice = Lattice.of(hierarchies)
    nodes = {lattice.bottom, lattice.top}
    for first in range(len(hierarchies)):
        node = lattice.bottom
        while node[first] < lattice.top[first]:
            node = lattice.raised(node, first)
            nodes.add(node)
        while open_columns := list(lattice.raisable(node)):
            node = lattice.raised(node, min(open_columns, key=lambda i: (costs[i][node[i] + 1] - costs[i][node[i]], i)))
            nodes.add(node)
    rising = sorted(nodes, key=lambda n: (sum(cost[level] for cost, level in zip(costs, n, strict=True)), n))
    stride = math.ceil(len(rising) / _RUNGS)
    return [*rising[:-1:stride], lattice.top]
