"""What a hierarchy shows of any values of its column, be they in the source or not: which labels cover them."""

from __future__ import annotations

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, sql, text_of


def labels_of(hierarchy: Hierarchy, values: exp.Table) -> exp.Select:
    """value and, for every level below the top, shown_l: the text of its label there. What the hierarchy does not know
    is itself at level 0 and has no label above it or, where such values are shown as the top, is that everywhere."""
    query = exp.select(column("value", "data").as_("value")).from_(exp.alias_(values, "data", table=True))
    value = column("value", "data")
    if hierarchy.listing is not None:
        key = hierarchy.matching.key(text_of(value))
        on = exp.EQ(this=key, expression=column("level_0", "listed"))
        query = query.join(exp.alias_(hierarchy.listing, "listed", table=True), on=on, join_type="left")
        unknown: exp.Expr | None = sql("listed.level_0 IS NULL")
        labels: list[exp.Expr] = [column(f"level_{level}", "listed") for level in range(1, hierarchy.height)]
    else:
        assert hierarchy.kind is not None
        strange = hierarchy.kind.unmapped(value)
        unknown = strange and exp.paren(strange)
        labels = [exp.Try(this=hierarchy.kind.label(value, level)) for level in range(1, hierarchy.height)]
    other = literal(hierarchy.top) if hierarchy.starred else exp.null()
    for level, label in enumerate([text_of(value), *labels]):
        if unknown is not None and (level > 0 or hierarchy.starred):
            label = sql("CASE WHEN :unknown THEN :other ELSE :label END", unknown=unknown, other=other, label=label)
        query = query.select(exp.cast(label, "VARCHAR").as_(f"shown_{level}"))
    return query
