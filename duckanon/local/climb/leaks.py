"""ALP and DIF of a placement (wang): the classes that leak most join others until both hold."""

from __future__ import annotations

from duckanon.local.climb.settlement import Settlement
from duckanon.query.expressions import DIALECT, TOLERANCE

_PART = 8  # of the classes above a value's average, one in this many rises at a time


class Leaks:
    """The table-level rules of the policy, asked of a settlement."""

    def __init__(self, settlement: Settlement) -> None:
        self.settlement, self.ground = settlement, settlement.ground

    def stop(self) -> bool:
        """Merge leaking classes until the rules hold. At the top they do, if nothing else fails there."""
        while self._leaking():
            leaking = f"(SELECT class FROM {self.ground.name('leaking')})"
            merged = self.settlement.merge(f"class IN {leaking}", f"b.class NOT IN {leaking}")
            if not merged and not self.settlement.merge(f"class IN {leaking}", "TRUE"):
                return False
            if not self.settlement.mend():
                return False
        return True

    def _leaking(self) -> int:
        """Makes leaking (class): of every value whose rule is broken the classes that leak it most."""
        parts = [part for index in self.ground.measurer.table_rules for part in self._broken(index)]
        if not parts:
            return 0
        self.ground.make("leaking", f"SELECT DISTINCT class FROM ({' UNION ALL '.join(parts)})")
        return self.ground.count("leaking")

    def _broken(self, index: int) -> list[str]:
        ground = self.ground
        keys = ", ".join(self.settlement.keys)
        classed = (
            f"SELECT m.id, c.class, c.x FROM {ground.name('members')} m "
            f"JOIN (SELECT {keys}, class, x FROM {ground.name('classes')}) c USING ({keys})"
        )
        ground.make(
            f"shares_{index}",
            f"SELECT m.class, m.x, v.s{index} AS value, CAST(SUM(v.n) AS DOUBLE) AS y FROM ({classed}) m "
            f"JOIN {ground.name('cells')} v ON v.id = m.id WHERE v.s{index} IS NOT NULL GROUP BY ALL",
        )
        shares = ground.name(f"shares_{index}")
        described = ground.census.sensitive[index].table.sql(DIALECT, identify=True)
        leaked = f"SELECT value, SUM(y * y / x) / SUM(y) AS alp, MAX(y / x) AS lp FROM {shares} GROUP BY value"
        ground.make(
            f"leaks_{index}",
            f"SELECT l.*, d.named FROM ({leaked}) l JOIN {described} d ON d.code = l.value",
        )
        leaks = ground.name(f"leaks_{index}")
        parts = []
        for rule in ground.measurer.table_rules[index]:
            bound, places = rule.constraint.threshold + TOLERANCE, ", ".join(map(str, rule.places))
            figure = "l.alp" if rule.constraint.name == "alp" else "l.lp - l.alp"
            broken = f"{shares} s JOIN {leaks} l USING (value) WHERE l.named IN ({places}) AND {figure} > {bound!r}"
            if rule.constraint.name == "alp":
                nth = "ROW_NUMBER() OVER (PARTITION BY value ORDER BY s.y / s.x DESC, s.y DESC, s.class)"
                above = f"{broken} AND s.y / s.x > l.alp - {TOLERANCE!r}"
                ranked = f"SELECT s.class, {nth} AS nth, COUNT(*) OVER (PARTITION BY value) AS of FROM {above}"
                parts.append(f"SELECT class FROM ({ranked}) WHERE (nth - 1) * {_PART} < of")
            else:
                parts.append(f"SELECT s.class FROM {broken} AND s.y / s.x - l.alp > {bound!r}")
        return parts
