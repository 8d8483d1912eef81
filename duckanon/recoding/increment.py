"""New rows that join the classes of the last release, which itself stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.policy import Policy
from duckanon.query.expressions import column, same, sql, text_of
from duckanon.query.steps import with_steps
from duckanon.recoding import Found
from duckanon.recoding.node import NodeClasses
from duckanon.recoding.rows import Cells, Labels, Steps, label_steps, repeated_rows
from duckanon.recoding.sent_cells import rows_of_sent_cells
from duckanon.recoding.utility import utility_of
from duckanon.search import Step
from duckanon.search.afar import node_measurer
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer


def must_be_addable(policy: Policy, replace: bool) -> None:
    """New rows join classes by the levels that all rows share, in a release of this policy."""
    if replace:
        raise ReleaseError("--incremental: does not go with --replace, which takes what stands for nobody's")
    if policy.release.kind == "view":
        raise ReleaseError("--incremental: a view shows all rows at any time; there is nothing to add to")
    if numbers := [q.column for q in policy.quasi_identifiers if q.is_number]:
        what = f"{', '.join(numbers)} is released as numbers of whole classes, which new rows would change"
        raise ReleaseError(f"--incremental: {what}; run without it")
    if policy.search.is_local:
        what = f"{policy.search.method} has no levels that all rows share"
        raise ReleaseError(f"--incremental: {what}; use greedy, optimal or datafly")


def find_increment(measurer: Measurer, last: Node, source: BoundSource, before: exp.Table | None) -> Found:
    """The last release, whose rows are `before`, and at its levels the new rows of every class that holds with them."""
    if before is None:
        raise ReleaseError("--incremental: the last release is not in its place any more; run without it")
    (bottom,) = node_measurer(measurer).measure([measurer.census.bottom])
    measurer = measurer.brought(last)
    measured = measurer.measure(last, wholly=True)
    additions = _additions(NodeClasses(measurer, last), source, before)
    increment = _increment(additions, measured)
    reasons = tuple(_reasons(additions, increment.measured))
    path = (Step(last, increment.measured.failing_rows, not reasons),)
    return Found(path, bottom, None if reasons else increment, reasons=reasons)


@dataclass(frozen=True)
class Additions:
    """What is added to the last release at its node. `cells` are those of the source as shown (r0 …), their keys,
    whether their class holds with all its rows of now, and how many of their rows there are (is_), were released (was)
    and will be (n): of a class that holds all, of one that does not what was released already."""

    at: NodeClasses
    shown: Census
    cells: exp.Table
    before: int  # rows of the last release
    lost: int  # of these, not in the source any more
    partly: int  # of these, in classes that do not hold


@dataclass(frozen=True)
class Increment:
    """The last release with what is added to it. It can be no view, which shows all rows at any time."""

    additions: Additions
    measured: Measurement  # with what is not released for failing
    good: exp.Table  # the classes that are released: their keys and sizes
    view: None = None
    smallest: None = None  # not asked: some may be of the last release alone

    @property
    def at(self) -> NodeClasses:
        return self.additions.at

    @property
    def shown(self) -> Census:
        return self.additions.shown

    @property
    def rows(self) -> int:
        return self.measured.released_rows

    @property
    def classes(self) -> int:
        return self.measured.released_classes

    @property
    def new_rows(self) -> int:
        return self.rows - self.additions.before

    @property
    def levels(self) -> dict[str, int]:
        return self.at.levels

    @property
    def node(self) -> Node:
        return self.at.node

    def classes_by_levels(self) -> None:
        return None

    def described(self) -> dict[str, str]:
        return self.at.described(self.shown)

    def types(self) -> dict[str, Type]:
        return self.at.types()

    def shown_cells(self, source: BoundSource, labels: Labels) -> Steps:
        names = [column(f"r{position}", "cells") for position in range(len(source.released))]
        cells = exp.select(*(labels.value(name).as_(name.name) for name in names), "n")
        cells = cells.from_(exp.alias_(self.additions.cells, "cells", table=True)).where(sql("n > 0"))
        return {"labelled_cells": cells.order_by(*(name.copy() for name in names))}

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        return repeated_rows(self.shown_cells(source, labels), source)

    def over_source(self, source: BoundSource, scratch: Scratch) -> exp.Select:
        """The source does not tell who was held back."""
        return rows_of_sent_cells(self, source, scratch)

    def fidelity(self) -> dict[str, Any]:
        return {}  # a class may be released in part, and the cells here do not tell which part

    def utility(self) -> dict[str, Any]:
        return utility_of(self.at.measurer.policy, self.at.census, self.measured, self.good).as_json()


def _increment(additions: Additions, measured: Measurement) -> Increment:
    scratch = additions.at.census.scratch
    keys = [column(key) for key in additions.at.keys]
    classes = exp.select(*keys, sql("CAST(SUM(n) AS DOUBLE)").as_("x")).from_(additions.cells).where("n > 0")
    classes = classes.group_by(*keys) if keys else classes
    good = scratch.table("holding_classes", classes, "the classes that are released")
    sizes = exp.select("COUNT(*)", sql("COALESCE(SUM(x), 0)"), sql("COALESCE(SUM(x * x), 0)")).from_(good)
    ((count, rows, squares),) = scratch.workbench.fetch(sizes)
    released = replace(
        measured,
        failing_rows=measured.rows - int(rows),
        failing_classes=measured.classes - count,
        squares=int(squares),
    )
    return Increment(additions, released, good)


def _reasons(additions: Additions, measured: Measurement) -> Iterator[str]:
    """Why the last release cannot be added to: the first that there is."""
    problem = additions.at.measurer.problem
    if additions.lost:
        what = f"{abs(additions.lost):,} rows of the last release are not in the source any more, or not as they were"
        yield f"--incremental: {what}; run without it"
    elif additions.partly and problem.policy.entity is not None:
        what = "classes of the last release do not hold any more with the rows that are new"
        yield f"--incremental: {what}; run without it"
    elif measured.failing_rows > problem.budget:
        what = f"{measured.failing_rows:,} rows do not fit into the classes of the last release"
        yield f"--incremental: {what}, the budget is {problem.budget:,}; run without it"


# -- the last release beside the source ---------------------------------------------------------------


def _additions(at: NodeClasses, source: BoundSource, before: exp.Table) -> Additions:
    shown = _shown_before(at, source, before)
    query = _joined(at, shown, source, before)
    cells = at.census.scratch.table("increment", query, "the last release, and what is new")
    sums = [sql(f"CAST(COALESCE(SUM({what}), 0) AS BIGINT)") for what in _SUMS]
    workbench = at.census.workbench
    ((found, partly),) = workbench.fetch(exp.select(*sums).from_(cells), "what is there of the last release")
    ((rows,),) = workbench.fetch(exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(before))
    return Additions(at, shown, cells, int(rows), rows - found, partly)


# Rows of the last release that are there still, and those of classes which do not hold with all their rows of now.
_SUMS = ("LEAST(was, is_)", "CASE WHEN holds = 0 THEN was ELSE 0 END")


def _shown_before(at: NodeClasses, source: BoundSource, before: exp.Table) -> Census:
    """With the stars of the last release: what stands there stays as it is, whatever has come."""
    longest = {}
    for h, level in zip(at.census.hierarchies, at.node, strict=True):
        if h.tells_length and level == h.height:
            text = column(f"t{source.released.index(h.column.name)}")
            stars = sql("MAX(LENGTH(:t))", t=text)
            query = exp.select(stars).from_(before).where(sql("REPLACE(:t, '*', '') = ''", t=text))
            ((longest[h.index],),) = at.census.workbench.fetch(query)
    if None in longest.values():  # of no rows; then what holds is the whole release
        return at.shown_by(exp.select().from_(at.holding().subquery("classes")))
    return at.census.with_lengths(longest)


def _now(at: NodeClasses, shown: Census, source: BoundSource) -> exp.Select:
    """Every cell of the source at the node as shown (r0 …), its keys, its rows n, and whether its class holds."""
    census, keys = at.census, at.keys
    names = [*keys, *census.others]
    columns = [column(name, "cells") for name in names]
    holds = sql("MAX(CASE WHEN holding.x IS NULL THEN 0 ELSE 1 END)").as_("holds")
    cells = exp.select(*columns, holds, sql("CAST(SUM(cells.n) AS BIGINT)").as_("n"))
    cells = cells.from_(exp.alias_(census.table, "cells", table=True))
    on = same(keys, "cells", "holding", nulls=False)
    cells = cells.join(at.holding().subquery("holding"), on=on, join_type="left")
    cells = cells.group_by(*columns) if columns else cells
    steps = label_steps(shown, Cells(cells, (*names, "holds", "n")), at.labels(), source.released)
    labelled = steps.pop("labelled_cells")
    return with_steps(labelled.select(*(column(name, "released_cells") for name in (*keys, "holds"))), **steps)


def _joined(at: NodeClasses, shown: Census, source: BoundSource, before: exp.Table) -> exp.Select:
    """These cells with those of the last release."""
    positions = range(len(source.released))
    texts = [
        exp.NullSafeEQ(this=text_of(column(f"r{position}", "now")), expression=column(f"t{position}", "before"))
        for position in positions
    ]
    joined = (
        exp.select("now.*", sql("COALESCE(before.n, 0)").as_("was"))
        .from_(_now(at, shown, source).subquery("now"))
        .join(exp.alias_(before, "before", table=True), on=exp.and_(*texts), join_type="left")
    )
    will = sql("CASE WHEN holds = 1 THEN n ELSE was END").as_("n")
    names = [*(f"r{position}" for position in positions), *at.keys, "holds", "was"]
    return exp.select(*map(column, names), column("n").as_("is_"), will).from_(joined.subquery("joined"))
