"""Labels of one level at a more general one: how two releases of different levels are brought together."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, sql

LABEL = column("label")


def relabelled(hierarchy: Hierarchy, labels: exp.Query) -> exp.Query:
    """Each of the `labels` (label) with at_0, at_1, … up to the level below the top: what it is there. NULL: the labels
    of that level are finer, or nobody can tell."""
    levels = range(hierarchy.height)
    if hierarchy.listing is not None:
        return _listed(hierarchy, labels)
    kind = hierarchy.kind
    assert kind is not None
    at = (kind.relabel(LABEL, level) if level else kind.raw(LABEL) for level in levels)
    known = [_or_top(hierarchy, label).as_(f"at_{level}") for level, label in enumerate(at)]
    return exp.select("label", *known).from_(labels.subquery("labels"))


def is_top(hierarchy: Hierarchy) -> exp.Expr:
    """Whether a label says nothing. The stars of a mask are as many as the longest value has characters."""
    if hierarchy.top and not hierarchy.top.strip("*"):
        return sql("label <> '' AND REPLACE(label, '*', '') = ''")
    return sql("label = :top", top=literal(hierarchy.top))


def _or_top(hierarchy: Hierarchy, label: exp.Expr) -> exp.Expr:
    """What a hierarchy does not know may be shown as the top among the labels of any level."""
    inside = literal(hierarchy.top) if hierarchy.starred else exp.cast(exp.null(), "VARCHAR")
    return sql("CASE WHEN :is_top THEN :inside ELSE :label END", is_top=is_top(hierarchy), inside=inside, label=label)


def _listed(hierarchy: Hierarchy, labels: exp.Query) -> exp.Query:
    query = exp.select(column("label", "l")).from_(labels.subquery("l"))
    for level in range(hierarchy.height):
        alias = f"p{level}"
        query = query.select(_or_top(hierarchy, column("parent", alias)).as_(f"at_{level}"))
        on = exp.EQ(this=column("label", "l"), expression=column("child", alias))
        query = query.join(_parents(hierarchy, level).subquery(alias), on=on, join_type="left")
    return query


def _parents(hierarchy: Hierarchy, level: int) -> exp.Select:
    """child, parent: the labels up to a level with the one of that level which they belong to."""
    assert hierarchy.listing is not None
    listing = hierarchy.listing

    def pairs() -> Iterator[exp.Select]:
        for below in range(level + 1):
            child, parent = column(f"level_{below}").as_("child"), column(f"level_{level}").as_("parent")
            yield exp.select(child, parent).from_(listing.copy())

    every = exp.union(*pairs()) if level else next(pairs())
    only = sql("CASE WHEN COUNT(DISTINCT parent) = 1 THEN MIN(parent) END")
    return exp.select("child", only.as_("parent")).from_(every.subquery("pairs")).group_by("child")
