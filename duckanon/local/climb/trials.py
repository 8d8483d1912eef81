"""Offers are tried, each by itself, and those that gain are taken, the best first, none touching another's classes."""

from __future__ import annotations

from duckanon.local.climb.class_table import ClassTable
from duckanon.local.climb.offers import OFFERS

_PASSES = 4  # of choosing: each takes what no better offer touches


class Trials:
    """Tables: gaining (offer, gain), tried (offer, id, n, class: where the tuple would be) and outcomes (offer, class,
    its levels) of these; and changes (id, offer, class, l0, …), all that was taken since the last count."""

    def __init__(self, table: ClassTable) -> None:
        self.table, self.tuples = table, table.tuples
        self.levels = ", ".join(table.levels)

    def begin(self) -> None:
        columns = ", ".join(f"CAST(0 AS SMALLINT) AS {level}" for level in self.table.levels)
        numbers = "CAST(0 AS INTEGER) AS id, CAST(0 AS BIGINT) AS offer, CAST(0 AS BIGINT) AS class"
        self.tuples.make("changes", f"SELECT {numbers}, {columns} WHERE FALSE")

    def take(self, region: int) -> tuple[int, int]:
        """Add to the changes what is worth it of shifts and touched; says how many offers, and what they gain."""
        tuples = self.tuples
        self._measure()
        gaining = tuples.count("gaining")
        if not gaining:
            return 0, 0
        tuples.make("tried", f"SELECT * FROM ({self._tried()}) SEMI JOIN {tuples.name('gaining')} USING (offer)")
        failing = f"SELECT offer FROM {tuples.judged(tuples.name('tried'), ('offer', 'class'))} WHERE failing"
        tuples.make("gaining", f"FROM {tuples.name('gaining')} ANTI JOIN ({failing}) USING (offer)")
        self.table.learn(gaining, tuples.count("gaining"))
        self._choose()
        tuples.make("tried", f"FROM {tuples.name('tried')} SEMI JOIN {tuples.name('taken')} USING (offer)")
        outcomes = self.table.shared(tuples.name("tried"), "offer, class")
        tuples.add(
            "changes",
            f"SELECT id, offer + {2 * OFFERS * region}, class, {self.levels} FROM {tuples.name('tried')} "
            f"JOIN (SELECT offer, class, {self.levels} FROM ({outcomes})) USING (offer, class)",
        )
        return tuples.count("taken"), tuples.count("taken", "SUM(gain)")

    def _tried(self) -> str:
        tuples = self.tuples
        return (
            "SELECT offer, w.id, w.n, COALESCE(s.b, w.class) AS class, w.n * c.cc AS was "
            f"FROM {tuples.name('touched')} "
            f"JOIN {tuples.name('owned')} w USING (class) JOIN {tuples.name('holding')} c USING (class) "
            f"LEFT JOIN {tuples.name('shifts')} s USING (offer, id)"
        )

    def _measure(self) -> None:
        """What the offers gain, if all their classes have rows enough: that is soon known."""
        steps = {
            "tried": self._tried(),
            "outcomes": self.table.shared("tried", "offer, class"),
            "sizes": "SELECT offer, class, SUM(n) AS x, SUM(was) AS was FROM tried GROUP BY offer, class",
        }
        gain, enough = "SUM(was - x * cc)", f"MIN(x) >= {self.table.k}"
        gaining = f"FROM sizes JOIN outcomes USING (offer, class) GROUP BY offer HAVING {gain} > 0 AND {enough}"
        self.tuples.make("gaining", f"SELECT offer, CAST({gain} AS BIGINT) AS gain {gaining}", steps=steps)

    def _choose(self) -> None:
        """Makes taken (offer, gain)."""
        tuples, rivals = self.tuples, self.tuples.name("rivals")
        ranked = f"SELECT *, ROW_NUMBER() OVER (ORDER BY gain DESC, offer) AS nth FROM {tuples.name('gaining')}"
        tuples.make("rivals", f"SELECT * FROM {tuples.name('touched')} JOIN ({ranked}) USING (offer)")
        tuples.make("taken", f"FROM {tuples.name('gaining')} WHERE FALSE")
        for _ in range(_PASSES):
            first = f"SELECT *, nth = MIN(nth) OVER (PARTITION BY class) AS first FROM {rivals}"
            tuples.make("best", f"SELECT offer, gain FROM ({first}) GROUP BY offer, gain HAVING BOOL_AND(first)")
            tuples.add("taken", f"FROM {tuples.name('best')}")
            theirs = f"SELECT class FROM {rivals} SEMI JOIN {tuples.name('best')} USING (offer)"
            beaten = f"SELECT offer FROM {rivals} SEMI JOIN ({theirs}) USING (class)"
            tuples.make("rivals", f"FROM {rivals} ANTI JOIN ({beaten}) USING (offer)")

    # -- what becomes of it ----------------------------------------------------------------------------

    def apply(self) -> None:
        """Makes placed anew: with the changes, and every class at the lowest levels that it shares. Classes that come
        to show the same are one: where that breaks a rule, what led to it is undone."""
        tuples = self.tuples
        while self._breaks():
            broken = tuples.name("broken")
            tuples.make("changes", f"FROM {tuples.name('changes')} ANTI JOIN {broken} USING (offer)")
            frozen = f"frozen OR class IN (SELECT class FROM {broken} WHERE offer IS NULL) AS frozen"
            tuples.make("holding", f"SELECT * REPLACE ({frozen}) FROM {tuples.name('holding')}")
        tuples.make("placed", f"SELECT id, {self.levels} FROM {tuples.name('after')}")

    def _breaks(self) -> int:
        """Makes after (id, n, offer, class, l0, …) and broken (offer, class); says how many these are."""
        tuples, keys = self.tuples, ", ".join(self.table.keys)
        levels = ", ".join(
            f"COALESCE(h.{level}, CASE WHEN c.frozen THEN p.{level} ELSE c.{level} END) AS {level}"
            for level in self.table.levels
        )
        tuples.make(
            "after",
            f"SELECT w.id, w.n, h.offer, COALESCE(h.class, w.class) AS class, {levels} FROM {tuples.name('owned')} w "
            f"JOIN {tuples.name('holding')} c USING (class) LEFT JOIN {tuples.name('changes')} h USING (id) "
            f"LEFT JOIN {tuples.name('placed')} p USING (id) WHERE h.id IS NOT NULL OR NOT c.out",
        )
        if not tuples.measurer.judged:
            return 0  # rows enough are enough together
        after = f"{tuples.name('after')} p JOIN {tuples.name('tuples')} t ON t.id = p.id"
        keyed = f"SELECT p.id, p.n, p.offer, p.class, {tuples.key_at('p', 't')} FROM {after}"
        met = (
            f"SELECT {keys} FROM (SELECT DISTINCT {keys}, offer, class FROM keyed) GROUP BY {keys} HAVING COUNT(*) > 1"
        )
        tuples.make("met", f"FROM keyed SEMI JOIN ({met}) USING ({keys})", steps={"keyed": keyed})
        failing = f"SELECT {keys} FROM {tuples.judged(tuples.name('met'), self.table.keys)} WHERE failing"
        tuples.make(
            "broken", f"SELECT DISTINCT offer, class FROM {tuples.name('met')} SEMI JOIN ({failing}) USING ({keys})"
        )
        return tuples.count("broken")
