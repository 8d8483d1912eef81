"""ALP and DIF of a placement (wang): the classes that leak most join others until both hold."""

from __future__ import annotations

from duckanon.local.climb.class_repair import ClassRepair
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import TOLERANCE

_PART = 8  # of the classes above a value's average, one in this many rises at a time


class LeakageRepair:
    """The table-level rules of the policy, asked of a repair."""

    def __init__(self, repair: ClassRepair) -> None:
        self.repair, self.tuples = repair, repair.tuples

    def stop(self) -> bool:
        """Merge leaking classes until the rules hold. At the top they do, if nothing else fails there."""
        while self._leaking():
            leaking = f"(SELECT class FROM {self.tuples.name('leaking')})"
            merged = self.repair.merge(f"class IN {leaking}", f"b.class NOT IN {leaking}")
            if not merged and not self.repair.merge(f"class IN {leaking}", "TRUE"):
                return False
            if not self.repair.mend():
                return False
        return True

    def _leaking(self) -> int:
        """Makes leaking (class): of every value whose rule is broken the classes that leak it most."""
        parts = [part for index in self.tuples.measurer.table_rules for part in self._broken(index)]
        if not parts:
            return 0
        self.tuples.make("leaking", f"SELECT DISTINCT class FROM ({' UNION ALL '.join(parts)})")
        return self.tuples.count("leaking")

    def _broken(self, index: int) -> list[str]:
        tuples = self.tuples
        keys = ", ".join(self.repair.keys)
        classed = (
            f"SELECT m.id, c.class, c.x FROM {tuples.name('members')} m "
            f"JOIN (SELECT {keys}, class, x FROM {tuples.name('classes')}) c USING ({keys})"
        )
        tuples.make(
            f"shares_{index}",
            f"SELECT m.class, m.x, v.s{index} AS value, CAST(SUM(v.n) AS DOUBLE) AS y FROM ({classed}) m "
            f"JOIN {tuples.name('cells')} v ON v.id = m.id WHERE v.s{index} IS NOT NULL GROUP BY ALL",
        )
        shares = tuples.name(f"shares_{index}")
        described = tuples.census.sensitive[index].table.sql(WORKBENCH, identify=True)
        leaked = f"SELECT value, SUM(y * y / x) / SUM(y) AS alp, MAX(y / x) AS lp FROM {shares} GROUP BY value"
        tuples.make(
            f"leaks_{index}",
            f"SELECT l.*, d.named FROM ({leaked}) l JOIN {described} d ON d.code = l.value",
        )
        leaks = tuples.name(f"leaks_{index}")
        parts = []
        for rule in tuples.measurer.table_rules[index]:
            bound, ordinals = rule.constraint.threshold + TOLERANCE, ", ".join(map(str, rule.ordinals))
            figure = "l.alp" if rule.constraint.name == "alp" else "l.lp - l.alp"
            broken = f"{shares} s JOIN {leaks} l USING (value) WHERE l.named IN ({ordinals}) AND {figure} > {bound!r}"
            if rule.constraint.name == "alp":
                nth = "ROW_NUMBER() OVER (PARTITION BY value ORDER BY s.y / s.x DESC, s.y DESC, s.class)"
                above = f"{broken} AND s.y / s.x > l.alp - {TOLERANCE!r}"
                ranked = f"SELECT s.class, {nth} AS nth, COUNT(*) OVER (PARTITION BY value) AS of FROM {above}"
                parts.append(f"SELECT class FROM ({ranked}) WHERE (nth - 1) * {_PART} < of")
            else:
                parts.append(f"SELECT s.class FROM {broken} AND s.y / s.x - l.alp > {bound!r}")
        return parts
