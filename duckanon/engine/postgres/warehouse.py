"""A warehouse that is a PostgreSQL: its catalog, the source there, and what is published."""

from __future__ import annotations

import time
from typing import Any

from sqlglot import exp

from duckanon.engine.far import tuples_of
from duckanon.engine.nearest import nearest
from duckanon.engine.postgres.catalog import RELATIONS, column_of, columns_query, literal, relation_of, sql_name
from duckanon.engine.postgres.connection import connect
from duckanon.engine.postgres.replaced import Replaced
from duckanon.engine.postgres.rights import closed, must_show_all_the_same
from duckanon.engine.postgres.session import LONGEST_NAME, Session
from duckanon.engine.relation import Relation
from duckanon.engine.types import Column
from duckanon.errors import EngineError
from duckanon.query.expressions import sql
from duckanon.query.names import quoted


class Postgres(Session):
    """A database of PostgreSQL's; a run is one transaction there."""

    _replaced: Replaced | None = None  # what the release takes the place of

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
        if len(last.encode()) > LONGEST_NAME:
            raise EngineError(f"release.to: the name is longer than PostgreSQL's longest, {LONGEST_NAME} bytes")
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
        with self._idle():
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
