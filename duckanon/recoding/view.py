"""A release that stays a view: it reads the source as it is now, and shows no class that fails.

The view is a barrier. Its rows pass a step that no expression of a reader's query can be moved below, and no column
says what DuckDB knows of all its values: what is not shown cannot be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.people import counting_unit
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import COLLATED, BoundSource
from duckanon.census.tuples import released_columns
from duckanon.census.values import ValueTable, describe_values
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.unmapped import shown_as_top
from duckanon.models.classes import SensitiveRules, class_steps
from duckanon.models.levels import levelled_rules
from duckanon.models.registry import class_rules, single_rules
from duckanon.models.unit import ROWS
from duckanon.policy import Policy
from duckanon.query.expressions import all_of, any_of, column, literal, same, sql, table
from duckanon.query.steps import with_steps
from duckanon.search.lattice import Node

# Keeps a small table that the view needs (thing, its rows) and says how to name it.
Keeper = Callable[[str, exp.Query], exp.Table]


def guarded_view(
    policy: Policy, census: Census, generalized: exp.Select, keys: list[str], source: BoundSource, rows: exp.Table
) -> exp.Select:
    """`generalized`, a query of the step `source` (g0 … labels, s0 …, k0 …, n), with the class-level constraints of the
    policy inside. `keys` are the labels that tell classes apart, `rows` the source itself.

    Rows whose value the hierarchy does not know are not shown, nor are classes with a sensitive value that needs a
    level and has none. ALP and DIF belong to the whole table and were checked when the view was made; they are not
    part of the guard.
    """
    unit = counting_unit(policy)
    rules_of = class_rules if unit is ROWS else single_rules
    judged = [
        SensitiveRules(values.index, table(f"source_values_{values.index}"), "value", rules)
        for values in census.sensitive
        if (rules := (*rules_of(values.wanted, values.numeric), *levelled_rules(values.wanted)))
    ]
    described = {
        f"source_values_{part.index}": _described(census.sensitive[part.index], policy)
        for part in judged
        if any(rule.describes_values for rule in part.rules)
    }
    # The source is read once: the rows that are shown are the ones that were judged, also where its query draws lots.
    return with_steps(
        exp.select("*").from_(table("shown")).order_by(*(column(name) for name in source.released)),
        ("source", "shown"),
        source=read_source(source, rows),
        generalized=generalized,
        **described,
        **class_steps(table("generalized"), keys, policy.k, judged, nulls=True, unit=unit),
        shown=_shown(census, keys, source),
    )


def _shown(census: Census, keys: list[str], source: BoundSource) -> exp.Select:
    """The rows of the `classes` that hold.

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
        .where(sql("NOT classes.failing"), exp.not_(exp.paren(collated)))
        .offset(0)
    )


def _described(values: ValueTable, policy: Policy) -> exp.Query:
    """All that the models ask about the values of a sensitive column, as the source has them now."""
    value = column(f"s{values.index}")
    number = "COUNT(*)" if counting_unit(policy) is ROWS else "COUNT(DISTINCT e)"
    counts = exp.select(value.as_("value"), sql(number).as_("rows")).from_(table("source"))
    counts = counts.where(sql(":value IS NOT NULL", value=value)).group_by(value)
    return describe_values(values.wanted, counts, values.numeric)


def _without_statistics(value: exp.Expr) -> exp.Expr:
    """The same value, of which DuckDB no longer knows the least and the largest: to whoever asks for the statistics of
    a column, or for a plan, it tells those of all rows."""
    return exp.Try(this=value)


def read_source(source: BoundSource, rows: exp.Table) -> exp.Select:
    """q0 …, s0 …, k0 … and, where people are counted, e of every row: the step `source`."""
    return _read(released_columns(source), rows)


def _read(named: Iterable[tuple[exp.Expr, str]], rows: exp.Table) -> exp.Select:
    return exp.select(*(_without_statistics(value).as_(name) for value, name in named)).from_(rows.copy())


def read_kept(kept: exp.Table, names: Iterable[str]) -> exp.Select:
    """A table that was kept for the view."""
    return _read([(column(name), name) for name in names], kept)


def generalized_by_level(census: Census, node: Node, source: BoundSource, keep: Keeper) -> exp.Select:
    """Every row of the step `source` at the levels of one node."""
    query = exp.select().from_(table("source"))
    computed = []
    for hierarchy, level in zip(census.hierarchies, node, strict=True):
        raw = column(f"q{hierarchy.index}", "source")
        query, label = _labelled(query, hierarchy, level, raw, keep)
        query = query.select(label.as_(f"g{hierarchy.index}"))
        if hierarchy.kind is not None and 0 < level < hierarchy.height:
            query = query.select(raw)
            computed.append(hierarchy.index)
    if source.entity:
        # A row of nobody, which a run refuses, may come later: it counts for no class, so it is not shown either.
        query = query.where(sql("source.e IS NOT NULL")).select(column("e", "source"), sql("0").as_("p"))
    query = query.select(*(column(name, "source") for name in shown_as_they_are(census)), sql("1").as_("n"))
    if not computed:
        return query
    # What has no label, whatever the reason, is not known.
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
