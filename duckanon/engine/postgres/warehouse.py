"""A warehouse that is a PostgreSQL: the run is one transaction there, and whatever ends it early leaves nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from duckanon.engine.duckdb.connection import Limits
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.far import FarWarehouse, tuples_of, weighed
from duckanon.engine.heard import Heard
from duckanon.engine.nearest import nearest
from duckanon.engine.postgres.catalog import HALVES, RELATIONS, column_of, columns_query, literal, relation_of, sql_name
from duckanon.engine.postgres.connection import Connection, connect, must_be_new_enough
from duckanon.engine.postgres.replaced import Replaced
from duckanon.engine.postgres.rights import closed, must_show_all_the_same
from duckanon.engine.relation import Relation
from duckanon.engine.types import Column
from duckanon.engine.warehouse import Told
from duckanon.errors import BusyError, EngineError
from duckanon.policy.database import ServerAddress
from duckanon.query.dialects.postgres import PostgresDialect
from duckanon.query.expressions import sql
from duckanon.query.names import quoted

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

_BETWEEN_TRIES = 0.2  # seconds
_LONGEST_NAME = 63  # bytes
_CATALOG = "pg_catalog"
_PATH = f"""
    SELECT {_CATALOG}.current_setting('search_path'), CAST({_CATALOG}.current_schemas(false) AS {_CATALOG}.text[])
"""
# Texts, and literals, are what they are here, whatever was chosen for this user, database or address.
_STEADY = {
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
}
# A run groups whole tables, on one connection: in memory, if nobody has chosen otherwise for this user or address; no
# query of it is worth compiling, nor is there one that would not read its tables whole.
_GENEROUS = """
    SELECT set_config(name, CASE name WHEN 'work_mem' THEN '256MB' ELSE 'off' END, false) FROM pg_settings
    WHERE name IN ('work_mem', 'jit', 'enable_nestloop') AND source IN ('default', 'configuration file')
        AND NOT (name = 'work_mem' AND CAST(setting AS bigint) > 262144)
"""


class Postgres(FarWarehouse):
    """A connection to PostgreSQL."""

    words = PostgresDialect
    dialect_name = "postgres"
    called = "PostgreSQL"
    longest_name = _LONGEST_NAME

    def __init__(self, address: ServerAddress, connection: Connection, workbench: DuckDB, writable: bool) -> None:
        super().__init__(address, workbench)
        self.connection, self.writable = connection, writable
        self._replaced: Replaced | None = None  # what the release takes the place of
        self._path = _CATALOG  # the user's
        self._schemas: list[str] = []  # those of it that are there

    @classmethod
    def open(
        cls, address: ServerAddress, writable: bool, limits: Limits | None = None, wait: float | None = None
    ) -> Postgres:
        connection = connect(address, wait)
        warehouse = cls(address, connection, DuckDB.open(None, writable=True, limits=limits), writable)
        try:
            warehouse._trust_only_the_catalog()
            ((version, zone),) = warehouse.fetch(
                "SELECT CAST(current_setting('server_version_num') AS integer), current_setting('TimeZone')"
            )
            must_be_new_enough(version, address)
            warehouse.fetch(_GENEROUS)
            for name, value in _STEADY.items():
                warehouse._run(f"SET {name} = {literal(value)}")
            warehouse._live_in(zone)
        except BaseException:
            warehouse.close()
            raise
        return warehouse

    def _trust_only_the_catalog(self) -> None:
        """Functions and operators of ours are PostgreSQL's own: one that somebody has put into a schema of the search
        path, such as a count of texts, would be called in their place, with the rights of this user."""
        ((self._path, schemas),) = self.fetch(_PATH)
        # A user called duckanon has our schema in its path as soon as it is there, and releases nothing to it.
        self._schemas = [schema for schema in schemas if schema != "duckanon"]
        self._run(f"SET search_path = {_CATALOG}")

    @contextmanager
    def _users_path(self) -> Iterator[None]:
        """Within, names mean what they mean to the user."""
        self.fetch(f"SELECT set_config('search_path', {literal(self._path)}, false)")
        try:
            yield
        finally:
            with suppress(EngineError):  # after an error, the end of the transaction does it
                self._run(f"SET search_path = {_CATALOG}")

    def _disconnect(self) -> None:
        self.connection.close()

    @property
    def may_keep(self) -> bool:
        return self.writable  # else the transaction only reads

    # -- asking -----------------------------------------------------------------------------------

    def _awaited(self, work: Callable[[], T]) -> T:
        return self.connection.awaited(work)

    def _run(self, text: str) -> None:
        self._awaited(lambda: self.connection.run(text))

    def _stream(self, text: str) -> AbstractContextManager[pyarrow.RecordBatchReader]:
        return self.connection.stream(text)

    def collect(self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, parts: int = 1) -> None:
        """Counts come as soon as they are made, and are told as they come: to keep them here until all of them are
        there takes the server half as long as counting them."""
        if told is None:
            super().collect(name, query, note, parts=parts)
            return
        self.workbench.note(note, query, self)
        text = self.said(query)
        with self.shared_out() if parts > 1 else nullcontext():
            self._awaited(lambda: self._brought_and_told(name, text, told, parts))

    def parts_of(self, relation: Relation) -> list[exp.Expr]:
        """The two halves of its pages, if it has many. PostgreSQL itself shares a count out only by having one process
        put all groups of the others together, which takes as long as counting does where there are many; the workbench
        does that as they come."""
        halves = self.fetch(HALVES.format(relation=literal(relation.spelled)))
        page = [sql("CAST(:page AS TID)", page=exp.Literal.string(f"({half},0)")) for (half,) in halves]
        return [sql(f"ctid {side} :page", page=begin) for begin in page for side in ("<", ">=")]

    @contextmanager
    def shared_out(self) -> Iterator[None]:
        """As far as max_parallel_workers_per_gather lets it: a new table has no statistics, and no few groups."""
        costs = ("parallel_setup_cost", "parallel_tuple_cost")
        for cost in costs:
            self._run(f"SET {cost} = 0")
        try:
            yield
        finally:
            with suppress(EngineError):  # after an error, the end of the transaction does it
                for cost in costs:
                    self._run(f"RESET {cost}")

    def _brought_and_told(self, name: exp.Table, text: str, told: Told, parts: int) -> None:
        with self._stream(text) as rows:
            heard = Heard(told, parts)
            self.workbench.take(name, weighed(heard.passing(rows), self._came), added=parts > 1)
            heard.must_be_whole()
            if heard.refused is not None:
                self.connection.cancel()  # or the rows that nobody wants would be waited for
                raise heard.refused
        ((number,),) = self.workbench.fetch(exp.select("COUNT(*)").from_(name))
        told(number)

    def _take(self, name: exp.Table, rows: pyarrow.RecordBatchReader, temporary: bool) -> None:
        self.connection.ingest(name.name, rows, None if temporary else name.db)
        # Nobody else does it for a temporary table: a join with ten rows would be planned for 1,270.
        self.connection.run(f"ANALYZE {name.sql(self.dialect, identify=True)}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What only reads says so, and the server holds it to that."""
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ" + ("" if self.writable else " READ ONLY"))
        try:
            self._must_be_writable()
            self._run("SET LOCAL idle_in_transaction_session_timeout = 0")  # a search on the workbench may take long
            yield
            self._commit()
        except BaseException:
            with suppress(EngineError):  # of a server that has gone
                self._run("ROLLBACK")
            raise

    def _must_be_writable(self) -> None:
        """Said before anything is counted."""
        from duckanon.engine.postgres.client_errors import READ_ONLY

        if self.writable and self.fetch("SELECT current_setting('transaction_read_only')") == [("on",)]:
            raise EngineError(f"{self.location}: {READ_ONLY}")

    def _commit(self) -> None:
        """An interrupt comes too late here: it must not be told that nothing was written."""
        from duckanon.engine.postgres.client_errors import LostError

        try:
            self.connection.uninterrupted(lambda: self.connection.run("COMMIT"))
        except LostError as error:
            what = "the connection was lost just when the release was let in, and may stand or not"
            raise EngineError(f"{what}; `duckanon status` tells, or run again", error.sql) from error.__cause__

    @contextmanager
    def one_at_a_time(self, address: tuple[str, ...] | None, wait: float) -> Iterator[None]:
        """The server lets go of the lock when the connection ends, however it ends."""
        if address is None or len(address) == 1:  # a file
            yield
            return
        place = self.target(address[0]).spelled
        key = f"hashtextextended({literal('duckanon ' + place)}, 0)"
        end = time.monotonic() + wait
        while not self.fetch(f"SELECT pg_try_advisory_lock({key})")[0][0]:
            if time.monotonic() >= end:
                remedy = f"it was waited for {wait:g} seconds" if wait else "wait for it with --wait SECONDS"
                raise BusyError(f"another run that releases to {address[0]} is under way; {remedy}")
            time.sleep(_BETWEEN_TRIES)
        try:
            yield
        finally:
            with suppress(EngineError):
                self.fetch(f"SELECT pg_advisory_unlock({key})")

    # -- the catalog ------------------------------------------------------------------------------

    def find(self, spelled: str) -> Relation | None:
        for parts in filter(None, (sql_name(spelled), (spelled,))):
            for schema in ("pg_temp", *self._schemas) if len(parts) == 1 else (parts[0],):
                name = quoted(schema, parts[-1])
                found = self.fetch(RELATIONS.format(condition=f"c.oid = to_regclass({literal(name)})"))
                if found:
                    return relation_of(found[0])
        return None

    def nearest(self, spelled: str) -> str:
        ours = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'duckanon') AND n.nspname !~ '^pg_(toast|temp)'"
        known = [relation_of(row).parts for row in self.fetch(RELATIONS.format(condition=ours))]
        return nearest(spelled, [(parts[0], parts[-1]) for parts in known], self._schema())

    def _schema(self) -> str:
        if not self._schemas:
            raise EngineError(f"{self.location}: no schema of the search path is there; name one: schema.table")
        return self._schemas[0]

    def columns(self, relation: exp.Table) -> list[Column]:
        return [column_of(row) for row in self.fetch(columns_query(relation))]

    def definition(self, relation: Relation) -> str | None:
        if relation.kind != "view":
            return None
        ((text,),) = self.fetch(f"SELECT pg_get_viewdef(to_regclass({literal(relation.spelled)}))")
        return str(text)

    def relations(self, schema: str) -> list[Relation]:
        found = self.fetch(RELATIONS.format(condition=f"n.nspname = {literal(schema)}"))
        return [relation_of(row) for row in found]

    def target(self, spelled: str) -> Relation:
        *schemas, last = sql_name(spelled) or (spelled,)
        schema = schemas[0] if schemas else self._schema()
        if not self.fetch(f"SELECT 1 FROM pg_namespace WHERE nspname = {literal(schema)}"):
            raise EngineError(f"release.to: there is no schema '{schema}' in {self.location}")
        if len(last.encode()) > _LONGEST_NAME:
            raise EngineError(f"release.to: the name is longer than PostgreSQL's longest, {_LONGEST_NAME} bytes")
        return Relation((schema, last), "table")

    def make_our_schema(self) -> None:
        """Not by IF NOT EXISTS, which takes the privilege to create one even where it is there."""
        if self.fetch("SELECT 1 FROM pg_namespace WHERE nspname = 'duckanon'"):
            return
        ((may, user),) = self.fetch(
            "SELECT has_database_privilege(current_database(), 'CREATE'), CAST(current_user AS text)"
        )
        if not may:
            what = "there is no schema duckanon, and the user may not create it; somebody who may"
            remedy = f"CREATE SCHEMA duckanon; GRANT USAGE, CREATE ON SCHEMA duckanon TO {quoted(user)}"
            raise EngineError(f"{self.location}: {what}: {remedy}")
        super().make_our_schema()

    def written_order(self) -> exp.Expr:
        return sql("ctid")

    # -- the source -------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        from duckanon.engine.duckdb.client_errors import explained

        if temporary:
            self._must_take_temporary_views()
        view = name.sql(self.dialect, identify=True)
        inner = query.rstrip().rstrip(";")
        made = f"CREATE {'TEMP ' if temporary else ''}VIEW {view} AS SELECT * FROM (\n{inner}\n) AS source"
        self.workbench.note("the source", made, self)
        with explained("source.query"), self._users_path():
            self._run(made)
        if not temporary:
            self._close(name)

    def _must_take_temporary_views(self) -> None:
        may = "has_database_privilege(current_database(), 'TEMPORARY')"
        ((allowed, read_only),) = self.fetch(f"SELECT {may}, current_setting('transaction_read_only')")
        if not allowed or read_only == "on":
            why = (
                "the server, or the user, may only read" if allowed else "permission denied to create temporary tables"
            )
            raise EngineError(f"source.query: {why}; make it a view, and name that in source.table")

    # -- the release ------------------------------------------------------------------------------

    def _fetch_apart(self, query: str) -> list[tuple[Any, ...]]:
        """Outside of the transaction, which sees the catalog as it was when it began."""
        connection = connect(self.address, None)
        try:
            with connection.stream(query) as rows:
                return tuples_of(rows.read_all())
        finally:
            connection.close()

    def make_way(self, standing: Relation) -> None:
        """A table stands until the new one is verified; a view goes at once, with what is kept for it."""
        self._replaced = Replaced(standing, self.fetch, self._fetch_apart, self._run)
        if standing.kind == "view":
            self._replaced.remove()

    def publish(self, relation: Relation, query: exp.Query, mark: str) -> Relation:
        if relation.kind == "view":
            if self._replaced is not None:
                self._replaced.rights.must_be_ours()
                self._replaced.remove()
            self._publish_view(relation, query)
            self.comment(relation, mark)
            return relation
        beside = Relation((relation.parts[0], f"duckanon_{time.time_ns():x}"), "table")
        self.execute(exp.Create(this=beside.table, kind="TABLE", expression=query), "the release")
        self.comment(beside, mark)
        return beside

    def _publish_view(self, relation: Relation, query: exp.Query) -> None:
        self._run(f"CREATE VIEW {relation.spelled} WITH (security_barrier) AS {self.said(query)}")
        self.workbench.note("the release", query, self)
        must_show_all_the_same(relation, self.fetch)

    def let_in(self, published: Relation, relation: Relation) -> None:
        if self._replaced is not None:
            self._replaced.remove()
        if published != relation:
            self._run(f"ALTER TABLE {published.spelled} RENAME TO {quoted(relation.parts[-1])}")
        if self._replaced is not None:
            self._replaced.hand_over(relation)

    def keep(self, name: exp.Table, query: exp.Query, note: str) -> None:
        """What is kept for a view is for nobody else: not even for those to whom all new tables are open."""
        super().keep(name, query, note)
        self._close(name)

    def _close(self, name: exp.Table) -> None:
        for statement in closed(Relation((name.db, name.name), "table"), self.fetch):
            self._run(statement)

    def comment(self, relation: Relation, said: str) -> None:
        self._run(f"COMMENT ON {relation.kind.upper()} {relation.spelled} IS {literal(said)}")
