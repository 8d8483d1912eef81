"""Tables, views and columns as PostgreSQL's catalog has them, and which of them a name means."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from duckanon.engine.postgres.types import CatalogType, type_of
from duckanon.engine.relation import Relation
from duckanon.engine.types import Column
from duckanon.query.names import PART, unquoted

RELATIONS = """
    SELECT n.nspname, c.relname, CASE WHEN c.relkind = 'v' THEN 'view' ELSE 'table' END,
        obj_description(c.oid, 'pg_class'), n.oid = pg_my_temp_schema()
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'm', 'v') AND {condition}
    ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT a.attname, COALESCE(b.typname, t.typname),
        CASE WHEN b.oid IS NULL THEN format_type(t.oid, a.atttypmod) ELSE format_type(b.oid, t.typtypmod) END,
        CAST(COALESCE(b.typtype, t.typtype) AS text), e.typname, COALESCE(l.collisdeterministic, true),
        b.oid IS NOT NULL OR a.attcollation <> t.typcollation
    FROM pg_attribute AS a
    JOIN pg_type AS t ON t.oid = a.atttypid
    LEFT JOIN pg_type AS b ON b.oid = NULLIF(t.typbasetype, 0)
    LEFT JOIN pg_type AS e
        ON e.oid = NULLIF(COALESCE(b.typelem, t.typelem), 0) AND COALESCE(b.typcategory, t.typcategory) = 'A'
    LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
    WHERE a.attrelid = to_regclass({relation}) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
# Of a table in the server's own pages that is worth two processes, if it has them: the page in the middle. Who may read
# some columns only does not see on which page a row is. Of a replica nobody asks for a view of the data to share.
HALVES = """
    SELECT pg_relation_size(c.oid) / CAST(current_setting('block_size') AS bigint) / 2
    FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam AND a.amname = 'heap'
    WHERE c.oid = to_regclass({relation}) AND c.relkind = 'r' AND c.relpersistence <> 't'
        AND has_table_privilege(c.oid, 'SELECT') AND pg_relation_size(c.oid) >= 64 * 1024 * 1024
        AND CAST(current_setting('max_parallel_workers_per_gather') AS integer) > 0 AND NOT pg_is_in_recovery()
"""


def literal(text: str) -> str:
    return exp.Literal.string(text).sql("postgres")


def sql_name(spelled: str) -> tuple[str, ...] | None:
    """A name as SQL spells it, in parts, as PostgreSQL reads it: what is not quoted is in lower case. None: it is
    none."""
    if not re.fullmatch(rf"(?:{PART})(?:\.(?:{PART})){{0,1}}", spelled):
        return None
    parts = re.findall(PART, spelled)
    return tuple(unquoted(part) if part.startswith('"') else part.lower() for part in parts)


def relation_of(row: tuple[Any, ...]) -> Relation:
    schema, name, kind, comment, temporary = row
    return Relation((name,) if temporary else (schema, name), kind, comment)


def columns_query(relation: exp.Table) -> str:
    return _COLUMNS.format(relation=literal(relation.sql("postgres", identify=True)))


def column_of(row: tuple[Any, ...]) -> Column:
    name, *type_ = row
    return Column(name, type_of(CatalogType(*type_)))
