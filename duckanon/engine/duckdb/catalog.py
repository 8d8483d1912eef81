"""Tables and views as DuckDB's catalog lists them, and which of them a name means."""

from __future__ import annotations

from typing import Any

from duckanon.engine.relation import Relation
from duckanon.query.names import folded, split_name

_INTERNAL = ("information_schema", "pg_catalog", "duckanon")
_MOST_PARTS = 3

CATALOG = """
    SELECT database_name, schema_name, table_name, 'table', comment, temporary FROM duckdb_tables()
    UNION ALL
    SELECT database_name, schema_name, view_name, 'view', comment, temporary FROM duckdb_views()
"""


def find(spelled: str, rows: list[tuple[Any, ...]], here: str, schema: str) -> Relation | None:
    """The relation that a name means in database `here`, out of the `rows` of the catalog: as SQL spells it or else,
    however odd, as it is."""
    parts = split_name(spelled)
    found = _resolved(parts, rows, here, schema) if parts and len(parts) <= _MOST_PARTS else None
    return found or (_resolved([spelled], rows, here, schema) if parts != [spelled] else None)


def _resolved(parts: list[str], rows: list[tuple[Any, ...]], here: str, schema: str) -> Relation | None:
    for rank in _search_order([folded(part) for part in parts], folded(here), folded(schema)):
        for catalog, owner, name, kind, comment, temporary in rows:
            if (folded(catalog), folded(owner), folded(name)) == rank:
                parts_needed = (name,) if temporary else qualified(catalog, owner, name, here)
                return Relation(parts_needed, kind, comment)
    return None


def known(rows: list[tuple[Any, ...]], here: str) -> list[tuple[str, str]]:
    """The tables and views of database `here` that a user may mean: schema and name."""
    return [(owner, name) for catalog, owner, name, *_ in rows if catalog == here and owner not in _INTERNAL]


def _search_order(parts: list[str], here: str, schema: str) -> list[tuple[str, str, str]]:
    if len(parts) == 3:
        return [(parts[0], parts[1], parts[2])]
    if len(parts) == 2:
        return [(here, parts[0], parts[1]), (parts[0], "main", parts[1])]
    return [("temp", "main", parts[0]), (here, schema, parts[0]), (here, "main", parts[0])]


def qualified(catalog: str, schema: str, name: str, here: str) -> tuple[str, ...]:
    """The catalog stays out of a name, so that a view outlives a renamed file; unless both are called alike."""
    return (schema, name) if catalog == here and catalog.lower() != schema.lower() else (catalog, schema, name)
