"""Dear classes give way where their tuples cost less in others, even if those must rise to take them in."""

from __future__ import annotations

from duckanon.local.climb.class_repair import PAIRS, ClassRepair

_FEWEST = 64  # where fewer tuples could be looked at, it is not worth counting so many classes
_ROUNDS = 2  # each looks at the next dearest tuples


class Refinement:
    """Dissolves repaired classes, of which none fails."""

    def __init__(self, repair: ClassRepair) -> None:
        self.repair, self.tuples = repair, repair.tuples

    def run(self) -> None:
        for turn in range(_ROUNDS):
            classes, _ = self.repair.refresh()
            if not 1 < classes <= PAIRS // _FEWEST:
                return
            self.repair.find_homes(self._movers(), "TRUE", classes, 1, turn)
            self._find_offers()
            if self.tuples.count("dissolved"):
                self._dissolve()

    def _movers(self) -> str:
        """The tuples of the dearest classes, each as if it stood alone."""
        tuples, keys = self.tuples, ", ".join(self.repair.keys)
        lowest = ", ".join(
            f"CAST({h.lowest} AS SMALLINT) AS l{h.index}, {tuples.cost(h, h.lowest, 't.')} AS v{h.index}"
            for h in tuples.hierarchies
        )
        return (
            f"SELECT t.*, t.id AS mover, c.class AS home, t.n AS x, 0 AS loss, {lowest} "
            f"FROM {tuples.name('members')} m JOIN {tuples.name('tuples')} t ON t.id = m.id "
            f"JOIN (SELECT {keys}, class, loss // x AS per_row FROM {tuples.name('classes')} WHERE loss > 0) c "
            f"USING ({keys}) ORDER BY c.per_row DESC, c.class, t.id"
        )

    def _find_offers(self) -> None:
        """Makes moved (a of class e joins b for the price) and dissolved (e): the classes whose tuples gain together,
        where none of the classes they touch is touched by a better offer."""
        tuples = self.tuples
        tuples.make(
            "moved",
            f"SELECT n.a, n.b, n.price, o.home AS e, c.tuples, c.loss FROM {tuples.name('choices')} n "
            f"JOIN {tuples.name('movers')} o ON o.mover = n.a JOIN {tuples.name('classes')} c ON c.class = o.home",
        )
        offers = (
            f"SELECT e, MAX(loss) - SUM(price) AS gain FROM {tuples.name('moved')} GROUP BY e "
            "HAVING COUNT(*) = MAX(tuples) AND COUNT(DISTINCT b) = COUNT(*) AND MAX(loss) > SUM(price)"
        )
        tuples.make("offers", f"SELECT e, ROW_NUMBER() OVER (ORDER BY gain DESC, e) AS nth FROM ({offers})")
        pairs = f"{tuples.name('moved')} m JOIN {tuples.name('offers')} o USING (e)"
        touched = f"SELECT e, nth, e AS z FROM {tuples.name('offers')} UNION SELECT e, nth, m.b FROM {pairs}"
        first = f"SELECT e, nth = MIN(nth) OVER (PARTITION BY z) AS first FROM ({touched})"
        tuples.make("dissolved", f"SELECT e FROM ({first}) GROUP BY e HAVING BOOL_AND(first)")

    def _dissolve(self) -> None:
        """Try it; offers that make a class fail are dropped, and if that is not enough, all are."""
        tuples, joined = self.tuples, self.tuples.name("joined")
        for _ in range(2):
            self._try()
            if not tuples.count("bad"):
                tuples.make("placed", f"FROM {tuples.name('tried')}")
                return
            harmful = f"SELECT e FROM {joined} WHERE a IN (FROM {tuples.name('bad')})"
            tuples.make("dissolved", f"FROM {tuples.name('dissolved')} WHERE e NOT IN ({harmful})")

    def _try(self) -> None:
        """Makes tried, what placed would become, and bad: the tuples whose classes would fail."""
        tuples, repair = self.tuples, self.repair
        names, keys = ", ".join(repair.levels), ", ".join(repair.keys)
        tuples.make(
            "joined",
            f"SELECT m.a, m.b, m.e, {tuples.joint_levels()} FROM {tuples.name('moved')} m "
            f"SEMI JOIN {tuples.name('dissolved')} USING (e) JOIN {tuples.name('movers')} a ON a.mover = m.a "
            f"JOIN {tuples.name('classes')} b ON b.class = m.b",
        )
        tuples.make("raises", f"SELECT b AS class, {names} FROM {tuples.name('joined')}")
        tuples.make("moves", f"SELECT a AS id, {names} FROM {tuples.name('joined')}")
        repair.apply("tried", moves=True)
        repair.make_members("tried", "trial")
        failing = f"SELECT {keys} FROM {tuples.judged(tuples.name('trial'), repair.keys)} WHERE failing"
        tuples.make("bad", f"SELECT id FROM {tuples.name('trial')} SEMI JOIN ({failing}) USING ({keys})")
