"""The workbench: the DuckDB in which the census is searched, whatever the warehouse is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from duckanon.engine.arriving import arrived, misfit
from duckanon.engine.duckdb.client_errors import translated
from duckanon.engine.duckdb.files import escaped, text
from duckanon.engine.duckdb.release_files import ReleaseFiles
from duckanon.engine.duckdb.types import type_of
from duckanon.engine.types import Column
from duckanon.errors import EngineError
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import create, drop

if TYPE_CHECKING:
    import pyarrow

    from duckanon.engine.engine import Engine

_LONGEST_DICTIONARY = 10_000  # labels


@dataclass(frozen=True)
class Executed:
    """A statement that was executed, with a note on its purpose if it has one."""

    note: str
    statement: exp.Expr | str
    by: Engine | None = None  # the warehouse that executed it; None: the workbench

    @property
    def makes(self) -> bool:
        """Whether it makes or drops something."""
        if isinstance(self.statement, str):
            return self.statement.lstrip().startswith(("CREATE", "DROP"))
        return isinstance(self.statement, (exp.Create, exp.Drop))


class Workbench:
    """A connection to DuckDB, with the temporary tables of a search."""

    dialect = WORKBENCH
    temporary_tables = True

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.files = ReleaseFiles(self)
        self._trace: list[Executed] | None = None

    # -- asking -----------------------------------------------------------------------------------

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None:
        """`bound`: the values of the statement's parameters; they reach the database beside its text."""
        self.run(statement, note, bound)

    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None:
        self.execute(create(kind, name, query, temporary=True), note, bound)

    def drop_temporary(self, kind: str, name: exp.Table) -> None:
        self.execute(drop(kind, name))

    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]:
        with translated(query):
            return self.run(query, note).fetchall()

    def run(
        self, statement: exp.Expr | str, note: str = "", bound: Mapping[str, bytes] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """The statement as an expression or, where no expression can say it, as DuckDB's own text."""
        self.note(note, statement)
        text = statement if isinstance(statement, str) else statement.sql(self.dialect, identify=True)
        with translated(text):
            return self.connection.execute(text, dict(bound)) if bound else self.connection.execute(text)

    def interrupt(self) -> None:
        """End the statement that another thread has under way, if there is one."""
        self.connection.interrupt()

    @contextmanager
    def traced(self) -> Iterator[list[Executed]]:
        """Gives the statements that are executed within; nothing remembers them afterwards."""
        self._trace = executed = list[Executed]()
        try:
            yield executed
        finally:
            self._trace = None

    def columns(self, relation: exp.Table) -> list[Column]:
        return self.shape(exp.select("*").from_(relation))

    def shape(self, query: exp.Query) -> list[Column]:
        """The columns of what a query gives."""
        rows = self.run(f"DESCRIBE {query.sql(self.dialect, identify=True)}").fetchall()
        return [Column(row[0], type_of(row[1])) for row in rows]

    # -- what comes from a warehouse, and what goes there -----------------------------------------

    def note(self, note: str, statement: exp.Expr | str, by: Engine | None = None) -> None:
        """Remember a statement, of ours or of a warehouse, where somebody follows them."""
        if self._trace is not None:
            self._trace.append(Executed(note, statement, by))

    def take(self, name: exp.Table, rows: pyarrow.RecordBatchReader) -> None:
        """A temporary table of rows that come as Arrow."""
        schema = rows.schema
        columns = ", ".join(arrived(field) for field in schema)
        self.connection.register("duckanon_arriving", rows)
        try:
            made = f"CREATE TEMP TABLE {name.sql(self.dialect, identify=True)}"
            self.run(f"{made} AS SELECT {columns} FROM duckanon_arriving")
        except EngineError as error:
            raise misfit(error, schema) from error.__cause__
        finally:
            self.connection.unregister("duckanon_arriving")

    def stream(self, query: exp.Query, note: str) -> pyarrow.RecordBatchReader:
        """The rows of a query as Arrow."""
        self.note(note, query)
        text = query.sql(self.dialect, identify=True)
        with translated(text):
            return self.connection.sql(text).to_arrow_reader()

    # -- making -----------------------------------------------------------------------------------

    def define_view(self, name: exp.Table, query: str, temporary: bool) -> None:
        """A view over what only DuckDB's own text can say."""
        view = name.sql(self.dialect, identify=True)
        self.run(f"CREATE OR REPLACE {'TEMP ' if temporary else ''}VIEW {view} AS {query}", "the source")

    def define_mapping(self, name: exp.Table, path: Path, width: int, delimiter: str, header: bool) -> None:
        """A hierarchy file as a temporary table level_0, level_1, … of texts: every cell is a value, the empty one
        too, and none is NULL."""
        levels = [f"'level_{level}'" for level in range(width)]
        columns = ", ".join(f"{level}: 'VARCHAR'" for level in levels)
        options = f"""auto_detect = false, header = {str(header).lower()}, delim = '{delimiter}', quote = '"',
            escape = '"', force_not_null = [{", ".join(levels)}], columns = {{{columns}}}"""
        rows = f"SELECT DISTINCT * FROM read_csv({text(escaped(path.absolute()))}, {options})"
        self.run(f"CREATE TEMP TABLE {name.sql(self.dialect, identify=True)} AS {rows}", f"hierarchy file {path.name}")

    def define_dictionary(self, name: exp.Table, kind: exp.Table, labels: exp.Table) -> bool:
        """The table (code, label) with its texts as an ENUM: a Parquet file is written several times faster from it.

        Not where that does not help: every row group holds the whole dictionary, so it must be short.
        """
        ((distinct, text),) = self.fetch(exp.select("COUNT(DISTINCT label)", "MAX(TYPEOF(label))").from_(labels))
        if text != "VARCHAR" or not 0 < distinct <= _LONGEST_DICTIONARY:
            return False
        coded, enum, known = (thing.sql(self.dialect, identify=True) for thing in (name, kind, labels))
        texts = f"SELECT DISTINCT label FROM {known} WHERE label IS NOT NULL ORDER BY label"
        self.run(f"CREATE TEMP TYPE {enum} AS ENUM ({texts})", "labels as a type")
        self.run(f"CREATE TEMP TABLE {coded} AS SELECT code, CAST(label AS {enum}) AS label FROM {known}", "labels")
        return True
