"""Classes and whether they fail: GROUP BY queries over cells, with a figure for every rule on classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from duckanon.models import ClassRule
from duckanon.models.closeness import with_crossings
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.unit import ROWS, CountingUnit
from duckanon.query.expressions import any_of, column, same, sql


@dataclass(frozen=True)
class SensitiveRules:
    """A sensitive column whose classes are judged: how its values are reached, and by which rules."""

    index: int
    values: exp.Expr  # relation of describe_values
    key: str  # the column of `values` that the cells hold
    rules: tuple[ClassRule, ...]


def judged_classes(
    cells: exp.Expr, keys: list[str], k: int, judged: list[SensitiveRules], nulls: bool, unit: CountingUnit = ROWS
) -> exp.Select:
    """A query of the classes of `cells` (keys, s0 …, n): keys, x rows, the figures f{j}_{r}, and whether each fails.
    Where people are counted, the cells have what that takes, and the classes the number of people, too.

    `nulls`: the keys may be NULL. The parts stand as CTEs so that a reader can follow them.
    """
    if not judged:
        failing = K_ANONYMITY.constraint(k).fails(column(unit.size)).as_("failing")
        return exp.select("*", failing).from_("sizes").with_("sizes", as_=_sizes(cells, keys, unit))
    first = f"c{judged[0].index}" if unit is ROWS else "sizes"
    shown = dict.fromkeys([*keys, "x", unit.size])
    query = exp.select(*(column(name, first) for name in shown)).from_(first)
    if first == "sizes":
        query = query.with_("sizes", as_=_sizes(cells, keys, unit))
    # Whatever is added to a query copies it: the figures, of which there may be hundreds, are added at once.
    figures: list[exp.Expr] = []
    verdicts = [K_ANONYMITY.constraint(k).fails(column(unit.size, first))]
    for part in judged:
        query = _with_class_figures(query, cells, keys, part, nulls, unit)
        for name in dict.fromkeys(_home(rule, part, unit) for rule in part.rules):
            if name != first:
                query = query.join(name, on=same(keys, first, name, nulls))
        for position, rule in enumerate(part.rules):
            figure = column(f"f{part.index}_{position}", _home(rule, part, unit))
            figures.append(figure)
            verdicts.append(rule.constraint.fails(figure))
    return query.select(*figures, any_of(verdicts).as_("failing"))


def _sizes(cells: exp.Expr, keys: list[str], unit: CountingUnit) -> exp.Select:
    columns, sizes = [column(key) for key in keys], {"x": ROWS.number, unit.size: unit.number}
    query = exp.select(*columns, *(sql(number).as_(name) for name, number in sizes.items())).from_(cells)
    return query.group_by(*columns) if columns else query


def _home(rule: ClassRule, part: SensitiveRules, unit: CountingUnit) -> str:
    """Where the figure of a rule is: who has a level is no sum over its values, where people are counted."""
    return f"b{part.index}" if rule.of_levels and unit is not ROWS else f"c{part.index}"


def _with_class_figures(
    query: exp.Select, cells: exp.Expr, names: list[str], part: SensitiveRules, nulls: bool, unit: CountingUnit
) -> exp.Select:
    """Adds the CTEs y{j} (how many of a class have a value), v{j} (with all known of it) and c{j} (per class)."""
    keys, value = [column(name) for name in names], column(f"s{part.index}")
    counts = exp.select(*keys, value.as_("value"), sql(unit.number).as_("y"))
    query = query.with_(f"y{part.index}", as_=counts.from_(cells).group_by(*keys, value))
    rows = exp.select("y.*").from_(f"y{part.index} AS y")
    if unit is not ROWS:
        # A person may have several values, so the sum of the y is no number of people.
        rows = rows.select(column(unit.size, "s")).join("sizes AS s", on=same(names, "y", "s", nulls))
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
    if unit is ROWS:
        return _with_figures(query, names, part, f"c{part.index}", source, unit)
    if any(not rule.of_levels for rule in part.rules):
        query = _with_figures(query, names, part, f"c{part.index}", source, unit)
    if any(rule.of_levels for rule in part.rules):
        query = _with_levels(query, cells, names, part, nulls, unit)
        query = _with_figures(query, names, part, f"b{part.index}", f"l{part.index}", unit)
    return query


def _with_levels(
    query: exp.Select, cells: exp.Expr, names: list[str], part: SensitiveRules, nulls: bool, unit: CountingUnit
) -> exp.Select:
    """Adds the CTE l{j}: how many of a class have a value of each level; no level stands for no value."""
    described = exp.alias_(part.values.copy(), "d", table=True)
    on = exp.EQ(this=column(f"s{part.index}"), expression=column(part.key, "d"))
    keys = [column(name) for name in names]
    levels = exp.select(*keys, column("level", "d"), sql(unit.number).as_("y"))
    levels = levels.from_(cells).join(described, on=on, join_type="left").group_by(*keys, column("level", "d"))
    rows = exp.select("y.*", column(unit.size, "s"), column("level", "y").as_("value")).from_(levels.subquery("y"))
    return query.with_(f"l{part.index}", as_=rows.join("sizes AS s", on=same(names, "y", "s", nulls)))


def _with_figures(
    query: exp.Select, names: list[str], part: SensitiveRules, home: str, source: str, unit: CountingUnit
) -> exp.Select:
    """Adds the CTE of the classes with the figures that are at home there."""
    figures = [
        _figure(rule, unit).as_(f"f{part.index}_{position}")
        for position, rule in enumerate(part.rules)
        if _home(rule, part, unit) == home
    ]
    keys = [column(name) for name in names]
    rows_of_class = [sql("SUM(y)").as_("x")] if unit is ROWS else []
    classes = exp.select(*keys, *rows_of_class, *figures).from_(source)
    return query.with_(home, as_=classes.group_by(*keys) if keys else classes)


def _figure(rule: ClassRule, unit: CountingUnit) -> exp.Expr:
    """The figure of a rule, which calls the size of the class `:size`. Among people, several values in a class do not
    yet mean that nobody's is known: one of them may be everybody's."""
    size = sql("SUM(y)" if unit is ROWS else f"MAX({unit.size})")
    figure = exp.replace_placeholders(rule.figure, size=size)
    if unit is ROWS or rule.homogeneous is None:
        return figure
    everybody = "MAX(CASE WHEN value IS NOT NULL THEN y END) >= :size"
    judged = f"CASE WHEN :figure IS NOT NULL AND {everybody} THEN :known ELSE :figure END"
    return sql(judged, size=size, known=rule.homogeneous, figure=figure)


def _over(keys: list[exp.Column]) -> Callable[[str, str | None], exp.Expr]:
    def over(aggregate: str, order: str | None) -> exp.Expr:
        suffix = f"ORDER BY {order}" if order else ""
        window = sql(f"{aggregate} OVER ({suffix})")
        window.set("partition_by", [key.copy() for key in keys])
        return window

    return over
