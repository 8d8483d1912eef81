"""DuckDB, embedded: the default engine, and the one that searches."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from duckanon import resources
from duckanon.engine import Column, Executed, ReadFile, Reading, Relation
from duckanon.engine.catalog import CATALOG, nearest, qualified, resolve
from duckanon.engine.client_errors import explained, first_line, translated
from duckanon.engine.files import copy_options, escaped, inside, read_back, text, written
from duckanon.engine.macros import ASKED, macros_for
from duckanon.engine.opening import Limits, connect
from duckanon.engine.source_csv import csv_columns, dialect, interpret, later_texts, texts
from duckanon.engine.source_csv_faults import csv_fault
from duckanon.engine.source_files import SourceFiles, find_files, must_agree, patterns_of
from duckanon.engine.spill import Spill
from duckanon.engine.types import is_number
from duckanon.errors import EngineError, Message
from duckanon.policy import CsvOptions, Release
from duckanon.query.expressions import table
from duckanon.query.names import quoted, split_name

_LONGEST_DICTIONARY = 10_000  # labels


class DuckDB:
    """A connection to DuckDB: the warehouse and the place of the search at once."""

    dialect = "duckdb"

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, location: str, persistent: bool, spill: Spill | None = None
    ) -> None:
        """`spill`: of a connection that is ours, and to be closed."""
        self.connection = connection
        self.location = location
        self.persistent = persistent
        self._trace: list[Executed] | None = None
        self._spill = spill
        self._macros: str | None = None

    @classmethod
    def open(cls, path: Path | None, writable: bool, limits: Limits | None = None, wait: float | None = None) -> DuckDB:
        """Open a database file, or an empty database in memory. `wait`: seconds for another process to leave it, where
        that can be chosen."""
        location = "the database in memory" if path is None else str(path)
        connection, spill = connect(path, writable, limits or Limits(), wait)
        return cls(connection, location, persistent=path is not None, spill=spill)

    @classmethod
    def wrap(cls, connection: duckdb.DuckDBPyConnection) -> DuckDB:
        """Use a connection that the caller owns; it is left open."""
        first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first == second:  # outside a transaction every statement has one of its own
            raise EngineError("the connection has an open transaction; commit it or roll it back first")
        return cls(connection, "the connected database", persistent=True)

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._macros is not None and self._spill is None:
            with suppress(duckdb.Error):  # whatever went wrong before is the error to see
                self.connection.execute(f"DETACH {quoted(self._macros)}")
        self._macros = None
        if self._spill is not None:
            self.connection.close()
            self._spill.close()

    # -- asking -----------------------------------------------------------------------------------

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None:
        """`bound`: the values of the statement's parameters; they reach the database beside its text."""
        self._run(statement, note, bound)

    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]:
        with translated(query):
            return self._run(query, note).fetchall()

    def _run(
        self, statement: exp.Expr | str, note: str = "", bound: Mapping[str, bytes] | None = None
    ) -> duckdb.DuckDBPyConnection:
        if self._trace is not None:
            self._trace.append(Executed(note, statement))
        text = statement if isinstance(statement, str) else statement.sql(self.dialect, identify=True)
        with translated(text):
            return self.connection.execute(text, dict(bound)) if bound else self.connection.execute(text)

    @contextmanager
    def traced(self) -> Iterator[list[Executed]]:
        """Gives the statements that are executed within."""
        self._trace = executed = list[Executed]()
        try:
            yield executed
        finally:
            self._trace = None

    def macro(self, name: str, *arguments: exp.Expr) -> exp.Table:
        """One of the analysts' macros, to select from; they live in a catalog of their own, not the user's."""
        assert name in ASKED, name
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
            self._run(macros_for(home))
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
        return is_number(column.type)

    def is_date(self, column: Column) -> bool:
        return column.type == "DATE" or column.type.startswith("TIMESTAMP")

    def find(self, spelled: str) -> Relation | None:
        """The table or view of that name: as SQL spells it, or else an odd name given bare."""
        parts = split_name(spelled)
        found = self._lookup(parts) if parts and len(parts) <= 3 else None
        return found or self._lookup([spelled])

    def _lookup(self, parts: list[str]) -> Relation | None:
        ((here, schema),) = self.fetch("SELECT current_database(), current_schema()")
        return resolve(parts, self.fetch(CATALOG), here, schema)

    def definition(self, relation: Relation) -> str | None:
        """The query of a view; None: it is a table."""
        schema, name = relation.parts[-2:] if len(relation.parts) > 1 else ("main", relation.parts[0])
        found = self.connection.execute(
            "SELECT sql FROM duckdb_views() WHERE schema_name = ? AND view_name = ? AND NOT temporary", [schema, name]
        ).fetchall()
        return found[0][0] if found else None

    def nearest(self, spelled: str) -> str:
        """What to do about a name that means no table or view: the one that was meant, or what there is."""
        ((here, schema),) = self.fetch("SELECT current_database(), current_schema()")
        return nearest(spelled, self.fetch(CATALOG), here, schema)

    def relations(self, schema: str) -> list[Relation]:
        """The tables and views of a schema of this database."""
        ((here,),) = self.fetch("SELECT current_database()")
        return [
            Relation(qualified(catalog, owner, name, here), kind, comment)
            for catalog, owner, name, kind, comment, _ in self.fetch(CATALOG)
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
            return Relation(qualified(here, known[0][0], parts[1], here), "table")
        raise EngineError(f"release.to: '{spelled}' must be a name or schema.name")

    def comment(self, relation: Relation, said: str) -> None:
        self._run(f"COMMENT ON {relation.kind.upper()} {relation.spelled} IS {text(said)}")

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
        with explained("source.query"):
            self._define_view(name, statements[0].query.rstrip().rstrip(";") + "\n", temporary)

    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile:
        """A view over files; temporary if it may keep the `rows` of CSV files in a temporary table, read once."""
        files = find_files(path, self.fetch)
        with explained(f"source.file: {path}"):
            if files.reader == "read_csv":
                return self._define_csv(name, files, reading, rows)
            if reading.csv != CsvOptions():
                raise EngineError("source.csv: is for CSV files only")
            must_agree(files, self.fetch)
            self._define_view(name, files.reading(reading.texts), rows is not None)
        return ReadFile()

    def _define_csv(self, name: exp.Table, files: SourceFiles, reading: Reading, rows: exp.Table | None) -> ReadFile:
        kept = (rows or table(f"{name.name} {secrets.token_hex(4)}")).sql(self.dialect, identify=True)
        said = None
        try:
            said = dialect(files, reading.csv, self.fetch)
            inside = must_agree(files, self.fetch, lambda path: csv_columns(path, said, self.fetch))
            self._run(f"CREATE TEMP TABLE {kept} AS {texts(files, said)}", "the source, every field a text")
        except EngineError as error:
            if not isinstance(error.__cause__, duckdb.InvalidInputException):
                raise
            fault = csv_fault(files, said, error, self._fetch_apart)
            raise EngineError(Message.of(f"source.file: {files.named}: ", fault)) from error.__cause__
        shown = [c.name for c in self.columns(exp.to_table(kept, dialect=self.dialect))]  # with the folders' columns
        found = interpret(kept, shown, reading, self.fetch)
        if rows is not None:
            self._define_view(name, found.query(kept, shown, strict=True), temporary=True)
        else:
            self._run(f"DROP TABLE {kept}")
            later = later_texts(files, said, inside, shown)
            self._define_view(name, found.query(f"({later})", shown, strict=False), temporary=False)
        return ReadFile(found.misfits, found.texts(shown))

    def _fetch_apart(self, query: str) -> list[tuple[Any, ...]]:
        """Outside of the transaction, which an error has ended."""
        with translated(query), self.connection.cursor() as apart:
            return apart.execute(query).fetchall()

    def source_files(self, path: str) -> list[Path]:
        return [Path(file) for file in find_files(path, self.fetch).paths]

    def source_patterns(self, path: str) -> list[str]:
        return patterns_of(path)

    def database_files(self) -> list[Path]:
        """The databases at hand, with what DuckDB keeps beside them."""
        paths = [path for (path,) in self.fetch("SELECT path FROM duckdb_databases() WHERE path IS NOT NULL")]
        return [Path(path + ending) for path in paths for ending in ("", ".wal")]

    def _define_view(self, name: exp.Table, query: str, temporary: bool) -> None:
        view = name.sql(self.dialect, identify=True)
        self._run(f"CREATE OR REPLACE {'TEMP ' if temporary else ''}VIEW {view} AS {query}", "the source")

    def define_mapping(self, name: exp.Table, path: Path, width: int, delimiter: str, header: bool) -> None:
        """A hierarchy file as a temporary table level_0, level_1, … of texts: every cell is a value, the empty one
        too, and none is NULL."""
        levels = [f"'level_{level}'" for level in range(width)]
        columns = ", ".join(f"{level}: 'VARCHAR'" for level in levels)
        options = f"""auto_detect = false, header = {str(header).lower()}, delim = '{delimiter}', quote = '"',
            escape = '"', force_not_null = [{", ".join(levels)}], columns = {{{columns}}}"""
        rows = f"SELECT DISTINCT * FROM read_csv({text(escaped(path.absolute()))}, {options})"
        self._run(f"CREATE TEMP TABLE {name.sql(self.dialect, identify=True)} AS {rows}", f"hierarchy file {path.name}")

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

    def write_file(self, query: exp.Query, path: Path, release: Release, metadata: dict[str, str]) -> None:
        rows, options = query.sql(self.dialect, identify=True), copy_options(release, metadata)
        if release.options.escape_formulas:
            columns = [Column(row[0], row[1]) for row in self.fetch(f"DESCRIBE {rows}")]
            rows = f"SELECT {written(columns, release)} FROM ({rows})"
        with self._one_thread() if release.options.partition_by else nullcontext():
            self._run(f"COPY ({rows}) TO {text(str(path))} ({options})", "the release")

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Several threads would write the rows of a partition in whatever order they come by; and none is faster."""
        ((threads,),) = self.fetch("SELECT current_setting('threads')")
        self._run("SET threads = 1")
        try:
            yield
        finally:
            with suppress(duckdb.Error):
                self.connection.execute(f"SET threads = {threads}")

    def define_release(self, name: exp.Table, path: Path, release: Release, columns: list[Column]) -> None:
        """A temporary view over the files of a release, with the types that were released."""
        self._define_view(name, read_back(path, release, columns), temporary=True)

    def release_columns(self, path: Path, release: Release) -> list[str]:
        """The columns that stand in the files of a release; numbered ones if these do not name them."""
        with explained(f"release.to: {path} cannot be read as {release.kind}"):
            return [row[0] for row in self.fetch(f"DESCRIBE {inside(path, release)}")]

    def read_mark(self, path: Path) -> str | None:
        """What `write_file` wrote into a Parquet file's metadata; None for any other file."""
        if not path.is_file():
            return None
        try:
            rows = self.connection.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'duckanon'", [escaped(path)]
            ).fetchall()
        except duckdb.Error:
            return None
        return rows[0][0] if rows else None
