"""Two releases of one table, side by side: what subtracting one from the other tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import Message
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.relabel import is_top, relabelled
from duckanon.policy import Policy
from duckanon.policy.load import LOCAL
from duckanon.query.expressions import column, literal, same, sql, text_of
from duckanon.query.names import folded
from duckanon.release.previous import Previous

_OWN_LEVELS = (
    "classes at their own levels can be compared only at levels that all of them can be brought to; "
    "who has both releases may tell apart more than is counted here"
)


def difference(
    policy: Policy, previous: Previous, released: Relation, census: Census, source: BoundSource, scratch: Scratch
) -> tuple[str, ...]:
    """What is to be said of this release and the one before it: classes whose size changed by fewer than k rows, which
    are not hidden among k then; and whatever could not be compared."""
    if previous.unread is not None:
        return (Message.of("release.difference: ", previous.unread),)
    if previous.classes is None:
        return ()
    common = [_common(h, previous.classes, previous.has(h.column.name), released, scratch) for h in census.hierarchies]
    told = [_told_apart(policy, common, previous.classes, released, scratch)]
    told += _other_columns(previous, source)
    told += [column.incomparable for column in common if column.incomparable]
    told += [_OWN_LEVELS] if policy.search.method in LOCAL or not previous.one_level else []
    return tuple(Message.of("release.difference: ", said) for said in told if said)


@dataclass(frozen=True)
class _Column:
    """A quasi-identifier as both releases can be shown: by the labels of a level, or not at all at the top."""

    name: str
    index: int
    labels: exp.Table | None  # label, common: of both releases; None: at the top, all are alike
    incomparable: str | None = None


def _common(hierarchy: Hierarchy, before: exp.Table, was_there: bool, released: Relation, scratch: Scratch) -> _Column:
    """At the finest level that the labels of both releases can be brought to."""
    index, name = hierarchy.index, hierarchy.column.name
    if not was_there:
        return _Column(name, index, None)
    then = exp.select(column(f"g{index}").as_("label")).distinct().from_(before)
    now = exp.select(text_of(column(name)).as_("label")).distinct().from_(released.table)
    sides = {"then": then, "now": now}
    each = [exp.select("label", literal(side).as_("side")).from_(query.subquery("q")) for side, query in sides.items()]
    shown = scratch.table(f"then_and_now_{index}", exp.union(*each, distinct=False), f"what {name} showed and shows")
    distinct = exp.select("label").distinct().from_(shown).where(sql("label IS NOT NULL"))
    labels = scratch.table(f"relabelled_{index}", relabelled(hierarchy, distinct), f"{name} at each level")
    lost = [sql(f"COUNT(*) - COUNT(at_{level})") for level in range(hierarchy.height)]
    (unknown,) = scratch.engine.fetch(exp.select(*lost).from_(labels))
    level = next((level for level, count in enumerate(unknown) if count == 0), None)
    if level is None:
        return _Column(name, index, None, _removed(hierarchy, shown, scratch))
    pairs = exp.select("label", column(f"at_{level}").as_("common")).from_(labels)
    return _Column(name, index, scratch.table(f"common_{index}", pairs, f"{name} as both releases can show it"))


def _removed(hierarchy: Hierarchy, shown: exp.Table, scratch: Scratch) -> str | None:
    """Where one of the releases shows nothing of a column, nothing can be compared there, and nothing is left out."""
    tells = sql("label IS NOT NULL AND NOT :top", top=exp.paren(is_top(hierarchy)))
    ((sides,),) = scratch.engine.fetch(exp.select(sql("COUNT(DISTINCT side)")).from_(shown).where(tells))
    if sides < 2:
        return None
    what = "its labels of then and now do not nest, so classes cannot be compared by it"
    return f"{hierarchy.column.name}: {what}; who has both releases may tell apart more than is counted here"


def _told_apart(
    policy: Policy, common: list[_Column], before: exp.Table, released: Relation, scratch: Scratch
) -> str | None:
    compared = [part for part in common if part.labels is not None]
    keys = [f"g{part.index}" for part in compared]
    then = _classes(compared, before, {part.index: column(f"g{part.index}", "r") for part in compared}, "r.x")
    now = _classes(compared, released.table, {p.index: text_of(column(p.name, "r")) for p in compared}, "1")
    changed = (
        exp.select(sql("ABS(COALESCE(a.x, 0) - COALESCE(b.x, 0))").as_("rows"))
        .from_(then.subquery("b"))
        .join(now.subquery("a"), on=same(keys, "b", "a", nulls=True), join_type="full")
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


def _classes(compared: list[_Column], rows: exp.Table, labels: dict[int, exp.Expr], number: str) -> exp.Select:
    """g{i} … and x: the classes of a release by the labels that both releases can show."""
    query = exp.select(sql(f"SUM({number})").as_("x")).from_(exp.alias_(rows.copy(), "r", table=True))
    for part in compared:
        assert part.labels is not None
        alias = f"l{part.index}"
        on = exp.EQ(this=labels[part.index], expression=column("label", alias))
        query = query.join(exp.alias_(part.labels, alias, table=True), on=on, join_type="left")
        query = query.select(column("common", alias).as_(f"g{part.index}"))
    return query.group_by(*(column("common", f"l{part.index}") for part in compared)) if compared else query


def _other_columns(previous: Previous, source: BoundSource) -> Iterator[str]:
    """A column that only one of the releases has says more of some rows than the other does."""
    now, then = ({folded(name): name for name in names} for names in (source.released, previous.columns))
    gone, new = ([names[key] for key in names if key not in other] for names, other in ((then, now), (now, then)))
    said = [f"{what} {', '.join(names)}" for what, names in (("no longer has", gone), ("now has", new)) if names]
    if said:
        what = "they are compared by the quasi-identifiers that both have, and not by these"
        yield f"the release {' and '.join(said)}, unlike the last one; {what}"
