"""Asks a relation itself, through the analysts' macros: not the path that searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.engine import Engine, Relation
from duckanon.expressions import case_of, column, double, literal, sql, text_of
from duckanon.measure import Finding, class_rules, table_rules
from duckanon.models import Constraint, k_rule
from duckanon.models.levels import level_weights
from duckanon.policy import Sensitive
from duckanon.scratch import Scratch

# A sensitive column may have millions of values; the result lists the most frequent, and all that the policy names.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Audit:
    """A relation measured against a policy: every constraint, and the privacy figures people read."""

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    privacy: dict[str, Any]
    sizes: tuple[tuple[int, int], ...]  # class size, classes of that size

    @property
    def holds(self) -> bool:
        return self.rows > 0 and all(finding.holds for finding in self.findings)


@dataclass(frozen=True)
class Audited:
    """A sensitive column as the relation holds it; `reference` holds the source's distribution of it."""

    wanted: Sensitive
    column: str
    numeric: bool
    reference: Relation


def audit(k: int, relation: Relation, qi: list[str], sensitive: list[Audited], scratch: Scratch) -> Audit:
    """Measure `relation` with its quasi-identifiers `qi` against k and every threshold of its sensitive columns."""
    asked = _Asked(relation, qi, scratch)
    # One histogram says all about class sizes; n rows have at most √(2n) different ones.
    sizes = [(size, classes) for size, classes in asked.fetch("class_sizes", "class_size", "classes")]
    rows = sum(size * classes for size, classes in sizes)
    classes = sum(classes for _, classes in sizes)
    least = min((size for size, _ in sizes), default=None)
    findings = [Finding(k_rule(k), least)]
    figures = {}
    for index, part in enumerate(sensitive):
        figures[part.column], found = _sensitive(part, index, asked)
        findings += found
    privacy = {
        "k": least,
        "highest_risk": 1 / least if least else None,
        "average_risk": classes / rows if rows else None,
        "rows_at_risk": sum(size * count for size, count in sizes if size < k),
        "unique_rows": sum(count for size, count in sizes if size == 1),
        "sensitive": figures,
    }
    return Audit(rows, classes, tuple(findings), privacy, tuple(sorted(sizes)))


class _Asked:
    """The relation and quasi-identifiers that every macro is asked about."""

    def __init__(self, relation: Relation, qi: list[str], scratch: Scratch) -> None:
        self.relation, self.qi, self.scratch = relation, qi, scratch

    @property
    def engine(self) -> Engine:
        return self.scratch.engine

    def table(self, macro: str, *arguments: exp.Expr, **named: exp.Expr) -> exp.Table:
        qi = exp.Array(expressions=[literal(name) for name in self.qi])
        options = [exp.PropertyEQ(this=exp.to_identifier(key), expression=value) for key, value in named.items()]
        return self.engine.macro(macro, literal(self.relation.spelled), qi, *arguments, *options)

    def fetch(
        self, macro: str, *outputs: str, about: exp.Expr | None = None, **named: exp.Expr
    ) -> list[tuple[Any, ...]]:
        arguments = [about] if about is not None else []
        query = exp.select(*(column(output) for output in outputs)).from_(self.table(macro, *arguments, **named))
        return self.engine.fetch(query, f"verify: {macro}")


def _sensitive(part: Audited, index: int, asked: _Asked) -> tuple[dict[str, Any], list[Finding]]:
    about = literal(part.column)
    ((distinct_l, entropy_l),) = asked.fetch("l_diversity", "distinct_l", "entropy_l", about=about)
    ((homogeneous,),) = asked.fetch("homogeneity", "homogeneous_rows", about=about)
    closeness = exp.select("t").from_(asked.table("t_closeness_to", about, literal(part.reference.spelled)))
    ((t,),) = asked.engine.fetch(closeness, "verify: t_closeness_to")
    leaks = asked.scratch.table(f"leaks_{index}", _leaks(part, asked.table("leakage", about)), "verify: leakage")
    figures = {"distinct_l": distinct_l, "entropy_l": entropy_l, "homogeneous_rows": homogeneous, "t": t}
    values, omitted = _values(leaks, asked.engine)
    figures["values"] = values
    if omitted:
        figures["values_omitted"] = omitted
    measured = {"distinct_l": distinct_l, "entropy_l": entropy_l, "t": t}
    findings = [
        Finding(constraint, _measured(constraint, part, measured, leaks, index, asked))
        for constraint in _constraints(part)
    ]
    asked.scratch.drop(leaks)
    return figures, findings


def _constraints(part: Audited) -> list[Constraint]:
    by_class = [rule.constraint for rule in class_rules(part.wanted, part.numeric)]
    return by_class + [rule.constraint for rule in table_rules(part.wanted)]


def _leaks(part: Audited, leakage: exp.Table) -> exp.Query:
    """Per value: its text, its place among the named values, rows, alpha, alp, dif."""
    text = text_of(column("value"))
    places = {value: literal(place) for place, value in enumerate(part.wanted.values, start=1)}
    return exp.select(
        text.as_("text"),
        case_of(text, places, literal(0)).as_("named"),
        "row_count",
        column("highest_lp").as_("alpha"),
        "alp",
        "dif",
    ).from_(leakage)


def _values(leaks: exp.Table, engine: Engine) -> tuple[dict[str, Any], int]:
    query = exp.select("text", "row_count", "alpha", "alp", "dif").from_(leaks)
    query = query.order_by("CASE WHEN named > 0 THEN 0 ELSE 1 END", "row_count DESC", "text").limit(_MOST_LISTED)
    listed = {
        text: {"rows": rows, "alpha": alpha, "alp": alp, "dif": dif}
        for text, rows, alpha, alp, dif in engine.fetch(query)
    }
    ((count,),) = engine.fetch(exp.select("COUNT(*)").from_(leaks))
    return listed, count - len(listed)


def _measured(
    constraint: Constraint, part: Audited, known: dict[str, Any], leaks: exp.Table, index: int, asked: _Asked
) -> float | int | None:
    name, wanted = constraint.name, part.wanted
    if name in known:
        return known[name] if known[name] is not None or name == "t" else 0
    if name in ("alpha", "alp", "dif"):
        return _worst_leak(constraint, wanted, leaks, asked.engine)
    about = literal(part.column)
    if name == "recursive":
        assert wanted.recursive is not None
        ((c,),) = asked.fetch("recursive_diversity", "c", about=about, l=literal(wanted.recursive.l))
        return c if c is not None else float("inf")
    if name == "value_l":
        diversity = asked.table("value_diversity", about)
        matches = exp.EQ(this=text_of(column("value")), expression=literal(constraint.value))
        return _figure(asked.engine.fetch(exp.select("distinct_l").from_(diversity).where(matches)))
    if name == "proximity":
        assert wanted.proximity is not None
        query = exp.select("share").from_(asked.table("proximity", about, double(wanted.proximity.epsilon)))
        return _figure(asked.engine.fetch(query, "verify: proximity"))
    return _level_figure(constraint, part, index, asked)


def _worst_leak(constraint: Constraint, wanted: Sensitive, leaks: exp.Table, engine: Engine) -> float | None:
    """The highest figure over the values that the threshold is for."""
    if constraint.value is not None:
        places = [list(wanted.values).index(constraint.value) + 1]
    else:
        own = [getattr(thresholds, constraint.name) is not None for thresholds in wanted.values.values()]
        places = [0] + [place for place, has_own in enumerate(own, start=1) if not has_own]
    query = exp.select(exp.Max(this=column(constraint.name))).from_(leaks).where(column("named").isin(*places))
    ((worst,),) = engine.fetch(query)
    return 0.0 if worst is None and constraint.name == "alpha" else worst


def _level_figure(constraint: Constraint, part: Audited, index: int, asked: _Asked) -> float | int | None:
    """Figures of the sensitivity levels: the same macros, over a view that shows the level of each row."""
    wanted = part.wanted
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    if wanted.publish == "level":
        levels = {str(level): literal(level) for level in wanted.levels}
    level = case_of(text_of(column(part.column)), levels, exp.cast(exp.null(), "INTEGER"))
    names = [f"g{place}" for place in range(len(asked.qi))]
    classes = [column(name).as_(alias) for name, alias in zip(asked.qi, names, strict=True)]
    query = exp.select(*classes, level.as_("level")).from_(asked.relation.table)
    view = asked.scratch.view(f"levels_{index}", query, "verify: the level of each row")
    levelled = _Asked(Relation((view.name,), "view"), names, asked.scratch)
    measured: float | int | None
    try:
        if constraint.name == "level_l":
            ((measured,),) = levelled.fetch("l_diversity", "distinct_l", about=literal("level"))
        elif constraint.name == "level_alpha":
            alphas = dict(levelled.fetch("alpha", "value", "alpha", about=literal("level")))
            measured = alphas.get(int(constraint.value or 0), 0.0)
        else:
            measured = _weight(wanted, view, names, asked.engine)
    finally:
        asked.scratch.drop(view)
    return measured


def _weight(wanted: Sensitive, view: exp.Table, names: list[str], engine: Engine) -> float | None:
    """The least sum, over the classes, of the weights of the distinct levels in it."""
    qi = [column(name) for name in names]
    weights = {str(level): double(weight) for level, weight in level_weights(wanted).items()}
    weight = case_of(text_of(column("level")), weights, double(0.0))
    distinct = exp.select(*qi, "level", weight.as_("weight")).distinct().from_(view)
    sums = exp.select(sql("SUM(weight)").as_("total")).from_(distinct.subquery("d")).group_by(*qi)
    return _figure(engine.fetch(exp.select("MIN(total)").from_(sums.subquery("s"))))


def _figure(rows: list[tuple[Any, ...]]) -> float | None:
    """The one figure of a query that gives at most one."""
    return rows[0][0] if rows else None
