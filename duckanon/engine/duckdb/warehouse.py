"""A warehouse that is a DuckDB: the workbench is the same connection, and nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

import duckdb
from sqlglot import exp

from duckanon import resources
from duckanon.engine.duckdb.catalog import CATALOG, find, known, qualified
from duckanon.engine.duckdb.connection import Limits, connect
from duckanon.engine.duckdb.files import text
from duckanon.engine.duckdb.source_files import find_files, patterns_of
from duckanon.engine.duckdb.sources import Sources
from duckanon.engine.duckdb.spill import Spill
from duckanon.engine.nearest import nearest
from duckanon.engine.relation import ReadFile, Reading, Relation
from duckanon.engine.warehouse import Told
from duckanon.engine.workbench import Workbench
from duckanon.errors import EngineError
from duckanon.query.expressions import create, drop, sql
from duckanon.query.names import split_name
from duckanon.query.steps import united


class DuckDB(Workbench):
    """A connection to DuckDB: the warehouse and its own workbench."""

    dialect_name = "duckdb"
    longest_name: int | None = None
    transactional = True
    keeps_ledger = True
    guards_views = True
    keeps_order = True
    lists_numbers = True
    most_sent: int | None = None
    folders = None

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, location: str, persistent: bool, spill: Spill | None = None
    ) -> None:
        """`spill`: of a connection that is ours, and to be closed."""
        super().__init__(connection)
        self.location = location
        self.persistent = persistent
        self._spill = spill
        self._sources = Sources(self)

    @classmethod
    def open(cls, path: Path | None, writable: bool, limits: Limits | None = None, wait: float | None = None) -> DuckDB:
        """Open a database file, or an empty database in memory. `wait`: seconds for another process to leave it, where
        that can be chosen."""
        location = "the database in memory" if path is None else str(path)
        connection, spill = connect(path, writable, limits or Limits(), wait)
        return cls(connection, location, persistent=path is not None, spill=spill)

    @classmethod
    def wrap(cls, connection: duckdb.DuckDBPyConnection) -> DuckDB:
        """Use a connection that the caller owns; it is left open, and as it was."""
        first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
        if first == second:  # outside a transaction every statement has one of its own
            raise EngineError("the connection has an open transaction; commit it or roll it back first")
        return cls(connection, "the connected database", persistent=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._spill is not None:
            self.connection.close()
            self._spill.close()

    @property
    def workbench(self) -> Workbench:
        return self

    @property
    def is_workbench(self) -> bool:
        return True

    @property
    def may_keep(self) -> bool:
        return False  # the workbench has them

    @property
    def database(self) -> Path | None:
        ((path,),) = self.fetch("SELECT path FROM duckdb_databases() WHERE database_name = current_database()")
        return Path(path) if path else None

    # -- asking -----------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.run("BEGIN")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # the failing statement may have ended the transaction already
                self.connection.execute("ROLLBACK")
            raise

    def parts_of(self, relation: Relation) -> list[exp.Expr]:
        return []  # its threads do that

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        """Nothing is copied: what is counted is there already, and DuckDB says its number."""
        ((rows,),) = self.fetch(create("TABLE", name, united([query, *others]), temporary=True), note)
        if told is not None:
            told(rows)

    def shared_out(self) -> AbstractContextManager[None]:
        return nullcontext()  # it always does

    def meanwhile(self, work: Callable[[], object]) -> AbstractContextManager[None]:
        return nullcontext()  # it is never idle

    def send(self, name: exp.Table, query: exp.Query, note: str) -> None:
        self.collect(name, query, note)

    def keep(self, name: exp.Table, query: exp.Query, note: str) -> None:
        self.execute(create("TABLE", name, query), note)

    def one_at_a_time(self, address: tuple[str, ...] | None, wait: float) -> AbstractContextManager[None]:
        return nullcontext()  # a database file has one writer

    # -- the catalog ------------------------------------------------------------------------------

    def find(self, spelled: str) -> Relation | None:
        ((here, schema),) = self.fetch("SELECT current_database(), current_schema()")
        return find(spelled, self.fetch(CATALOG), here, schema)

    def nearest(self, spelled: str) -> str:
        ((here, schema),) = self.fetch("SELECT current_database(), current_schema()")
        return nearest(spelled, known(self.fetch(CATALOG), here), schema)

    def definition(self, relation: Relation) -> str | None:
        schema, name = relation.parts[-2:] if len(relation.parts) > 1 else ("main", relation.parts[0])
        found = self.connection.execute(
            "SELECT sql FROM duckdb_views() WHERE schema_name = ? AND view_name = ? AND NOT temporary", [schema, name]
        ).fetchall()
        return found[0][0] if found else None

    def relations(self, schema: str) -> list[Relation]:
        ((here,),) = self.fetch("SELECT current_database()")
        return [
            Relation(qualified(catalog, owner, name, here), kind, comment)
            for catalog, owner, name, kind, comment, _ in self.fetch(CATALOG)
            if (catalog, owner) == (here, schema)
        ]

    def target(self, spelled: str) -> Relation:
        parts = split_name(spelled) or [spelled]
        if len(parts) == 1:
            ((schema,),) = self.fetch("SELECT current_schema()")
            parts = [schema, parts[0]]
        if len(parts) == 2:
            found = self.connection.execute(
                "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() "
                "AND lower(schema_name) = lower(?)",
                [parts[0]],
            ).fetchall()
            if not found:
                raise EngineError(f"release.to: there is no schema '{parts[0]}' in {self.location}")
            ((here,),) = self.fetch("SELECT current_database()")
            return Relation(qualified(here, found[0][0], parts[1], here), "table")
        raise EngineError(f"release.to: '{spelled}' must be a name or schema.name")

    def must_have_room_for_our_schema(self) -> None:
        """In a database that is itself called duckanon, no name of the schema duckanon could be resolved."""
        ((here,),) = self.fetch("SELECT current_database()")
        if here.lower() == "duckanon":
            what = "is a database called duckanon, in which a schema of that name would be ambiguous"
            raise EngineError(f"{self.location}: {what}; rename the file")

    def make_our_schema(self) -> None:
        self.must_have_room_for_our_schema()
        self.execute(sql("CREATE SCHEMA IF NOT EXISTS duckanon"))

    def written_order(self) -> exp.Expr:
        return sql("rowid")

    def install_macros(self) -> int:
        """Put the analysts' macros into the warehouse itself, for good; says how many there are."""
        self.must_have_room_for_our_schema()
        with self.transaction():
            self.run(resources.macros())
        counted = "SELECT count(DISTINCT function_name) FROM duckdb_functions() WHERE schema_name = 'duckanon' "
        ((count,),) = self.run(counted + "AND database_name = current_database()").fetchall()
        return int(count)

    # -- the source -------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        self._sources.define_query(name, query, temporary)

    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile:
        return self._sources.define_file(name, path, reading, rows)

    def source_files(self, path: str) -> list[Path]:
        return [Path(file) for file in find_files(path, self.fetch).paths]

    def source_patterns(self, path: str) -> list[str]:
        return patterns_of(path)

    def database_files(self) -> list[Path]:
        if not self.persistent:
            return []
        paths = [path for (path,) in self.fetch("SELECT path FROM duckdb_databases() WHERE path IS NOT NULL")]
        return [Path(path + ending) for path in paths for ending in ("", ".wal")]

    # -- the release ------------------------------------------------------------------------------

    def make_way(self, standing: Relation) -> None:
        self.execute(drop(standing.kind.upper(), standing.table))

    def is_read_by(self, rows: exp.Table, standing: Relation) -> bool:
        return False  # it is gone

    def publish(self, relation: Relation, query: exp.Query, mark: str) -> Relation:
        """In its place at once: nobody sees it before the transaction ends."""
        self.execute(create(relation.kind.upper(), relation.table, query), "the release")
        self.comment(relation, mark)
        return relation

    def let_in(self, published: Relation, relation: Relation) -> None:
        pass

    def comment(self, relation: Relation, said: str) -> None:
        self.run(f"COMMENT ON {relation.kind.upper()} {relation.spelled} IS {text(said)}")
