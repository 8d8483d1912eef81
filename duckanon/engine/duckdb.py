"""DuckDB, embedded: the default engine, and the one that searches."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from duckanon import resources
from duckanon.engine import Column, Relation
from duckanon.engine.client_errors import first_line, translated
from duckanon.engine.names import folded, quoted, split_name
from duckanon.engine.opening import Limits, connect
from duckanon.errors import EngineError
from duckanon.expressions import literal

_NUMBERS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
    *("DECIMAL", "FLOAT", "DOUBLE"),
)
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_LONGEST_DICTIONARY = 10_000  # labels
# Texts that no mapping file holds: every cell is a value, the empty one too.
_NO_NULL = "\x01"
_CATALOG = """
    SELECT database_name, schema_name, table_name, 'table', comment, temporary FROM duckdb_tables()
    UNION ALL
    SELECT database_name, schema_name, view_name, 'view', comment, temporary FROM duckdb_views()
"""


class DuckDB:
    """A connection to DuckDB: the warehouse and the place of the search at once."""

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection, location: str, persistent: bool, owned: bool) -> None:
        self.connection = connection
        self.location = location
        self.persistent = persistent
        self.trace: list[tuple[str, exp.Expr | str]] = []
        self._owned = owned
        self._macros: str | None = None

    @classmethod
    def open(cls, path: Path | None, writable: bool, limits: Limits | None = None) -> DuckDB:
        """Open a database file, or an empty database in memory."""
        location = "the database in memory" if path is None else str(path)
        return cls(connect(path, writable, limits or Limits()), location, persistent=path is not None, owned=True)

    @classmethod
    def wrap(cls, connection: duckdb.DuckDBPyConnection) -> DuckDB:
        """Use a connection that the caller owns; it is left open."""
        first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first == second:  # outside a transaction every statement has one of its own
            raise EngineError("the connection has an open transaction; commit it or roll it back first")
        return cls(connection, "the connected database", persistent=True, owned=False)

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._macros is not None and not self._owned:
            with suppress(duckdb.Error):  # whatever went wrong before is the error to see
                self.connection.execute(f"DETACH {quoted(self._macros)}")
        self._macros = None
        if self._owned:
            self.connection.close()

    # -- asking -----------------------------------------------------------------------------------

    def execute(self, statement: exp.Expr, note: str = "") -> None:
        self._run(statement, note)

    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]:
        with translated(query):
            return self._run(query, note).fetchall()

    def _run(self, statement: exp.Expr | str, note: str = "") -> duckdb.DuckDBPyConnection:
        if note:
            self.trace.append((note, statement))
        text = statement if isinstance(statement, str) else statement.sql(self.dialect, identify=True)
        with translated(text):
            return self.connection.execute(text)

    def macro(self, name: str, *arguments: exp.Expr) -> exp.Table:
        """One of the analysts' macros, to select from; they live in a catalog of their own, not the user's."""
        call = exp.Anonymous(this=name, expressions=list(arguments))
        home = exp.to_identifier(self._macro_home(), quoted=True)
        return exp.Table(this=call, db=exp.to_identifier("duckanon", quoted=True), catalog=home)

    def install_macros(self) -> int:
        """Put the analysts' macros into the warehouse itself, for good; says how many there are."""
        self.must_have_room_for_our_schema()
        with self.transaction():
            self._run(resources.macros())
        counted = "SELECT count(DISTINCT function_name) FROM duckdb_functions() WHERE schema_name = 'duckanon' "
        ((count,),) = self._run(counted + "AND database_name = current_database()").fetchall()
        return int(count)

    def must_have_room_for_our_schema(self) -> None:
        """In a database that is itself called duckanon, no name of the schema duckanon could be resolved."""
        ((here,),) = self.fetch("SELECT current_database()")
        if here.lower() == "duckanon":
            what = "is a database called duckanon, in which a schema of that name would be ambiguous"
            raise EngineError(f"{self.location}: {what}; rename the file")

    def _macro_home(self) -> str:
        if self._macros is None:
            home = f"duckanon_macros_{secrets.token_hex(4)}"
            self._run(f"ATTACH ':memory:' AS {quoted(home)} (READ_WRITE)")
            self._macros = home
            self._run(_macros_of(home))
        return self._macros

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: whatever is made inside is gone if the block does not end well."""
        self._macro_home()  # one transaction cannot write to two databases, so this comes first
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # the failing statement may have ended the transaction already
                self.connection.execute("ROLLBACK")
            raise

    # -- the catalog ------------------------------------------------------------------------------

    def columns(self, relation: exp.Table) -> list[Column]:
        rows = self._run(f"DESCRIBE SELECT * FROM {relation.sql(self.dialect, identify=True)}").fetchall()
        return [Column(row[0], row[1]) for row in rows]

    def is_number(self, column: Column) -> bool:
        return column.type.split("(")[0] in _NUMBERS and not column.type.endswith("]")

    def is_date(self, column: Column) -> bool:
        return column.type == "DATE" or column.type.startswith("TIMESTAMP")

    def find(self, spelled: str) -> Relation | None:
        """The table or view of that name: as SQL spells it, or else an odd name given bare."""
        parts = split_name(spelled)
        found = self._lookup(parts) if parts and len(parts) <= 3 else None
        return found or self._lookup([spelled])

    def _lookup(self, parts: list[str]) -> Relation | None:
        rows = self.fetch(_CATALOG)
        ((here, schema),) = self.fetch("SELECT current_database(), current_schema()")
        for rank in self._search_order([folded(part) for part in parts], folded(here), folded(schema)):
            for catalog, owner, name, kind, comment, temporary in rows:
                if (folded(catalog), folded(owner), folded(name)) == rank:
                    parts_needed = (name,) if temporary else _qualified(catalog, owner, name, here)
                    return Relation(parts_needed, kind, comment)
        return None

    @staticmethod
    def _search_order(parts: list[str], here: str, schema: str) -> list[tuple[str, str, str]]:
        if len(parts) == 3:
            return [(parts[0], parts[1], parts[2])]
        if len(parts) == 2:
            return [(here, parts[0], parts[1]), (parts[0], "main", parts[1])]
        return [("temp", "main", parts[0]), (here, schema, parts[0]), (here, "main", parts[0])]

    def relations(self, schema: str) -> list[Relation]:
        """The tables and views of a schema of this database."""
        ((here,),) = self.fetch("SELECT current_database()")
        return [
            Relation(_qualified(catalog, owner, name, here), kind, comment)
            for catalog, owner, name, kind, comment, _ in self.fetch(_CATALOG)
            if (catalog, owner) == (here, schema)
        ]

    def target(self, spelled: str) -> Relation:
        """Where a new table or view of that name would stand."""
        parts = split_name(spelled) or [spelled]
        if len(parts) == 1:
            ((schema,),) = self.fetch("SELECT current_schema()")
            parts = [schema, parts[0]]
        if len(parts) == 2:
            known = self.connection.execute(
                "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() "
                "AND lower(schema_name) = lower(?)",
                [parts[0]],
            ).fetchall()
            if not known:
                raise EngineError(f"release.to: there is no schema '{parts[0]}' in {self.location}")
            ((here,),) = self.fetch("SELECT current_database()")
            return Relation(_qualified(here, known[0][0], parts[1], here), "table")
        raise EngineError(f"release.to: '{spelled}' must be a name or schema.name")

    def comment(self, relation: Relation, text: str) -> None:
        self._run(f"COMMENT ON {relation.kind.upper()} {relation.spelled} IS {literal(text).sql(self.dialect)}")

    # -- files ------------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        try:
            statements = self.connection.extract_statements(query)
        except duckdb.Error as error:
            raise EngineError(f"source.query: cannot be parsed: {first_line(error)}") from error
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise EngineError("source.query: must be one SELECT statement")
        if statements[0].named_parameters:
            raise EngineError("source.query: must not have parameters")
        self._define_view(name, statements[0].query.rstrip().rstrip(";") + "\n", temporary)

    def define_file(self, name: exp.Table, path: str, texts: list[str], temporary: bool) -> None:
        """A view over a file. `texts`: columns to be read as they are written, so that 02139 keeps its zero."""
        suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".zst")]
        reader = _READERS.get(suffixes[-1] if suffixes else "")
        if reader is None:
            raise EngineError(f"source.file: {path}: must be a CSV, Parquet or JSON file")
        file = literal(str(Path(path).absolute())).sql(self.dialect)
        if not self.connection.execute(f"SELECT 1 FROM glob({file})").fetchall():
            raise EngineError(f"source.file: {path}: there is no such file")
        self._define_view(name, f"SELECT * FROM {reader}({file})", temporary)
        if reader == "read_csv":
            wanted = {folded(text) for text in texts}
            types = [column.name for column in self.columns(name) if folded(column.name) in wanted]
            if types:
                pairs = ", ".join(f"{literal(column).sql(self.dialect)}: 'VARCHAR'" for column in types)
                self._define_view(name, f"SELECT * FROM read_csv({file}, types = {{{pairs}}})", temporary)

    def _define_view(self, name: exp.Table, query: str, temporary: bool) -> None:
        view = name.sql(self.dialect, identify=True)
        self._run(f"CREATE OR REPLACE {'TEMP ' if temporary else ''}VIEW {view} AS {query}", "the source")

    def define_mapping(self, name: exp.Table, path: Path, width: int, delimiter: str, header: bool) -> None:
        """A hierarchy file as a temporary table level_0, level_1, … of texts."""
        columns = ", ".join(f"'level_{level}': 'VARCHAR'" for level in range(width))
        options = f"""auto_detect = false, header = {str(header).lower()}, delim = '{delimiter}', quote = '"',
            escape = '"', nullstr = '{_NO_NULL}', columns = {{{columns}}}"""
        file = literal(str(path.absolute())).sql(self.dialect)
        target = name.sql(self.dialect, identify=True)
        text = f"CREATE TEMP TABLE {target} AS SELECT DISTINCT * FROM read_csv({file}, {options})"
        self._run(text, f"hierarchy file {path.name}")

    def define_dictionary(self, name: exp.Table, kind: exp.Table, labels: exp.Table) -> bool:
        """The table (code, label) with its texts as an ENUM: a Parquet file is written several times faster from it.

        Not where that does not help: every row group holds the whole dictionary, so it must be short.
        """
        ((distinct, text),) = self.fetch(exp.select("COUNT(DISTINCT label)", "MAX(TYPEOF(label))").from_(labels))
        if text != "VARCHAR" or not 0 < distinct <= _LONGEST_DICTIONARY:
            return False
        coded, enum, known = (thing.sql(self.dialect, identify=True) for thing in (name, kind, labels))
        texts = f"SELECT DISTINCT label FROM {known} WHERE label IS NOT NULL ORDER BY label"
        self._run(f"CREATE TEMP TYPE {enum} AS ENUM ({texts})", "labels as a type")
        self._run(f"CREATE TEMP TABLE {coded} AS SELECT code, CAST(label AS {enum}) AS label FROM {known}", "labels")
        return True

    def write_file(self, query: exp.Query, path: Path, kind: str, mark: str) -> None:
        file = literal(str(path)).sql(self.dialect)
        metadata = literal(mark).sql(self.dialect)
        options = f"FORMAT parquet, KV_METADATA {{duckanon: {metadata}}}" if kind == "parquet" else "FORMAT csv, HEADER"
        self._run(
            f"COPY ({query.sql(self.dialect, identify=True)}) TO {file} ({options}, USE_TMP_FILE false)", "the release"
        )

    def define_release(self, name: exp.Table, path: Path, kind: str, columns: list[Column]) -> None:
        """A temporary view over a released file, with the types that were released."""
        file = literal(str(path)).sql(self.dialect)
        if kind == "parquet":
            self._define_view(name, f"SELECT * FROM read_parquet({file})", temporary=True)
            return
        typed = ", ".join(f"{literal(c.name).sql(self.dialect)}: {literal(c.type).sql(self.dialect)}" for c in columns)
        options = """header = true, delim = ',', quote = '"', escape = '"', allow_quoted_nulls = false"""
        query = f"SELECT * FROM read_csv({file}, auto_detect = false, columns = {{{typed}}}, {options})"
        self._define_view(name, query, temporary=True)

    def read_mark(self, path: Path) -> str | None:
        """What `write_file` wrote into a Parquet file's metadata; None for any other file."""
        try:
            rows = self.connection.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'duckanon'", [str(path)]
            ).fetchall()
        except duckdb.Error:
            return None
        return rows[0][0] if rows else None


def _qualified(catalog: str, schema: str, name: str, here: str) -> tuple[str, ...]:
    """The catalog stays out of a name, so that a view outlives a renamed file; unless both are called alike."""
    return (schema, name) if catalog == here and catalog.lower() != schema.lower() else (catalog, schema, name)


def _macros_of(home: str) -> str:
    """The script of the macros for a catalog of that name."""
    place = f"{quoted(home)}.duckanon"
    script = re.sub(r"(MACRO(?: TABLE)?) duckanon\.", rf"\1 {place}.", resources.macros())
    return script.replace("CREATE SCHEMA IF NOT EXISTS duckanon;", f"CREATE SCHEMA IF NOT EXISTS {place};")
