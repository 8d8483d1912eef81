"""Temporary objects of one run: uniquely named, and dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from sqlglot import exp

from duckanon.engine.engine import Engine
from duckanon.engine.warehouse import Told, Warehouse
from duckanon.engine.workbench import Workbench
from duckanon.query.expressions import table


class _Made(NamedTuple):
    """A temporary object, and who made it."""

    kind: str
    name: exp.Table
    by: Engine


class Scratch:
    """Makes and forgets the temporary tables and views of a run in an engine: the workbench, or where the rows lie."""

    def __init__(self, engine: Engine, prefix: str | None = None) -> None:
        self.engine = engine
        self.prefix = prefix or f"duckanon_{secrets.token_hex(4)}"
        self._made: list[_Made] = []

    @property
    def workbench(self) -> Workbench:
        """The engine of those who search."""
        assert isinstance(self.engine, Workbench)
        return self.engine

    def name(self, thing: str) -> exp.Table:
        return table(f"{self.prefix}_{thing}")

    def table(self, thing: str, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None) -> exp.Table:
        """Keep the rows of a query for the length of the run. `bound`: parameters that no text may hold."""
        return self._kept(thing, query, note, self.engine, bound)

    def kept(self, thing: str, query: exp.Query, note: str, there: Engine) -> exp.Table:
        """The same of a query to another engine, which keeps its rows."""
        return self._kept(thing, query, note, there)

    def _kept(
        self, thing: str, query: exp.Query, note: str, there: Engine, bound: Mapping[str, bytes] | None = None
    ) -> exp.Table:
        return self._create("TABLE", thing, query, note, there, bound)

    def collected(
        self,
        thing: str,
        query: exp.Query,
        note: str,
        of: Engine,
        told: Told | None = None,
        others: Sequence[exp.Query] = (),
    ) -> exp.Table:
        """Keep what a query to the warehouse, or to the workbench itself, counts. `told` hears how many counts there
        are before they come. `others` count other parts of the same."""
        if of is self.workbench and told is None:
            return self.table(thing, query, note)
        name = self.adopt("TABLE", thing)
        cast(Warehouse, of).collect(name, query, note, told, others)
        return name

    def sent(self, thing: str, query: exp.Query, note: str, there: Engine | None = None) -> exp.Table:
        """Keep what a query to the workbench gives `there`: without another engine, in this one."""
        there = there or self.engine
        if there is self.engine and isinstance(there, Workbench):
            return self._kept(thing, query, note, there)
        name = self.adopt("TABLE", thing, there)
        cast(Warehouse, there).send(name, query, note)
        return name

    def dictionary(self, thing: str, query: exp.Query) -> exp.Table:
        """Keep a table (code, label) with its labels in the workbench's own form of a dictionary, where that helps."""
        plain = self.table(thing, query, "labels")
        kind, coded = self.adopt("TYPE", f"{thing}_type"), self.adopt("TABLE", f"{thing}_coded")
        return coded if self.workbench.define_dictionary(coded, kind, plain) else plain

    def view(self, thing: str, query: exp.Query, note: str) -> exp.Table:
        return self._create("VIEW", thing, query, note, self.engine)

    def _create(
        self,
        kind: str,
        thing: str,
        query: exp.Query,
        note: str,
        there: Engine,
        bound: Mapping[str, bytes] | None = None,
    ) -> exp.Table:
        name = self.adopt(kind, thing, there)
        there.make_temporary(kind, name, query, note, bound)
        return name

    def adopt(self, kind: str, thing: str, by: Engine | None = None) -> exp.Table:
        """The name of an object that the engine, or another one, itself makes; it is dropped with the others."""
        name = self.name(thing)
        self._made.append(_Made(kind, name, by or self.engine))
        return name

    def drop(self, name: exp.Table) -> None:
        for made in self._made:
            if made.name == name:
                made.by.drop_temporary(made.kind, name)
        self._made = [made for made in self._made if made.name != name]

    def leave(self, engine: Engine) -> None:
        """What an engine has made goes with its session, which is about to end."""
        self._made = [made for made in self._made if made.by is not engine]

    def clear(self, keep: tuple[str, ...] = ()) -> None:
        """Drop all that was made, but for the things named."""
        kept = [self.name(thing) for thing in keep]
        for made in reversed(list(self._made)):
            if made.name not in kept:
                self.drop(made.name)
