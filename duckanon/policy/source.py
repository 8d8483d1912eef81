"""Where the rows come from, out of the policy file; and how a CSV file of them is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from duckanon.errors import Fault
from duckanon.policy import CsvOptions, Source
from duckanon.policy.database import KNOWN, Database, ServerAddress, database_of
from duckanon.query.names import folded
from duckanon.toml import Section
from duckanon.toml.checks import a_table, one_character, one_of, text, truth

ENCODINGS = ("utf-8", "utf-16", "latin-1")
TYPES = ("VARCHAR", "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "DATE", "TIMESTAMP")
_DECIMAL = re.compile(r"DECIMAL\(([0-9]{1,2}),([0-9]{1,2})\)")
_NO_CSV = (".parquet", ".json", ".jsonl", ".ndjson")


def read_source(section: Section, folder: Path) -> Source:
    given = [key for key in ("table", "query", "file") if key in section.data]
    if len(given) != 1:
        found = f"found {', '.join(given)}" if given else "found none"
        section.faults.append(Fault("source", f"must have exactly one of table, query, file; {found}"))
    table = section.get("table", text)
    query = section.get("query", text)
    file = section.get("file", text)
    database = _database(section, folder)
    options = _csv(section.section("csv"))
    if "csv" in section.data and (file is None or set(map(str.lower, Path(file).suffixes)) & set(_NO_CSV)):
        section.fault("csv", "is for a CSV file", "name one in source.file, or leave it out")
    section.finish()
    path = str(folder / file) if file else None
    if isinstance(database, ServerAddress) and file is not None:
        section.fault("file", "is read by DuckDB, not by a server", "leave source.database out")
    return Source(table, query, path, database, options)


def _database(section: Section, folder: Path) -> Database | None:
    """A policy is kept and shown, also by the ledger: no place for a secret."""
    given = section.get("database", text)
    database = database_of(given, folder) if given else None
    if isinstance(database, ServerAddress) and database.engine is None:
        section.fault("database", f"there is no warehouse for {database.shown}", f"name {KNOWN}")
    elif isinstance(database, ServerAddress) and (database.has_secret or not database.is_well_formed):
        where = "PGPASSWORD, ~/.pgpass or a service" if database.engine == "postgresql" else "the environment, or --db"
        section.fault("database", "has a secret in it, and a policy is no place for one", f"keep it in {where}")
    return database


def _csv(section: Section) -> CsvOptions:
    usual = CsvOptions()
    null = section.get("null", _text_or_texts, list(usual.null))
    options = CsvOptions(
        delimiter=section.get("delimiter", one_character),
        header=section.get("header", truth, usual.header),
        quote=section.get("quote", _quote, usual.quote),
        null=(null,) if isinstance(null, str) else tuple(null),
        encoding=section.get("encoding", one_of(*ENCODINGS), usual.encoding),
        types=_types(section),
        dateformat=section.get("dateformat", _dateformat),
    )
    if options.quote and options.quote == options.delimiter:
        section.fault("quote", "is the delimiter, too")
    section.finish()
    return options


def _types(section: Section) -> dict[str, str]:
    types: dict[str, str] = {}
    for column, given in section.get("types", a_table, {}).items():
        type_ = re.sub(r"\s", "", given).upper() if isinstance(given, str) else ""
        scaled = _DECIMAL.fullmatch(type_)
        if type_ not in TYPES and not (scaled and 0 < int(scaled[1]) <= 38 and int(scaled[2]) <= int(scaled[1])):
            section.fault(f"types.{column}", f"must be one of {', '.join(TYPES)} or DECIMAL(p, s)")
        types[column] = type_
    if len({folded(column) for column in types}) < len(types):
        section.fault("types", "names a column twice")
    return types


def _quote(value: Any) -> str | None:
    return None if value == "" or value in ('"', "'") else "must be \", ' or empty: no quotes at all"


def _text_or_texts(value: Any) -> str | None:
    listed = [value] if isinstance(value, str) else value
    good = isinstance(listed, list) and listed and all(isinstance(item, str) for item in listed)
    return None if good else 'must be a text or a list of texts, such as ["", "NA"]'


def _dateformat(value: Any) -> str | None:
    good = isinstance(value, str) and re.search(r"%-?[dj]", value) and re.search(r"%-?[yY]", value)
    return None if good else "must say where day, month and year stand, such as %d.%m.%Y"
