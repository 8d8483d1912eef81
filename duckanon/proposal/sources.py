"""What a SOURCE on the command line means, and how a policy says it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from duckanon.analysts.metrics import is_file
from duckanon.errors import Fault, UsageError
from duckanon.policy import CsvOptions, Policy, Release, Search, Source
from duckanon.policy.database import Database, ServerAddress
from duckanon.query.names import quoted_if_odd, split_name

_QUERY = re.compile(r"\s*(select|with|from|values)\s", re.IGNORECASE)
_ODD = re.compile(r"[^A-Za-z0-9_]+")


def source_named(spelled: str, database: Database | None, in_memory: bool = False) -> Source:
    """A query, a file or a table; a table lies in a database, or in one that a program has `in_memory`."""
    if _QUERY.match(spelled):
        return Source(query=spelled, database=database)
    if is_file(spelled) or (database is None and _is_there(spelled)):
        if isinstance(database, ServerAddress):
            raise UsageError([Fault("SOURCE", "a file is read by DuckDB, not by a server", "leave --db out")])
        return Source(file=spelled, database=database)
    if database is None and not in_memory:
        remedy = "name its database with --db, or give a CSV, Parquet or JSON file"
        raise UsageError([Fault("SOURCE", f"'{spelled}' is a table of no database", remedy)])
    return Source(table=spelled, database=database)


def _is_there(spelled: str) -> bool:
    try:
        return Path(spelled).exists() or any(sign in spelled for sign in "*?[")
    except (OSError, ValueError):
        return False


def draft(source: Source, name: str) -> Policy:
    """A policy that says nothing but where the rows come from."""
    return Policy(name, source, 1, 0, (), (), (), (), Search(), Release("table", name))


def name_of(source: Source) -> str:
    """What a policy over it may be called."""
    if source.file is not None:
        called = re.split(r"\.", Path(source.file).name, maxsplit=1)[0]
    else:
        called = (split_name(source.table) or [source.table])[-1] if source.table else "query"
    return named(called)


def named(text: str) -> str:
    return _ODD.sub("_", text).strip("_")[:40] or "people"


@dataclass(frozen=True)
class Place:
    """Where a release may go: the keys of the policy."""

    kind: str
    to: str


def place_of(source: Source, name: str) -> Place:
    """Beside the source: a table of its database, or a file of its kind."""
    if source.table is not None:
        parts = split_name(source.table) or [source.table]
        return Place("table", quoted_if_odd(*parts[:-1], f"{name}_anonymous"))
    if source.database is not None:
        return Place("table", f"{name}_anonymous")
    parquet = source.file is None or ".parquet" in source.file.lower()
    return Place("parquet", f"{name}_anonymous.parquet") if parquet else Place("csv", f"{name}_anonymous.csv")


def relative(path: str, folder: Path) -> str:
    """A path as a policy in that folder says it."""
    if os.path.isabs(path) or "://" in path:
        return path
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # on another drive
        return os.path.abspath(path)


def csv_keys(options: CsvOptions) -> dict[str, object]:
    """What has to be said of how a CSV file is written."""
    usual = CsvOptions()
    keys = ("header", "null", "encoding", "dateformat")
    return {key: getattr(options, key) for key in keys if getattr(options, key) != getattr(usual, key)}
