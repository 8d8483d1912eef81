"""Two releases of one table, side by side: what subtracting one from the other tells."""

from __future__ import annotations

from sqlglot import exp

from duckanon.engine import Relation
from duckanon.expressions import column, literal, same, sql, text_of
from duckanon.policy import Policy
from duckanon.scratch import Scratch
from duckanon.source import BoundSource


def difference(
    policy: Policy, before: exp.Expr, released: Relation, source: BoundSource, scratch: Scratch
) -> str | None:
    """What is to be said of the classes whose size changed by fewer than k rows: those rows are not hidden among k."""
    keys = _keys(source)
    after = classes_by_text(released, source)
    changed = (
        exp.select(sql("ABS(COALESCE(a.x, 0) - COALESCE(b.x, 0))").as_("rows"))
        .from_(exp.alias_(before, "b", table=True))
        .join(after.subquery("a"), on=same(keys, "b", "a", nulls=True), join_type="full")
        .subquery("changed")
    )
    few = exp.select("COUNT(*)", sql("CAST(COALESCE(SUM(rows), 0) AS BIGINT)")).from_(changed)
    few = few.where(sql("rows BETWEEN 1 AND :most", most=literal(policy.k - 1)))
    ((classes, rows),) = scratch.engine.fetch(few, "what the last release and this one tell together")
    if not rows:
        return None
    return (
        f"{classes:,} classes grew or shrank by fewer than k = {policy.k} rows since the last release, {rows:,} rows "
        "in all; who has both releases can tell them apart from the others of their class"
    )


def _keys(source: BoundSource) -> list[str]:
    return [f"g{place}" for place in range(len(source.quasi_identifiers))]


def classes_by_text(relation: Relation, source: BoundSource) -> exp.Select:
    """By text: a column may be a number in one release and a range in the other."""
    labels = [text_of(column(c.name)) for _, c in source.quasi_identifiers]
    named = [label.as_(key) for label, key in zip(labels, _keys(source), strict=True)]
    query = exp.select(*named, sql("COUNT(*)").as_("x")).from_(relation.table)
    return query.group_by(*(label.copy() for label in labels))
