"""A warehouse that is no DuckDB: its statements go there as text, its counts come to a workbench of their own as Arrow.

An engine is one class on this: how its statements are said (a dialect), run, and how Arrow gets in and out; its catalog
and its types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import UnsupportedError

from duckanon.engine.beside import beside
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.folders import Folders
from duckanon.engine.relation import ReadFile, Reading, Relation
from duckanon.engine.warehouse import Told, Warehouse
from duckanon.engine.workbench import Workbench
from duckanon.errors import EngineError
from duckanon.policy.database import ServerAddress
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import create, drop, sql
from duckanon.query.steps import united

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")


_ONLY_DUCKDB = "source.file: is read by DuckDB, not by a server; leave source.database out"


class FarWarehouse(Warehouse, ABC):
    """One connection to a server, and a DuckDB in memory beside it, which is the workbench."""

    words: ClassVar[type[Dialect]]  # its dialect
    dialect_name: str
    called: ClassVar[str]  # what the engine is called in messages
    persistent = True
    longest_name: int | None = None
    temporary_tables = True
    transactional = True
    keeps_ledger = True
    guards_views = True
    keeps_order = False
    lists_numbers = True
    most_sent: int | None = None
    folders: Folders | None = None

    def __init__(self, address: ServerAddress, workbench: DuckDB) -> None:
        self.address, self._workbench = address, workbench
        self.location = address.shown
        self.came_down = self.went_up = 0  # bytes of Arrow between the warehouse and the workbench
        self._spare: Callable[[], object] | None = None  # work for a workbench that is idle

    @property
    def dialect(self) -> type[Dialect]:
        return self.words

    @property
    def workbench(self) -> Workbench:
        return self._workbench

    @property
    def is_workbench(self) -> bool:
        return False

    @property
    def may_keep(self) -> bool:
        return self.temporary_tables

    @property
    def database(self) -> ServerAddress:
        return self.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the server, and forgets what was counted."""
        try:
            self._disconnect()
        finally:
            self._workbench.close()

    # -- what an engine is ------------------------------------------------------------------------

    @abstractmethod
    def _disconnect(self) -> None: ...

    @abstractmethod
    def _run(self, text: str) -> None:
        """Execute a statement that gives no rows."""

    @abstractmethod
    def _stream(self, text: str) -> AbstractContextManager[pyarrow.RecordBatchReader]:
        """The rows of a query, as they come, for as long as the context lasts."""

    @abstractmethod
    def _take(self, name: exp.Table, rows: pyarrow.RecordBatchReader, temporary: bool) -> None:
        """Make a table of rows that come from the workbench."""

    def _awaited(self, work: Callable[[], T]) -> T:
        """Do what waits for the server; an engine whose client hears no Ctrl-C meanwhile does it elsewhere."""
        return work()

    def _live_in(self, zone: str) -> None:
        """The workbench writes moments as the server does; but for a zone that only the server knows."""
        with suppress(EngineError):
            self.workbench.run(f"SET TimeZone = {exp.Literal.string(zone).sql(WORKBENCH)}")

    # -- asking -----------------------------------------------------------------------------------

    def said(self, statement: exp.Expr | str) -> str:
        """The statement in the engine's own words. What it has none for is refused, never guessed."""
        if isinstance(statement, str):
            return statement
        try:
            return statement.sql(self.dialect, identify=True, unsupported_level=ErrorLevel.IMMEDIATE)
        except UnsupportedError as error:
            what = f"{self.called} has no words for {error}, which this policy needs there"
            raise EngineError(f"{what}; release a table or a file, or cast the column in source.query") from None

    def execute(self, statement: exp.Expr, note: str = "", bound: Mapping[str, bytes] | None = None) -> None:
        assert not bound, "what is bound to a statement is a secret, and stays here"
        self.workbench.note(note, statement, self)
        self._run(self.said(statement))

    def make_temporary(
        self, kind: str, name: exp.Table, query: exp.Query, note: str, bound: Mapping[str, bytes] | None = None
    ) -> None:
        self.execute(create(kind, name, query, temporary=True), note, bound)

    def drop_temporary(self, kind: str, name: exp.Table) -> None:
        self.execute(drop(kind, name))

    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]:
        self.workbench.note(note, query, self)
        table = self._awaited(lambda: self._all(self.said(query)))
        return tuples_of(table)

    def _all(self, text: str) -> pyarrow.Table:
        with self._stream(text) as rows:
            return rows.read_all()

    def parts_of(self, relation: Relation) -> list[exp.Expr]:
        return []

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        query = united([query, *others])
        self.workbench.note(note, query, self)
        if told is not None:
            told(self._number(query.subquery("counted")))
        text = self.said(query)
        self._awaited(lambda: self._brought(name, text))

    def shared_out(self) -> AbstractContextManager[None]:
        return nullcontext()  # a cluster needs no word

    @contextmanager
    def meanwhile(self, work: Callable[[], object]) -> Iterator[None]:
        self._spare = work
        try:
            yield
        finally:
            self._spare = None

    def _idle(self) -> AbstractContextManager[None]:
        """Within, the server works and nobody asks the workbench for anything: it does what there is to do."""
        work, self._spare = self._spare, None
        return nullcontext() if work is None else beside(work, self.workbench.interrupt)

    def _brought(self, name: exp.Table, text: str) -> None:
        with self._stream(text) as rows:
            self.workbench.take(name, weighed(rows, self._came))

    def _came(self, size: int) -> None:
        self.came_down += size

    def _went(self, size: int) -> None:
        self.went_up += size

    def _number(self, rows: exp.Expr) -> int:
        ((number,),) = self.fetch(exp.select("COUNT(*)").from_(rows))
        return int(number)

    def send(self, name: exp.Table, query: exp.Query, note: str) -> None:
        self._send(name, query, note, temporary=True)

    def keep(self, name: exp.Table, query: exp.Query, note: str) -> None:
        self._send(name, query, note, temporary=False)

    def _send(self, name: exp.Table, query: exp.Query, note: str, temporary: bool) -> None:
        rows = weighed(self.workbench.stream(query, note), self._went)
        self._awaited(lambda: self._take(name, rows, temporary))

    def is_read_by(self, rows: exp.Table, standing: Relation) -> bool:
        return False  # or it could not be dropped

    # -- files, which lie where the workbench is --------------------------------------------------

    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile:
        raise EngineError(_ONLY_DUCKDB)

    def source_files(self, path: str) -> list[Path]:
        raise EngineError(_ONLY_DUCKDB)

    def source_patterns(self, path: str) -> list[str]:
        raise EngineError(_ONLY_DUCKDB)

    def database_files(self) -> list[Path]:
        return []

    def must_have_room_for_our_schema(self) -> None:
        return  # a schema cannot be mistaken for a database there

    def make_our_schema(self) -> None:
        self.execute(sql("CREATE SCHEMA IF NOT EXISTS duckanon"))


def weighed(rows: pyarrow.RecordBatchReader, told: Callable[[int], None]) -> pyarrow.RecordBatchReader:
    """The same rows, as they pass by; `told` hears of their bytes."""
    import pyarrow

    def passing() -> Iterator[pyarrow.RecordBatch]:
        for batch in rows:
            told(batch.nbytes)
            yield batch

    return pyarrow.RecordBatchReader.from_batches(rows.schema, passing())


def tuples_of(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """The rows of a small table."""
    return list(zip(*(plain_values(column) for column in table.columns), strict=True)) if table.num_columns else []


def plain_values(column: pyarrow.ChunkedArray) -> list[Any]:
    """The values of a column as Python's; numbers of any size, which a driver gives as texts, as numbers."""
    values: list[Any] = column.to_pylist()
    if "type_name=numeric" not in str(column.type) and "decimal" not in str(column.type):
        return values
    return [None if value is None else _number(str(value)) for value in values]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
