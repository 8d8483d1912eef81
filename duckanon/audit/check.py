"""Measures the source, or a release that exists, against a policy. Writes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from duckanon.audit import Audit, People
from duckanon.audit.people import people_of
from duckanon.audit.release import audit_release
from duckanon.audit.shown import count_rows
from duckanon.census.counting import Census, take_census
from duckanon.census.people import people_told
from duckanon.census.plain import plain
from duckanon.census.source import BoundSource, bind_source
from duckanon.census.values import released_value
from duckanon.engine import Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.hierarchy import Hierarchy, named_levels
from duckanon.hierarchy.labels import label_list
from duckanon.policy import Policy
from duckanon.policy.numbers import AGGREGATES
from duckanon.policy.profiles import profile_told
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, literal, sql, text_of
from duckanon.query.functions import float_text
from duckanon.query.names import folded
from duckanon.query.steps import select
from duckanon.recoding.numbers import middles
from duckanon.recoding.utility import Lost, lost_by_labels, lost_utility
from duckanon.release.existing import existing_release, home_of_release, must_have_its_columns, said_levels
from duckanon.result import Result
from duckanon.search.lattice import Node


def check(policy: Policy, warehouse: Warehouse, *, release: bool = False) -> Result:
    """Does the source hold the policy as it is, or, with `release`, does the existing release?"""
    scratch = Scratch(warehouse.workbench)
    home = home_of_release(policy, warehouse) if release else warehouse
    there = scratch if home is scratch.engine else Scratch(home)  # where what is measured lies
    start = time.perf_counter()
    try:
        source = bind_source(policy, warehouse, scratch)
        census = take_census(policy, source, scratch)
        if release:
            relation = existing_release(policy, source, scratch)
            must_have_its_columns(policy, relation, source)
            shown = _Shown(census, relation, there.engine, scratch)
            census = shown.census()
            node, outside = shown.node(said_levels(policy, warehouse)), shown.outside()
            rows = count_rows(relation, census, there)
            people = _people_of_release(census, node, source, rows.counts, there)
        else:
            relation, node = source_as_released(source, there), (0,) * len(census.hierarchies)
            outside = _finer_than_allowed(census)
            qi = [h.column.name for h in census.hierarchies]
            people = People(relation, qi, there, source.entity.name) if source.entity else None
            rows = count_rows(relation, census, there)
        audited = audit_release(policy, rows, census, people, node)
        utility = _utility(policy, census, node, audited, _shown_classes(census, relation, there.engine, scratch))
        # In the source itself everybody may be alone: that is why it is anonymized.
        linked = tuple(audited.linkable.warnings(policy.k, census.telling)) if release and audited.linkable else ()
    finally:
        there.clear()
        scratch.clear()
    return Result(
        status="holds" if audited.holds and not outside else "violated",
        name=policy.name,
        method=policy.search.method,
        levels=named_levels(census.hierarchies, node) if node is not None else None,
        heights={h.column.name: h.height for h in census.hierarchies},
        rows={"source": census.rows, "released": audited.rows, "suppressed": max(0, census.rows - audited.rows)},
        people=people_told(census.people, audited.people),
        classes=audited.classes,
        constraints=audited.findings,
        privacy=audited.told,
        utility=utility,
        reasons=outside,
        seconds={"check": round(time.perf_counter() - start, 4)},
        warnings=census.warnings + linked + _outgrown(census, audited),
        profile=profile_told(policy),
        sizes=audited.sizes,
    )


def _finer_than_allowed(census: Census) -> tuple[str, ...]:
    """A word on each column that the source, which is as fine as can be, may not be released with."""
    finer = (h for h in census.hierarchies if h.lowest)
    return tuple(f"{h.column.name}: is as it is, the policy allows levels {h.lowest} to {h.highest}" for h in finer)


def _outgrown(census: Census, audited: Audit) -> tuple[str, ...]:
    """A word on a release that the source has fallen behind."""
    if audited.rows <= census.rows:
        return ()
    return (f"the release has {audited.rows:,} rows, the source only {census.rows:,}; it was made of others",)


def source_as_released(source: BoundSource, scratch: Scratch) -> Relation:
    """The source with its sensitive columns as a release would show them, and whose its rows are."""
    values = {c.name: plain(c) for _, c in source.quasi_identifiers} | {c.name: plain(c) for c in source.keep}
    values |= {c.name: released_value(wanted, c.type.released, plain(c)) for wanted, c in source.sensitive}
    values |= {source.entity.name: plain(source.entity)} if source.entity else {}
    shown = [value.as_(name, quoted=True) for name, value in values.items()]
    view = scratch.view("shown", exp.select(*shown).from_(source.table), "the source, as it is")
    return Relation((view.name,), "view")


def _people_of_release(
    census: Census, node: Node | None, source: BoundSource, counts: RowCounts, scratch: Scratch
) -> People | None:
    if source.entity is None:
        return None
    if node is None:
        raise ReleaseError("release.to: the release is of no single level, so nobody can tell whose its rows are")
    return people_of(census, node, source, counts, scratch)


class _Shown:
    """What a release shows of each quasi-identifier: its labels, on the workbench."""

    def __init__(self, census: Census, relation: Relation, home: Engine, scratch: Scratch) -> None:
        self._census, self.workbench = census, scratch.workbench
        self._labels, texts = {}, _label_texts(census, relation, home)
        for h in census.hierarchies:
            labels = exp.select(texts[h.column.name].as_("label")).distinct().from_(relation.table)
            self._labels[h.index] = scratch.collected(f"shown_{h.index}", labels, "the labels of the release", home)

    def census(self) -> Census:
        """With as many stars for a whole value as the release has: those of the rows that it does not show are
        unknown."""
        longest: dict[int, int | None] = {}
        for h in self._census.hierarchies:
            if h.tells_length:
                query = exp.select(sql("MAX(LENGTH(label))")).from_(self._labels[h.index])
                ((stars,),) = self.workbench.fetch(query.where(sql("REPLACE(label, '*', '') = ''")))
                longest |= {h.index: stars} if stars else {}
        self._census = self._census.with_lengths(longest)
        return self._census

    def node(self, said: dict[str, int]) -> Node | None:
        """The levels that the release is said to be of or, where its labels are others, the finest that it consists of.
        None: it is of no single level."""
        levels = [self._level(h, said.get(h.column.name)) for h in self._census.hierarchies]
        return None if None in levels else tuple(level for level in levels if level is not None)

    def _level(self, hierarchy: Hierarchy, said: int | None) -> int | None:
        if hierarchy.release_as in AGGREGATES:
            return said  # numbers of classes do not tell of which labels they are
        for level in sorted(range(hierarchy.height + 1), key=lambda level: (level != said, level)):
            if not self._strange(hierarchy, [level]):
                return level
        return None

    def outside(self) -> tuple[str, ...]:
        """A word on each column that shows labels of no level that the policy allows."""
        bounded = [h for h in self._census.hierarchies if len(h.allowed) < len(h.levels)]
        bounded = [h for h in bounded if h.release_as not in AGGREGATES]
        return tuple(
            f"{h.column.name}: {strange:,} labels are of none of the levels allowed, {h.lowest} to {h.highest}"
            for h in bounded
            if (strange := self._strange(h, h.allowed))
        )

    def _strange(self, hierarchy: Hierarchy, levels: Iterable[int]) -> int:
        """How many labels are of none of the levels."""
        known = [_labels_of(hierarchy, level).subquery() for level in levels]
        label = column("label")
        other = exp.and_(sql("label IS NOT NULL"), *(exp.not_(exp.In(this=label, query=part)) for part in known))
        ((count,),) = self.workbench.fetch(exp.select("COUNT(*)").from_(self._labels[hierarchy.index]).where(other))
        return int(count)


def _labels_of(hierarchy: Hierarchy, level: int) -> exp.Query:
    """The labels of a level; none is NULL."""
    if level == hierarchy.height:
        return exp.select(literal(hierarchy.top))
    labels = exp.select(text_of(column(hierarchy.label(level)))).from_(hierarchy.mapping)
    if not hierarchy.is_number:
        return labels
    # Where classes have levels of their own, a value itself is among numbers, and is written as they are.
    numbers = exp.select(float_text(column("number"))).from_(middles(hierarchy, level).subquery("middles"))
    return numbers if level else exp.union(labels, numbers)


def _label_texts(census: Census, relation: Relation, home: Engine) -> dict[str, exp.Expr]:
    """What a release shows of the quasi-identifiers, as texts: a number of the source is a label in some releases."""
    types = {folded(c.name): c.type for c in home.columns(relation.table)}
    names = [h.column.name for h in census.hierarchies]
    return {name: types[folded(name)].text(column(name)) for name in names}


def _shown_classes(census: Census, relation: Relation, home: Engine, scratch: Scratch) -> exp.Table:
    """The classes of the release as texts, with x_ rows, on the workbench."""
    labels = _label_texts(census, relation, home)
    classes = exp.select(*(label.as_(name, quoted=True) for name, label in labels.items()))
    classes = classes.select(sql("CAST(COUNT(*) AS DOUBLE)").as_("x_")).from_(relation.table)
    grouped = classes.group_by(*(label.copy() for label in labels.values()))
    return scratch.collected("shown_classes", grouped, "the classes of the release", home)


def _utility(
    policy: Policy, census: Census, node: Node | None, audited: Audit, shown: exp.Table
) -> dict[str, object] | None:
    """What the release has lost, from the classes that it shows; None when it shows what is no label."""
    if any(h.is_number for h in census.hierarchies):
        return None
    ((squares,),) = census.workbench.fetch(exp.select(sql("COALESCE(SUM(x_ * x_), 0)")).from_(shown))
    lost = [
        _lost(census, hierarchy, node[hierarchy.index] if node else None, shown) for hierarchy in census.hierarchies
    ]
    rows = min(audited.rows, census.rows)
    known = [part for part in lost if part is not None]
    if len(known) < len(lost):
        return None
    return lost_utility(policy, census, known, rows, audited.classes, int(squares)).as_json()


def _lost(census: Census, hierarchy: Hierarchy, level: int | None, shown: exp.Table) -> Lost | None:
    """What a column has lost by its labels: those of one level or, for local recoding, the lowest that each is of."""
    listed = exp.select("*").from_(label_list(hierarchy).subquery("l"))
    if level is not None:
        listed = listed.where(sql("level = :level", level=literal(level)))
    first = sql("ROW_NUMBER() OVER (PARTITION BY label ORDER BY level)")
    ranked = exp.select("*", first.as_("nth")).from_(listed.subquery("listed"))
    lowest = exp.select("label", "level", "ncp", "loss").from_(ranked.subquery("ranked")).where("nth = 1")
    label = column(hierarchy.column.name)
    counts = exp.select(label.as_("label"), sql("SUM(x_)").as_("n")).from_(shown).group_by(label)
    on = sql("c.label = m.label")
    joined = counts.subquery("c"), lowest.subquery("m")
    strangers = exp.select(sql("COUNT(CASE WHEN m.label IS NULL AND c.label IS NOT NULL THEN 1 END)"))
    ((strange,),) = census.workbench.fetch(strangers.from_(joined[0]).join(joined[1], on=on, join_type="left"))
    if strange:
        return None
    known = sql("COALESCE(m.level, :level)", level=literal(level or 0))
    labels = select(id="c.label", level=known, n="c.n", ncp="m.ncp", loss="m.loss").from_(joined[0])
    lost = lost_by_labels(labels.join(joined[1], on=on, join_type="left"), census.workbench)
    # The loss of one node is that of its levels over all source rows; NULL is generalized with the others.
    return lost if level is None else replace(lost, loss=hierarchy.levels[level].loss)
