"""One node of the lattice against all constraints: GROUP BY queries over the census."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.census import Census, rolled_up
from duckanon.expressions import any_of, column, same, sql
from duckanon.lattice import Node
from duckanon.models import ClassRule, Constraint, TableRule, k_rule
from duckanon.models.alpha import alpha_rules
from duckanon.models.closeness import closeness_rules, with_crossings
from duckanon.models.diversity import diversity_rules
from duckanon.models.leakage import leakage_rules
from duckanon.models.levels import level_rules
from duckanon.models.proximity import proximity_rules
from duckanon.policy import Policy, Sensitive


@dataclass(frozen=True)
class Finding:
    """A constraint with what was measured."""

    constraint: Constraint
    measured: float | int | None

    @property
    def holds(self) -> bool:
        return self.constraint.holds(self.measured)


@dataclass(frozen=True)
class Measurement:
    """What a node is like. Class findings are over all classes; table findings over those that do not fail."""

    node: Node
    classes: int
    rows: int
    failing_classes: int
    failing_rows: int
    squares: int  # Σ x² over the classes that do not fail
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


@dataclass(frozen=True)
class Judged:
    """A sensitive column whose classes are judged: how its values are reached, and by which rules."""

    index: int
    values: exp.Expr  # relation of describe_values
    key: str  # the column of `values` that the cells hold
    rules: tuple[ClassRule, ...]


def class_rules(wanted: Sensitive, numeric: bool) -> tuple[ClassRule, ...]:
    """Every class-level rule of a sensitive column."""
    return (
        *diversity_rules(wanted),
        *closeness_rules(wanted, numeric),
        *alpha_rules(wanted),
        *level_rules(wanted),
        *proximity_rules(wanted),
    )


def table_rules(wanted: Sensitive) -> tuple[TableRule, ...]:
    return tuple(leakage_rules(wanted))


def judged_classes(cells: exp.Expr, keys: list[str], k: int, judged: list[Judged], nulls: bool) -> exp.Select:
    """A query of the classes of `cells` (keys, s0 …, n): keys, x, the figures f{j}_{r}, and whether each is failing.

    `nulls`: the keys may be NULL. The parts stand as CTEs so that a reader can follow them.
    """
    columns = [column(key) for key in keys]
    if not judged:
        sizes = exp.select(*columns, sql("CAST(SUM(n) AS DOUBLE)").as_("x")).from_(cells)
        sizes = sizes.group_by(*columns) if columns else sizes
        failing = k_rule(k).fails(column("x")).as_("failing")
        return exp.select("*", failing).from_("sizes").with_("sizes", as_=sizes)
    first = f"c{judged[0].index}"
    query = exp.select(*(column(key, first) for key in keys), column("x", first)).from_(first)
    verdicts = [k_rule(k).fails(column("x", first))]
    for part in judged:
        query = _with_class_figures(query, cells, columns, part)
        name = f"c{part.index}"
        if name != first:
            query = query.join(name, on=same(keys, first, name, nulls))
        for place, rule in enumerate(part.rules):
            figure = column(f"f{part.index}_{place}", name)
            query = query.select(figure)
            verdicts.append(rule.constraint.fails(figure))
    return query.select(any_of(verdicts).as_("failing"))


def _with_class_figures(query: exp.Select, cells: exp.Expr, keys: list[exp.Column], part: Judged) -> exp.Select:
    """Adds the CTEs y{j} (rows per class and value), v{j} (with all known of the value) and c{j} (per class)."""
    value = column(f"s{part.index}")
    counts = exp.select(*keys, value.as_("value"), sql("CAST(SUM(n) AS DOUBLE)").as_("y"))
    query = query.with_(f"y{part.index}", as_=counts.from_(cells).group_by(*keys, value))
    rows = exp.select("y.*").from_(f"y{part.index} AS y")
    if any(rule.describes_values for rule in part.rules):
        described = exp.alias_(part.values.copy(), "d", table=True)
        on = exp.EQ(this=column("value", "y"), expression=column(part.key, "d"))
        known = ("code", "named", "level", "number", "share", "cumulated", "prefix", "values_", "whole")
        rows = rows.select(*(column(name, "d") for name in known)).join(described, on=on, join_type="left")
    query = query.with_(f"v{part.index}", as_=rows)
    source = f"v{part.index}"
    windows: dict[str, exp.Expr] = {}
    for rule in part.rules:
        windows.update(rule.windows(_over(keys)) if rule.windows else {})
    if windows:
        query = query.with_(
            f"w{part.index}", as_=exp.select("*", *(e.as_(name) for name, e in windows.items())).from_(source)
        )
        source = f"w{part.index}"
    if any(rule.crossing for rule in part.rules):
        crossings = with_crossings(exp.to_table(source), part.values)
        query = query.with_(f"i{part.index}", as_=crossings)
        source = f"i{part.index}"
    figures = [rule.figure.as_(f"f{part.index}_{place}") for place, rule in enumerate(part.rules)]
    classes = exp.select(*keys, sql("SUM(y)").as_("x"), *figures).from_(source)
    return query.with_(f"c{part.index}", as_=classes.group_by(*keys) if keys else classes)


def _over(keys: list[exp.Column]) -> Callable[[str, str | None], exp.Expr]:
    def over(aggregate: str, order: str | None) -> exp.Expr:
        suffix = f"ORDER BY {order}" if order else ""
        window = sql(f"{aggregate} OVER ({suffix})")
        window.set("partition_by", [key.copy() for key in keys])
        return window

    return over


class Measurer:
    """Measures nodes of one census for one policy. Asks only for what the policy constrains."""

    def __init__(self, policy: Policy, census: Census) -> None:
        self.policy = policy
        self.census = census
        self.judged = [
            Judged(values.index, values.table, "code", rules)
            for values in census.sensitive
            if (rules := class_rules(values.wanted, values.numeric))
        ]
        self.table_rules = {v.index: asked for v in census.sensitive if (asked := table_rules(v.wanted))}
        self.constraints = [k_rule(policy.k)] + [rule.constraint for part in self.judged for rule in part.rules]
        self.base = self._base()

    def _base(self) -> exp.Table:
        """The census without the columns that no constraint asks for."""
        census = self.census
        asked = sorted({part.index for part in self.judged} | set(self.table_rules))
        if len(asked) == len(census.sensitive) and not census.keep:
            return census.table
        bottom = (0,) * len(census.hierarchies)
        query = rolled_up(census, census.table, bottom, asked)
        return census.scratch.table("cells", query, "the census, without what no constraint asks for")

    def classes(self, node: Node) -> exp.Select:
        return judged_classes(self.base, self.census.keys(node), self.policy.k, self.judged, nulls=False)

    def measure(self, node: Node, budget: int | None = None) -> Measurement:
        """Measure a node; beyond `budget` failing rows the table rules are not asked. None: ask them always."""
        figures = [(f"f{part.index}_{i}", r.constraint) for part in self.judged for i, r in enumerate(part.rules)]
        query = exp.select(
            "COUNT(*)",
            *map(sql, _TOTALS),
            *(sql(f"{constraint.worst}({name})") for name, constraint in figures),
        ).from_(self.classes(node).subquery("classes"))
        ((count, rows, failing_classes, failing_rows, squares, least, *worst),) = self.census.engine.fetch(
            query, f"check: node {node}"
        )
        findings = [Finding(c, m) for c, m in zip(self.constraints, (int(least), *worst), strict=True)]
        within = budget is None or failing_rows <= budget
        table = tuple(self._table_findings(node)) if within and failing_rows < rows else None
        return Measurement(
            node, count, int(rows), failing_classes, int(failing_rows), int(squares), tuple(findings), table
        )

    def _table_findings(self, node: Node) -> list[Finding]:
        """ALP and DIF over the classes that do not fail."""
        found = []
        keys = self.census.keys(node)
        for index, rules in self.table_rules.items():
            leaks = self._leaks(node, keys, index)
            for rule in rules:
                at = 1 if rule.constraint.name == "alp" else 2
                measured = [row[at] for row in leaks if row[0] in rule.places]
                found.append(Finding(rule.constraint, max(measured, default=None)))
        return found

    def _leaks(self, node: Node, keys: list[str], index: int) -> list[tuple[Any, ...]]:
        """named, the highest ALP and the highest DIF of the values of that name; wang eq. 2."""
        value = column(f"s{index}")
        columns = [column(key) for key in keys]
        counts = exp.select(*columns, value.as_("value"), sql("CAST(SUM(n) AS DOUBLE)").as_("y"))
        counts = counts.from_(self.base).where(sql(":v IS NOT NULL", v=value)).group_by(*columns, value)
        leak = exp.select("y.value", sql("SUM(y.y * y.y / g.x) / SUM(y.y)").as_("alp"), sql("MAX(y.y / g.x)").as_("lp"))
        leak = leak.from_(counts.subquery("y")).join(
            exp.alias_(exp.to_table("good"), "g", table=True), on=same(keys, "y", "g", nulls=False)
        )
        described = exp.alias_(self.census.sensitive[index].table, "d", table=True)
        query = (
            exp.select("d.named", sql("MAX(l.alp)"), sql("MAX(l.lp - l.alp)"))
            .from_(leak.group_by("y.value").subquery("l"))
            .join(described, on=exp.EQ(this=column("value", "l"), expression=column("code", "d")))
            .group_by("d.named")
        )
        good = exp.select("*").from_(self.classes(node).subquery("classes")).where(sql("NOT failing"))
        return self.census.engine.fetch(query.with_("good", as_=good), f"check: leakage at node {node}")


_TOTALS = (
    "COALESCE(SUM(x), 0)",
    "COUNT(CASE WHEN failing THEN 1 END)",
    "COALESCE(SUM(CASE WHEN failing THEN x END), 0)",
    "COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)",
    "MIN(x)",
)
