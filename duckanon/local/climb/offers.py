"""What might lose less: tuples of several classes together, while those they leave go elsewhere.

A *label* is what a tuple shows at one of the nodes in use; the tuples of a class with the same label are a *part* of
it. An offer is a class of parts with one label. A class gives a part, or as much of it as it can spare, or it *breaks*:
its other tuples go where they cost least, each to a *home*, a class that shows such a label or would rise to it.
"""

from __future__ import annotations

from duckanon.local.climb.class_table import ClassTable
from duckanon.local.costs import UNIT

OFFERS = 16_384  # that are tried at a time
_NODES = 256  # in use that are looked at, those with the most rows first
_TRIED = 600_000  # tuples in all classes that the offers touch
_SMALL = 64  # tuples in a class that may break, or is looked at without some of them


class OfferFinder:
    """Asks for all offers of a region in one statement: its steps are large, and what a table holds is given back at
    the end of the run only.

    Letters: x rows of a class, m of a part, n of a tuple; cc what a row costs in its class, cf with a label; r what the
    rows of a tuple cost at home.
    """

    def __init__(self, table: ClassTable) -> None:
        self.table, self.tuples = table, table.tuples
        self.names = ("j", *table.keys)
        self.label = ", ".join(self.names)

    def find(self, region: int) -> None:
        """Makes shifts (offer, id, b: the class that the tuple goes to; 0: that of the offer, -1: that of all who are
        left behind) and touched (offer, class)."""
        # A table, so that DuckDB knows how much will come of it.
        self.tuples.make("nodes", self._nodes(region))
        steps = {
            "looks": self._looks(region),
            "parts": self._parts(),
            "labels": self._labels(),
            "doors": self._doors(),
            "homes": self._homes(),
            "rehomed": self._rehomed(),
            "fates": "SELECT class, CAST(SUM(r) AS BIGINT) AS rc, COUNT(*) AS housed FROM rehomed GROUP BY class",
            "pieces": self._pieces(),
            "staying": self._staying(),
            "rests": self.table.shared("staying", f"{self.label}, class"),
            "gifts": self._gifts(),
            "asked": self._asked(),
            "lent": self._lent(),
            "joiners": self._joiners(),
            "leaving": self._leaving(),
            "others": self._others(),
            "without": self.table.shared("others", "one"),
            "offers": self._offers(),
            "donors": f"SELECT offer, d.* FROM joiners d JOIN offers USING ({self.label})",
            "inside": self._inside(),
        }
        self.tuples.make("shifts", self._shifts(), "offers to refine by", steps)
        self._exchange()
        self._touch()

    # -- labels and parts ------------------------------------------------------------------------------

    def _nodes(self, region: int) -> str:
        tuples = self.tuples
        number = tuples.number_by(self.table.levels)
        used = (
            f"SELECT {number} AS number, SUM(x) AS rows FROM {tuples.name('holding')} WHERE region = {region} "
            f"AND NOT out AND NOT frozen GROUP BY number ORDER BY rows DESC, number LIMIT {_NODES}"
        )
        numbered = f"SELECT ROW_NUMBER() OVER (ORDER BY rows DESC, number) AS j, number FROM ({used})"
        return f"SELECT j, {tuples.levels_of('number')} FROM ({numbered})"

    def _looks(self, region: int) -> str:
        """What costs a whole column more than now is hardly ever worth it."""
        tuples = self.tuples
        near = f"SELECT class, x, cc FROM {tuples.name('holding')} WHERE region = {region} AND NOT frozen"
        looks = (
            f"SELECT o.j, {tuples.key_at('o', 't')}, t.id, t.n, c.class, c.x, c.cc, {tuples.cost_at('o', 't')} AS cf "
            f"FROM {tuples.name('owned')} w JOIN ({near}) c ON c.class = w.class "
            f"JOIN {tuples.name('tuples')} t ON t.id = w.id, {tuples.name('nodes')} o"
        )
        return f"FROM ({tuples.in_halves(looks, 't.id')}) WHERE cf <= cc + {UNIT}"

    def _parts(self) -> str:
        return (
            f"SELECT {self.label}, class, CAST(SUM(n) AS BIGINT) AS m, MAX(x) AS x, MAX(cc) AS cc, MAX(cf) AS cf "
            f"FROM looks GROUP BY {self.label}, class"
        )

    def _labels(self) -> str:
        """Those worth asking."""
        enough = f"SUM(m) >= {self.table.enough} AND MAX(cc) > MIN(cf)"
        return f"SELECT {self.label} FROM parts GROUP BY {self.label} HAVING {enough}"

    # -- homes -----------------------------------------------------------------------------------------

    def _doors(self) -> str:
        """Of every label the two classes that would show it for the least price, p1 and p2; b1 and b2 are their nth."""
        number = self.table.classes
        # Price and class in one number: the least is found fastest, and no two are alike.
        price = f"LEAST(p.x * (cf - p.cc), {self._dearest}) * {number} + nth"
        best = (
            f"SELECT {self.label}, MIN({price}, 2) AS best FROM parts p "
            f"JOIN {self.tuples.name('holding')} c USING (class) WHERE m = p.x AND NOT out GROUP BY {self.label}"
        )
        first, second = (f"best[{at}] // {number} AS p{at}, best[{at}] % {number} AS b{at}" for at in (1, 2))
        return f"SELECT {self.label}, {first}, {second} FROM ({best})"

    @property
    def _dearest(self) -> int:
        """The highest price that can be told with a class."""
        return (1 << 62) // self.table.classes

    def _homes(self) -> str:
        """What a row of a part would cost outside its class, with the class it would go to: it pays its share of the
        price, as if all of the part went there. Too little, perhaps: the trial will tell."""
        number = self.table.classes
        price, home = (f"CASE WHEN b1 <> nth THEN {letter}1 ELSE {letter}2 END" for letter in "pb")
        return (
            f"SELECT {self.label}, class, LEAST(cf + {price} // m, {self._dearest}) * {number} + {home} AS packed "
            f"FROM parts JOIN doors USING ({self.label}) "
            f"JOIN (SELECT class, nth FROM {self.tuples.name('holding')}) USING (class) "
            "WHERE b1 <> nth OR b2 IS NOT NULL"
        )

    def _rehomed(self) -> str:
        """Where each tuple would cost least outside its class."""
        number = self.table.classes
        least = (
            f"SELECT id, n, class, MIN(packed) AS packed FROM looks JOIN homes USING ({self.label}, class) "
            "GROUP BY id, n, class"
        )
        return (
            f"SELECT id, l.class, n * (packed // {number}) AS r, b.class AS b FROM ({least}) l "
            f"JOIN {self.tuples.name('holding')} b ON b.nth = packed % {number}"
        )

    # -- what a class can give -------------------------------------------------------------------------

    def _pieces(self) -> str:
        """The parts at labels worth asking, with what their tuples would cost at home."""
        return (
            f"SELECT {self.label}, l.class, CAST(SUM(n) AS BIGINT) AS m, MAX(x) AS x, MAX(cc) AS cc, MAX(cf) AS cf, "
            f"CAST(COALESCE(SUM(r), 0) AS BIGINT) AS at_home, COUNT(*) - COUNT(r) AS homeless FROM looks l "
            f"SEMI JOIN labels USING ({self.label}) LEFT JOIN (SELECT id, r FROM rehomed) USING (id) "
            f"GROUP BY {self.label}, l.class"
        )

    def _staying(self) -> str:
        """Who stays where a class can spare a part: they may share lower levels."""
        small = f"SELECT class FROM {self.tuples.name('holding')} WHERE tuples <= {_SMALL}"
        spared = (
            f"SELECT {self.label}, class FROM pieces SEMI JOIN ({small}) USING (class) "
            f"WHERE m <= x - {self.table.enough} AND x * cc > m * cf"
        )
        members = f"SELECT {self.label}, class, w.id FROM spared JOIN {self.tuples.name('owned')} w USING (class)"
        going = f"SELECT {self.label}, class, id FROM looks SEMI JOIN spared USING ({self.label}, class)"
        return f"WITH spared AS ({spared}) FROM ({members}) ANTI JOIN ({going}) USING ({self.label}, class, id)"

    def _gifts(self) -> str:
        """What a class can give to a label, for which gain: the better of a part, or what can be spared of it, and of
        breaking."""
        label, enough = self.label, self.table.enough
        run = (
            f"SELECT {label}, class, x, SUM(n) OVER (PARTITION BY {label}, class ORDER BY n, id) AS so_far FROM looks "
            f"SEMI JOIN (FROM pieces WHERE m BETWEEN x - {enough} + 1 AND x - 1 AND x > {enough} AND cc > cf) "
            f"USING ({label}, class)"
        )
        spare = (
            f"SELECT {label}, class, MAX(so_far) AS s FROM ({run}) WHERE so_far <= x - {enough} GROUP BY {label}, class"
        )
        whole = "m * (cc - cf) + CASE WHEN m < x THEN (x - m) * (cc - COALESCE(rest, cc)) ELSE 0 END"
        known = (
            f"SELECT p.*, CASE WHEN m = x OR (m <= x - {enough} AND {whole} > 0) THEN m ELSE s END AS s, "
            f"CASE WHEN m = x OR m <= x - {enough} THEN {whole} ELSE s * (cc - cf) END AS given, "
            f"CASE WHEN m < x AND tuples <= {_SMALL} AND tuples - COALESCE(housed, 0) = homeless "
            "THEN x * cc - m * cf - COALESCE(rc, 0) + at_home END AS broken "
            f"FROM pieces p LEFT JOIN ({spare}) USING ({label}, class) "
            f"LEFT JOIN (SELECT {label}, class, cc AS rest FROM rests) USING ({label}, class) "
            f"JOIN (SELECT class, tuples FROM {self.tuples.name('holding')}) USING (class) "
            "LEFT JOIN fates USING (class)"
        )
        breaks = "broken IS NOT NULL AND (s IS NULL OR broken > given)"
        return (
            f"SELECT {label}, class, {breaks} AS breaks, CAST(CASE WHEN {breaks} THEN m ELSE s END AS BIGINT) AS m, "
            f"CAST(CASE WHEN {breaks} THEN broken ELSE given END AS BIGINT) AS gain FROM ({known}) "
            "WHERE s IS NOT NULL OR broken IS NOT NULL"
        )

    def _asked(self) -> str:
        """The labels where a class gains; and whether its rows are too few."""
        short = f"SUM(CASE WHEN gain > 0 THEN m ELSE 0 END) < {self.table.enough} AS short"
        return f"SELECT {self.label}, {short} FROM gifts GROUP BY {self.label} HAVING MAX(gain) > 0"

    def _lent(self) -> str:
        """There, single tuples that others can spare, unless they have a better gift."""
        label, enough = self.label, self.table.enough
        run = (
            f"SELECT {label}, class, id, n, x, n * (cc - cf) AS gain, "
            f"SUM(n) OVER (PARTITION BY {label}, class ORDER BY n, id) AS so_far FROM looks "
            f"SEMI JOIN (FROM asked WHERE short) USING ({label}) WHERE cc <= cf AND n <= x - {enough}"
        )
        spare = f"SELECT * FROM ({run}) WHERE so_far <= x - {enough} AND so_far - n < {enough}"
        gifts = f"SELECT {label}, class, m, gain AS whole FROM gifts"
        return (
            f"SELECT {label}, class, id, n, gain FROM ({spare}) LEFT JOIN ({gifts}) USING ({label}, class) "
            "WHERE whole IS NULL OR whole / m <= gain / n"
        )

    # -- offers ----------------------------------------------------------------------------------------

    def _joiners(self) -> str:
        """What gains, and of the rest what costs least per row until there are enough of them."""
        label = self.label
        every = (
            f"SELECT {label}, class, CAST(NULL AS INTEGER) AS id, breaks, m, gain FROM gifts "
            f"SEMI JOIN asked USING ({label}) ANTI JOIN lent USING ({label}, class) "
            f"UNION ALL SELECT {label}, class, id, FALSE, n, gain FROM lent"
        )
        order = f"PARTITION BY {label} ORDER BY gain / m DESC, class, m, id ROWS UNBOUNDED PRECEDING"
        ranked = f"SELECT *, SUM(m) OVER ({order}) - m AS before FROM ({every})"
        return f"FROM ({ranked}) WHERE gain > 0 OR before < {self.table.enough}"

    def _leaving(self) -> str:
        """Tuples that their class can spare."""
        return (
            f"SELECT class, v.id AS one, n, r, x, cc FROM rehomed v JOIN {self.tuples.name('owned')} USING (id, class) "
            f"JOIN (SELECT class, x, cc, tuples FROM {self.tuples.name('holding')}) USING (class) "
            f"WHERE x * cc > r AND x - n >= {self.table.enough} AND tuples <= {_SMALL}"
        )

    def _others(self) -> str:
        """Those that each of them would leave."""
        return f"SELECT one, w.id FROM leaving JOIN {self.tuples.name('owned')} w USING (class) WHERE w.id <> one"

    def _offers(self) -> str:
        """The best by what they seem to gain: of a label; of a class all of which goes home; of one tuple of it that
        does, where the others are better off without it."""
        none = ", ".join(f"NULL AS {name}" for name in self.names)
        of_label = (
            f"SELECT SUM(gain) AS gain, {self.label}, CAST(NULL AS INTEGER) AS class, CAST(NULL AS INTEGER) AS id "
            f"FROM joiners GROUP BY {self.label} HAVING SUM(m) >= {self.table.enough}"
        )
        of_class = (
            f"SELECT x * cc - rc AS gain, {none}, class, NULL FROM {self.tuples.name('holding')} "
            f"JOIN fates USING (class) WHERE housed = tuples AND tuples <= {_SMALL} AND cc > 0"
        )
        of_tuple = (
            f"SELECT x * cc - r - (x - n) * rest AS gain, {none}, class, one FROM leaving "
            "JOIN (SELECT one, cc AS rest FROM without) USING (one) "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY class ORDER BY gain DESC, one) = 1"
        )
        every = f"{of_label} UNION ALL {of_class} UNION ALL {of_tuple}"
        ranked = f"SELECT *, ROW_NUMBER() OVER (ORDER BY gain DESC, {self.label}, class, id) AS offer FROM ({every})"
        return f"FROM ({ranked}) WHERE offer <= {OFFERS}"

    def _inside(self) -> str:
        """The tuples of the class that is offered."""
        run = (
            "SELECT offer, l.id, m, SUM(n) OVER (PARTITION BY offer, class ORDER BY n, l.id) AS so_far "
            f"FROM looks l JOIN (FROM donors WHERE id IS NULL) USING ({self.label}, class)"
        )
        return (
            f"SELECT offer, id, 0 AS b FROM ({run}) WHERE so_far <= m "
            "UNION ALL SELECT offer, id, 0 FROM donors WHERE id IS NOT NULL"
        )

    def _shifts(self) -> str:
        broken = "SELECT offer, v.id, v.b FROM (FROM donors WHERE breaks) JOIN rehomed v USING (class)"
        homeward = (
            "SELECT offer, v.id, v.b FROM (FROM offers WHERE class IS NOT NULL) o JOIN rehomed v USING (class) "
            "WHERE o.id IS NULL OR o.id = v.id"
        )
        return f"FROM inside UNION ALL FROM ({broken}) ANTI JOIN inside USING (offer, id) UNION ALL {homeward}"

    def _exchange(self) -> None:
        """Every offer once more, where those who are left behind may be a class of their own."""
        shifts = self.tuples.name("shifts")
        left = f"SELECT offer FROM {shifts} JOIN {self.tuples.name('owned')} USING (id) WHERE b > 0 GROUP BY offer"
        enough = f"{left} HAVING SUM(n) >= {self.table.enough}"
        other = f"SELECT offer + {OFFERS}, id, CASE WHEN b > 0 THEN -1 ELSE 0 END FROM {shifts}"
        self.tuples.add("shifts", f"{other} SEMI JOIN ({enough}) USING (offer)")

    def _touch(self) -> None:
        """The classes that are concerned, as far as there are not too many of them."""
        tuples, shifts = self.tuples, self.tuples.name("shifts")
        concerned = (
            f"SELECT offer, class FROM {shifts} JOIN {tuples.name('owned')} USING (id) "
            f"UNION SELECT offer, b FROM {shifts} WHERE b > 0"
        )
        sized = (
            f"SELECT offer, SUM(tuples) AS t FROM concerned JOIN {tuples.name('holding')} USING (class) GROUP BY offer"
        )
        affordable = f"SELECT offer FROM ({sized}) QUALIFY SUM(t) OVER (ORDER BY offer % {OFFERS}, offer) <= {_TRIED}"
        steps = {"concerned": concerned}
        tuples.make("touched", f"FROM concerned SEMI JOIN ({affordable}) USING (offer)", steps=steps)
