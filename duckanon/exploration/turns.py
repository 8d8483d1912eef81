"""Whose turn it is: of one connection, a change on the page is answered at once, and long work gives way to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, get_ident

from duckanon.errors import DuckanonError


class Stopped(DuckanonError):
    """Somebody wants something else by now, or nothing any more."""

    def __init__(self) -> None:
        super().__init__("stopped")


class Turns:
    """One at a time. Who comes `first` waits for nothing but what is being asked; who is `patient` waits for all."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._holder: int | None = None  # a thread
        self._waiting = 0  # who come first
        self._over = False

    @contextmanager
    def first(self) -> Iterator[None]:
        with self._changed:
            self._waiting += 1
            try:
                self._take(lambda: self._holder is None)
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def patient(self) -> Iterator[None]:
        with self._changed:
            self._begin()
        try:
            yield
        finally:
            self._end()

    def give_way(self) -> None:
        """Called by the patient between two questions: whoever came first meanwhile is let in."""
        with self._changed:
            if self._waiting:
                self._holder = None
                self._changed.notify_all()
                self._begin()

    def close(self, seconds: float) -> None:
        """Nobody gets a turn any more; who has one is waited for, so long."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._holder is None, seconds)

    def _begin(self) -> None:
        self._take(lambda: self._holder is None and not self._waiting)

    def _take(self, is_free: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: self._over or is_free())
        if self._over:
            raise Stopped
        self._holder = get_ident()

    def _end(self) -> None:
        with self._changed:
            if self._holder == get_ident():  # who gave way may not have got it back
                self._holder = None
            self._changed.notify_all()
