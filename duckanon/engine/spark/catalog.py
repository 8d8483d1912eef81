"""Tables and views as the session catalog has them, and which of them a name means."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.engine.relation import Relation
from duckanon.query.dialects.spark import SparkDialect
from duckanon.query.expressions import table
from duckanon.query.names import folded, unquoted

_PART = r'"(?:[^"]|"")+"|`(?:[^`]|``)+`|[^\W\d]\w*'


def spelled_parts(spelled: str) -> tuple[str, ...] | None:
    """The parts of a name as SQL spells it, quoted by " or, as Spark does, by `. None: it is none."""
    if not re.fullmatch(rf"(?:{_PART})(?:\.(?:{_PART})){{0,2}}", spelled):
        return None
    return tuple(_bare(part) for part in re.findall(_PART, spelled))


def _bare(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else unquoted(part)


def is_plain(name: str) -> bool:
    """Whether it means the same with quotes and without."""
    return re.fullmatch(r"[a-z_]\w*", name, re.ASCII | re.IGNORECASE) is not None


def said_name(*parts: str) -> str:
    """The name in a statement."""
    return table(*parts).sql(SparkDialect, identify=True)


def literal(text: str) -> str:
    return exp.Literal.string(text).sql(SparkDialect)


class Catalog:
    """The session catalog, asked through the client; names are found in any case. What hardly ever changes is asked
    once."""

    def __init__(self, session: Any) -> None:
        self._catalog = session.catalog
        self._schemas: set[tuple[str, ...]] = set()  # that were there

    @property
    def schema(self) -> str:
        return str(self._catalog.currentDatabase())

    @cached_property
    def _name(self) -> str:
        return str(self._catalog.currentCatalog())

    def has_schema(self, *parts: str) -> bool:
        if parts not in self._schemas and self._catalog.databaseExists(said_name(*parts)):
            self._schemas.add(parts)
        return parts in self._schemas

    def find(self, parts: tuple[str, ...]) -> Relation | None:
        """A name spelled so or, if there is none, in another case."""
        *home, name = parts
        pattern = name if re.fullmatch(r"\w+", name) else "*"
        alike = [found for found in self.relations(tuple(home), pattern) if folded(found.parts[-1]) == folded(name)]
        return next((found for found in alike if found.parts[-1] == name), alike[0] if len(alike) == 1 else None)

    def relations(self, schema: tuple[str, ...], pattern: str = "*") -> list[Relation]:
        """The tables and views of a schema; of the current one, the temporary ones, too."""
        if schema and not self.has_schema(*schema):
            return []
        found = self._catalog.listTables(said_name(*schema) if schema else None, pattern)
        return [self._relation(one) for one in found if not (schema and one.isTemporary)]

    def _relation(self, found: Any) -> Relation:
        if found.isTemporary:
            return Relation((found.name,), "view")
        home = () if found.catalog == self._name else (found.catalog,)
        kind = "view" if found.tableType == "VIEW" else "table"
        return Relation((*home, *found.namespace, found.name), kind, found.description)
