"""Two releases of one table, side by side: what subtracting one from the other tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import Message, Value
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.relabel import is_top, relabelled
from duckanon.hierarchy.rules import level_that_shows
from duckanon.policy import Policy
from duckanon.query.expressions import column, literal, same, sql
from duckanon.query.names import folded
from duckanon.release.previous import Previous, label_classes

_MORE = "who has both releases may tell apart more than is counted here"
_OWN_LEVELS = f"classes at their own levels can be compared only where all of them can be brought to; {_MORE}"
_THEN, _NOW = "then", "now"


def difference(
    policy: Policy,
    previous: Previous,
    released: Relation,
    levels: dict[str, int] | None,
    census: Census,
    source: BoundSource,
    home: Engine,
    scratch: Scratch,
) -> tuple[str, ...]:
    """What is to be said of this release, at its `levels`, and the one before it: classes whose size changed by fewer
    than k rows, which are not hidden among k then; and whatever could not be compared. `home`: where this one is."""
    if previous.unread is not None:
        return (Message.of("release.difference: ", previous.unread),)
    if previous.classes is None:
        return ()
    classes = label_classes(released, home.columns(released.table), source)
    now = scratch.collected("now", classes, "the classes of this release", home)
    sides = _Sides(previous, now, levels, scratch)
    common = [sides.common(hierarchy) for hierarchy in census.hierarchies]
    told = [_told_apart(policy, common, previous.classes, now, scratch)]
    told += _other_columns(previous, census, source)
    told += _incomparable(common)
    told += [_OWN_LEVELS] if levels is None or previous.said is None else []
    return tuple(Message.of("release.difference: ", said) for said in told if said)


@dataclass(frozen=True)
class _Column:
    """A quasi-identifier as both releases can be shown: by the labels of a level, or not at all at the top."""

    name: str
    index: int
    labels: exp.Table | None  # side, label, common; None: at the top, all are alike
    incomparable: str | None = None  # why it cannot be compared by its labels alone


@dataclass(frozen=True)
class _Sides:
    """The two releases, whose labels are brought to one level."""

    previous: Previous
    now: exp.Table  # g{i}: the labels of the quasi-identifiers, as texts; x rows
    levels: dict[str, int] | None
    scratch: Scratch

    def common(self, hierarchy: Hierarchy) -> _Column:
        """At the finest level that the labels of both releases can be brought to."""
        index, name = hierarchy.index, hierarchy.column.name
        if hierarchy.is_number:
            return _Column(name, index, None, "is released as numbers, by which classes cannot be compared")
        bases = {_THEN: self._base_then(hierarchy), _NOW: self.levels[name] if self.levels else None}
        if not self.previous.has(name) or hierarchy.height in bases.values():
            return _Column(name, index, None)  # one of them shows nothing of it, so there is nothing to compare
        # What is shown at a level can be brought to no finer one.
        for level in range(max(base or 0 for base in bases.values()), hierarchy.height):
            sides = [self._labels(side, hierarchy, base, level) for side, base in bases.items()]
            labels = self.scratch.table(
                f"common_{index}_{level}", exp.union(*sides, distinct=False), f"{name} as both releases may show it"
            )
            lost, *nesting = self._nesting(labels)
            if not lost:
                return _Column(name, index, labels, _doubt(*nesting))
        return _Column(name, index, None, self._removed(hierarchy, labels))

    def _base_then(self, hierarchy: Hierarchy) -> int | None:
        """The level of now that shows what the column showed then; None: nobody knows."""
        name = hierarchy.column.name
        if self.previous.rules and name in self.previous.rules:
            return level_that_shows(self.previous.rules[name]["rule"], hierarchy, self.scratch.workbench)
        return (self.previous.said or {}).get(name) if self.previous.same_policy else None

    def _labels(self, side: str, hierarchy: Hierarchy, base: int | None, level: int) -> exp.Select:
        """side, label, common: what a release shows of a column, and what it is at the level; NULL: nobody can tell."""
        assert self.previous.classes is not None
        rows = self.previous.classes if side == _THEN else self.now
        every = exp.select(column(f"g{hierarchy.index}").as_("label")).distinct().from_(rows)
        shown = exp.select("label").from_(every.subquery("every")).where(sql("label IS NOT NULL"))
        brought = relabelled(hierarchy, shown, base, level)
        return exp.select(literal(side).as_("side"), "*").from_(brought.subquery("brought"))

    def _nesting(self, labels: exp.Table) -> tuple[int, ...]:
        """How many labels cannot be brought to the level; at how many of the sides it is not the one that they are of;
        how many show anything; and how many labels are the same in both."""
        changed = "COUNT(DISTINCT CASE WHEN label IS DISTINCT FROM common THEN side END)"
        shared = exp.select("common").from_(labels).group_by("common").having(sql("COUNT(DISTINCT side) = 2"))
        (counts,) = self.scratch.workbench.fetch(
            exp.select(
                sql("COUNT(label) - COUNT(common)"),
                sql(changed),
                sql("COUNT(DISTINCT side)"),
                exp.select("COUNT(*)").from_(shared.subquery("shared")).subquery(),
            ).from_(labels)
        )
        return counts

    def _removed(self, hierarchy: Hierarchy, labels: exp.Table) -> str | None:
        """Where one of the releases shows nothing of a column, nothing is left out by not comparing it."""
        tells = exp.not_(exp.paren(is_top(hierarchy)))
        ((sides,),) = self.scratch.workbench.fetch(exp.select(sql("COUNT(DISTINCT side)")).from_(labels).where(tells))
        if sides < 2:
            return None
        return "labels of then and now do not nest, so classes cannot be compared by them"


def _doubt(coarser: int, sides: int, both: int) -> str | None:
    """At the level of one of them, at least, a label is what it was; and some are the same in both."""
    if coarser == 2:
        return "labels of then and now nest only at a level that neither release shows"
    if sides == 2 and not both:
        return "no label is what it was, so classes cannot be compared by them"
    return None


def _incomparable(common: list[_Column]) -> Iterator[str]:
    """What keeps columns from being compared, each reason once."""
    for reason in dict.fromkeys(part.incomparable for part in common if part.incomparable):
        names = ", ".join(part.name for part in common if part.incomparable == reason)
        yield f"{names}: {reason}; {_MORE}"


def _told_apart(
    policy: Policy, common: list[_Column], before: exp.Table, after: exp.Table, scratch: Scratch
) -> str | None:
    compared = [part for part in common if part.labels is not None]
    keys = [f"g{part.index}" for part in compared]
    then, now = _classes(compared, before, _THEN), _classes(compared, after, _NOW)
    changed = (
        exp.select(sql("ABS(COALESCE(a.x, 0) - COALESCE(b.x, 0))").as_("rows"))
        .from_(then.subquery("b"))
        .join(now.subquery("a"), on=same(keys, "b", "a", nulls=True), join_type="full")
        .subquery("changed")
    )
    few = exp.select("COUNT(*)", sql("CAST(COALESCE(SUM(rows), 0) AS BIGINT)")).from_(changed)
    few = few.where(sql("rows BETWEEN 1 AND :most", most=literal(policy.k - 1)))
    ((classes, rows),) = scratch.workbench.fetch(few, "what the last release and this one tell together")
    if not rows:
        return None
    return (
        f"{classes:,} classes grew or shrank by fewer than k = {policy.k} rows since the last release, {rows:,} rows "
        "in all; who has both releases can tell them apart from the others of their class"
    )


def _classes(compared: list[_Column], rows: exp.Table, side: str) -> exp.Select:
    """g{i} … and x: the classes of a release by the labels that both releases can show."""
    query = exp.select(sql("SUM(r.x)").as_("x")).from_(exp.alias_(rows.copy(), "r", table=True))
    for part in compared:
        assert part.labels is not None
        alias = f"l{part.index}"
        mine = exp.EQ(this=column("side", alias), expression=literal(side))
        on = exp.and_(exp.EQ(this=column(f"g{part.index}", "r"), expression=column("label", alias)), mine)
        query = query.join(exp.alias_(part.labels, alias, table=True), on=on, join_type="left")
        query = query.select(column("common", alias).as_(f"g{part.index}"))
    return query.group_by(*(column("common", f"l{part.index}") for part in compared)) if compared else query


def _other_columns(previous: Previous, census: Census, source: BoundSource) -> Iterator[str]:
    """A column that only one of the releases has, or that was generalized in only one of them, says more of some rows
    than the other does. The names of a file's columns may be values: the first line of one without a header."""
    now, then = ({folded(name): name for name in names} for names in (source.released, previous.columns))
    gone = [Value(then[key]) for key in then if key not in now]
    new = [now[key] for key in now if key not in then]
    said = [
        Message.of(what, Message.joined(", ", names))
        for what, names in (("no longer has ", gone), ("now has ", new))
        if names
    ]
    if said:
        what = "they are compared by the quasi-identifiers that both have, and not by these"
        yield Message.of("the release ", Message.joined(" and ", said), f", unlike the last one; {what}")
    generalized = {folded(h.column.name) for h in census.hierarchies}
    shown = [name for name in previous.said or {} if folded(name) in now and folded(name) not in generalized]
    if shown:
        names = ", ".join(shown)
        yield f"{names}: was generalized in the last release and is not in this one, so it is not compared; {_MORE}"
