"""Labels of one level at a more general one: how two releases of different levels are brought together."""

from __future__ import annotations

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, sql

LABEL = column("label")


def relabelled(hierarchy: Hierarchy, labels: exp.Query, base: int | None, level: int) -> exp.Query:
    """Each of the `labels` (label) with `common`: what it is at a level below the top. NULL: the labels of that level
    are finer, or nobody can tell. `base`: the level that all of them are of, that one or a finer; None: that is not
    known, so each is taken for the most general that it may be."""
    if hierarchy.listing is not None:
        return _listed(hierarchy, labels, base, level)
    common = _or_top(hierarchy, _computed(hierarchy, level, base), base)
    return exp.select("label", common.as_("common")).from_(labels.subquery("labels"))


def _computed(hierarchy: Hierarchy, level: int, base: int | None) -> exp.Expr:
    kind = hierarchy.kind
    assert kind is not None
    if level == base:
        return LABEL.copy()
    return kind.relabel(LABEL, level) if level else kind.raw(LABEL)


def is_top(hierarchy: Hierarchy) -> exp.Expr:
    """Whether a label says nothing. The stars of a mask are as many as the longest value has characters."""
    if hierarchy.top and not hierarchy.top.strip("*"):
        return sql("label <> '' AND REPLACE(label, '*', '') = ''")
    return sql("label = :top", top=literal(hierarchy.top))


def _or_top(hierarchy: Hierarchy, label: exp.Expr, base: int | None) -> exp.Expr:
    """What a hierarchy does not know may be shown as the top among the labels of any level; and where nobody knows of
    which level a label is, what looks like the top may be it."""
    if not hierarchy.starred and base is not None:
        return label
    inside = literal(hierarchy.top) if hierarchy.starred else exp.cast(exp.null(), "VARCHAR")
    return sql("CASE WHEN :is_top THEN :inside ELSE :label END", is_top=is_top(hierarchy), inside=inside, label=label)


def _listed(hierarchy: Hierarchy, labels: exp.Query, base: int | None, level: int) -> exp.Query:
    """A list of the same name may have changed: even at their own level, labels are looked up."""
    parent: exp.Expr = column("parent", "parents")
    if level == 0:  # as it is, however the list spells it
        parent = sql("CASE WHEN :parent IS NOT NULL THEN labels.label END", parent=parent)
    common = _or_top(hierarchy, parent, base)
    query = exp.select(column("label", "labels"), common.as_("common")).from_(labels.subquery("labels"))
    key = hierarchy.matching.key(column("label", "labels"))
    shown = sql("COALESCE(NULLIF(:key, ''), :label)", key=key, label=column("label", "labels"))
    on = exp.EQ(this=shown, expression=column("child", "parents"))
    return query.join(_parents(hierarchy, level, base).subquery("parents"), on=on, join_type="left")


def _parents(hierarchy: Hierarchy, level: int, base: int | None) -> exp.Select:
    """child, parent: the labels up to a level with the one of that level which they belong to. A label that stands on
    several levels is of the `base` or, if that is not known, of the highest."""
    assert hierarchy.listing is not None
    listing = hierarchy.listing
    levels = [base] if base is not None else list(range(level + 1))
    every = exp.union(*(_pairs(listing, below, level) for below in levels)) if len(levels) > 1 else None
    pairs = every or _pairs(listing, levels[0], level)
    only = sql("CASE WHEN COUNT(DISTINCT parent) = 1 THEN MIN(parent) END")
    query = exp.select("child", only.as_("parent")).from_(pairs.subquery("pairs")).group_by("child")
    if base is None:
        for above in range(level + 1, hierarchy.height):
            higher = exp.select(column(f"level_{above}")).from_(listing.copy())
            query = query.where(exp.not_(exp.In(this=column("child"), query=higher.subquery())))
    return query


def _pairs(listing: exp.Table, below: int, level: int) -> exp.Select:
    child, parent = column(f"level_{below}").as_("child"), column(f"level_{level}").as_("parent")
    return exp.select(child, parent).distinct().from_(listing.copy())
