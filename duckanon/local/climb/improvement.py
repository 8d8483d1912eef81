"""Dear classes give way where their tuples cost less in others, even if those must rise to take them in."""

from __future__ import annotations

from duckanon.local.climb.settlement import PAIRS, Settlement

_FEWEST = 64  # where fewer tuples could be looked at, it is not worth counting so many classes
_ROUNDS = 2  # each looks at the next dearest tuples


class Improvement:
    """Dissolves classes of a settlement in which nothing fails."""

    def __init__(self, settlement: Settlement) -> None:
        self.settlement, self.ground = settlement, settlement.ground

    def run(self) -> None:
        for turn in range(_ROUNDS):
            classes, _ = self.settlement.refresh()
            if not 1 < classes <= PAIRS // _FEWEST:
                return
            self.settlement.find_homes(self._movers(), "TRUE", classes, 1, turn)
            self._find_offers()
            if self.ground.count("dissolved"):
                self._dissolve()

    def _movers(self) -> str:
        """The tuples of the dearest classes, each as if it stood alone."""
        ground, keys = self.ground, ", ".join(self.settlement.keys)
        alone = ", ".join(f"CAST(0 AS SMALLINT) AS l{h.index}, 0 AS v{h.index}" for h in ground.hierarchies)
        return (
            f"SELECT t.*, t.id AS mover, c.class AS home, t.n AS x, 0 AS loss, {alone} "
            f"FROM {ground.name('members')} m JOIN {ground.name('tuples')} t ON t.id = m.id "
            f"JOIN (SELECT {keys}, class, loss // x AS per_row FROM {ground.name('classes')} WHERE loss > 0) c "
            f"USING ({keys}) ORDER BY c.per_row DESC, c.class, t.id"
        )

    def _find_offers(self) -> None:
        """Makes moved (a of class e joins b for the price) and dissolved (e): the classes whose tuples gain together,
        where none of the classes they touch is touched by a better offer."""
        ground = self.ground
        ground.make(
            "moved",
            f"SELECT n.a, n.b, n.price, o.home AS e, c.tuples, c.loss FROM {ground.name('choices')} n "
            f"JOIN {ground.name('movers')} o ON o.mover = n.a JOIN {ground.name('classes')} c ON c.class = o.home",
        )
        offers = (
            f"SELECT e, MAX(loss) - SUM(price) AS gain FROM {ground.name('moved')} GROUP BY e "
            "HAVING COUNT(*) = MAX(tuples) AND COUNT(DISTINCT b) = COUNT(*) AND MAX(loss) > SUM(price)"
        )
        ground.make("offers", f"SELECT e, ROW_NUMBER() OVER (ORDER BY gain DESC, e) AS nth FROM ({offers})")
        pairs = f"{ground.name('moved')} m JOIN {ground.name('offers')} o USING (e)"
        touched = f"SELECT e, nth, e AS z FROM {ground.name('offers')} UNION SELECT e, nth, m.b FROM {pairs}"
        first = f"SELECT e, nth = MIN(nth) OVER (PARTITION BY z) AS first FROM ({touched})"
        ground.make("dissolved", f"SELECT e FROM ({first}) GROUP BY e HAVING BOOL_AND(first)")

    def _dissolve(self) -> None:
        """Try it; offers that make a class fail are dropped, and if that is not enough, all are."""
        ground, joined = self.ground, self.ground.name("joined")
        for _ in range(2):
            self._try()
            if not ground.count("bad"):
                ground.make("placed", f"FROM {ground.name('tried')}")
                return
            harmful = f"SELECT e FROM {joined} WHERE a IN (FROM {ground.name('bad')})"
            ground.make("dissolved", f"FROM {ground.name('dissolved')} WHERE e NOT IN ({harmful})")

    def _try(self) -> None:
        """Makes tried, what placed would become, and bad: the tuples whose classes would fail."""
        ground, settlement = self.ground, self.settlement
        names, keys = ", ".join(settlement.levels), ", ".join(settlement.keys)
        ground.make(
            "joined",
            f"SELECT m.a, m.b, m.e, {ground.joint_levels()} FROM {ground.name('moved')} m "
            f"SEMI JOIN {ground.name('dissolved')} USING (e) JOIN {ground.name('movers')} a ON a.mover = m.a "
            f"JOIN {ground.name('classes')} b ON b.class = m.b",
        )
        ground.make("raises", f"SELECT b AS class, {names} FROM {ground.name('joined')}")
        ground.make("moves", f"SELECT a AS id, {names} FROM {ground.name('joined')}")
        settlement.apply("tried", moves=True)
        settlement.make_members("tried", "trial")
        failing = f"SELECT {keys} FROM {ground.judged(ground.name('trial'), settlement.keys)} WHERE failing"
        ground.make("bad", f"SELECT id FROM {ground.name('trial')} SEMI JOIN ({failing}) USING ({keys})")
