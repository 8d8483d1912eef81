"""A release that stays a view: it reads the source as it is now, and shows no class that fails.

The view is a barrier. Its rows pass a step that no expression of a reader's query can be moved below, and no column
says what DuckDB knows of all its values: what is not shown cannot be asked for.
"""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.collations import COLLATED
from duckanon.census.counting import Census
from duckanon.census.people import counting_unit
from duckanon.census.source import BoundSource
from duckanon.census.values import ValueTable, describe_values
from duckanon.hierarchy.ground import Ground
from duckanon.models import ClassRule
from duckanon.models.classes import class_steps
from duckanon.models.closeness import placed_rules
from duckanon.models.column_steps import SensitiveRules
from duckanon.models.levels import levelled_rules
from duckanon.models.registry import class_rules, single_rules, size_rules, total_rules
from duckanon.models.unit import ROWS
from duckanon.policy import Policy, Sensitive
from duckanon.query.expressions import any_of, column, literal, same, sql, table
from duckanon.query.steps import with_steps
from duckanon.recoding.view_rows import Keeper, read_kept, read_population, read_source, without_statistics


def guarded_view(
    policy: Policy,
    census: Census,
    generalized: exp.Select,
    keys: list[str],
    source: BoundSource,
    rows: exp.Table,
    keep: Keeper,
    population: exp.Select | None = None,
) -> exp.Select:
    """`generalized`, a query of the step `source` (g0 … labels, s0 …, k0 …, n), with the class-level constraints of the
    policy inside. `keys` are the labels that tell classes apart, `rows` the source itself. `population`: a query of the
    step of that name (the keys and m), where its rows are counted, as they are now.

    Rows whose value the hierarchy does not know are not shown, nor are classes with a sensitive value that needs a
    level, or a place in a hierarchy, and has none. Where the sizes of all classes together break a constraint, nothing
    is shown. ALP and DIF belong to the whole table, too, and were checked when the view was made; they are not part of
    the guard.
    """
    unit = counting_unit(policy)
    rules_of = class_rules if unit is ROWS else single_rules
    judged = [
        SensitiveRules(values.index, table(f"source_values_{values.index}"), "value", rules)
        for values in census.sensitive
        if (rules := (*rules_of(values.wanted, values.numeric), *_present_rules(values.wanted)))
    ]
    described = {
        f"source_values_{part.index}": _described(census.sensitive[part.index], policy, keep)
        for part in judged
        if any(rule.describes_values for rule in part.rules)
    }
    cells, sizes = "generalized", size_rules(policy.thresholds)
    beside: dict[str, exp.Query] = {}
    if sizes and population is not None and source.population is not None:
        beside = {"population": read_population(source.population), "generalized_population": population}
        cells = "counted"
        beside[cells] = _beside_population(keys, [f"s{part.index}" for part in judged])
    # The source is read once: the rows that are shown are the ones that were judged, also where its query draws lots.
    return with_steps(
        exp.select("*").from_(table("shown")).order_by(*(column(name) for name in source.released)),
        ("source", "shown"),
        source=read_source(source, rows),
        generalized=generalized,
        **described,
        **beside,
        **class_steps(table(cells), keys, policy.k, judged, nulls=True, unit=unit, sizes=sizes),
        shown=_shown(census, keys, source, _whole_table_fails(policy)),
    )


def _present_rules(wanted: Sensitive) -> list[ClassRule]:
    """What a run has made sure of, and may be otherwise later."""
    return [*levelled_rules(wanted), *placed_rules(wanted)]


def _whole_table_fails(policy: Policy) -> list[exp.Expr]:
    """Whether the classes that hold break what their sizes are bounded by together."""
    everybody = exp.select("COUNT(*)").from_(table("population")).subquery()
    parts = {"x": column(counting_unit(policy).size), "population": column("population"), "everybody": everybody}
    return [
        exp.select(rule.constraint.fails(exp.replace_placeholders(rule.figure, **parts)))
        .from_(table("classes"))
        .where(sql("NOT failing"))
        .subquery()
        for rule in total_rules(policy.thresholds)
    ]


def _shown(census: Census, keys: list[str], source: BoundSource, fails: list[exp.Expr]) -> exp.Select:
    """The rows of the `classes` that hold, unless the whole `fails`.

    A filter must not be moved below an OFFSET, be it of no row; below a materialized step alone DuckDB does move it.
    In a session whose collation takes different texts for equal, no class can be told, and nothing is shown.
    """
    outputs = {h.column.name: f"g{h.index}" for h in census.hierarchies}
    outputs |= {values.column.name: f"s{values.index}" for values in census.sensitive}
    outputs |= {kept.name: f"k{position}" for position, kept in enumerate(census.keep)}
    released = [
        without_statistics(column(outputs[name], "generalized")).as_(name, quoted=True) for name in source.released
    ]
    collated = any_of(sql(probe, text=literal("")) for probe in COLLATED)
    return (
        exp.select(*released)
        .from_(table("generalized"))
        .join(table("classes"), on=same(keys, "generalized", "classes", nulls=True))
        .where(sql("NOT classes.failing"), exp.not_(exp.paren(collated)), *map(exp.not_, fails))
        .offset(0)
    )


def _beside_population(keys: list[str], values: list[str]) -> exp.Query:
    """The rows of the source, and those of the population, which are only counted."""
    shown = [column(key) for key in keys]
    ours = exp.select(*shown, *map(column, values), column("n"), sql("0").as_("m")).from_(table("generalized"))
    theirs = exp.select(*shown, *(exp.null().as_(value) for value in values), sql("0").as_("n"), column("m"))
    return exp.union(ours, theirs.from_(table("generalized_population")), distinct=False)


def _described(values: ValueTable, policy: Policy, keep: Keeper) -> exp.Query:
    """All that the models ask about the values of a sensitive column, as the source has them now."""
    value = column(f"s{values.index}")
    number = "COUNT(*)" if counting_unit(policy) is ROWS else "COUNT(DISTINCT e)"
    counts = exp.select(value.as_("value"), sql(number).as_("rows")).from_(table("source"))
    counts = counts.where(sql(":value IS NOT NULL", value=value)).group_by(value)
    if values.ground is not None:
        counts = _below_nodes(counts, values, values.ground, keep)
    return describe_values(values.wanted, counts, values.numeric)


def _below_nodes(counts: exp.Select, values: ValueTable, ground: Ground, keep: Keeper) -> exp.Select:
    """The counts with the labels of the nodes above each value; NULL: the hierarchy does not know it."""
    raw, levels = column("value", "counted"), range(1, ground.height)
    placed = exp.select(raw, column("rows", "counted")).from_(counts.subquery("counted"))
    if ground.scheme.listing is not None:
        alias, listing = f"ground_{values.index}", ground.scheme.listing
        names = {"value": "level_0"} | {f"up_{level}": f"level_{level}" for level in levels}
        kept = keep(alias, exp.select(*(column(of).as_(name) for name, of in names.items())).from_(listing.table))
        on = exp.EQ(this=listing.matching.key(values.column.type.released.text(raw)), expression=column("value", alias))
        placed = placed.join(read_kept(kept, names).subquery(alias), on=on, join_type="left")
        return placed.select(*(column(f"up_{level}", alias) for level in levels))
    kind = ground.scheme.kind
    assert kind is not None
    unknown = kind.unmapped(raw) or exp.false()
    for level in levels:
        label = exp.Try(this=kind.label(raw, level))
        placed = placed.select(
            sql("CASE WHEN :unknown THEN NULL ELSE :label END", unknown=unknown, label=label).as_(f"up_{level}")
        )
    return placed
