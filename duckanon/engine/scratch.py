"""Temporary objects of one run: uniquely named, and dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

from duckanon.engine.warehouse import Told, Warehouse
from duckanon.engine.workbench import Workbench
from duckanon.query.expressions import create, drop, table


class _Made(NamedTuple):
    """A temporary object, and who made it."""

    kind: str
    name: exp.Table
    by: Warehouse | Workbench


class Scratch:
    """Makes and forgets the temporary tables and views of a run."""

    def __init__(self, workbench: Workbench, prefix: str | None = None) -> None:
        self.workbench = workbench
        self.prefix = prefix or f"duckanon_{secrets.token_hex(4)}"
        self._made: list[_Made] = []

    def name(self, thing: str) -> exp.Table:
        return table(f"{self.prefix}_{thing}")

    def table(self, thing: str, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None) -> exp.Table:
        """Keep the rows of a query for the length of the run. `bound`: parameters that no text may hold."""
        return self._create("TABLE", thing, query, note, bound)

    def collected(
        self, thing: str, query: exp.Query, note: str, warehouse: Warehouse, told: Told | None = None
    ) -> exp.Table:
        """Keep what a query to the warehouse counts; `told` hears how many counts there are before they come."""
        name = self.adopt("TABLE", thing)
        warehouse.collect(name, query, note, told)
        return name

    def sent(self, thing: str, query: exp.Query, note: str, warehouse: Warehouse) -> exp.Table:
        """Have the rows of a query to the workbench in the warehouse, too."""
        name = self.adopt("TABLE", thing, warehouse)
        warehouse.send(name, query, note)
        return name

    def dictionary(self, thing: str, query: exp.Query) -> exp.Table:
        """Keep a table (code, label) with its labels in the workbench's own form of a dictionary, where that helps."""
        plain = self.table(thing, query, "labels")
        kind, coded = self.adopt("TYPE", f"{thing}_type"), self.adopt("TABLE", f"{thing}_coded")
        return coded if self.workbench.define_dictionary(coded, kind, plain) else plain

    def view(self, thing: str, query: exp.Query, note: str) -> exp.Table:
        return self._create("VIEW", thing, query, note)

    def _create(
        self, kind: str, thing: str, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> exp.Table:
        name = self.adopt(kind, thing)
        self.workbench.execute(create(kind, name, query, temporary=True), note, bound)
        return name

    def adopt(self, kind: str, thing: str, by: Warehouse | None = None) -> exp.Table:
        """The name of an object that the workbench, or the warehouse, itself makes; it is dropped with the others."""
        name = self.name(thing)
        self._made.append(_Made(kind, name, by or self.workbench))
        return name

    def drop(self, name: exp.Table) -> None:
        for made in self._made:
            if made.name == name:
                made.by.execute(drop(made.kind, name))
        self._made = [made for made in self._made if made.name != name]

    def clear(self, keep: tuple[str, ...] = ()) -> None:
        """Drop all that was made, but for the things named."""
        kept = [self.name(thing) for thing in keep]
        for made in reversed(list(self._made)):
            if made.name not in kept:
                self.drop(made.name)
