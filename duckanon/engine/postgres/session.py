"""A session of PostgreSQL's: its settings, how it is asked, and the transaction and the lock of a run. Whatever ends it
early leaves nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Self, TypeVar

from sqlglot import exp

from duckanon.engine.duckdb.connection import Limits
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.far import FarWarehouse, tuples_of, weighed
from duckanon.engine.heard import Heard
from duckanon.engine.postgres.catalog import HALVES, literal
from duckanon.engine.postgres.connection import Connection, connect, must_be_new_enough
from duckanon.engine.postgres.streams import streamed
from duckanon.engine.relation import Relation
from duckanon.engine.warehouse import Told
from duckanon.errors import BusyError, EngineError
from duckanon.policy.database import ServerAddress
from duckanon.query.dialects.postgres import PostgresDialect
from duckanon.query.expressions import sql

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

_BETWEEN_TRIES = 0.2  # seconds
LONGEST_NAME = 63  # bytes
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
    "default_statistics_target": "10",  # of small tables of ours, which hardly need any
}
# A run groups whole tables, on one connection: in memory, if nobody has chosen otherwise for this user or address; no
# query of it is worth compiling, nor is there one that would not read its tables whole.
_GENEROUS = """
    SELECT set_config(name, CASE name WHEN 'work_mem' THEN '256MB' ELSE 'off' END, false) FROM pg_settings
    WHERE name IN ('work_mem', 'jit', 'enable_nestloop') AND source IN ('default', 'configuration file')
        AND NOT (name = 'work_mem' AND CAST(setting AS bigint) > 262144)
"""


def steady() -> str:
    chosen = (f"set_config({literal(name)}, {literal(value)}, false)" for name, value in _STEADY.items())
    return f"SELECT {', '.join(chosen)}"


class Session(FarWarehouse):
    """A connection to PostgreSQL, as a run has it to itself."""

    words = PostgresDialect
    dialect_name = "postgres"
    called = "PostgreSQL"
    longest_name = LONGEST_NAME
    lists_numbers = False

    def __init__(self, address: ServerAddress, connection: Connection, workbench: DuckDB, writable: bool) -> None:
        super().__init__(address, workbench)
        self.connection, self.writable = connection, writable
        self._one_view = False  # of the data, for all statements
        self._path = _CATALOG  # the user's
        self._schemas: list[str] = []  # those of it that are there

    @classmethod
    def open(
        cls, address: ServerAddress, writable: bool, limits: Limits | None = None, wait: float | None = None
    ) -> Self:
        connection = connect(address, wait)
        warehouse = cls(address, connection, DuckDB.open(None, writable=True, limits=limits), writable)
        try:
            warehouse._trust_only_the_catalog()
            ((version, zone),) = warehouse.fetch(
                "SELECT CAST(current_setting('server_version_num') AS integer), current_setting('TimeZone')"
            )
            must_be_new_enough(version, address)
            for settings in (_GENEROUS, steady()):
                warehouse.fetch(settings)
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

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        """Counts come as soon as they are made, and are told as they come: to keep them here until all of them are
        there takes the server half as long as counting them."""
        if told is None:
            super().collect(name, query, note, others=others)
            return
        for part in (query, *others):
            self.workbench.note(note, part, self)
        texts = [self.said(part) for part in (query, *others)]
        self._awaited(lambda: self._brought_and_told(name, texts, told))

    def parts_of(self, relation: Relation) -> list[exp.Expr]:
        """The two halves of its pages, if it has many, each for a connection. PostgreSQL itself shares a count out only
        by having one process put all groups of the others together, which takes as long as counting does where there
        are many; the workbench does that as they come. Two connections see the same only in a transaction."""
        if not self._one_view:
            return []
        halves = self.fetch(HALVES.format(relation=literal(relation.spelled)))
        if halves:
            # Before the other connection does: who comes in between, to alter the table, would wait for that one, and
            # this one for him.
            self._run(f"LOCK TABLE {relation.spelled} IN ACCESS SHARE MODE")
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

    def _brought_and_told(self, name: exp.Table, texts: list[str], told: Told) -> None:
        with self._streams(texts) as rows:
            heard = Heard(told, len(texts))
            self.workbench.take(name, weighed(heard.passing(rows), self._came))
            heard.must_be_whole()
            if heard.refused is not None:
                self.connection.cancel()  # or the rows that nobody wants would be waited for
                raise heard.refused
        if len(texts) == 1:
            ((number,),) = self.workbench.fetch(exp.select("COUNT(*)").from_(name))
            told(number)

    @contextmanager
    def _streams(self, texts: list[str]) -> Iterator[pyarrow.RecordBatchReader]:
        """The rows of one query, or of two at the same time."""
        if len(texts) == 1:
            with self._stream(texts[0]) as rows:
                yield rows
            return
        ((snapshot,),) = tuples_of(self._all("SELECT pg_export_snapshot()"))
        self.connection.run("SET max_parallel_workers_per_gather = 0")  # each has a process of its own
        with streamed(self.connection, texts, lambda: self._another(str(snapshot))) as rows:
            yield rows
        self.connection.run("RESET max_parallel_workers_per_gather")

    @contextmanager
    def _another(self, snapshot: str) -> Iterator[Connection]:
        """A connection that sees what this one does, and only reads. It waits for nobody: who came in between waits for
        this one."""
        connection = connect(self.address, None)
        try:
            for settings in (f"SET search_path = {_CATALOG}", _GENEROUS, steady()):
                connection.run(settings)
            connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.run(f"SET TRANSACTION SNAPSHOT {literal(snapshot)}")
            connection.run("SET LOCAL max_parallel_workers_per_gather = 0")
            connection.run("SET LOCAL lock_timeout = '100ms'")
            with self.connection.beside(connection):
                yield connection
        finally:
            connection.close()

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
            self._one_view = True
            yield
            self._commit()
        except BaseException:
            with suppress(EngineError):  # of a server that has gone
                self._run("ROLLBACK")
            raise
        finally:
            self._one_view = False

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
