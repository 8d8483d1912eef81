"""The classes when a round of the refinement begins: who is in which, and what a row costs there."""

from __future__ import annotations

from duckanon.local.climb.tuples import TupleTable

_FEW, _MANY = 16, 2  # one in so many


class ClassTable:
    """Tables: owned (id, n, class) and holding (class: its first tuple, x rows, tuples, the lowest levels l0, … that
    all of them share, cc: what a row costs there, nth, region, out, frozen).

    A suppressed tuple is `out`, a class by itself that costs all there is. A class is `frozen` where labels of
    different levels are the same text, so that it costs less than at any levels that its tuples share.
    """

    def __init__(self, tuples: TupleTable) -> None:
        self.tuples, self.k = tuples, tuples.measurer.policy.k
        self.levels = [f"l{h.index}" for h in tuples.hierarchies]
        self.keys = tuple(tuples.words)
        self.classes = self.regions = 0
        self.enough = 0  # rows that a class takes to hold; with more rules than k a guess

    def count(self, most: int) -> None:
        """Count what is placed, in regions of so many tuples at most, or a class more."""
        tuples = self.tuples
        self._find_owners()
        tuples.make("tight", self.shared(tuples.name("owned"), "class"))
        suppressed = f"{tuples.name('tuples')} ANTI JOIN {tuples.name('placed')} USING (id)"
        lowest = ", ".join(str(h.lowest) for h in tuples.hierarchies)
        known = (
            f"SELECT class, x, tuples, {', '.join(self.levels)}, cc, FALSE AS out, x * cc > loss AS frozen "
            f"FROM {tuples.name('owners')} JOIN {tuples.name('tight')} USING (class) "
            f"UNION ALL SELECT id, n, 1, {lowest}, {tuples.whole_cost}, TRUE, FALSE FROM {suppressed}"
        )
        numbered = f"SELECT *, ROW_NUMBER() OVER (ORDER BY class) - 1 AS nth, 0 AS region FROM ({known})"
        tuples.make("holding", numbered)
        tuples.add("owned", f"SELECT id, n, id AS class FROM {suppressed}")
        self.classes, self.regions = tuples.count("holding"), 1
        if not self.enough:
            usual = tuples.count("holding", "QUANTILE_DISC(x, 0.5) FILTER (NOT out)")
            self.enough = max(self.k, usual) if tuples.measurer.judged or tuples.least_covered else self.k
        if tuples.count("owned") > most:
            self._part(most)

    def _find_owners(self) -> None:
        """Makes owners, the classes by what they show, and owned."""
        tuples, keys = self.tuples, ", ".join(self.keys)
        placed = f"{tuples.name('placed')} p JOIN {tuples.name('tuples')} t ON t.id = p.id"
        shown = f"SELECT p.id, t.n, {tuples.key_at('p', 't')}, {tuples.cost_at('p', 't')} AS cost FROM {placed}"
        tuples.make("shown", shown)
        tuples.make(
            "owners",
            f"SELECT {keys}, MIN(id) AS class, CAST(SUM(n) AS BIGINT) AS x, CAST(SUM(n * cost) AS BIGINT) AS loss, "
            f"COUNT(*) AS tuples FROM {tuples.name('shown')} GROUP BY {keys}",
        )
        tuples.make(
            "owned",
            f"SELECT m.id, m.n, o.class FROM {tuples.name('shown')} m JOIN {tuples.name('owners')} o USING ({keys})",
        )

    def _part(self, most: int) -> None:
        """Near classes are in one region: those with the same coarse labels of the columns that are least generalized;
        the dearest regions come first."""
        tuples = self.tuples
        shares = ", ".join(f"SUM(x * l{h.index}) / {h.height}e0" for h in tuples.hierarchies)
        (used,) = tuples.workbench.fetch(f"SELECT {shares} FROM {tuples.name('holding')} WHERE NOT out")
        least_first = sorted(tuples.hierarchies, key=lambda h: (used[h.index], h.index))
        coarse = ", ".join(f"t.g{h.index}_{h.coded[-1]}" for h in least_first if h.coded)
        so_far = f"SUM(c.tuples) OVER (ORDER BY {coarse}, c.class ROWS UNBOUNDED PRECEDING) - c.tuples"
        tuples.make(
            "parted",
            f"SELECT c.*, ({so_far}) // {most} AS part FROM {tuples.name('holding')} c "
            f"JOIN {tuples.name('tuples')} t ON t.id = c.class",
        )
        ranked = (
            "SELECT part, ROW_NUMBER() OVER (ORDER BY SUM(x * cc) DESC, part) - 1 AS region "
            f"FROM {tuples.name('parted')} GROUP BY part"
        )
        tuples.make(
            "holding",
            f"SELECT p.* EXCLUDE (part, region), r.region FROM {tuples.name('parted')} p "
            f"JOIN ({ranked}) r USING (part)",
        )
        self.regions = 1 + tuples.count("holding", "MAX(region)")

    def shared(self, members: str, groups: str) -> str:
        """The groups of some members (id, the groups): the lowest levels that all of a group share, cc there."""
        tuples = self.tuples
        met = ", ".join(f"MAX({tuples.meeting_level(h)}) AS l{h.index}" for h in tuples.hierarchies)
        first = f"SELECT {groups}, MIN(id) AS first FROM {members} GROUP BY {groups}"
        pairs = f"SELECT {groups}, id, first FROM {members} JOIN ({first}) USING ({groups})"
        levels = (
            f"SELECT {groups}, first, {met} FROM ({pairs}) JOIN {tuples.name('tuples')} a USING (id) "
            f"JOIN {tuples.name('tuples')} b ON b.id = first GROUP BY {groups}, first"
        )
        return (
            f"SELECT c.*, {tuples.cost_at('c', 't')} AS cc FROM ({levels}) c "
            f"JOIN {tuples.name('tuples')} t ON t.id = c.first"
        )

    def learn(self, gaining: int, holding: int) -> None:
        """Guess better, by how many of the classes that were tried hold."""
        if holding * _FEW < gaining:
            self.enough *= 2
        elif holding * _MANY > gaining:
            self.enough = max(self.k, self.enough // 2)

    def loss(self) -> int:
        return self.tuples.count("holding", "SUM(x * cc)")
