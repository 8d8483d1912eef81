"""What two connections send at the same time, of one view of the data: as if one had sent it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from duckanon.engine.postgres.connection import LAST_WORDS, Connection
from duckanon.errors import EngineError

if TYPE_CHECKING:
    import pyarrow


Another = Callable[[], AbstractContextManager[Connection]]

_UNREAD = 8  # batches
_BETWEEN_LOOKS = 0.1  # seconds


@contextmanager
def streamed(first: Connection, texts: list[str], another: Another) -> Iterator[pyarrow.RecordBatchReader]:
    """The rows of two queries with the same columns. Who leaves before they are all there calls off what is left."""
    import pyarrow

    streams = _Streams(first, texts, another)
    try:
        yield pyarrow.RecordBatchReader.from_batches(streams.schema(), streams.batches())
    finally:
        streams.end()


class _Streams:
    """Each is read by a thread of its own. What goes wrong is told when they end, and to nobody who reads the rows."""

    def __init__(self, first: Connection, texts: list[str], another: Another) -> None:
        self._first, (self._text, self._other_text), self._another = first, texts, another
        # Of each its schema, its batches, and None at the end; or what went wrong.
        self._arrived: Queue[Any] = Queue(_UNREAD)
        self._fault: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._told, args=(work,), daemon=True) for work in (self._lead, self._follow)
        ]
        for thread in self._threads:
            thread.start()

    def _told(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._arrived.put(None)
        except BaseException as fault:
            self._arrived.put(fault)

    def _lead(self) -> None:
        with self._first.stream(self._text) as rows:
            self._pass_on(rows)

    def _follow(self) -> None:
        """The other rows, over another connection, if one can be had and begins at once; else when the first has sent
        its own."""
        with ExitStack() as opened:
            try:
                rows = opened.enter_context(opened.enter_context(self._another()).stream(self._other_text))
            except EngineError:
                self._threads[0].join()
                rows = opened.enter_context(self._first.stream(self._other_text))
            self._pass_on(rows)

    def _pass_on(self, rows: pyarrow.RecordBatchReader) -> None:
        self._arrived.put(rows.schema)
        for batch in rows:
            self._arrived.put(batch)

    def schema(self) -> pyarrow.Schema:
        """Once one of the two has begun to send."""
        return self._next()

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        sending = len(self._threads)
        while sending:
            arrived = self._next()
            if arrived is None:
                sending -= 1
            elif isinstance(arrived, pyarrow.RecordBatch):
                yield arrived

    def _next(self) -> Any:
        arrived = self._arrived.get()
        if isinstance(arrived, BaseException):
            self._fault = arrived
            raise OSError("the rows do not come any more")
        return arrived

    def end(self) -> None:
        end = time.monotonic() + LAST_WORDS
        while self._are_sending() and time.monotonic() < end:
            self._first.cancel()
            self._forget_what_arrived()
        if self._are_sending():
            self._first.give_up()
        if self._fault is not None:
            raise self._fault from None

    def _are_sending(self) -> bool:
        """Not of whom all has been read, and who is only about to leave."""
        for thread in self._threads:
            thread.join(_BETWEEN_LOOKS)
        return any(thread.is_alive() for thread in self._threads)

    def _forget_what_arrived(self) -> None:
        with suppress(Empty):
            while True:
                self._arrived.get_nowait()
