"""The rows of a view before it judges them: the source and the population as they are now, by their labels.

What is kept for the view, or read by it, says nothing of what it holds to who asks for statistics or for a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.plain import plain
from duckanon.census.population import BoundPopulation
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.census.tuples import released_columns
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.unmapped import shown_as_top
from duckanon.query.expressions import all_of, any_of, column, literal, sql, table
from duckanon.search.lattice import Node

# Keeps a small table that the view needs (thing, its rows) and says how to name it.
Keeper = Callable[[str, exp.Query], exp.Table]


def without_statistics(value: exp.Expr) -> exp.Expr:
    """The same value, of which DuckDB no longer knows the least and the largest: to whoever asks for the statistics of
    a column, or for a plan, it tells those of all rows."""
    return exp.Try(this=value)


def read_source(source: BoundSource, rows: exp.Table) -> exp.Select:
    """q0 …, s0 …, k0 … and, where people are counted, e of every row: the step `source`."""
    return _read(released_columns(source), rows)


def _read(named: Iterable[tuple[exp.Expr, str]], rows: exp.Table) -> exp.Select:
    return exp.select(*(without_statistics(value).as_(name) for value, name in named)).from_(rows.copy())


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


def labelled_values(hierarchy: Hierarchy, level: int, step: str, keep: Keeper) -> exp.Select:
    """Every value of a step that has those of one column, with its label: value and g0 or whichever it is."""
    query, computed = _with_labels(step, [(hierarchy, level)], keep)
    return _only_labelled(query.select(column(f"q{hierarchy.index}", step).as_("value")), computed)


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
