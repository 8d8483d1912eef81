"""The scratch tables of a method of local recoding: made anew over and over, and dropped but for its answer."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from duckanon.engine.scratch import Scratch
from duckanon.query.dialects import WORKBENCH


class Tables:
    """Tables by the thing that each holds; all names begin with the method's own prefix."""

    def __init__(self, scratch: Scratch, prefix: str) -> None:
        self.scratch, self.workbench, self.prefix = scratch, scratch.workbench, prefix
        self._names: dict[str, str] = {}  # quoted: they are asked for often

    def name(self, thing: str) -> str:
        """The quoted name of a table, which need not exist yet."""
        if thing not in self._names:
            adopted = self.scratch.adopt("TABLE", f"{self.prefix}_{thing}")
            self._names[thing] = adopted.sql(WORKBENCH, identify=True)
        return self._names[thing]

    def alias(self, thing: str, other: str) -> None:
        """Two things in one table."""
        self._names[thing] = self.name(other)

    def make(self, thing: str, query: str, note: str = "", steps: Mapping[str, str] | None = None) -> None:
        """`steps`: what the query is asked of, each by its name; nothing is kept of them."""
        named = ", ".join(f"{name} AS MATERIALIZED ({step})" for name, step in (steps or {}).items())
        whole = f"WITH {named} {query}" if named else query
        self.workbench.fetch(f"CREATE OR REPLACE TEMP TABLE {self.name(thing)} AS {whole}", note)

    def add(self, thing: str, query: str) -> None:
        """Add rows by making the table anew: DuckDB 2.0 loses a large INSERT into a table of the same transaction."""
        self.make(thing, f"FROM {self.name(thing)} UNION ALL {query}")

    def count(self, thing: str, what: str = "COUNT(*)") -> int:
        ((found,),) = self.workbench.fetch(f"SELECT COALESCE({what}, 0) FROM {self.name(thing)}")
        return int(found)

    def keep_only(self, thing: str) -> exp.Table:
        """Drop all tables but one."""
        tables = {other: self.scratch.name(f"{self.prefix}_{other}") for other in self._names}
        for other in sorted(set(tables) - {thing}):
            self.scratch.drop(tables[other])
        return tables[thing]
