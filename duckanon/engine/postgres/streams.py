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
        # Schema and batches, what went wrong, and None as soon as one of the two has sent all.
        self._arrived: Queue[Any] = Queue(_UNREAD)
        self._fault: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self._begin(lambda: self._pass_on(self._first, self._text))

    def _begin(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=self._told, args=(work,), daemon=True))
        self._threads[-1].start()

    def _told(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._arrived.put(None)
        except BaseException as fault:
            self._arrived.put(fault)

    def _pass_on(self, connection: Connection, text: str) -> None:
        with connection.stream(text) as rows:
            self._arrived.put(rows.schema)
            for batch in rows:
                self._arrived.put(batch)

    def _follow(self) -> None:
        """The other rows, over another connection, if one can be had and begins at once; else when the first has sent
        its own. It begins when the first has, which holds the table then: who comes in between, to change it, would
        wait for one of them and have the other wait."""
        with ExitStack() as opened:
            try:
                rows = opened.enter_context(opened.enter_context(self._another()).stream(self._other_text))
            except EngineError:
                self._threads[0].join()
                rows = opened.enter_context(self._first.stream(self._other_text))
            for batch in rows:
                self._arrived.put(batch)

    def schema(self) -> pyarrow.Schema:
        """Once the first has begun to send."""
        schema = self._next()
        self._begin(self._follow)
        return schema

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        sending = 2
        while sending:
            if (batch := self._next()) is None:
                sending -= 1
            else:
                yield batch

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
