"""Asks a relation itself, through the analysts' macros: not the path that searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.audit.linkable import Linkable
from duckanon.audit.questions import People, Rows
from duckanon.engine import Relation, Workbench
from duckanon.models import Constraint, Finding, k_rule
from duckanon.models.levels import level_weights
from duckanon.models.registry import class_rules, table_rules
from duckanon.policy import Sensitive
from duckanon.query.expressions import case_of, column, double, literal, same, sql, text_of

__all__ = ["Audit", "AuditedColumn", "People", "Rows", "audit"]

# A sensitive column may have millions of values; the result lists the most frequent, and all that the policy names.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Audit:
    """A relation measured against a policy: every constraint, and the privacy figures people read."""

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    privacy: dict[str, Any]
    sizes: tuple[tuple[int, int], ...]  # class size in what is counted, classes of that size
    people: int | None = None  # where these are counted
    linkable: Linkable | None = None  # of a release

    @property
    def told(self) -> dict[str, Any]:
        """The privacy figures of a result."""
        return self.privacy | ({"linkable": self.linkable.as_json()} if self.linkable else {})

    @property
    def holds(self) -> bool:
        return self.rows > 0 and all(finding.holds for finding in self.findings)


@dataclass(frozen=True)
class AuditedColumn:
    """A sensitive column as the relation holds it; `reference` holds the source's distribution of it."""

    wanted: Sensitive
    column: str
    numeric: bool
    reference: Relation


def audit(k: int, released: Rows, sensitive: list[AuditedColumn], people: People | None = None) -> Audit:
    """Measure a relation against k and every threshold of its sensitive columns; where people are counted, by the
    `people` that its rows are of."""
    asked = people or released
    sizes = released.sizes()
    rows = sum(size * classes for size, classes in sizes)
    classes = sum(classes for _, classes in sizes)
    counted_sizes = people.sizes() if people else sizes
    least = min((size for size, _ in counted_sizes), default=None)
    everybody = sum(size * count for size, count in counted_sizes)
    findings = [Finding(k_rule(k), least)]
    figures = {}
    for index, part in enumerate(sensitive):
        figures[part.column], found = _sensitive(part, index, asked)
        findings += found
    privacy = {
        "k": least,
        "highest_risk": 1 / least if least else None,
        "average_risk": classes / everybody if everybody else None,
        "rows_at_risk": sum(size * count for size, count in counted_sizes if size < k),
        "unique_rows": sum(count for size, count in counted_sizes if size == 1),
        "sensitive": figures,
    }
    present = people.everybody() if people else None
    return Audit(rows, classes, tuple(findings), privacy, tuple(sorted(counted_sizes)), present)


def _sensitive(part: AuditedColumn, index: int, asked: Rows) -> tuple[dict[str, Any], list[Finding]]:
    distinct_l, entropy_l, homogeneous = asked.diversity(part.column)
    ((t,),) = asked.values_of(part.column).fetch(
        "t_closeness_to", ("t",), literal(part.column), literal(part.reference.spelled)
    )
    leaks = asked.scratch.table(f"leaks_{index}", _leaks(part, asked.leakage(part.column)), "verify: leakage")
    figures = {"distinct_l": distinct_l, "entropy_l": entropy_l, "homogeneous_rows": homogeneous, "t": t}
    figures["values"], omitted = _values(leaks, asked.workbench)
    if omitted:
        figures["values_omitted"] = omitted
    measured = {"distinct_l": distinct_l, "entropy_l": entropy_l, "t": t}
    findings = [
        Finding(constraint, _measured(constraint, part, measured, leaks, asked)) for constraint in _constraints(part)
    ]
    asked.scratch.drop(leaks)
    return figures, findings


def _constraints(part: AuditedColumn) -> list[Constraint]:
    by_class = [rule.constraint for rule in class_rules(part.wanted, part.numeric)]
    return by_class + [rule.constraint for rule in table_rules(part.wanted)]


def _leaks(part: AuditedColumn, leakage: exp.Select) -> exp.Query:
    """Per value: its text, its ordinal among the named values, rows, alpha, alp, dif."""
    text = text_of(column("value"))
    ordinals = {value: literal(ordinal) for ordinal, value in enumerate(part.wanted.values, start=1)}
    return exp.select(
        text.as_("text"),
        case_of(text, ordinals, literal(0)).as_("named"),
        "row_count",
        column("highest_lp").as_("alpha"),
        "alp",
        "dif",
    ).from_(leakage.subquery("leakage"))


def _values(leaks: exp.Table, workbench: Workbench) -> tuple[dict[str, Any], int]:
    query = exp.select("text", "row_count", "alpha", "alp", "dif").from_(leaks)
    query = query.order_by("CASE WHEN named > 0 THEN 0 ELSE 1 END", "row_count DESC", "text").limit(_MOST_LISTED)
    listed = {
        text: {"rows": rows, "alpha": alpha, "alp": alp, "dif": dif}
        for text, rows, alpha, alp, dif in workbench.fetch(query)
    }
    ((count,),) = workbench.fetch(exp.select("COUNT(*)").from_(leaks))
    return listed, count - len(listed)


def _measured(
    constraint: Constraint, part: AuditedColumn, known: dict[str, Any], leaks: exp.Table, asked: Rows
) -> float | int | None:
    name, wanted = constraint.name, part.wanted
    if name in known:
        return known[name] if known[name] is not None or name == "t" else 0
    if name in ("alpha", "alp", "dif"):
        return _worst_leak(constraint, wanted, leaks, asked.workbench)
    about = literal(part.column)
    if name == "recursive":
        assert wanted.recursive is not None
        c = asked.recursive(part.column, wanted.recursive.l)
        return c if c is not None else float("inf")
    if name == "value_l":
        matches = exp.EQ(this=text_of(column("value")), expression=literal(constraint.value))
        return _figure(
            asked.workbench.fetch(asked.value_diversity(part.column).where(matches), "verify: value_diversity")
        )
    if name == "proximity":
        assert wanted.proximity is not None
        return _figure(asked.fetch("proximity", ("share",), about, double(wanted.proximity.epsilon)))
    return _level_figure(constraint, part, asked)


def _worst_leak(constraint: Constraint, wanted: Sensitive, leaks: exp.Table, workbench: Workbench) -> float | None:
    """The highest figure over the values that the threshold is for."""
    if constraint.value is not None:
        ordinals = [list(wanted.values).index(constraint.value) + 1]
    else:
        own = [getattr(thresholds, constraint.name) is not None for thresholds in wanted.values.values()]
        ordinals = [0] + [ordinal for ordinal, has_own in enumerate(own, start=1) if not has_own]
    query = exp.select(exp.Max(this=column(constraint.name))).from_(leaks).where(column("named").isin(*ordinals))
    ((worst,),) = workbench.fetch(query)
    return 0.0 if worst is None and constraint.name == "alpha" else worst


def _level_figure(constraint: Constraint, part: AuditedColumn, asked: Rows) -> float | int | None:
    """Figures of the sensitivity levels: the same macros, over a view that shows the level of each row."""
    wanted = part.wanted
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    if wanted.publish == "level":
        levels = {str(level): literal(level) for level in wanted.levels}
    level = case_of(text_of(column(part.column)), levels, exp.cast(exp.null(), "INTEGER"))
    levelled = asked.levelled(level)
    if constraint.name == "level_l":
        return levelled.diversity("level")[0]
    if constraint.name == "level_alpha":
        alphas = dict(
            asked.workbench.fetch(exp.select("value", "highest_lp").from_(levelled.leakage("level").subquery()))
        )
        return float(alphas.get(int(constraint.value or 0), 0.0))
    return _weight(wanted, levelled, asked.workbench)


def _weight(wanted: Sensitive, levelled: Rows, workbench: Workbench) -> float | None:
    """The least sum, over the classes, of the weights of the distinct levels in it; where a level is everybody's, it is
    the only one that counts."""
    qi, view = [column(name) for name in levelled.qi], levelled.relation.table
    weights = {str(level): double(weight) for level, weight in level_weights(wanted).items()}
    weight = case_of(text_of(column("level")), weights, double(0.0))
    sizes = exp.select(*qi, levelled.number().as_("x")).from_(view).group_by(*qi)
    levels = exp.select(*qi, weight.as_("weight"), levelled.number().as_("y")).from_(view)
    levels = levels.where(sql("level IS NOT NULL")).group_by(*qi, "level")
    known = sql("COALESCE(MIN(CASE WHEN l.y >= s.x THEN l.weight END), SUM(l.weight), 0)")
    classes = exp.select(known.as_("total")).from_(sizes.subquery("s"))
    classes = classes.join(levels.subquery("l"), on=same(levelled.qi, "s", "l", nulls=True), join_type="left")
    classes = classes.group_by(*(column(name, "s") for name in levelled.qi))
    return _figure(workbench.fetch(exp.select("MIN(total)").from_(classes.subquery("c")), "verify: level_weight"))


def _figure(rows: list[tuple[Any, ...]]) -> float | None:
    """The one figure of a query that gives at most one."""
    return rows[0][0] if rows else None
