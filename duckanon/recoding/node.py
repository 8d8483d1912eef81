"""The classes of one node of the lattice, and how a release shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.words import CensusWords
from duckanon.engine import Type
from duckanon.engine.types import DOUBLE, TEXT
from duckanon.hierarchy import Hierarchy, named_levels
from duckanon.query.expressions import column, literal, same, sql, table, text_of
from duckanon.query.steps import select, with_steps
from duckanon.recoding.over_source import Coding, Label
from duckanon.recoding.rows import Shown
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer


@dataclass(frozen=True)
class NodeClasses:
    """One node of the lattice: every row at the same levels."""

    measurer: Measurer
    node: Node

    @property
    def census(self) -> Census:
        return self.measurer.census

    @property
    def keys(self) -> list[str]:
        """The columns of the census that tell the classes apart."""
        return self.census.keys(self.node)

    @property
    def levels(self) -> dict[str, int]:
        return named_levels(self.census.hierarchies, self.node)

    def described(self, shown: Census) -> dict[str, str]:
        """What is done to each quasi-identifier, in words, by a release that shows the census so."""
        pairs = zip(shown.hierarchies, self.node, strict=True)
        return {hierarchy.column.name: hierarchy.describe(level) for hierarchy, level in pairs}

    def labels(self) -> list[Shown]:
        pairs = zip(self.census.hierarchies, self.node, strict=True)
        return [
            Shown(h.code(level), _labels(h, level)) if level < h.height else Shown(None, None) for h, level in pairs
        ]

    def codings(self) -> Iterator[Coding]:
        """The codes of all that is released at the node and, where rows are left out, of all that is known."""
        for h, level in zip(self.census.hierarchies, self.node, strict=True):
            if level < h.height:
                yield coding_of(h, level, self.census)
            elif self.census.left_out:
                yield replace(coding_of(h, 0, self.census), key=None)

    def shown_labels(self, shown: Census) -> Iterator[Label]:
        """What a release shows of each quasi-identifier."""
        for h, level, part in zip(shown.hierarchies, self.node, self.labels(), strict=True):
            if level == h.height:
                yield Label(h.column.name, constant=h.removed)
            else:
                yield Label(h.column.name, part.code, part.labels if level or h.starred else None)

    def types(self) -> dict[str, Type]:
        """What a release shows of each quasi-identifier: values, labels or numbers."""
        pairs = zip(self.census.hierarchies, self.node, strict=True)
        return {h.column.name: _type(h, level) for h, level in pairs}

    def holding(self, kept: exp.Table | None = None) -> exp.Select:
        """The classes that do not fail: their keys and sizes. `kept`: all of them, if somebody keeps them."""
        names = [column(name) for name in (*self.keys, "x")]
        query = exp.select(*names).from_(kept or table("classes")).where(sql("NOT failing"))
        return query if kept else with_steps(query, **self.measurer.class_steps(self.node))

    def with_cells(self, classes: exp.Select) -> exp.Select:
        """The `cells` of the census that are in the `classes`."""
        on = same(self.keys, "cells", "classes", nulls=False)
        return classes.join(exp.alias_(self.census.table, "cells", table=True), on=on)

    def cells_of(self, classes: exp.Table, words: CensusWords) -> exp.Select:
        """The cells of the census in these classes at the levels of the node: words and what these hold, kept columns,
        n. They are counted first, and then held against the classes: there are fewer of them."""
        kept = [column(name) for name in self.census.others[len(self.census.sensitive) :]]
        names = [*self.keys, *(f"s{values.index}" for values in self.census.sensitive)]
        keys = words.masked(self.keys, "node_cells")
        on = exp.and_(*(exp.EQ(this=sql(key), expression=column(word, "held_classes")) for word, key in keys.items()))
        held = exp.select("node_cells.*").from_(table("node_cells")).join(table("held_classes"), on=on)
        steps = {
            "node_cells": words.rolled_up(self.census.table, names, *kept),
            "held_classes": select(**words.packed(self.keys)).from_(classes),
            "held_cells": held,
        }
        return with_steps(words.unpacked(table("held_cells"), names, *words.columns, *kept, column("n")), **steps)

    def shown_by(self, classes: exp.Select) -> Census:
        """The census as a release of the `classes` shows it."""
        at_top = [h for h, level in zip(self.census.hierarchies, self.node, strict=True) if level == h.height]
        finest = classes.select(*(column(h.code(h.lowest), "cells") for h in at_top if h.coded))
        return self.census.as_released(self.with_cells(finest), at_top)


def _type(hierarchy: Hierarchy, level: int) -> Type:
    if level:
        return DOUBLE if hierarchy.is_number else TEXT
    return TEXT if hierarchy.starred else hierarchy.column.type.released


def _labels(hierarchy: Hierarchy, level: int) -> exp.Select:
    """code and label of one level; at level 0 the label is the value itself, in its own type."""
    label = column("value") if level == 0 else column(f"label_{level}")
    code = column(f"code_{level}")
    return exp.select(code.as_("code"), label.as_("label")).distinct().from_(hierarchy.mapping)


def coding_of(hierarchy: Hierarchy, level: int, census: Census) -> Coding:
    """The codes of a level below the top, by the texts of the values."""
    codes = exp.select(text_of(column("value")).as_("value"), column(f"code_{level}").as_("code"))
    codes, strangers = codes.from_(hierarchy.mapping), None
    if hierarchy.starred:
        # Rows of values that nobody knows are shown as the top, which is then in the mapping table as one more value.
        top = exp.select(column(f"code_{level}")).from_(hierarchy.mapping)
        found = census.workbench.fetch(top.where(sql("value = :top", top=literal(hierarchy.top))))
        strangers = found[0][0] if found else -1
    name, type_ = f"q{hierarchy.index}", hierarchy.column.type
    return Coding(name, type_, codes, hierarchy.code(level), hierarchy.starred, strangers)
