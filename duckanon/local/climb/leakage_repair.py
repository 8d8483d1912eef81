"""What the whole table of a placement must hold, as ALP and DIF (wang): the classes that leak most join others until it
does."""

from __future__ import annotations

from sqlglot import exp

from duckanon.local.climb.class_repair import ClassRepair
from duckanon.models import TableRule
from duckanon.models.rules import ValueMeasure
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import column, sql

_PART = 8  # of the classes above a value's average, one in this many rises at a time


class LeakageRepair:
    """The table-level rules of the policy, asked of repaired classes."""

    def __init__(self, repair: ClassRepair) -> None:
        self.repair, self.tuples = repair, repair.tuples

    def stop(self) -> bool:
        """Merge leaking classes until the rules hold. At the top they do, if nothing else fails there."""
        if not self.repair.mend():
            return False
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
        tuples, rules = self.tuples, self.tuples.measurer.table_rules[index]
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
        for measure in {rule.measure.name: rule.measure for rule in rules}.values():
            self._measure(index, measure)
        return [self._guilty(index, rule) for rule in rules]

    def _measure(self, index: int, measure: ValueMeasure) -> None:
        """Makes a table of the measure's name: its figures of every value, and the value's ordinal."""
        tuples, size = self.tuples, column("x", "s")
        figures = [f"{_text(sql(figure, size=size))} AS {name}" for name, figure in measure.figures.items()]
        measured = f"SELECT value, {', '.join(figures)} FROM {tuples.name(f'shares_{index}')} s GROUP BY value"
        described = _text(tuples.census.sensitive[index].table)
        named = f"SELECT l.*, d.named FROM ({measured}) l JOIN {described} d ON d.code = l.value"
        tuples.make(f"{measure.name}_{index}", named)

    def _guilty(self, index: int, rule: TableRule) -> str:
        """The classes that should grow where a rule is broken."""
        shares, figures = (self.tuples.name(f"{name}_{index}") for name in ("shares", rule.measure.name))
        broken = _text(rule.constraint.fails(sql(rule.measure.judged[rule.constraint.name])))
        guilty = (
            f"{shares} s JOIN {figures} l USING (value) WHERE l.named IN ({', '.join(map(str, rule.ordinals))}) "
            f"AND {broken} AND {_text(rule.guilty)}"
        )
        if not rule.gradually:
            return f"SELECT s.class FROM {guilty}"
        nth = "ROW_NUMBER() OVER (PARTITION BY value ORDER BY s.y / s.x DESC, s.y DESC, s.class)"
        ranked = f"SELECT s.class, {nth} AS nth, COUNT(*) OVER (PARTITION BY value) AS of FROM {guilty}"
        return f"SELECT class FROM ({ranked}) WHERE (nth - 1) * {_PART} < of"


def _text(expression: exp.Expr) -> str:
    return expression.sql(WORKBENCH, identify=True)
