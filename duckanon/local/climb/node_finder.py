"""Which nodes next: those at which the tuples that are left find the company they need, as some of them tell."""

from __future__ import annotations

from duckanon.local.climb.tuples import TupleTable
from duckanon.search.lattice import Node

_SEEDS = 4096
_PAIRS = 1_000_000  # pairs compared at most, as long as enough tuples can be asked
_FEWEST = 24
_NEIGHBOURS = 40  # groups of neighbours that a tuple looks at


class NodeFinder:
    """Every tuple asked looks at all that is left, nearest first, and names the cheapest node with enough rows."""

    def __init__(self, tuples: TupleTable) -> None:
        self.tuples = tuples
        self.indexes = [h.index for h in tuples.hierarchies]

    def ask(self, left: int, wanted: int, turn: int) -> list[tuple[Node, int]]:
        """Nodes, the cheapest first, each with how many tuples named it."""
        tuples = self.tuples
        seeds = min(_SEEDS, max(_FEWEST, _PAIRS // max(1, left)))
        chosen = f"SELECT * FROM {tuples.name('left_over')} ORDER BY hash(id + {turn}), id LIMIT {seeds}"
        tuples.make("seeds", chosen)
        tuples.make("near", self._near(wanted))
        rows = tuples.workbench.fetch(self._named(wanted), f"nodes for {left} tuples")
        return [(tuples.node_of(int(number)), int(votes)) for number, votes in rows]

    def _near(self, wanted: int) -> str:
        """For every seed, the groups of tuples that it meets at the same node, nearest first: levels, w rows, cost; and
        the levels u{i} at which it meets all of them so far."""
        tuples, levels = self.tuples, [f"l{index}" for index in self.indexes]
        meeting = tuples.number_by(tuples.meeting_level(h) for h in tuples.hierarchies)
        met = (
            f"SELECT a.id AS seed, {meeting} AS node, SUM(b.n) AS w "
            f"FROM {tuples.name('seeds')} a JOIN {tuples.name('left_over')} b ON {tuples.can_meet()} GROUP BY ALL"
        )
        priced = (
            f"SELECT m.*, {tuples.cost_at('m', 's')} AS cost "
            f"FROM (SELECT *, {tuples.levels_of('node')} FROM ({met})) m JOIN {tuples.name('seeds')} s ON s.id = m.seed"
        )
        order = "PARTITION BY seed ORDER BY cost, node"
        counted = (
            f"SELECT *, ROW_NUMBER() OVER ({order}) AS nth, "
            f"SUM(w) OVER ({order} ROWS UNBOUNDED PRECEDING) - w AS before FROM ({priced})"
        )
        joins = ", ".join(f"MAX({lv}) OVER ({order} ROWS UNBOUNDED PRECEDING) AS u{lv[1:]}" for lv in levels)
        return f"SELECT *, {joins} FROM ({counted}) WHERE nth <= {_NEIGHBOURS} AND before < {wanted}"

    def _named(self, wanted: int) -> str:
        """The cheapest node for each seed: one at which it meets a group, or all of the nearest, with enough rows."""
        near = self.tuples.name("near")
        plain = ", ".join(f"l{index}" for index in self.indexes)
        joint = ", ".join(f"u{index} AS l{index}" for index in self.indexes)
        options = f"SELECT seed, {plain} FROM {near} UNION SELECT seed, {joint} FROM {near}"
        within = " AND ".join(f"n.l{index} <= o.l{index}" for index in self.indexes)
        sized = (
            f"SELECT o.*, SUM(n.w) AS w FROM ({options}) o JOIN {near} n ON n.seed = o.seed AND {within} GROUP BY ALL"
        )
        number = self.tuples.number_by(f"o.l{index}" for index in self.indexes)
        priced = (
            f"SELECT o.seed, {number} AS node, {self.tuples.cost_at('o', 's')} AS cost, "
            f"CASE WHEN o.w >= {wanted} THEN 0 ELSE 1 END AS short, o.w FROM ({sized}) o "
            f"JOIN {self.tuples.name('seeds')} s ON s.id = o.seed"
        )
        # Where nobody has enough company, the most that was found is the way up.
        best = (
            f"SELECT seed, node, cost FROM ({priced}) QUALIFY ROW_NUMBER() OVER "
            "(PARTITION BY seed ORDER BY short, CASE WHEN short = 1 THEN -w ELSE 0 END, cost, node) = 1"
        )
        return f"SELECT node, COUNT(*) FROM ({best}) GROUP BY node ORDER BY SUM(cost) // COUNT(*), node"
