"""A release that stays a view: it reads the source as it is now, and shows no class that fails.

The view is a barrier. Its rows pass a step that no expression of a reader's query can be moved below, and no column
says what DuckDB knows of all its values: what is not shown cannot be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from duckanon.census.collations import COLLATED
from duckanon.census.counting import Census
from duckanon.census.people import counting_unit
from duckanon.census.plain import plain
from duckanon.census.population import BoundPopulation
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.census.tuples import released_columns
from duckanon.census.values import ValueTable, describe_values
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.ground import Ground
from duckanon.hierarchy.unmapped import shown_as_top
from duckanon.models import ClassRule
from duckanon.models.classes import SensitiveRules, class_steps
from duckanon.models.closeness import placed_rules
from duckanon.models.levels import levelled_rules
from duckanon.models.registry import class_rules, single_rules, size_rules, total_rules
from duckanon.models.unit import ROWS
from duckanon.policy import Policy, Sensitive
from duckanon.query.expressions import all_of, any_of, column, literal, same, sql, table
from duckanon.query.steps import with_steps
from duckanon.search.lattice import Node

# Keeps a small table that the view needs (thing, its rows) and says how to name it.
Keeper = Callable[[str, exp.Query], exp.Table]


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
        _without_statistics(column(outputs[name], "generalized")).as_(name, quoted=True) for name in source.released
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


def _without_statistics(value: exp.Expr) -> exp.Expr:
    """The same value, of which DuckDB no longer knows the least and the largest: to whoever asks for the statistics of
    a column, or for a plan, it tells those of all rows."""
    return exp.Try(this=value)


def read_source(source: BoundSource, rows: exp.Table) -> exp.Select:
    """q0 …, s0 …, k0 … and, where people are counted, e of every row: the step `source`."""
    return _read(released_columns(source), rows)


def _read(named: Iterable[tuple[exp.Expr, str]], rows: exp.Table) -> exp.Select:
    return exp.select(*(_without_statistics(value).as_(name) for value, name in named)).from_(rows.copy())


def read_population(population: BoundPopulation) -> exp.Select:
    """q0 … of every row of it: the step `population`."""
    return _read([(plain(c), f"q{index}") for index, c in enumerate(population.columns)], population.table)


def read_kept(kept: exp.Table, names: Iterable[str]) -> exp.Select:
    """A table that was kept for the view."""
    return _read([(column(name), name) for name in names], kept)


def generalized_by_level(census: Census, node: Node, source: BoundSource, keep: Keeper) -> exp.Select:
    """Every row of the step `source` at the levels of one node."""
    query, computed = _with_labels("source", zip(census.hierarchies, node, strict=True), keep)
    if source.entity:
        # A row of nobody, which a run refuses, may come later: it counts for no class, so it is not shown either.
        query = query.where(sql("source.e IS NOT NULL")).select(column("e", "source"), sql("0").as_("p"))
    query = query.select(*(column(name, "source") for name in shown_as_they_are(census)), sql("1").as_("n"))
    return _only_labelled(query, computed)


def generalized_population(census: Census, node: Node, keep: Keeper) -> exp.Select:
    """Every row of the step `population` by the labels that tell classes apart. What the hierarchy does not know is
    covered by none of these, but by the top, which tells nothing."""
    told = [(h, level) for h, level in zip(census.hierarchies, node, strict=True) if level < h.height]
    query, computed = _with_labels("population", told, keep)
    return _only_labelled(query.select(sql("1").as_("m")), computed)


def _with_labels(step: str, levels: Iterable[tuple[Hierarchy, int]], keep: Keeper) -> tuple[exp.Select, list[int]]:
    """The rows of a step with their labels g0 …; and which of these are computed from a value, which is there, too."""
    query, computed = exp.select().from_(table(step)), []
    for hierarchy, level in levels:
        raw = column(f"q{hierarchy.index}", step)
        query, label = _labelled(query, hierarchy, level, raw, keep)
        query = query.select(label.as_(f"g{hierarchy.index}"))
        if hierarchy.kind is not None and 0 < level < hierarchy.height:
            query = query.select(raw)
            computed.append(hierarchy.index)
    return query, computed


def _only_labelled(query: exp.Select, computed: list[int]) -> exp.Select:
    """What has no label, whatever the reason, is not known."""
    if not computed:
        return query
    labelled = all_of(exp.paren(sql(f"q{index} IS NULL OR g{index} IS NOT NULL")) for index in computed)
    return exp.select("*").from_(query.subquery("labelled")).where(labelled)


def finest_labels(census: Census, keep: Keeper) -> exp.Select:
    """Every row of the step `source` with its columns as they were counted: the value or, where the policy allows none
    so fine, the label that it had then (q0 …). Rows with a value that was not there are left out."""
    query = exp.select(*(column(name, "source") for name in shown_as_they_are(census))).from_(table("source"))
    for h in census.hierarchies:
        value, alias = column(f"q{h.index}", "source"), f"labels_{h.index}"
        if not h.lowest:
            query = query.select(value)
            continue
        label = literal(h.top) if not h.coded else column(h.label(h.lowest))
        kept = keep(alias, exp.select(column("value"), label.as_("label")).from_(h.mapping))
        on, known = exp.EQ(this=value, expression=column("value", alias)), column("value", alias)
        query = query.join(read_kept(kept, ("value", "label")).subquery(alias), on=on, join_type="left")
        query = query.where(exp.paren(sql(":value IS NULL OR :known IS NOT NULL", value=value, known=known)))
        query = query.select(column("label", alias).as_(f"q{h.index}"))
    return query


def shown_as_they_are(census: Census) -> list[str]:
    """s0 … and k0 …; but for pseudonyms, which are made of no row of the source itself."""
    shown = [f"s{values.index}" for values in census.sensitive]
    return shown + [f"k{at}" for at, kept in enumerate(census.keep) if not isinstance(kept, Pseudonym)]


def _labelled(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr]:
    """The label of a column at its level; NULL stays NULL, and what is computed is NULL rather than an error.

    A value that the hierarchy does not know is left out or, if the policy says so, shown as the top.
    """
    if hierarchy.starred:
        return _starred(query, hierarchy, level, raw, keep)
    label: exp.Expr = raw
    if hierarchy.listing is not None:
        query, label = _listed(query, hierarchy, level, raw, keep)
    elif hierarchy.kind is not None:
        unknown = hierarchy.kind.unmapped(raw)
        if unknown is not None:
            query = query.where(sql(":raw IS NULL OR NOT :unknown", raw=raw, unknown=exp.paren(unknown)))
        if 0 < level < hierarchy.height:
            computed = exp.Try(this=hierarchy.kind.label(raw, level))
            label = sql("CASE WHEN :raw IS NULL THEN NULL ELSE :computed END", raw=raw, computed=computed)
    if level == hierarchy.height:
        return query, literal(hierarchy.top)
    return query, raw if level == 0 else label


def _starred(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr]:
    if level == hierarchy.height:
        return query, literal(hierarchy.top)
    label, unknown = hierarchy.column.type.released.text(raw), None
    if hierarchy.listing is not None:
        query, listed, label = _with_listing(query, hierarchy, level, raw, keep)
        unknown = sql(":listed IS NULL", listed=listed)
    elif hierarchy.kind is not None:
        unknown = hierarchy.kind.unmapped(raw)
        if level:
            computed = exp.Try(this=hierarchy.kind.label(raw, level))
            label = sql("COALESCE(:computed, :top)", computed=computed, top=literal(hierarchy.top))
    return query, shown_as_top(unknown, raw, hierarchy.top, label)


def _listed(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr]:
    query, value, label = _with_listing(query, hierarchy, level, raw, keep)
    known = any_of([sql(":raw IS NULL", raw=raw), sql(":v IS NOT NULL", v=value)])
    return query.where(exp.paren(known)), label


def _with_listing(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr, exp.Expr]:
    """The rows with the value of the listing, NULL where it has none, and with its label."""
    assert hierarchy.listing is not None
    listed = exp.select(column("level_0").as_("value"), column(f"level_{level}").as_("label"))
    kept = keep(f"labels_{hierarchy.index}", listed.from_(hierarchy.listing))
    alias = f"labels_{hierarchy.index}"
    key = hierarchy.matching.key(hierarchy.column.type.released.text(raw))
    on = exp.EQ(this=key, expression=column("value", alias))
    query = query.join(read_kept(kept, ("value", "label")).subquery(alias), on=on, join_type="left")
    return query, column("value", alias), column("label", alias)
