"""Who is near whom: for every cluster that looks for a partner, its nearest others."""

from __future__ import annotations

from duckanon.hierarchy import Hierarchy
from duckanon.local.clusters import Clusters

# Up to this many pairs all are compared; beyond it only those that some order of the clusters brings together.
ALL_PAIRS = 8_000_000
_PAIRS_IN_ORDER = 12_000_000  # pairs that the orders should bring together …
_WIDTHS = (6, 20)  # … as long as each cluster meets at least so many others per order, and at most so many


class Neighbours:
    """Makes the table near (a, b, d, open, lot, covers): the nearest clusters b of each cluster a.

    `open`: b still fails; `covers`: b's labels stay as they are when it takes a in; `lot` breaks ties in a way that
    spreads the partners, by nothing but the ids.
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self._orders = orders(clusters.census.hierarchies)

    def find(self, seekers: str, fitting: str, most: int, pairs: int) -> None:
        """`seekers` is a condition on a, `fitting` one on a and b; there are `pairs` of them to compare."""
        table = self.clusters.name("clusters")
        fitting = f"{fitting} AND {self.clusters.distance.can_meet()}"
        if pairs <= ALL_PAIRS:
            together = f"FROM {table} a, {table} b WHERE a.id <> b.id AND {seekers} AND {fitting}"
        else:
            self._bring_together(seekers)
            pair = self.clusters.name("pairs")
            together = f"FROM {pair} p JOIN {table} a ON a.id = p.a JOIN {table} b ON b.id = p.b WHERE {fitting}"
        distance = self.clusters.distance
        compared = (
            "SELECT a.id AS a, b.id AS b, CAST(b.failing AS INTEGER) AS open, a.x AS a_x, a.cost AS a_cost, "
            f"b.x AS b_x, b.cost AS b_cost, {distance.common_cost()} AS common {together}"
        )
        measured = (
            "SELECT a, {'d': (a_x + b_x) * common - a_x * a_cost - b_x * b_cost, 'open': open, "
            "'lot': (LEAST(a, b) * 2654435761 + GREATEST(a, b) * 40503) % 1000003, 'b': b, 'covers': common = b_cost} "
            f"AS near FROM ({compared})"
        )
        self.clusters.make(
            "near",
            "SELECT a, near.b, near.d, near.open, near.lot, near.covers FROM "
            f"(SELECT a, UNNEST(MIN(near, {most})) AS near FROM ({measured}) GROUP BY a)",
            "the nearest clusters",
        )

    def _bring_together(self, seekers: str) -> None:
        """Clusters that stand close in some order by their codes: they share the codes that the order begins with."""
        clusters = self.clusters
        wished = _PAIRS_IN_ORDER // (2 * len(self._orders) * clusters.count("clusters"))
        width = min(max(wished, _WIDTHS[0]), _WIDTHS[1])
        for position, order in enumerate(self._orders):
            rank = f"ROW_NUMBER() OVER (ORDER BY {', '.join(order)}, id)"
            clusters.make("line", f"SELECT id, {seekers} AS seeks, {rank} AS rank FROM {clusters.name('clusters')} a")
            line = clusters.name("line")
            beside = (
                f"SELECT a.id AS a, b.id AS b, a.seeks AS forth, b.seeks AS back FROM {line} a "
                f"CROSS JOIN range(1, {width + 1}) o (step) JOIN {line} b ON b.rank = a.rank + o.step"
            )
            both = "SELECT a, b FROM beside WHERE forth UNION ALL SELECT b, a FROM beside WHERE back"
            clusters.make(f"beside_{position}", f"WITH beside AS ({beside}) {both}")
        found = " UNION ALL ".join(
            f"FROM {clusters.name(f'beside_{position}')}" for position in range(len(self._orders))
        )
        clusters.make("pairs", f"SELECT DISTINCT a, b FROM ({found})")


def orders(hierarchies: tuple[Hierarchy, ...]) -> list[list[str]]:
    """Orders of the clusters, each a sequence of code columns: every column has its turn to come last.

    Within a column the coarse codes come first, so that clusters with a low common ancestor stand close.
    """
    columns = [[h.code(level) for level in reversed(h.coded)] for h in hierarchies]
    turned = [columns[turn:] + columns[:turn] for turn in range(len(columns))]
    both = turned + [list(reversed(turn)) for turn in turned]
    found: list[list[str]] = []
    for order in both:
        flat = [code for codes in order for code in codes]
        if flat not in found:
            found.append(flat)
    return found
