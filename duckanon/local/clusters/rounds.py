"""Rounds of merges: every failing cluster finds its nearest compatible one; merges that do not conflict are made."""

from __future__ import annotations

from duckanon.local import Placement
from duckanon.local.clusters import Clusters, Standing
from duckanon.local.clusters.neighbours import ALL_PAIRS, Neighbours
from duckanon.query.expressions import TOLERANCE
from duckanon.search import Seen
from duckanon.search.progress import Progress

_NEAREST = 16  # partners looked at in an ordinary round
_MATCHINGS = 6  # times that the partners left over by conflicts are matched within one round
_LAST = 0.1  # of those that are served first, the last that wait are served with all others


class Rounds:
    """Merges failing clusters until all hold, or no merge helps any more."""

    def __init__(self, clusters: Clusters, seen: Seen) -> None:
        self.clusters, self.seen = clusters, seen
        self.budget = clusters.measurer.problem.budget
        self.neighbours = Neighbours(clusters)

    def settle(self, fully: bool, fitting: str = "TRUE", at_any_cost: bool = True) -> Standing:
        """Merge until every cluster holds or what fails cannot be merged: that is left to be suppressed.

        `fitting`: a condition on a failing cluster a and its partner b. `at_any_cost`: what is beyond the budget merges
        with the nearest there is even if that breaks a bound, since in a larger class it may hold again.
        """
        while True:
            standing = self._standing(fully)
            if not standing.failing or standing.clusters == 1:
                return standing
            pairs = standing.failing * standing.clusters
            if self._round("a.failing", fitting, pairs) or self._search_all(standing, fitting):
                continue
            within = standing.failing_rows <= self.budget
            if within or not at_any_cost or not self._force(standing):
                return standing

    def serve_first(self, those: str) -> None:
        """Merge failing clusters a of which a condition is true, until nearly all of them hold."""
        seekers, table, many = f"(a.failing AND {those})", self.clusters.name("clusters"), 1.0
        while True:
            standing = self._standing(fully=True)
            ((waiting,),) = self.clusters.workbench.fetch(f"SELECT COUNT(*) FROM {table} a WHERE {seekers}")
            many = max(many, _LAST * waiting)
            if waiting < many or not self._round(seekers, "TRUE", waiting * standing.clusters):
                return

    def _standing(self, fully: bool) -> Standing:
        """The clusters counted anew, those that are one class united."""
        census = self.clusters.measurer.census
        rows = census.rows - census.left_out
        while True:
            standing = self.clusters.refresh(fully)
            if self.clusters.unite_equals():
                continue
            self.seen(standing.levels, standing.failing_rows, Progress(rows - standing.failing_rows, rows, "rows hold"))
            return standing

    def placement(self) -> Placement | None:
        """Where the cells go once every class holds all the policy's class rules; None: not within the budget."""
        standing = self.settle(fully=True)
        if standing.failing_rows > self.budget or standing.failing == standing.clusters:
            return None
        return self.clusters.placement()

    def _round(self, seekers: str, fitting: str, pairs: int) -> int:
        self.neighbours.find(seekers, fitting, _NEAREST, pairs)
        self._keep_compatible()
        return self.merge_nearest()

    def _search_all(self, standing: Standing, fitting: str) -> int:
        """No partner among the nearest: look at all there are, some clusters at a time."""
        batch = max(1, ALL_PAIRS // (4 * standing.clusters))
        failing = f"SELECT id FROM {self.clusters.name('clusters')} WHERE failing ORDER BY id"
        for start in range(0, standing.failing, batch):
            seekers = f"a.id IN ({failing} LIMIT {batch} OFFSET {start})"
            self.neighbours.find(seekers, fitting, standing.clusters, 0)
            self._keep_compatible()
            if merged := self.merge_nearest():
                return merged
        return 0

    def _force(self, standing: Standing) -> int:
        """Merge what is beyond the budget with its nearest, compatible or not; the smallest may stay suppressed."""
        so_far = "SUM(x) OVER (ORDER BY x, id ROWS UNBOUNDED PRECEDING)"
        beyond = f"SELECT id FROM (SELECT id, {so_far} AS so_far FROM {self.clusters.name('clusters')} WHERE failing)"
        seekers = f"a.id IN ({beyond} WHERE so_far > {self.budget})"
        self.neighbours.find(seekers, "TRUE", 1, standing.failing * standing.clusters)
        self.clusters.make("partners", f"FROM {self.clusters.name('near')}")
        return self.merge_nearest()

    def _keep_compatible(self) -> None:
        """Constraint 1 (han): no frequency may exceed its bound in the merged class, counted as one of at least k rows.

        A cell can hold so many rows of one value that it breaks the constraint alone: then a merge must relieve it.
        """
        c = self.clusters
        near, counts, clusters = c.name("near"), c.name("counts"), c.name("clusters")
        sides = " UNION ALL ".join(
            f"SELECT n.a, n.b, y.bound, y.alpha, y.y FROM {near} n JOIN {counts} y ON y.id = n.{side}" for side in "ab"
        )
        summed = f"SELECT a, b, bound, MIN(alpha) AS alpha, SUM(y) AS y FROM ({sides}) GROUP BY a, b, bound"
        joint = (
            f"SELECT s.a, s.b, SUM({c.excess('s.y', 's.alpha', '(a.x + b.x)')}) AS together, "
            "ANY_VALUE(a.excess + b.excess) AS apart "
            f"FROM ({summed}) s JOIN {clusters} a ON a.id = s.a JOIN {clusters} b ON b.id = s.b GROUP BY s.a, s.b"
        )
        c.make(
            "partners",
            f"SELECT n.* FROM {near} n LEFT JOIN ({joint}) j ON j.a = n.a AND j.b = n.b "
            f"WHERE COALESCE(j.together, 0) = 0 OR j.together < j.apart - {TOLERANCE!r}",
        )

    # -- which of them ---------------------------------------------------------------------------------

    def merge_nearest(self) -> int:
        """Make the merges of the table of partners that do not conflict, the nearest first; says how many."""
        c = self.clusters
        c.make("wishes", f"SELECT * FROM {c.name('partners')} QUALIFY d = MIN(d) OVER (PARTITION BY a)")
        c.make("merges", self._taken_in())
        taken = f"SELECT old FROM {c.name('merges')} UNION ALL SELECT id FROM {c.name('merges')}"
        c.make(
            "edges",
            "SELECT DISTINCT LEAST(a, b) AS u, GREATEST(a, b) AS v, d, open, lot "
            f"FROM {c.name('wishes')} WHERE a NOT IN ({taken}) AND b NOT IN ({taken})",
        )
        for _ in range(_MATCHINGS):
            if not self._match():
                break
        merged = c.count("merges")
        if merged:
            c.merge("merges")
        return merged

    def _taken_in(self) -> str:
        """old, id: clusters whose nearest holds and covers them. It takes many at a time: nothing of it changes but the
        frequencies, and each may join only as far as those before it leave room for its values."""
        c = self.clusters
        wish = (
            f"SELECT a, b, d FROM {c.name('wishes')} WHERE covers AND open = 0 "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY lot, b) = 1"
        )
        joining = (
            "SELECT w.a, w.b, y.bound, y.alpha, "
            "SUM(y.y) OVER (PARTITION BY w.b, y.bound ORDER BY w.d, w.a ROWS UNBOUNDED PRECEDING) AS joined "
            f"FROM wish w JOIN {c.name('counts')} y ON y.id = w.a"
        )
        refused = (
            f"SELECT j.a FROM ({joining}) j JOIN {c.name('clusters')} t ON t.id = j.b "
            f"LEFT JOIN {c.name('counts')} o ON o.id = j.b AND o.bound = j.bound "
            f"WHERE {c.excess('(COALESCE(o.y, 0) + j.joined)', 'j.alpha', '(t.x + j.joined)')} > 0"
        )
        return f"WITH wish AS ({wish}) SELECT a AS old, b AS id FROM wish WHERE a NOT IN ({refused})"

    def _match(self) -> int:
        """Merge the pairs that are each other's best; the edges that touch them are gone then."""
        c = self.clusters
        edges = c.name("edges")
        ends = " UNION ALL ".join(
            f"SELECT {end} AS w, {{'d': d, 'open': open, 'lot': lot, 'u': u, 'v': v}} AS edge FROM {edges}"
            for end in "uv"
        )
        best = f"SELECT MIN(edge) AS edge FROM ({ends}) GROUP BY w"
        c.make("matched", f"SELECT edge.u AS id, edge.v AS old FROM ({best}) GROUP BY edge HAVING COUNT(*) = 2")
        found = c.count("matched")
        if found:
            c.add("merges", f"SELECT old, id FROM {c.name('matched')}")
            touched = f"SELECT id FROM {c.name('matched')} UNION ALL SELECT old FROM {c.name('matched')}"
            c.make("edges", f"SELECT * FROM {edges} WHERE u NOT IN ({touched}) AND v NOT IN ({touched})")
        return found
