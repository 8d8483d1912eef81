"""A warehouse that is a Spark: it has no transactions, so a release is built beside and takes its place in one step."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.engine.duckdb.connection import Limits
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.far import FarWarehouse, weighed
from duckanon.engine.heard import Heard
from duckanon.engine.marks import is_mark
from duckanon.engine.nearest import nearest
from duckanon.engine.relation import Relation
from duckanon.engine.spark.builds import build_in, builds_like, is_build, new_build, shown_by, shows_build
from duckanon.engine.spark.catalog import Catalog, is_plain, literal, said_name, spelled_parts
from duckanon.engine.spark.connection import batches, connect, quiet, wait_no_more
from duckanon.engine.spark.folders import SparkFolders
from duckanon.engine.spark.types import type_of
from duckanon.engine.types import Column
from duckanon.engine.warehouse import Told
from duckanon.errors import EngineError, ReleaseError
from duckanon.policy.database import ServerAddress
from duckanon.query.dialects.spark import SparkDialect
from duckanon.query.expressions import sql
from duckanon.query.names import folded
from duckanon.query.steps import united

if TYPE_CHECKING:
    import pyarrow

_PART = 10_000  # rows that are sent


class Spark(FarWarehouse):
    """A session of a Spark Connect server."""

    words = SparkDialect
    called = "Spark"
    dialect_name = "spark"
    temporary_tables = False
    transactional = False
    keeps_ledger = False
    guards_views = False
    keeps_order = True
    most_sent = 2_000_000  # they lie in the memory of one server: 4 million fit into 1 GB, 7 million do not

    def __init__(self, address: ServerAddress, session: Any, workbench: DuckDB) -> None:
        super().__init__(address, workbench)
        self.session, self.catalog = session, Catalog(session)
        self.folders = SparkFolders(session, self.said, self._translated)
        self._unfinished: list[Relation] = []  # what was made beside, and is in no place yet
        self._last_step = ""  # lets it in
        self._stood: str | None = None  # what was shown in the place when it was built
        # Spark itself keeps the order of a step in the rows that come of it, and can keep the rows of a view.
        self.is_spark = False

    @classmethod
    def open(cls, address: ServerAddress, limits: Limits | None = None, wait: float | None = None) -> Spark:
        session = connect(address, wait)
        warehouse = cls(address, session, DuckDB.open(None, writable=True, limits=limits))
        try:
            ((zone, length, version),) = warehouse.fetch(r"SELECT CURRENT_TIMEZONE(), LENGTH('\\'), VERSION()")
            warehouse.is_spark = version.startswith(session.version)  # others say which Spark they are like
            if length != 1:
                setting = "spark.sql.parser.escapedStringLiterals"
                raise EngineError(f"{address.shown}: {setting} is set, by which texts are read otherwise; unset it")
            warehouse._live_in(zone)
        except BaseException:
            warehouse.close()
            raise
        return warehouse

    def _disconnect(self) -> None:
        self.session.stop()

    # -- asking -----------------------------------------------------------------------------------

    def _run(self, text: str) -> None:
        with self._translated(text):
            self.session.sql(text)

    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None:
        """A table is a view whose rows are kept from when they are first asked for, where a server can. It knows what
        it keeps by its plan, whoever asks: this one has a name in it that no other run has. It is forgotten with the
        view."""
        if kind == "VIEW" or not self.is_spark:
            super().make_temporary("VIEW", name, query, note, bound)
            return
        named = sql(":name IS NOT NULL", name=exp.Literal.string(name.name))
        alone = exp.select("*").from_(query.subquery("kept")).where(named)
        super().make_temporary("VIEW", name, alone, note, bound)
        self._run(f"CACHE LAZY TABLE {said_name(name.name)}")

    def drop_temporary(self, kind: str, name: exp.Table) -> None:
        super().drop_temporary("VIEW", name)

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        """Counted once: how many there are is told while they come. As soon as these are too many none comes any more,
        and it is asked how many there would have been."""
        query = united([query, *others])
        self.workbench.note(note, query, self)
        heard = Heard(told)
        with self._stream(self.said(query)) as rows:
            self.workbench.take(name, weighed(heard.passing(rows), self._came))
            heard.must_be_whole()
        if told is not None and heard.refused is not None:
            told(self._number(query.subquery("counted")))
            raise heard.refused

    @contextmanager
    def _stream(self, text: str) -> Iterator[pyarrow.RecordBatchReader]:
        with self._translated(text):
            yield batches(self.session, text)

    def _take(self, name: exp.Table, rows: pyarrow.RecordBatchReader, temporary: bool) -> None:
        """What is kept for good passes through a temporary view, as all that is sent does."""
        view = name.name if temporary else f"duckanon_{time.time_ns():x}"
        with self._translated(name.sql(self.dialect)), quiet():
            sent = rows.read_all()
            frame = self.session.createDataFrame(sent)
            # In as few parts as it is worth: a cluster would make a file of each.
            parts = frame.coalesce(1 + sent.num_rows // _PART) if self.is_spark else frame
            parts.createTempView(view)
        if not temporary:
            self._run(f"CREATE TABLE {name.sql(self.dialect, identify=True)} AS SELECT * FROM {said_name(view)}")
            self._run(f"DROP VIEW {said_name(view)}")

    def _translated(self, text: str) -> AbstractContextManager[None]:
        from duckanon.engine.spark.client_errors import translated

        return translated(text, lambda: wait_no_more(self.session))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """There is none: what was made beside goes if the block does not end well; a process that is killed leaves it
        to the next run."""
        try:
            yield
        except BaseException:
            for made in reversed(self._unfinished):
                with suppress(EngineError):  # of a server that has gone
                    self._drop(made)
            raise

    def one_at_a_time(self, address: tuple[str, ...] | None, wait: float) -> AbstractContextManager[None]:
        return nullcontext()  # there are no locks: runs of one machine wait for each other, those of several do not

    # -- the catalog ------------------------------------------------------------------------------

    def find(self, spelled: str) -> Relation | None:
        with self._translated(spelled):
            for parts in filter(None, (spelled_parts(spelled), (spelled,))):
                if (found := self.catalog.find(parts)) is not None:
                    return self._as_released(found)
        return None

    def _as_released(self, found: Relation) -> Relation:
        """The place of a table is a view of it, as few need to know."""
        if found.kind == "view" and is_mark(found.comment) and shows_build(self._view_text(found)):
            return Relation(found.parts, "table", found.comment)
        return found

    def nearest(self, spelled: str) -> str:
        schema = self.catalog.schema
        return nearest(spelled, [(schema, found.parts[-1]) for found in self.catalog.relations((schema,))], schema)

    def columns(self, relation: exp.Table) -> list[Column]:
        name = relation.sql(self.dialect, identify=True)
        with self._translated(name):
            fields = self.session.table(name).schema.fields
            return [Column(field.name, type_of(field.dataType.simpleString())) for field in fields]

    def definition(self, relation: Relation) -> str | None:
        return self._view_text(relation) if relation.kind == "view" else None

    def _view_text(self, view: Relation) -> str:
        described = self.fetch(f"DESCRIBE TABLE EXTENDED {said_name(*view.parts)}")
        return next((str(text) for name, text, *_ in described if name == "View Text"), "")

    def relations(self, schema: str) -> list[Relation]:
        return self.catalog.relations((schema,))

    def target(self, spelled: str) -> Relation:
        *home, name = spelled_parts(spelled) or (spelled,)
        schema = tuple(home) or (self.catalog.schema,)
        if not all(map(is_plain, (*schema, name))):
            what = "has other signs than letters, digits and _: not every server keeps the quotes of such a name"
            raise EngineError(f"release.to: {spelled} {what} in a view, which would show another table; rename it")
        if not self.catalog.has_schema(*schema):
            raise EngineError(f"release.to: there is no schema '{'.'.join(schema)}' in {self.location}")
        return Relation((*schema, name), "table")

    def written_order(self) -> exp.Expr:
        raise EngineError("a table of Spark's has no order")

    # -- the source -------------------------------------------------------------------------------

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        from duckanon.engine.duckdb.client_errors import explained

        view, inner = name.sql(self.dialect, identify=True), query.rstrip().rstrip(";")
        made = f"CREATE {'TEMP ' if temporary else ''}VIEW {view} AS SELECT * FROM (\n{inner}\n) AS source"
        self.workbench.note("the source", made, self)
        with explained("source.query"):
            self._run(made)

    # -- the release ------------------------------------------------------------------------------

    def make_way(self, standing: Relation) -> None:
        """What stands is replaced in one step, if it can be."""
        with self._translated(standing.spelled):
            found = self.catalog.find(standing.parts)
        if found is not None and found.kind != "view":
            what = "is a table, in whose place no view can be put in one step"
            raise ReleaseError(f"release.to: {standing.spelled} {what}; drop it first, or choose another name")
        if found is not None and self._as_released(found).kind == "view":
            what = "is a view that no run has made, and that the source may read"
            raise ReleaseError(f"release.to: {standing.spelled} {what}; drop it first, or choose another name")

    def is_read_by(self, rows: exp.Table, standing: Relation) -> bool:
        """By the plan of the rows, which names the table that the place is a view of, whatever is between them."""
        shown = build_in(self._view_text(standing))
        plan = self.fetch(f"EXPLAIN EXTENDED SELECT * FROM {rows.sql(self.dialect, identify=True)}")
        return shown is not None and any(shown in folded(str(line)) for (line,) in plan)

    def publish(self, relation: Relation, query: exp.Query, mark: str) -> Relation:
        self._stood = self._shown_in(relation)
        self._sweep(relation, self._stood or "")
        build, text = new_build(relation), f"SELECT * FROM ({self.said(query)}) AS released"
        self.workbench.note("the release", query, self)
        with self._translated(text):
            fields = self.session.sql(text).schema.fields
        columns = {said_name(field.name): field.dataType.simpleString() for field in fields}
        declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        order = "" if self.is_spark else f" ORDER BY {', '.join(columns)}"
        self._unfinished.append(build)
        # Marked from the beginning: so it is known for ours, however this run ends.
        self._run(f"CREATE TABLE {said_name(*build.parts)} ({declared}) COMMENT {literal(mark)}")
        with self._idle():
            self._run(f"INSERT INTO {said_name(*build.parts)} {text}{order}")
        new = "CREATE VIEW" if self._stood is None else "CREATE OR REPLACE VIEW"
        self._last_step = f"{new} {said_name(*relation.parts)} COMMENT {literal(mark)} AS {shown_by(build)}"
        return build

    def let_in(self, published: Relation, relation: Relation) -> None:
        """Where nothing stood the catalog itself refuses to replace what somebody has made; else we look."""
        if self._shown_in(relation) != self._stood:
            what = "was made or replaced by somebody under way"
            raise ReleaseError(f"release.to: {relation.spelled} {what}; run again")
        self._run(self._last_step)
        self._unfinished = []

    def _shown_in(self, place: Relation) -> str | None:
        """The text of the view that stands in a place; of a table none, and None where nothing stands."""
        with self._translated(place.spelled):
            found = self.catalog.find(place.parts)
        return None if found is None else self._view_text(found) if found.kind == "view" else ""

    def _sweep(self, place: Relation, shown: str) -> None:
        """Drops what earlier runs built for the place, whether they came to their end or not; but for what it shows."""
        with self._translated(place.spelled):
            found = self.catalog.relations(place.parts[:-1], builds_like(place))
        for build in found:
            if is_build(build, place) and build.parts[-1] not in shown:
                self._drop(build)

    def _drop(self, build: Relation) -> None:
        self._run(f"DROP TABLE IF EXISTS {said_name(*build.parts)}")

    def comment(self, relation: Relation, said: str) -> None:
        self._run(f"COMMENT ON TABLE {said_name(*relation.parts)} IS {literal(said)}")
