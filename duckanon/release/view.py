"""A release that stays a view: it reads the source as it is now, and shows no class that fails."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from duckanon.census import Census, released_value
from duckanon.classes import Judged, class_rules, judged_classes
from duckanon.expressions import any_of, column, literal, same, sql, text_of
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.drift import shown_as_top
from duckanon.lattice import Node
from duckanon.people import ROWS, counted_by
from duckanon.policy import Policy
from duckanon.pseudonyms import Pseudonym
from duckanon.source import BoundSource, plain
from duckanon.values import describe_values

# Keeps a small table that the view needs (thing, its rows) and says how to name it.
Keeper = Callable[[str, exp.Query], exp.Table]


def guarded_view(
    policy: Policy, census: Census, generalized: exp.Select, keys: list[str], source: BoundSource, rows: exp.Table
) -> exp.Select:
    """The generalized source `rows` (g0 … labels, s0 …, k0 …, n) with the class-level constraints of the policy inside.
    `keys` are the labels that tell classes apart.

    Rows whose value the hierarchy does not know are not shown. ALP and DIF belong to the whole table and were
    checked when the view was made; they are not part of the guard.
    """
    judged = [
        Judged(values.index, exp.to_table(f"d{values.index}"), "value", rules)
        for values in census.sensitive
        if (rules := class_rules(values.wanted, values.numeric))
    ]
    counted = counted_by(policy)
    classes = judged_classes(exp.to_table("generalized"), keys, policy.k, judged, nulls=True, counted=counted)
    outputs = {h.column.name: column(f"g{h.index}", "g") for h in census.hierarchies}
    outputs |= {values.column.name: column(f"s{values.index}", "g") for values in census.sensitive}
    outputs |= {kept.name: column(f"k{place}", "g") for place, kept in enumerate(census.keep)}
    released = [outputs[name] for name in source.released]
    shown = (
        exp.select(*(output.as_(name, quoted=True) for output, name in zip(released, source.released, strict=True)))
        .from_("generalized AS g")
        .join(classes.subquery("c"), on=same(keys, "g", "c", nulls=True))
        .where(sql("NOT c.failing"))
        .order_by(*(output.copy() for output in released))
        .with_("generalized", as_=generalized)
    )
    for part in judged:
        wanted, numeric = census.sensitive[part.index].wanted, census.sensitive[part.index].numeric
        value = released_value(wanted, plain(census.sensitive[part.index].column))
        all_values = exp.select(value.as_("value"), *_person(source, None)).from_(rows.copy()).subquery("a")
        number = "COUNT(*)" if counted is ROWS else "COUNT(DISTINCT e)"
        counts = exp.select("value", sql(number).as_("rows")).from_(all_values)
        counts = counts.where(sql("value IS NOT NULL")).group_by("value")
        shown = shown.with_(f"d{part.index}", as_=describe_values(wanted, counts, numeric))
    return shown


def generalized_by_level(census: Census, node: Node, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
    """Every row of the source at the levels of one node."""
    query = exp.select().from_(exp.alias_(rows.copy(), "s", table=True))
    for hierarchy, level in zip(census.hierarchies, node, strict=True):
        raw = plain(hierarchy.column, "s")
        query, label = _labelled(query, hierarchy, level, raw, keep)
        query = query.select(label.as_(f"g{hierarchy.index}"))
    if source.entity:
        # A row of nobody, which a run refuses, may come later: it counts for no class, so it is not shown either.
        query = query.where(sql(":person IS NOT NULL", person=plain(source.entity, "s")))
        query = query.select(*_person(source, "s"), sql("0").as_("p"))
    return query.select(*shown_as_they_are(census), sql("1").as_("n"))


def _person(source: BoundSource, table: str | None) -> list[exp.Expr]:
    """Whose row it is, where people are counted."""
    return [plain(source.entity, table).as_("e")] if source.entity else []


def shown_as_they_are(census: Census) -> list[exp.Expr]:
    """s0 … and k0 …, of a row `s` of the source; but for pseudonyms, which are made of no row of the source itself."""
    values = [released_value(v.wanted, plain(v.column, "s")).as_(f"s{v.index}") for v in census.sensitive]
    keep = [
        plain(kept, "s").as_(f"k{place}") for place, kept in enumerate(census.keep) if not isinstance(kept, Pseudonym)
    ]
    return [*values, *keep]


def _labelled(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr]:
    """The label of a column at its level; NULL stays NULL.

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
            computed = hierarchy.kind.label(raw, level)
            label = sql("CASE WHEN :raw IS NULL THEN NULL ELSE :computed END", raw=raw, computed=computed)
    if level == hierarchy.height:
        return query, literal(hierarchy.top)
    return query, raw if level == 0 else label


def _starred(
    query: exp.Select, hierarchy: Hierarchy, level: int, raw: exp.Expr, keep: Keeper
) -> tuple[exp.Select, exp.Expr]:
    if level == hierarchy.height:
        return query, literal(hierarchy.top)
    label, unknown = text_of(raw), None
    if hierarchy.listing is not None:
        query, listed, label = _with_listing(query, hierarchy, level, raw, keep)
        unknown = sql(":listed IS NULL", listed=listed)
    elif hierarchy.kind is not None:
        unknown = hierarchy.kind.unmapped(raw)
        label = hierarchy.kind.label(raw, level) if level else label
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
    table = keep(f"labels_{hierarchy.index}", listed.from_(hierarchy.listing))
    alias = f"m{hierarchy.index}"
    on = exp.EQ(this=text_of(raw), expression=column("value", alias))
    query = query.join(exp.alias_(table, alias, table=True), on=on, join_type="left")
    return query, column("value", alias), column("label", alias)
