"""What a climb leaves behind: classes that fail join others, or are suppressed within the budget."""

from __future__ import annotations

from duckanon.hierarchy import Hierarchy
from duckanon.local.climb.tuples import TupleTable
from duckanon.search.lattice import Node

_PAIRS = 2_000_000  # movers times classes that one statement may compare
_FEWEST = 64  # movers that are compared at a time however many classes there are
_CHOICES = 8  # classes that a failing one may try to join at a time


class ClassRepair:
    """Tables: placed (id, l0, …), and what is counted of it: members (id, l0, …, n, the key, cost of a row) and classes
    (class: its first tuple, the key, x, loss, tuples, nth, failing, and per column its level l{i}, the cost v{i} there
    and its first tuple's labels and costs)."""

    def __init__(self, tuples: TupleTable) -> None:
        self.tuples = tuples
        self.budget = tuples.measurer.problem.budget  # what is left of it
        self.levels = [f"l{h.index}" for h in tuples.hierarchies]
        self.keys = tuple(tuples.words)

    def take_in(self, thing: str) -> None:
        """Tuples that no node took stand as they are counted; what fails of them is to be mended."""
        lowest = ", ".join(f"CAST({h.lowest} AS SMALLINT) AS l{h.index}" for h in self.tuples.hierarchies)
        self.tuples.add("placed", f"SELECT id, {lowest} FROM {self.tuples.name(thing)}")

    def start_again(self, node: Node) -> bool:
        """All tuples at one node, without its failing classes; whether the rules hold then."""
        self.budget = self.tuples.measurer.problem.budget
        levels = ", ".join(f"CAST({level} AS SMALLINT) AS l{index}" for index, level in enumerate(node))
        self.tuples.make("placed", f"SELECT id, {levels} FROM {self.tuples.name('tuples')}")
        self.refresh()
        self._suppress(f"SELECT class FROM {self.tuples.name('classes')} WHERE failing")
        classes, failing = self.refresh()
        return classes > 0 and failing == 0 and self.budget >= 0

    def restore(self, thing: str) -> None:
        """What was placed is so again."""
        self.tuples.make("placed", f"FROM {self.tuples.name(thing)}")
        self.recount_budget()

    def recount_budget(self) -> None:
        """Who was suppressed may have been taken in again."""
        self.budget = self.tuples.measurer.problem.budget - self._suppressed()

    def _suppressed(self) -> int:
        """Rows that are not placed."""
        placed = f"id NOT IN (SELECT id FROM {self.tuples.name('placed')})"
        return self.tuples.count("tuples", f"SUM(n) FILTER ({placed})")

    def loss(self) -> int:
        """What is lost by the classes as they were counted last, and by who is suppressed."""
        return self.tuples.count("classes", "SUM(loss)") + self._suppressed() * self.tuples.whole_cost

    def refresh(self) -> tuple[int, int]:
        """Count the classes anew; says how many there are and how many fail."""
        tuples = self.tuples
        self._count_members()
        keys = ", ".join(self.keys)
        highest = ", ".join(f"MAX({level}) AS {level}" for level in self.levels)
        counted = (
            f"SELECT {keys}, MIN(id) AS class, CAST(SUM(n) AS BIGINT) AS x, CAST(SUM(n * cost) AS BIGINT) AS loss, "
            f"COUNT(*) AS tuples, ROW_NUMBER() OVER (ORDER BY MIN(id)) - 1 AS nth, {highest} "
            f"FROM {tuples.name('members')} GROUP BY {keys}"
        )
        verdicts = f"SELECT {keys}, failing FROM {tuples.judged(tuples.name('members'), self.keys)}"
        costs = ", ".join(f"{tuples.cost_by(h, f'c.l{h.index}', 't.')} AS v{h.index}" for h in tuples.hierarchies)
        labels = ", ".join(f"t.{name}" for h in tuples.hierarchies for name in _known(h))
        tuples.make(
            "classes",
            f"SELECT c.*, v.failing, {costs}, {labels} FROM ({counted}) c JOIN ({verdicts}) v USING ({keys}) "
            f"JOIN {tuples.name('tuples')} t ON t.id = c.class",
            "the classes so far",
        )
        ((count, failing),) = tuples.workbench.fetch(
            f"SELECT COUNT(*), COUNT(CASE WHEN failing THEN 1 END) FROM {tuples.name('classes')}"
        )
        return int(count), int(failing)

    def _count_members(self) -> None:
        tuples = self.tuples
        tuples.make(
            "members",
            f"SELECT p.*, t.n, {tuples.key_at('p', 't')}, {tuples.cost_at('p', 't')} AS cost "
            f"FROM {tuples.name('placed')} p JOIN {tuples.name('tuples')} t ON t.id = p.id",
        )

    # -- what fails ------------------------------------------------------------------------------------

    def mend(self) -> bool:
        """Merge or suppress failing classes until none is left; whether that succeeded.

        It ends: every merge raises some levels, and none ever falls.
        """
        while True:
            classes, failing = self.refresh()
            if not failing:
                return classes > 0
            if classes == 1:
                return False
            self._find_homes(self._movers("failing"), "TRUE", classes, _CHOICES)
            self._choose_homes()
            homeless = self._suppress_homeless()
            if self.budget < 0:
                return False
            if not self._suppress_dear() + homeless:
                self._merge()

    def merge(self, leaking: str, others: str) -> bool:
        """Merge each class of a condition with the nearest of the others; whether any was."""
        classes, _ = self.refresh()
        if classes < 2:
            return False
        self._find_homes(self._movers(leaking), others, classes, 1)
        self.tuples.make("homes", f"FROM {self.tuples.name('choices')}")
        return self._merge() > 0

    def _movers(self, condition: str) -> str:
        return f"SELECT * FROM {self.tuples.name('classes')} WHERE {condition} ORDER BY x, class"

    def _suppress_homeless(self) -> int:
        """Suppress what fails and can join no other within the levels allowed; says how many rows."""
        if all(h.highest == h.height for h in self.tuples.hierarchies):
            return 0
        movers, choices = self.tuples.name("movers"), self.tuples.name("choices")
        return self._suppress(f"SELECT class FROM {movers} WHERE class NOT IN (SELECT a FROM {choices})")

    def _suppress_dear(self) -> int:
        """Suppress what costs less that way, or holds nowhere, as far as the budget goes; says how many rows."""
        if not self.budget:
            return 0
        homes, whole = self.tuples.name("homes"), self.tuples.whole_cost
        order = "ORDER BY fails DESC, price // x DESC, a"
        so_far = f"SELECT *, SUM(x) OVER ({order}) AS so_far FROM {homes} WHERE fails OR price > x * {whole}"
        return self._suppress(f"SELECT a FROM ({so_far}) WHERE so_far <= {self.budget}")

    def _suppress(self, classes: str) -> int:
        tuples = self.tuples
        keys = ", ".join(self.keys)
        gone = f"SELECT {keys} FROM {tuples.name('classes')} WHERE class IN ({classes})"
        tuples.make("gone", f"SELECT id, n FROM {tuples.name('members')} SEMI JOIN ({gone}) USING ({keys})")
        rows = tuples.count("gone", "SUM(n)")
        if rows:
            self.budget -= rows
            tuples.make("placed", f"FROM {tuples.name('placed')} ANTI JOIN {tuples.name('gone')} USING (id)")
        return rows

    # -- who is near -----------------------------------------------------------------------------------

    def _find_homes(self, movers: str, others: str, classes: int, most: int) -> None:
        """Makes choices (a, x, b, price): of the classes that each mover a can join, those b of the least price."""
        tuples = self.tuples
        room = max(_FEWEST, _PAIRS // classes)
        tuples.make("movers", f"{movers} LIMIT {room}")
        joint = tuples.joint_cost()
        # Price and class in one number: the cheapest is found fastest, and no two are alike.
        price = f"GREATEST(0, LEAST((a.x + b.x) * CAST({joint} AS BIGINT) - a.loss - b.loss, {(1 << 62) // classes}))"
        priced = (
            f"SELECT a.class AS a, a.x, {price} * {classes} + b.nth AS packed "
            f"FROM {tuples.name('movers')} a JOIN {tuples.name('classes')} b "
            f"ON b.class <> a.class AND ({others}) AND {tuples.can_meet()}"
        )
        priced = tuples.in_halves(priced, "a.class")
        least = "MIN(packed)" if most == 1 else f"UNNEST(MIN(packed, {most}))"
        tuples.make(
            "choices",
            f"SELECT m.a, m.x, c.class AS b, m.packed // {classes} AS price, m.packed "
            f"FROM (SELECT a, x, {least} AS packed FROM ({priced}) GROUP BY a, x) m "
            f"JOIN {tuples.name('classes')} c ON c.nth = m.packed % {classes}",
        )

    def _choose_homes(self) -> None:
        """Makes homes (a, x, b, price, fails): the nearest class with which a failing one holds, else the nearest."""
        tuples, keys = self.tuples, ", ".join(self.keys)
        choices, classed = tuples.name("choices"), tuples.name("classed")
        tuples.make(
            "classed",
            f"SELECT m.id, m.n, c.class FROM {tuples.name('members')} m JOIN {tuples.name('classes')} c USING ({keys})",
        )
        sides = (f"SELECT p.a, p.b, m.id, m.n FROM {choices} p JOIN {classed} m ON m.class = p.{side}" for side in "ab")
        tuples.make("unions", " UNION ALL ".join(sides))
        verdicts = f"SELECT a, b, failing AS fails FROM {tuples.judged(tuples.name('unions'), ('a', 'b'))}"
        tuples.make(
            "homes",
            f"FROM {choices} JOIN ({verdicts}) USING (a, b) "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY fails, packed) = 1",
        )

    def _merge(self) -> int:
        """Merge movers with their homes, where the home does not itself move elsewhere."""
        tuples = self.tuples
        homes, classes = tuples.name("homes"), tuples.name("classes")
        chosen = (
            f"SELECT h.a, h.b FROM {homes} h LEFT JOIN {homes} o ON o.a = h.b "
            "WHERE o.a IS NULL OR (o.b = h.a AND h.a > h.b)"
        )
        # Where they go round in a circle, the nearest goes first.
        nearest = f"SELECT a, b FROM {homes} WHERE NOT EXISTS ({chosen}) ORDER BY packed, a LIMIT 1"
        chosen = f"{chosen} UNION ALL ({nearest})"
        levels = (
            f"SELECT h.a, h.b, {tuples.joint_levels()} FROM ({chosen}) h "
            f"JOIN {classes} a ON a.class = h.a JOIN {classes} b ON b.class = h.b"
        )
        highest = ", ".join(f"MAX({level}) OVER (PARTITION BY b) AS {level}" for level in self.levels)
        tuples.make("joined", f"SELECT a, b, {highest} FROM ({levels})")
        names = ", ".join(self.levels)
        joined = tuples.name("joined")
        tuples.make("raises", f"SELECT a AS class, {names} FROM {joined} UNION SELECT b, {names} FROM {joined}")
        self._rise()
        return tuples.count("joined")

    def _rise(self) -> None:
        """Makes placed anew: the classes of the table raises have risen."""
        tuples, keys = self.tuples, ", ".join(self.keys)
        risen = ", ".join(f"GREATEST(m.{level}, COALESCE(r.{level}, 0)) AS {level}" for level in self.levels)
        tuples.make(
            "placed",
            f"SELECT m.id, {risen} FROM {tuples.name('members')} m "
            f"JOIN (SELECT {keys}, class FROM {tuples.name('classes')}) c USING ({keys}) "
            f"LEFT JOIN {tuples.name('raises')} r ON r.class = c.class",
        )


def _known(h: Hierarchy) -> list[str]:
    labels = [f"g{h.index}_{level}" for level in h.coded]
    return labels + [f"c{h.index}_{level}" for level in h.coded if level > 0]
