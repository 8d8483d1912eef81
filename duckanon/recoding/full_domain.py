"""Every row at the same levels: one node of the lattice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, literal, sql
from duckanon.recoding.aside import rows_with_kept
from duckanon.recoding.fidelity import fidelity_of, numbers_of
from duckanon.recoding.node import NodeClasses
from duckanon.recoding.numbers import ClassNumbers, NumberColumn, aggregates, middles
from duckanon.recoding.over_source import Plan, rows_over_source
from duckanon.recoding.rows import Cells, Labels, Shown, Steps, repeated_rows, sorted_cells
from duckanon.recoding.utility import utility_of
from duckanon.recoding.view import guarded_view
from duckanon.recoding.view_rows import Keeper, generalized_by_level, generalized_population
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement, Measurer


@dataclass(frozen=True)
class FullDomain:
    """A node of the lattice as it was measured; the rows of its failing classes are suppressed."""

    measurer: Measurer
    measured: Measurement
    new_rows: int | None = None
    kept: exp.Table | None = None  # all its classes, where who has measured them keeps them

    @classmethod
    def of(cls, measurer: Measurer, measured: Measurement) -> FullDomain:
        """What a measurer has found."""
        here = measurer.brought(measured.node)
        return cls(here, measured, kept=here.kept_classes(measured.node))

    @property
    def at(self) -> NodeClasses:
        return NodeClasses(self.measurer, self.measured.node)

    @property
    def rows(self) -> int:
        return self.measured.released_rows

    @property
    def classes(self) -> int:
        return self.numbers.count() if self.numbers else self.measured.released_classes

    @property
    def smallest(self) -> int | None:
        return self.measured.smallest

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

    @cached_property
    def good(self) -> exp.Table:
        """The classes that are released: their keys and sizes."""
        scratch, query = self.at.census.scratch, self.at.holding(self.kept)
        keep = scratch.view if self.kept else scratch.table  # of what is kept already, no second time
        return keep("holding_classes", query, "the classes that hold")

    @cached_property
    def shown(self) -> Census:
        return self.at.shown_by(self._classes())

    def _classes(self) -> exp.Select:
        return exp.select().from_(exp.alias_(self.good, "classes", table=True))

    @cached_property
    def numbers(self) -> ClassNumbers:
        """What the classes show in place of labels; at level 0 that is the value itself, at the top nothing."""
        census, found = self.at.census, list[NumberColumn]()
        for h, level in zip(census.hierarchies, self.at.node, strict=True):
            if not h.is_number or not 0 < level < h.height:
                continue
            key = h.code(level)
            if h.release_as == "midpoint":
                numbers = exp.select(column("code").as_(key), "number").from_(middles(h, level).subquery("middles"))
                found.append(NumberColumn(h.index, key, (key,), numbers))
            else:
                names = dict.fromkeys((*self.at.keys, h.code(0), "n"))
                cells = self.at.with_cells(self._classes().select(*(column(name, "cells") for name in names)))
                numbers = aggregates(h, cells.select(literal(level).as_("shown_level")), self.at.keys, "shown_level")
                found.append(NumberColumn(h.index, key, tuple(self.at.keys), numbers))
        return ClassNumbers(census, exp.select("*").from_(self.good), self.at.keys, found)

    def cells(self) -> tuple[Cells, list[Shown]]:
        """The cells that are released, and how their quasi-identifiers are shown."""
        return self._cells, self.numbers.shown(self.at.labels())

    @cached_property
    def _cells(self) -> Cells:
        census, codes = self.at.census, self.numbers.codes("cells")
        names = (*codes, *census.others, "n")
        if census.words is None or self.numbers:
            codes |= {name: column(name, "cells") for name in census.others}
            selected = self._classes().select(*codes.values(), sql("SUM(cells.n)").as_("n"))
            cells = self.numbers.joined(self.at.with_cells(selected), "classes")
            return Cells(cells.group_by(*codes.values()) if codes else cells, names)
        note = "the cells that are released"
        kept = census.scratch.table("released_cells", self.at.cells_of(self.good, census.words), note)
        words = census.words.names
        return Cells(exp.select(*map(column, (*names, *words))).from_(kept), names, kept, words)

    def types(self) -> dict[str, Type]:
        return self.at.types()

    def shown_cells(self, source: BoundSource, labels: Labels) -> Steps:
        return sorted_cells(self.shown, *self.cells(), source, labels)

    def query(self, source: BoundSource, labels: Labels) -> exp.Select:
        if self.shown.aside:
            return rows_with_kept(self._plan(), self.shown, *self.cells(), source, labels)
        return repeated_rows(self.shown_cells(source, labels), source)

    def over_source(self, source: BoundSource, scratch: Scratch) -> exp.Select:
        return rows_over_source(self._plan(), self.shown, source, scratch)

    def _plan(self) -> Plan:
        keys = [column(key, "classes") for key in self.at.keys]
        classes = self._classes().select(*keys, sql("CAST(classes.x AS BIGINT)").as_("x"))
        return Plan(
            codings=tuple(self.at.codings()),
            shown=tuple(self.numbers.labels(self.at.shown_labels(self.shown))),
            classes=self.numbers.told(classes, "classes"),
            keys=tuple(self.at.keys),
        )

    def view(self, source: BoundSource, rows: exp.Table, keep: Keeper) -> exp.Select:
        census, node, keep = self.at.census, self.at.node, cache(keep)
        generalized = generalized_by_level(self.shown, node, source, keep)
        population = generalized_population(self.shown, node, keep) if source.population else None
        keys = [f"g{h.index}" for h, level in zip(census.hierarchies, node, strict=True) if level < h.height]
        return guarded_view(self.measurer.policy, census, generalized, keys, source, rows, keep, population)

    def fidelity(self) -> dict[str, Any]:
        if self.measurer.policy.search.where == "warehouse":
            return {}  # what the source shows has stayed there

        def shows(hierarchy: Hierarchy) -> tuple[exp.Expr, exp.Query | None]:
            level = self.at.node[hierarchy.index]
            if level == hierarchy.height:
                return literal(0), None
            if hierarchy.index in self.numbers.columns:
                return self.numbers.found_again(hierarchy.index)
            numbers = numbers_of(hierarchy, column(f"code_{level}"), exp.select().from_(hierarchy.mapping))
            return column(hierarchy.code(level), "cells"), numbers

        census, kept = self.at.census, self._cells.kept
        if kept is not None:
            cells = exp.select().from_(exp.alias_(kept, "cells", table=True))
            return fidelity_of(census, cells, shows, kept).figures(census)
        released = self.numbers.joined(self.at.with_cells(self._classes()), "classes")
        return fidelity_of(census, released, shows).figures(census)

    def utility(self) -> dict[str, Any]:
        return utility_of(self.measurer.policy, self.at.census, self.measured, self.good).as_json()


def at_node(measurer: Measurer, node: Node) -> FullDomain:
    """The recoding that a node is, whether or not it holds."""
    return FullDomain.of(measurer, measurer.measure(node, wholly=True))


def kept_at_node(measurer: Measurer, node: Node) -> FullDomain:
    """The same, of classes that are kept: for who asks more of them than a release does."""
    here = measurer.brought(node)
    kept = here.keep_classes(node)
    return FullDomain(here, here.measure(node, wholly=True, classes=kept), kept=kept)
