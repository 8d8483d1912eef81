"""Every class at its own levels: the cells of the census as a method of local recoding has placed them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import DOUBLE, INTEGER, TEXT
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.labels import label_list
from duckanon.local import Placement
from duckanon.local.losses import distortion, total_information_loss
from duckanon.models.classes import class_steps
from duckanon.query.expressions import case_of, column, literal, same, sql, table, text_of
from duckanon.query.steps import select, united, with_steps
from duckanon.recoding.aside import rows_with_kept
from duckanon.recoding.fidelity import fidelity_of, numbers_of
from duckanon.recoding.node import coding_of
from duckanon.recoding.numbers import ClassNumbers, NumberColumn, aggregates, middles
from duckanon.recoding.over_source import Coding, Label, Plan, rows_over_source
from duckanon.recoding.rows import Cells, Labels, Shown, Steps, repeated_rows, sorted_cells
from duckanon.recoding.utility import Lost, lost_by_labels, lost_utility
from duckanon.recoding.view import guarded_view
from duckanon.recoding.view_rows import Keeper, finest_labels, read_kept, shown_as_they_are
from duckanon.search.measure import Measurer


class LocalRecoding:
    """Released cells with, for each quasi-identifier i, their level l{i} and the id g{i} of the label they show."""

    def __init__(self, measurer: Measurer, placement: Placement) -> None:
        self.measurer, self.placement, self.policy = measurer, placement, measurer.policy
        placed = self._placed_cells(measurer.census)
        self.census = self.shown = measurer.census.as_released(placed, measurer.census.hierarchies)
        scratch = self.census.scratch
        self.listed = {
            h.index: scratch.table(f"shown_{h.index}", label_list(h), f"what {h.column.name} may show")
            for h in self.census.hierarchies
        }
        self.placed = scratch.table("placed", self._placed(), "the cells where they are released")
        figures = with_steps(select(**_FIGURES).from_(table("classes")), **self._class_steps())
        ((self.labelled, rows, squares, least),) = self.census.workbench.fetch(figures, "the classes that are released")
        self.rows, self.squares = int(rows), int(squares)
        self.smallest: int | None = None if least is None else int(least)
        self.new_rows: int | None = None

    @property
    def levels(self) -> None:
        return None

    @cached_property
    def classes(self) -> int:
        return self.numbers.count() if self.numbers else self.labelled

    @cached_property
    def numbers(self) -> ClassNumbers:
        """What the classes show in place of labels."""
        found = []
        for h in (h for h in self.census.hierarchies if h.is_number):
            key = f"g{h.index}"
            if h.release_as == "midpoint":
                found.append(NumberColumn(h.index, key, (key,), self._middles(h)))
            else:
                names = (*self.keys, h.code(0), f"l{h.index}", "n")
                cells = exp.select(*map(column, names)).from_(self.placed)
                found.append(
                    NumberColumn(h.index, key, tuple(self.keys), aggregates(h, cells, self.keys, f"l{h.index}"))
                )
        classes = exp.select(*map(column, self.keys)).distinct().from_(self.placed)
        return ClassNumbers(self.census, classes, self.keys, found)

    def _middles(self, hierarchy: Hierarchy) -> exp.Select:
        """The id of each label below the top, and the middle of its range."""
        every = united(middles(hierarchy, at).select(literal(at).as_("level")) for at in hierarchy.coded)
        listed = exp.alias_(self.listed[hierarchy.index], "m", table=True)
        query = select(**{f"g{hierarchy.index}": "m.id", "number": "MIN(r.number)"}).from_(every.subquery("r"))
        return query.join(listed, on=sql("m.level = r.level AND m.code = r.code")).group_by(column("id", "m"))

    @property
    def node(self) -> None:
        return None

    @property
    def keys(self) -> list[str]:
        return [f"g{h.index}" for h in self.census.hierarchies]

    def _class_steps(self) -> dict[str, exp.Select]:
        return class_steps(self.placed, self.keys, self.policy.k, self.measurer.judged, nulls=False)

    def _placed_cells(self, census: Census) -> exp.Select:
        """The `cells` of the census that are `placed`: their finest codes."""
        names = self.placement.keys
        codes = [name for name in names if name.startswith("q")]
        # A sensitive value may be NULL, a code never is.
        match = exp.and_(
            same(codes, "cells", "placed", nulls=False),
            same([name for name in names if name not in codes], "cells", "placed", nulls=True),
        )
        query = exp.select(*(column(code, "cells") for code in census.finest))
        query = query.from_(exp.alias_(census.table, "cells", table=True))
        return query.join(exp.alias_(self.placement.table, "placed", table=True), on=match)

    def _placed(self) -> exp.Select:
        query = self._placed_cells(self.census)
        query = query.select(*(column(name, "cells") for name in ("n", *self.census.others)))
        for hierarchy in self.census.hierarchies:
            query = self._with_label(query, hierarchy)
        return query

    def _with_label(self, query: exp.Select, hierarchy: Hierarchy) -> exp.Select:
        level, alias = column(f"l{hierarchy.index}", "placed"), f"shown_{hierarchy.index}"
        codes = {at: column(hierarchy.code(at), "cells") for at in hierarchy.coded}
        code = case_of(level, codes, literal(0))
        on = exp.and_(
            exp.EQ(this=level.copy(), expression=column("level", alias)),
            exp.EQ(this=code, expression=column("code", alias)),
        )
        label = sql("COALESCE(:id, 0)", id=column("id", alias)).as_(f"g{hierarchy.index}")
        shown = exp.alias_(self.listed[hierarchy.index], alias, table=True)
        return query.select(level.as_(f"l{hierarchy.index}"), label).join(shown, on=on, join_type="left")

    def classes_by_levels(self) -> list[dict[str, Any]]:
        """The combinations of levels in use, those with the most rows first."""
        keys = [column(key) for key in self.keys]
        levels = [f"l{h.index}" for h in self.census.hierarchies]
        # Two cells of a class differ in level only where a label of one level is also a label of another.
        classes = exp.select(*(sql(f"MAX({level})").as_(level) for level in levels), sql("SUM(n)").as_("x"))
        classes = classes.from_(self.placed).group_by(*keys)
        query = exp.select(*levels, "COUNT(*)", sql("CAST(SUM(x) AS BIGINT)").as_("rows_"))
        query = query.from_(classes.subquery("classes")).group_by(*levels).order_by("rows_ DESC", *levels)
        names = [h.column.name for h in self.census.hierarchies]
        return [
            {"levels": dict(zip(names, row, strict=False)), "classes": row[-2], "rows": row[-1]}
            for row in self.census.workbench.fetch(query, "classes by levels")
        ]

    def described(self) -> dict[str, str]:
        return {}

    def types(self) -> dict[str, Type]:
        return {h.column.name: DOUBLE if h.is_number else TEXT for h in self.census.hierarchies}

    def _cells(self) -> tuple[Cells, list[Shown]]:
        codes = self.numbers.codes("cells") | {name: column(name, "cells") for name in self.census.others}
        cells = exp.select(*codes.values(), sql("SUM(cells.n)").as_("n"))
        cells = self.numbers.joined(cells.from_(exp.alias_(self.placed, "cells", table=True)), "cells")
        cells = cells.group_by(*codes.values())
        shown = self.numbers.shown([Shown(f"g{h.index}", self._labels(h)) for h in self.census.hierarchies])
        return Cells(cells, (*codes, "n")), shown

    def shown_cells(self, source: BoundSource, labels: Labels) -> Steps:
        return sorted_cells(self.census, *self._cells(), source, labels)

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        if self.census.aside:
            return rows_with_kept(self._plan(), self.census, *self._cells(), source, labels)
        return repeated_rows(self.shown_cells(source, labels), source)

    def over_source(self, source: BoundSource, scratch: Scratch) -> exp.Select:
        return rows_over_source(self._plan(), self.census, source, scratch)

    def _plan(self) -> Plan:
        codings = [coding_of(h, h.lowest, self.census) for h in self.census.hierarchies if h.coded]
        if self.census.left_out:
            uncoded = [h for h in self.census.hierarchies if not h.coded]
            codings += [replace(coding_of(h, 0, self.census), key=None) for h in uncoded]
        parted = [values for values in self.census.sensitive if f"s{values.index}" in self.placement.keys]
        for values in parted:
            codes = exp.select(text_of(column("value")).as_("value"), "code").from_(values.table)
            type_ = INTEGER if values.wanted.publish == "level" else values.column.type
            codings.append(Coding(f"s{values.index}", type_, codes, f"c{values.index}"))
        # A sensitive NULL has no code here, and code 0 there.
        of_values = [sql(f"COALESCE(s{v.index}, 0)").as_(f"c{v.index}") for v in parted]
        codes_of_tuple = [column(code) for code in self.census.finest]
        shown = [Label(h.column.name, f"g{h.index}", self._labels(h)) for h in self.census.hierarchies]
        classes = exp.select(*map(column, self.keys), sql("CAST(SUM(n) AS BIGINT)").as_("x")).from_(self.placed)
        classes = classes.group_by(*map(column, self.keys))
        return Plan(
            codings=tuple(codings),
            shown=tuple(self.numbers.labels(shown)),
            classes=self.numbers.told(exp.select("classes.*").from_(classes.subquery("classes")), "classes"),
            keys=tuple(self.keys),
            placement=exp.select(*codes_of_tuple, *of_values, *map(column, self.keys)).distinct().from_(self.placed),
        )

    def _labels(self, hierarchy: Hierarchy) -> exp.Select:
        return exp.select(column("id").as_("code"), "label").distinct().from_(self.listed[hierarchy.index])

    def view(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        """A row is shown as its tuple was placed; one whose tuple was not there, or not released, is not shown."""
        kept = keep("placement", self._placed_values())
        finest = finest_labels(self.census, keep)
        query = exp.select(*(column(f"g{h.index}", "placed") for h in self.census.hierarchies))
        query = query.from_(finest.subquery("finest"))
        query = query.select(*(column(name, "finest") for name in shown_as_they_are(self.census)), sql("1").as_("n"))
        parted = [f"s{values.index}" for values in self.census.sensitive if f"s{values.index}" in self.placement.keys]
        names = [*(f"q{h.index}" for h in self.census.hierarchies if h.coded), *parted]
        placed = read_kept(kept, [*names, *self.keys])
        generalized = query.join(placed.subquery("placed"), on=same(names, "finest", "placed", nulls=True))
        return guarded_view(self.policy, self.census, generalized, self.keys, source, rows, keep)

    def _placed_values(self) -> exp.Select:
        """The placement in the values of the source, or their finest labels: q0 … (and s0 …), and the labels g0 … that
        they are shown as."""
        names = [name for name in self.placement.keys if name.startswith("s")]
        distinct = exp.select(*map(column, (*self.census.finest, *self.keys, *names))).distinct().from_(self.placed)
        query = exp.select().from_(distinct.subquery("cells"))
        for h in self.census.hierarchies:
            shown = f"labels_{h.index}"
            on = exp.EQ(this=column(f"g{h.index}", "cells"), expression=column("code", shown))
            query = query.select(column("label", shown).as_(f"g{h.index}"))
            query = query.join(self._labels(h).subquery(shown), on=on, join_type="left")
            if h.coded:
                query = _with_finest(query, h)
        for values in self.census.sensitive:
            name, alias = f"s{values.index}", f"values_{values.index}"
            if name in names:
                on = exp.EQ(this=column(name, "cells"), expression=column("code", alias))
                query = query.join(exp.alias_(values.table, alias, table=True), on=on, join_type="left")
                query = query.select(column("value", alias).as_(name))
        return query

    def fidelity(self) -> dict[str, Any]:
        released = self.numbers.joined(exp.select().from_(exp.alias_(self.placed, "cells", table=True)), "cells")
        return fidelity_of(self.census, released, self._shows).figures(self.census)

    def _shows(self, hierarchy: Hierarchy) -> tuple[exp.Expr, exp.Query | None]:
        if hierarchy.index in self.numbers.columns:
            return self.numbers.found_again(hierarchy.index)
        values = [
            exp.select(column("id", "m"), column("value", "h"))
            .from_(exp.alias_(hierarchy.mapping, "h", table=True))
            .join(
                exp.alias_(self.listed[hierarchy.index], "m", table=True),
                on=sql("m.level = :level AND m.code = :code", level=literal(at), code=column(f"code_{at}", "h")),
            )
            for at in hierarchy.coded
        ]
        shown = exp.union(*values, distinct=False) if len(values) > 1 else values[0]
        numbers = numbers_of(hierarchy, column("id"), exp.select().from_(shown.subquery("shown")))
        return column(f"g{hierarchy.index}", "cells"), numbers

    def utility(self) -> dict[str, Any]:
        utility = lost_utility(self.policy, self.census, self._lost(), self.rows, self.labelled, self.squares).as_json()
        # A suppressed row costs 1 in every column; those that are left out of the census are not among its cells.
        left_out = self.census.left_out * len(self.census.hierarchies)
        utility["distortion"] = distortion(self.census, self.placement, self.policy.search.beta) + left_out
        utility["total_information_loss"] = total_information_loss(self.census, self.placement) + left_out
        return utility

    def _lost(self) -> list[Lost]:
        """What each quasi-identifier has lost over the released rows."""
        return [self._lost_of(hierarchy) for hierarchy in self.census.hierarchies]

    def _lost_of(self, hierarchy: Hierarchy) -> Lost:
        level, label = f"l{hierarchy.index}", f"g{hierarchy.index}"
        counts = exp.select(column(level).as_("level"), column(label).as_("id"), sql("SUM(n)").as_("n"))
        counts = counts.from_(self.placed).group_by(level, label)
        listed = exp.alias_(self.listed[hierarchy.index], "m", table=True)
        labels = select(id="c.id", level="c.level", n="c.n", ncp="m.ncp", loss="m.loss").from_(counts.subquery("c"))
        labels = labels.join(listed, on=sql("c.level = m.level AND c.id = m.id"), join_type="left")
        return lost_by_labels(labels, self.census.workbench)


def _with_finest(query: exp.Select, hierarchy: Hierarchy) -> exp.Select:
    """With the value, or label, that the finest code of a cell stands for."""
    alias, code = f"map_{hierarchy.index}", f"code_{hierarchy.lowest}"
    label = column(hierarchy.label(hierarchy.lowest))
    known = exp.select(column(code), label.as_("label")).distinct().from_(hierarchy.mapping).subquery(alias)
    on = exp.EQ(this=column(hierarchy.code(hierarchy.lowest), "cells"), expression=column(code, alias))
    return query.select(column("label", alias).as_(f"q{hierarchy.index}")).join(known, on=on, join_type="left")


_FIGURES = {
    "classes": "COUNT(*)",
    "rows": "COALESCE(SUM(x), 0)",
    "squares": "COALESCE(SUM(x * x), 0)",
    "least": "MIN(x)",
}
