"""A warehouse that is a PostgreSQL: the run is one transaction there, and whatever ends it early leaves nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.engine.duckdb.connection import Limits
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.far import FarWarehouse
from duckanon.engine.nearest import nearest
from duckanon.engine.postgres.catalog import RELATIONS, column_of, columns_query, literal, relation_of, sql_name
from duckanon.engine.postgres.connection import connect, must_be_new_enough
from duckanon.engine.postgres.rights import Rights, read_rights
from duckanon.engine.relation import Relation
from duckanon.engine.types import Column
from duckanon.errors import BusyError, EngineError
from duckanon.policy.database import ServerAddress
from duckanon.query.dialects.postgres import PostgresDialect
from duckanon.query.expressions import drop, sql
from duckanon.query.names import quoted

if TYPE_CHECKING:
    import pyarrow

_BETWEEN_TRIES = 0.2  # seconds
# A run groups whole tables, on one connection: in memory, if nobody has chosen otherwise for this user or address; and
# no query of it is worth compiling.
_GENEROUS = """
    SELECT set_config(name, CASE name WHEN 'jit' THEN 'off' ELSE '256MB' END, false) FROM pg_settings
    WHERE name IN ('work_mem', 'jit') AND source IN ('default', 'configuration file')
        AND NOT (name = 'work_mem' AND CAST(setting AS bigint) > 262144)
"""


class Postgres(FarWarehouse):
    """A connection to PostgreSQL."""

    words = PostgresDialect
    dialect_name = "postgres"
    called = "PostgreSQL"
    longest_name = 63  # bytes

    def __init__(self, address: ServerAddress, connection: Any, workbench: DuckDB) -> None:
        super().__init__(address, workbench)
        self.connection = connection
        self._rights: Rights | None = None  # to what the release will take the place of

    @classmethod
    def open(cls, address: ServerAddress, limits: Limits | None = None, wait: float | None = None) -> Postgres:
        connection = connect(address, wait)
        warehouse = cls(address, connection, DuckDB.open(None, writable=True, limits=limits))
        try:
            ((version, zone),) = warehouse.fetch(
                "SELECT CAST(current_setting('server_version_num') AS integer), current_setting('TimeZone')"
            )
            must_be_new_enough(version, address)
            warehouse.fetch(_GENEROUS)
            with suppress(EngineError):  # a zone that only the server knows
                warehouse.workbench.run(f"SET TimeZone = {literal(zone)}")
        except BaseException:
            warehouse.close()
            raise
        return warehouse

    def _disconnect(self) -> None:
        from adbc_driver_manager import Error

        with suppress(Error):  # of a server that has gone
            self.connection.close()

    # -- asking -----------------------------------------------------------------------------------

    def _run(self, text: str) -> None:
        from duckanon.engine.postgres.client_errors import translated

        with translated(text), self.connection.cursor() as cursor:
            cursor.execute(text)

    @contextmanager
    def _stream(self, text: str) -> Iterator[pyarrow.RecordBatchReader]:
        from duckanon.engine.postgres.client_errors import translated

        with translated(text), self.connection.cursor() as cursor:
            cursor.execute(text)
            yield cursor.fetch_record_batch()

    def _take(self, name: exp.Table, rows: pyarrow.RecordBatchReader, temporary: bool) -> None:
        from duckanon.engine.postgres.client_errors import translated

        place = {"temporary": True} if temporary else {"db_schema_name": name.db}
        with translated(name.sql(self.dialect)), self.connection.cursor() as cursor:
            cursor.adbc_ingest(name.name, rows, mode="create", **place)
        # Nobody else does it for a temporary table: a join with ten rows would be planned for 1,270.
        self._run(f"ANALYZE {name.sql(self.dialect, identify=True)}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(EngineError):  # of a server that has gone
                self._run("ROLLBACK")
            raise

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
        for name in filter(None, (sql_name(spelled), quoted(spelled))):
            found = self.fetch(RELATIONS.format(condition=f"c.oid = to_regclass({literal(name)})"))
            if found:
                return relation_of(found[0])
        return None

    def nearest(self, spelled: str) -> str:
        ours = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'duckanon') AND n.nspname !~ '^pg_(toast|temp)'"
        known = [relation_of(row).parts for row in self.fetch(RELATIONS.format(condition=ours))]
        return nearest(spelled, [(parts[0], parts[-1]) for parts in known], self._schema())

    def _schema(self) -> str:
        ((schema,),) = self.fetch("SELECT CAST(current_schema() AS text)")
        if schema is None:
            raise EngineError(f"{self.location}: no schema of the search path is there; name one: schema.table")
        return str(schema)

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
        name = sql_name(spelled) or quoted(spelled)
        *schemas, last = (part.name for part in exp.to_table(name, dialect="postgres").parts)
        schema = schemas[0] if schemas else self._schema()
        if not self.fetch(f"SELECT 1 FROM pg_namespace WHERE nspname = {literal(schema)}"):
            raise EngineError(f"release.to: there is no schema '{schema}' in {self.location}")
        if len(last.encode()) > self.longest_name:
            raise EngineError(f"release.to: the name is longer than PostgreSQL's longest, {self.longest_name} bytes")
        return Relation((schema, last), "table")

    def written_order(self) -> exp.Expr:
        return sql("ctid")

    # -- the source -------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        from duckanon.engine.duckdb.client_errors import explained

        view = name.sql(self.dialect, identify=True)
        inner = query.rstrip().rstrip(";")
        with explained("source.query"):
            self._run(f"CREATE {'TEMP ' if temporary else ''}VIEW {view} AS SELECT * FROM (\n{inner}\n) AS source")

    # -- the release ------------------------------------------------------------------------------

    def make_way(self, standing: Relation) -> None:
        """A table stands until the new one is verified; a view goes at once, with what is kept for it."""
        self._rights = read_rights(standing, self.fetch)
        if standing.kind == "view":
            self.execute(drop("VIEW", standing.table))

    def publish(self, relation: Relation, query: exp.Query, mark: str) -> Relation:
        if relation.kind == "view":
            self._run(f"CREATE VIEW {relation.spelled} WITH (security_barrier) AS {self.said(query)}")
            self.workbench.note("the release", query, self)
            self.comment(relation, mark)
            return relation
        beside = Relation((relation.parts[0], f"duckanon_{time.time_ns():x}"), "table")
        self.execute(exp.Create(this=beside.table, kind="TABLE", expression=query), "the release")
        self.comment(beside, mark)
        return beside

    def let_in(self, published: Relation, relation: Relation) -> None:
        if self._rights is not None and self._rights.relation.kind != "view":
            self.execute(drop("TABLE", self._rights.relation.table))
        if published != relation:
            self._run(f"ALTER TABLE {published.spelled} RENAME TO {quoted(relation.parts[-1])}")
        for statement in self._rights.passed_on(relation, self.fetch) if self._rights else ():
            self._run(statement)

    def comment(self, relation: Relation, said: str) -> None:
        self._run(f"COMMENT ON {relation.kind.upper()} {relation.spelled} IS {literal(said)}")
