"""Temporary objects of one run: uniquely named, and dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from sqlglot import exp

from duckanon.engine import Engine
from duckanon.query.expressions import create, drop, table


class Scratch:
    """Makes and forgets the temporary tables and views of a run."""

    def __init__(self, engine: Engine, prefix: str | None = None) -> None:
        self.engine = engine
        self.prefix = prefix or f"duckanon_{secrets.token_hex(4)}"
        self._made: list[tuple[str, exp.Table]] = []

    def name(self, thing: str) -> exp.Table:
        return table(f"{self.prefix}_{thing}")

    def table(self, thing: str, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None) -> exp.Table:
        """Keep the rows of a query for the length of the run. `bound`: parameters that no text may hold."""
        return self._create("TABLE", thing, query, note, bound)

    def dictionary(self, thing: str, query: exp.Query) -> exp.Table:
        """Keep a table (code, label) with its labels in the engine's own form of a dictionary, if it has one."""
        plain = self.table(thing, query, "labels")
        kind, coded = self.name(f"{thing}_type"), self.name(f"{thing}_coded")
        if not self.engine.define_dictionary(coded, kind, plain):
            return plain
        self._made += [("TYPE", kind), ("TABLE", coded)]
        return coded

    def view(self, thing: str, query: exp.Query, note: str) -> exp.Table:
        return self._create("VIEW", thing, query, note)

    def _create(
        self, kind: str, thing: str, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> exp.Table:
        name = self.adopt(kind, thing)
        self.engine.execute(create(kind, name, query, temporary=True), note, bound)
        return name

    def adopt(self, kind: str, thing: str) -> exp.Table:
        """The name of an object that the engine itself makes; it is dropped with the others."""
        name = self.name(thing)
        self._made.append((kind, name))
        return name

    def drop(self, name: exp.Table) -> None:
        for kind, made in self._made:
            if made == name:
                self.engine.execute(drop(kind, name))
        self._made = [(kind, made) for kind, made in self._made if made != name]

    def clear(self, keep: tuple[str, ...] = ()) -> None:
        """Drop all that was made, but for the things named."""
        kept = [self.name(thing) for thing in keep]
        for _, name in reversed(list(self._made)):
            if name not in kept:
                self.drop(name)
