"""One node of the lattice against all constraints: GROUP BY queries over the census."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.census.counting import brought
from duckanon.census.people import counting_unit, gathered
from duckanon.models import Finding
from duckanon.models.classes import SensitiveRules, class_steps
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import class_rules, least_size, table_rules
from duckanon.models.rules import ValueMeasure
from duckanon.models.unit import ROWS
from duckanon.query.expressions import column, same, sql, table
from duckanon.query.steps import select, with_steps
from duckanon.search.cells import rolled_up
from duckanon.search.lattice import Node
from duckanon.search.problem import Problem

if TYPE_CHECKING:
    from duckanon.search.batch import NodeMeasurer


@dataclass(frozen=True)
class Measurement:
    """What a node is like. Class findings are over all classes; table findings over those that do not fail."""

    node: Node
    classes: int
    rows: int
    failing_classes: int
    failing_rows: int
    squares: int  # Σ x² over the classes that do not fail
    smallest: int | None  # rows, or people, of the smallest class that does not fail
    class_findings: tuple[Finding, ...]
    table_findings: tuple[Finding, ...] | None  # None: not asked, the budget is broken already

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.class_findings, *(self.table_findings or ()))

    @property
    def released_rows(self) -> int:
        return self.rows - self.failing_rows

    @property
    def released_classes(self) -> int:
        return self.classes - self.failing_classes

    def holds(self, budget: int) -> bool:
        """A node at which every row fails is never an answer."""
        within = self.failing_rows <= budget and self.released_rows > 0
        return within and self.table_findings is not None and all(f.holds for f in self.table_findings)


class Measurer:
    """Measures nodes of the census. Asks only for what the policy constrains.

    `like`: one of the same census and thresholds that has made what both ask; only k and the budget may be others.
    """

    def __init__(self, problem: Problem, like: Measurer | None = None) -> None:
        self.problem = problem
        self.policy, self.census = policy, census = problem.policy, problem.census
        self.unit = counting_unit(policy)
        self.judged = [
            SensitiveRules(values.index, census.known_values(values.index), "code", rules)
            for values in census.sensitive
            if (rules := class_rules(values.wanted, values.numeric))
        ]
        self.table_rules = {v.index: asked for v in census.sensitive if (asked := table_rules(v.wanted))}
        self.constraints = [K_ANONYMITY.constraint(policy.k)]
        self.constraints += [rule.constraint for part in self.judged for rule in part.rules]
        # What a class has at the least, to hold: people may have several values each.
        needed = [least_size(values.wanted) for values in census.sensitive] if self.unit is ROWS else []
        self.least_size = max([policy.k, *needed])
        self.base: exp.Table = like.base if like else self._base()
        self.nodes: Callable[[Measurer], NodeMeasurer] | None = None  # who measures many nodes; None: a new one

    def _base(self) -> exp.Table:
        """The census without the columns that no constraint asks for."""
        census = self.census
        asked = sorted({part.index for part in self.judged} | set(self.table_rules))
        rows = self.unit is ROWS
        if rows and len(asked) == len(census.others):
            return census.table
        query: exp.Query = rolled_up(census, census.table, census.bottom, asked)
        if not rows:
            query = gathered(query, [*census.codes, *(f"s{index}" for index in asked)])
        thing = "cells" if census.afar is None else "cells_afar"
        return census.kept(thing, query, "the census, without what no constraint asks for")

    def brought(self, node: Node) -> Measurer:
        """One that measures this node on the workbench, for what is made there of it."""
        if self.census.afar is None:
            return self
        return Measurer(replace(self.problem, census=brought(self.policy, self.census, node)))

    def class_steps(self, node: Node) -> dict[str, exp.Select]:
        """The steps to the classes of a node, the last of which is `classes`."""
        keys = self.census.keys(node)
        return class_steps(self.base, keys, self.policy.k, self.judged, nulls=False, unit=self.unit)

    def measure(self, node: Node, wholly: bool = False) -> Measurement:
        """Measure a node; where more rows fail than the budget has, the table rules are asked only of it `wholly`."""
        figures = {name: rule.constraint for part in self.judged for name, rule in part.figures.items()}
        worst_of = {name: f"{constraint.worst}({name})" for name, constraint in figures.items()}
        size = self.unit.size
        sizes = {"least": f"MIN({size})", "smallest": f"MIN(CASE WHEN NOT failing THEN {size} END)"}
        query = select(**_TOTALS, **sizes, **worst_of).from_(table("classes"))
        ((count, rows, failing_classes, failing_rows, squares, least, smallest, *worst),) = self.census.engine.fetch(
            with_steps(query, **self.class_steps(node)), f"check: the classes of node {node}"
        )
        findings = [Finding(c, m) for c, m in zip(self.constraints, (int(least), *worst), strict=True)]
        within = wholly or failing_rows <= self.problem.budget
        of_table = tuple(self._table_findings(node)) if within and failing_rows < rows else None
        sums = int(rows), failing_classes, int(failing_rows), int(squares)
        released = None if smallest is None else int(smallest)
        return Measurement(node, count, *sums, released, tuple(findings), of_table)

    def _table_findings(self, node: Node) -> list[Finding]:
        """What the rules of the whole table measure over the classes that do not fail."""
        found = []
        for index, rules in self.table_rules.items():
            measures = {rule.measure.name: rule.measure for rule in rules}
            measured = {name: self._of_values(node, index, measure) for name, measure in measures.items()}
            for rule in rules:
                values = [row for row in measured[rule.measure.name] if row["named"] in rule.ordinals]
                worst = max((row[rule.constraint.name] for row in values), default=None)
                found.append(Finding(rule.constraint, worst))
        return found

    def _of_values(self, node: Node, index: int, measure: ValueMeasure) -> list[dict[str, Any]]:
        """The highest of what the constraints on a measure bound, of the values of each name."""
        value, keys = column(f"s{index}"), self.census.keys(node)
        columns = [column(key) for key in keys]
        counts = exp.select(*columns, value.as_("value"), sql(self.unit.number).as_("y"))
        counts = counts.from_(self.base).where(sql(":v IS NOT NULL", v=value)).group_by(*columns, value)
        size = column(self.unit.size, "holding_classes")
        figures = {name: sql(figure, size=size) for name, figure in measure.figures.items()}
        on = same(keys, "present_values", "holding_classes", nulls=False)
        of_value = select(column("value"), **figures).from_(table("present_values"))
        of_value = of_value.join(table("holding_classes"), on=on).group_by(column("value"))
        described = exp.alias_(self.census.known_values(index), "known", table=True)
        query = (
            select(column("named", "known"), **{name: f"MAX({judged})" for name, judged in measure.judged.items()})
            .from_(table(measure.name))
            .join(described, on=exp.EQ(this=column("value", measure.name), expression=column("code", "known")))
            .group_by(column("named", "known"))
        )
        steps = {
            **self.class_steps(node),
            "holding_classes": exp.select("*").from_(table("classes")).where(sql("NOT failing")),
            "present_values": counts,
            measure.name: of_value,
        }
        rows = self.census.engine.fetch(with_steps(query, **steps), f"check: {measure.name} at node {node}")
        return [dict(zip(("named", *measure.judged), row, strict=True)) for row in rows]


_ALP = "SUM(y * y / :size) / SUM(y)"

_TOTALS = {
    "classes": "COUNT(*)",
    "rows": "COALESCE(SUM(x), 0)",
    "failing_classes": "COUNT(CASE WHEN failing THEN 1 END)",
    "failing_rows": "COALESCE(SUM(CASE WHEN failing THEN x END), 0)",
    "squares": "COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)",
}
