"""How a PostgreSQL server is reached, by the client's own library, and how what was begun there is called off."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from duckanon.engine.optional import needed
from duckanon.errors import EngineError
from duckanon.policy.database import ServerAddress

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")

_OLDEST = 15
_BETWEEN_TRIES = 0.2  # seconds
_BETWEEN_LOOKS = 0.1  # seconds in which an interrupt is heard
LAST_WORDS = 10.0  # seconds in which a server answers that it has called a statement off
_WAITS = "duckanon waits for a server"  # a thread's name
# What a connection says of itself, unless the address does. A network that has gone silent is noticed in two minutes;
# a server that works is waited for as long as it takes.
_SAID = {
    "application_name": "duckanon",  # for who looks at the server's activity
    "connect_timeout": "30",
    "keepalives_idle": "60",
    "keepalives_interval": "10",
    "keepalives_count": "6",
    "tcp_user_timeout": "120000",
}


class Connection:
    """One session of the server, in which every statement is a transaction of its own until one is begun.

    By the driver itself, without the standard interface around it: that would load pandas, and what else it finds.
    """

    def __init__(self, database: Any, session: Any) -> None:
        self._database, self._session = database, session
        self._given_up = False  # the server did not even answer that it has called a statement off
        self._beside: Connection | None = None

    def awaited(self, work: Callable[[], T]) -> T:
        """Do what waits for the server. The driver hears no signal meanwhile, so it waits in a thread of its own; what
        interrupts us is first called off there."""
        if self._given_up:
            raise EngineError("the connection to the server is lost; what was begun is undone there")
        waiting = _Waiting(work)
        try:
            return waiting.result()
        except BaseException:
            if not waiting.ended(self.cancel):
                self.give_up()
            raise

    def uninterrupted(self, work: Callable[[], T]) -> T:
        """The same of what must come to its end: an interrupt is forgotten."""
        waiting = _Waiting(work)
        while True:
            with suppress(KeyboardInterrupt):
                return waiting.result()

    def cancel(self) -> None:
        from adbc_driver_manager import Error

        with suppress(Error):
            self._session.cancel()
        if (other := self._beside) is not None:
            other.cancel()

    def give_up(self) -> None:
        """It is not waited for any more."""
        self._given_up = True

    @contextmanager
    def beside(self, other: Connection) -> Iterator[None]:
        """Within, what is called off here is called off there, too."""
        self._beside = other
        try:
            yield
        finally:
            self._beside = None

    def run(self, text: str) -> None:
        with self._statement(text) as statement:
            statement.set_sql_query(text)
            statement.execute_update()

    @contextmanager
    def stream(self, text: str) -> Iterator[pyarrow.RecordBatchReader]:
        """The rows of a query. What goes wrong on the way is told when the stream ends, and to nobody who reads it:
        these would quote it."""
        with self._statement(text) as statement:
            statement.set_sql_query(text)
            handle, _ = statement.execute_query()
            arriving = Arriving(handle)
            try:
                yield arriving.rows
            finally:
                arriving.must_be_whole()

    def ingest(self, name: str, rows: pyarrow.RecordBatchReader, schema: str | None) -> None:
        """Make a table of rows: a temporary one, where no schema is named."""
        from adbc_driver_manager import INGEST_OPTION_MODE_CREATE, StatementOptions

        place = {StatementOptions.INGEST_TEMPORARY: "true"}
        if schema is not None:
            place = {StatementOptions.INGEST_TARGET_DB_SCHEMA: schema}
        place |= {StatementOptions.INGEST_TARGET_TABLE: name, StatementOptions.INGEST_MODE: INGEST_OPTION_MODE_CREATE}
        with self._statement(name) as statement:
            statement.set_options(**{option.value: chosen for option, chosen in place.items()})
            statement.bind_stream(rows)
            statement.execute_update()

    @contextmanager
    def _statement(self, text: str) -> Iterator[Any]:
        """One of the driver's, whose errors are told as ours."""
        from adbc_driver_manager import AdbcStatement

        from duckanon.engine.postgres.client_errors import translated

        with translated(text), AdbcStatement(self._session) as statement:
            yield statement

    def close(self) -> None:
        from adbc_driver_manager import Error

        if not self._given_up:  # else somebody still waits for it
            with suppress(Error):  # of a server that has gone
                self._session.close()
                self._database.close()


class Arriving:
    """Rows on their way, by the driver's own reader: only that one knows the SQLSTATE of what goes wrong."""

    def __init__(self, handle: Any) -> None:
        import pyarrow
        from adbc_driver_manager._reader import AdbcRecordBatchReader

        self._reader = AdbcRecordBatchReader._import_from_c(handle.address)
        self._fault: Exception | None = None
        self.rows = pyarrow.RecordBatchReader.from_batches(self._reader.schema, self._batches())

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        try:
            yield from self._reader
        except Exception as fault:
            self._fault = fault
            raise OSError("the rows do not come any more") from None

    def must_be_whole(self) -> None:
        self._reader.close()
        if self._fault is not None:
            raise self._fault from None


class _Waiting(Generic[T]):
    """Work in a thread of its own."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._done = threading.Event()
        self._results: list[T] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._do, args=(work,), name=_WAITS, daemon=True).start()

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._results.append(work())
        except BaseException as error:  # it is raised where it is waited for
            self._error = error
        finally:
            self._done.set()

    def result(self) -> T:
        # In slices: where another library has a handler of its own for signals, one long wait would not hear them.
        while not self._done.wait(_BETWEEN_LOOKS):
            pass
        if self._error is not None:
            raise self._error
        return self._results[0]

    def ended(self, cancel: Callable[[], None]) -> bool:
        """Whether it has ended, or does when it is told to: also one that has not begun to listen yet. It is told over
        a connection of its own, which may never come about."""
        end, telling = time.monotonic() + LAST_WORDS, None
        while not self._done.is_set() and time.monotonic() < end:
            with suppress(KeyboardInterrupt):
                if telling is None or telling._done.is_set():
                    telling = _Waiting(cancel)
                self._done.wait(_BETWEEN_TRIES)
        return self._done.is_set()


def connect(address: ServerAddress, wait: float | None) -> Connection:
    """A server that is not there (yet) is waited for, so many seconds."""
    adbc, postgresql = needed("postgres", "adbc_driver_manager", "adbc_driver_postgresql")
    from duckanon.engine.postgres.client_errors import must_be_said, opening_fault

    end = time.monotonic() + (wait or 0)
    while True:
        try:
            return _Waiting(lambda: _opened(_url(address), adbc, postgresql)).result()
        except adbc.Error as error:
            if time.monotonic() >= end or must_be_said(error):
                raise EngineError(f"{address.shown}: cannot be opened: {opening_fault(error, address.shown)}") from None
            time.sleep(_BETWEEN_TRIES)


def _opened(url: str, adbc: Any, postgresql: Any) -> Connection:
    database = postgresql.connect(url)
    try:
        return Connection(database, adbc.AdbcConnection(database))
    except adbc.Error:
        database.close()
        raise


def must_be_new_enough(version: int, address: ServerAddress) -> None:
    if version < _OLDEST * 10_000:
        raise EngineError(f"{address.shown}: is PostgreSQL {version // 10_000}; it takes {_OLDEST} or newer")


def _url(address: ServerAddress) -> str:
    """As given, and what it leaves to us. A service may have words of its own on the connection."""
    ours = {name: value for name, value in _SAID.items() if f"{name}=" not in address.url}
    if "service=" in address.url:
        ours = {name: value for name, value in ours.items() if name == "application_name"}
    if "PGCONNECT_TIMEOUT" in os.environ:
        ours.pop("connect_timeout", None)
    return address.url + "".join(
        f"{'&' if place or '?' in address.url else '?'}{name}={value}"
        for place, (name, value) in enumerate(ours.items())
    )
