"""Every row at the same levels: one node of the lattice."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.hierarchy import Hierarchy, named_levels
from duckanon.query.expressions import column, same, sql
from duckanon.recoding.rows import Labels, Shown, released_rows
from duckanon.recoding.utility import utility_of
from duckanon.recoding.view import Keeper, generalized_by_level, guarded_view
from duckanon.search.measure import Measurement, Measurer


class FullDomain:
    """A node of the lattice; the rows of its failing classes are suppressed."""

    def __init__(self, measurer: Measurer, measured: Measurement) -> None:
        self.measurer, self.measured = measurer, measured
        self.policy, self.census = measurer.policy, measurer.census
        self.node = measured.node
        self.rows, self.classes = measured.released_rows, measured.released_classes
        self.new_rows: int | None = None

    @property
    def levels(self) -> dict[str, int]:
        return named_levels(self.census.hierarchies, self.node)

    def classes_by_levels(self) -> None:
        return None

    def described(self) -> dict[str, str]:
        pairs = zip(self.shown.hierarchies, self.node, strict=True)
        return {hierarchy.column.name: hierarchy.describe(level) for hierarchy, level in pairs}

    def holding(self) -> exp.Select:
        """The classes of the node that do not fail: their keys and sizes."""
        classes = self.measurer.classes(self.node).subquery("classes")
        names = [column(name) for name in (*self.census.keys(self.node), "x")]
        return exp.select(*names).from_(classes).where(sql("NOT failing"))

    @cached_property
    def good(self) -> exp.Table:
        """The classes that are released: their keys and sizes."""
        return self.census.scratch.table("good", self.holding(), "the classes that hold")

    @cached_property
    def shown(self) -> Census:
        return self._shown_by(exp.select().from_(exp.alias_(self.good, "g", table=True)))

    def _shown_by(self, classes: exp.Select) -> Census:
        """The census as a release of the classes `g` shows it."""
        at_top = [h for h, level in zip(self.census.hierarchies, self.node, strict=True) if level == h.height]
        raw = classes.select(*(column(h.code(0), "c") for h in at_top))
        return self.census.as_released(self._with_cells(raw), at_top)

    def _with_cells(self, classes: exp.Select) -> exp.Select:
        """The cells `c` of the census that are in the classes `g`."""
        on = same(self.census.keys(self.node), "c", "g", nulls=False)
        return classes.join(exp.alias_(self.census.table, "c", table=True), on=on)

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        columns = [column(name, "c") for name in (*self.census.keys(self.node), *self.census.others)]
        cells = exp.select(*columns, sql("SUM(c.n)").as_("n")).from_(exp.alias_(self.good, "g", table=True))
        cells = self._with_cells(cells)
        cells = cells.group_by(*columns) if columns else cells
        return released_rows(self.shown, cells, self.labels(), source, labels)

    def labels(self) -> list[Shown]:
        pairs = zip(self.census.hierarchies, self.node, strict=True)
        return [
            Shown(h.code(level), _labels(h, level)) if level < h.height else Shown(None, None) for h, level in pairs
        ]

    def view(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        generalized = generalized_by_level(self.shown, self.node, source, keep)
        pairs = zip(self.census.hierarchies, self.node, strict=True)
        keys = [f"g{h.index}" for h, level in pairs if level < h.height]
        return guarded_view(self.policy, self.census, generalized, keys, source, rows)

    def utility(self) -> dict[str, Any]:
        return utility_of(self.policy, self.census, self.measured, self.good).as_json()


def _labels(hierarchy: Hierarchy, level: int) -> exp.Select:
    """code and label of one level; at level 0 the label is the value itself, in its own type."""
    label = column("value") if level == 0 else column(f"label_{level}")
    code = column(f"code_{level}")
    return exp.select(code.as_("code"), label.as_("label")).distinct().from_(hierarchy.mapping)
