"""Every row at the same levels: one node of the lattice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, sql
from duckanon.recoding.aside import rows_with_kept
from duckanon.recoding.fidelity import fidelity_of, numbers_of
from duckanon.recoding.node import NodeClasses
from duckanon.recoding.over_source import Plan, rows_over_source
from duckanon.recoding.rows import Cells, Labels, released_rows
from duckanon.recoding.utility import utility_of
from duckanon.recoding.view import Keeper, generalized_by_level, guarded_view
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer


@dataclass(frozen=True)
class FullDomain:
    """A node of the lattice as it was measured; the rows of its failing classes are suppressed."""

    measurer: Measurer
    measured: Measurement
    new_rows: int | None = None

    @property
    def at(self) -> NodeClasses:
        return NodeClasses(self.measurer, self.measured.node)

    @property
    def rows(self) -> int:
        return self.measured.released_rows

    @property
    def classes(self) -> int:
        return self.measured.released_classes

    @property
    def smallest(self) -> int | None:
        return self.measured.smallest

    @property
    def levels(self) -> dict[str, int]:
        return self.at.levels

    def classes_by_levels(self) -> None:
        return None

    def described(self) -> dict[str, str]:
        return self.at.described(self.shown)

    @cached_property
    def good(self) -> exp.Table:
        """The classes that are released: their keys and sizes."""
        return self.at.census.scratch.table("holding_classes", self.at.holding(), "the classes that hold")

    @cached_property
    def shown(self) -> Census:
        return self.at.shown_by(self._classes())

    def _classes(self) -> exp.Select:
        return exp.select().from_(exp.alias_(self.good, "classes", table=True))

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        names = [*self.at.keys, *self.at.census.others]
        columns = [column(name, "cells") for name in names]
        query = self.at.with_cells(self._classes().select(*columns, sql("SUM(cells.n)").as_("n")))
        cells = Cells(query.group_by(*columns) if columns else query, (*names, "n"))
        if self.shown.aside:
            return rows_with_kept(self._plan(), self.shown, cells, self.at.labels(), source, labels)
        return released_rows(self.shown, cells, self.at.labels(), source, labels)

    def over_source(self, source: BoundSource, scratch: Scratch) -> exp.Select:
        return rows_over_source(self._plan(), self.shown, source, scratch)

    def _plan(self) -> Plan:
        keys = [column(key) for key in self.at.keys]
        return Plan(
            codings=tuple(self.at.codings()),
            shown=tuple(self.at.shown_labels(self.shown)),
            classes=exp.select(*keys, sql("CAST(x AS BIGINT)").as_("x")).from_(self.good),
            keys=tuple(self.at.keys),
        )

    def view(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        census, node = self.at.census, self.at.node
        generalized = generalized_by_level(self.shown, node, source, keep)
        keys = [f"g{h.index}" for h, level in zip(census.hierarchies, node, strict=True) if level < h.height]
        return guarded_view(self.measurer.policy, census, generalized, keys, source, rows)

    def fidelity(self) -> dict[str, Any]:
        if self.measurer.policy.search.where == "warehouse":
            return {}  # what the source shows has stayed there

        def shows(hierarchy: Hierarchy) -> tuple[exp.Expr, exp.Query | None]:
            level = self.at.node[hierarchy.index]
            if level == hierarchy.height:
                return literal(0), None
            numbers = numbers_of(hierarchy, column(f"code_{level}"), exp.select().from_(hierarchy.mapping))
            return column(hierarchy.code(level), "cells"), numbers

        released = self.at.with_cells(self._classes())
        return fidelity_of(self.at.census, released, shows).figures(self.at.census)

    def utility(self) -> dict[str, Any]:
        return utility_of(self.measurer.policy, self.at.census, self.measured, self.good).as_json()


def at_node(measurer: Measurer, node: Node) -> FullDomain:
    """The recoding that a node is, whether or not it holds."""
    return FullDomain(measurer.brought(node), measurer.measure(node, wholly=True))
