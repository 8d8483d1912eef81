"""One node of the lattice against all constraints: GROUP BY queries over the census."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.census.counting import brought
from duckanon.census.people import counting_unit
from duckanon.models import Finding
from duckanon.models.classes import class_steps
from duckanon.models.column_steps import SensitiveRules
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import class_rules, least_size, single_rules, size_rules, table_rules, total_rules
from duckanon.models.rules import ClassRule, ValueMeasure
from duckanon.models.unit import ROWS
from duckanon.policy import Sensitive
from duckanon.query.expressions import column, literal, same, sql, table
from duckanon.query.steps import select, with_steps
from duckanon.search.cells import rolled_up, with_population
from duckanon.search.gathering import Gatherings, hardly_alike
from duckanon.search.lattice import Node
from duckanon.search.problem import Problem

if TYPE_CHECKING:
    from duckanon.search.batch import NodeMeasurer


_NUMBERS = count()  # of kept classes: several measurers may share a census


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
    class_findings: tuple[Finding, ...]  # only k's of a node that holds, where hundreds of values have thresholds
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
        self.judged = self._judged(class_rules if self.unit is ROWS else single_rules)
        self.table_rules = {v.index: asked for v in census.sensitive if (asked := table_rules(v.wanted))}
        self.size_rules, self.total_rules = size_rules(policy.thresholds), total_rules(policy.thresholds)
        # What a class has at the least, to hold: people may have several values each.
        needed = [least_size(values.wanted) for values in census.sensitive] if self.unit is ROWS else []
        self.least_size = max([policy.k, *needed])
        self.base: exp.Table = like.base if like else self._base()
        self.counted: exp.Table = like.counted if like else self._counted()
        # Where people are counted, the base tells everybody apart, and nodes are measured from what is made of it.
        self.gatherings: Gatherings | None = like.gatherings if like else self._gatherings()
        self.nodes: Callable[[Measurer], NodeMeasurer] | None = None  # who measures many nodes; None: a new one
        self._kept: dict[Node, exp.Table] = {}  # the classes of the node that was measured last, if they are kept

    def _judged(self, rules_of: Callable[[Sensitive, bool], tuple[ClassRule, ...]]) -> list[SensitiveRules]:
        return [
            SensitiveRules(values.index, self.census.known_values(values.index), "code", rules)
            for values in self.census.sensitive
            if (rules := rules_of(values.wanted, values.numeric))
        ]

    def _base(self) -> exp.Table:
        """The census without the columns that no constraint asks for."""
        census = self.census
        if len(self.asked) == len(census.others) or hardly_alike(census, self.asked):
            return census.table
        query = rolled_up(census, census.table, census.bottom, self.asked)
        thing = "cells" if census.afar is None else "cells_afar"
        note = "the census, without what no constraint asks for"
        if census.words is None:
            return census.kept(thing, query, note)
        made = census.scratch.table(f"{thing}_words", query, note)
        names = [*census.codes, *(f"s{index}" for index in self.asked)]
        return census.scratch.view(thing, census.words.unpacked(made, names, *census.words.columns, column("n")), note)

    @property
    def asked(self) -> list[int]:
        """The sensitive columns that some constraint asks for."""
        return sorted({part.index for part in self.judged} | set(self.table_rules))

    @property
    def asks_everything(self) -> bool:
        """Whether what was found of the classes is to be judged as a whole, too."""
        return bool(self.table_rules or self.total_rules)

    def _counted(self) -> exp.Table:
        """What classes are counted from: with the population, where rules ask for it."""
        if not self.size_rules:
            return self.base
        query = with_population(self.census, self.base, self.asked)
        return self.census.scratch.table("counted_cells", query, "the census, and the population beside it")

    def _gatherings(self) -> Gatherings | None:
        return None if self.unit is ROWS else Gatherings(self.census, self.base, self.asked)

    def brought(self, node: Node) -> Measurer:
        """One that measures this node on the workbench, for what is made there of it."""
        if self.census.afar is None:
            return self
        return Measurer(replace(self.problem, census=brought(self.policy, self.census, node)))

    def class_steps(self, node: Node, judged: list[SensitiveRules] | None = None) -> dict[str, exp.Select]:
        """The steps to the classes of a node, the last of which is `classes`."""
        keys, judged = self.census.keys(node), self.judged if judged is None else judged
        k, unit, sizes = self.policy.k, self.unit, self.size_rules
        return class_steps(self._cells(node), keys, k, judged, nulls=False, unit=unit, sizes=sizes)

    def _cells(self, node: Node) -> exp.Table:
        """From which a node is counted."""
        return self.gatherings.at(node, node).table if self.gatherings else self.counted

    def kept_classes(self, node: Node) -> exp.Table | None:
        """Those of the node that was measured last, if they are kept."""
        return self._kept.get(node)

    def keep_classes(self, node: Node) -> exp.Table:
        """The classes of a node with all their figures, for who asks several things of them."""
        query = with_steps(exp.select("*").from_(table("classes")), **self.class_steps(node))
        return self.census.kept(f"classes_{next(_NUMBERS)}", query, f"the classes of node {node}")

    def measure_for_release(self, node: Node) -> Measurement:
        """The same as `measure`, of a node that may be released: its classes are asked for again then. Where they are
        worth it, they are kept until another one is measured."""
        if self.census.afar is not None or not self.census.is_large:
            return self.measure(node)
        for kept in self._kept.values():
            self.census.scratch.drop(kept)
        self._kept = {node: self.keep_classes(node)}
        return self.measure(node, classes=self._kept[node])

    def measure(self, node: Node, wholly: bool = False, classes: exp.Table | None = None) -> Measurement:
        """Measure a node; where more rows fail than the budget has, the table rules are asked only of it `wholly`.
        `classes`: those of the node, where they are kept."""
        steps = self.class_steps(node) if classes is None else {"classes": exp.select("*").from_(classes)}
        size, note = self.unit.size, f"check: the classes of node {node}"
        sizes = {"least": f"MIN({size})", "smallest": f"MIN(CASE WHEN NOT failing THEN {size} END)"}
        query = select(**_TOTALS, **sizes, **self._covered, **_worst(self.judged)).from_(table("classes"))
        ((count, rows, failing_classes, failing_rows, squares, least, smallest, *worst),) = self.census.engine.fetch(
            with_steps(query, **steps), note
        )
        by_size = self._by_size(least, worst)
        within = wholly or failing_rows <= self.problem.budget
        of_table = tuple(self._table_findings(node, steps)) if within and failing_rows < rows else None
        sums = int(rows), failing_classes, int(failing_rows), int(squares)
        released = None if smallest is None else int(smallest)
        of_values = _findings(self.judged, worst[len(self.size_rules) :])
        found = Measurement(node, count, *sums, released, (*by_size, *of_values), of_table)
        if not self._has_own:
            return found
        # One figure stood for hundreds of constraints, which nobody asks for where all of them hold.
        asked = wholly or not found.holds(self.problem.budget)
        return replace(found, class_findings=(*by_size, *(self._each_finding(node, note) if asked else ())))

    def released_findings(self, node: Node, classes: exp.Table) -> tuple[Finding, ...]:
        """What the kept classes of a node measure that do not fail: the class findings of their release."""
        judged = [] if self._has_own else self.judged
        query = select(least=f"MIN({self.unit.size})", **self._covered, **_worst(judged)).from_(classes)
        note = "check: the classes that do not fail"
        ((least, *worst),) = self.census.engine.fetch(query.where(sql("NOT failing")), note)
        if self._has_own:
            return (*self._by_size(least, worst), *self._each_finding(node, note, released=True))
        return (*self._by_size(least, worst), *_findings(judged, worst[len(self.size_rules) :]))

    @property
    def _covered(self) -> dict[str, str]:
        """The worst of what the rules on the size of a class measure."""
        return {rule.constraint.name: f"{rule.constraint.worst}({rule.constraint.name})" for rule in self.size_rules}

    def _by_size(self, least: int | None, covered: Sequence[Any]) -> list[Finding]:
        k = Finding(K_ANONYMITY.constraint(self.policy.k), None if least is None else int(least))
        return [k, *(Finding(rule.constraint, worst) for rule, worst in zip(self.size_rules, covered, strict=False))]

    @property
    def _has_own(self) -> bool:
        """Whether one figure stands for the thresholds of hundreds of values."""
        return any(rule.own for part in self.judged for rule in part.rules)

    def _each_finding(self, node: Node, note: str, released: bool = False) -> Iterator[Finding]:
        judged = self._judged(single_rules)
        query = select(**_worst(judged)).from_(table("classes"))
        query = query.where(sql("NOT failing")) if released else query
        (worst,) = self.census.engine.fetch(with_steps(query, **self.class_steps(node, judged)), note)
        return _findings(judged, worst)

    def _table_findings(self, node: Node, steps: dict[str, exp.Select]) -> list[Finding]:
        """What the rules of the whole table measure over the classes that do not fail; `steps`: to the classes."""
        found = self._totals(node, steps) if self.total_rules else []
        for index, rules in self.table_rules.items():
            measures = {rule.measure.name: rule.measure for rule in rules}
            measured = {name: self._of_values(node, steps, index, measure) for name, measure in measures.items()}
            for rule in rules:
                values = [row for row in measured[rule.measure.name] if row["named"] in rule.ordinals]
                worst = max((row[rule.constraint.name] for row in values), default=None)
                found.append(Finding(rule.constraint, worst))
        return found

    def _totals(self, node: Node, steps: dict[str, exp.Select]) -> list[Finding]:
        """What the rules on the sizes of all these classes measure."""
        known: dict[str, exp.Expr] = {"x": column(self.unit.size), "population": column("population")}
        if self.census.population is not None:
            known["everybody"] = literal(self.census.population.rows)
        figures = {rule.constraint.name: exp.replace_placeholders(rule.figure, **known) for rule in self.total_rules}
        query = select(**figures).from_(table("classes")).where(sql("NOT failing"))
        (row,) = self.census.engine.fetch(with_steps(query, **steps), f"check: all classes of node {node}")
        return [Finding(rule.constraint, figure) for rule, figure in zip(self.total_rules, row, strict=True)]

    def _of_values(
        self, node: Node, steps: dict[str, exp.Select], index: int, measure: ValueMeasure
    ) -> list[dict[str, Any]]:
        """The highest of what the constraints on a measure bound, of the values of each name."""
        value, keys = column(f"s{index}"), self.census.keys(node)
        columns = [column(key) for key in keys]
        counts = exp.select(*columns, value.as_("value"), sql(self.unit.number).as_("y"))
        counts = counts.from_(self._cells(node)).where(sql(":v IS NOT NULL", v=value)).group_by(*columns, value)
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
            **steps,
            "holding_classes": exp.select("*").from_(table("classes")).where(sql("NOT failing")),
            "present_values": counts,
            measure.name: of_value,
        }
        rows = self.census.engine.fetch(with_steps(query, **steps), f"check: {measure.name} at node {node}")
        return [dict(zip(("named", *measure.judged), row, strict=True)) for row in rows]


def _worst(judged: list[SensitiveRules]) -> dict[str, str]:
    """Of the figure of every rule, the worst of all classes."""
    figures = {name: rule.constraint for part in judged for name, rule in part.figures.items()}
    return {name: f"{constraint.worst}({name})" for name, constraint in figures.items()}


def _findings(judged: list[SensitiveRules], worst: Iterable[Any]) -> Iterator[Finding]:
    constraints = [rule.constraint for part in judged for rule in part.rules]
    return (Finding(constraint, figure) for constraint, figure in zip(constraints, worst, strict=True))


_TOTALS = {
    "classes": "COUNT(*)",
    "rows": "COALESCE(SUM(x), 0)",
    "failing_classes": "COUNT(CASE WHEN failing THEN 1 END)",
    "failing_rows": "COALESCE(SUM(CASE WHEN failing THEN x END), 0)",
    "squares": "COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)",
}
