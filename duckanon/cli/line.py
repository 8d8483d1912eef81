"""One line of a terminal, written again and again: it never wraps, and shows that time passes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TextIO
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from duckanon.search.progress import Progress

_BEAT = 1.0  # seconds between two looks at the clock
_QUIET = 2  # seconds without news after which they are counted on the line
_ENOUGH, _LONG = 3, 2  # things done, and seconds, from which a pace is judged
_ERASE = "\r\033[K"


class Line:
    """The line, and the thread that writes it again each second: a statement may take minutes, and says nothing."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.clock = stream, clock
        self.plain = os.environ.get("TERM", "dumb") == "dumb"
        self.message, self.since, self.width = "", clock(), 0
        self.progress: Progress | None = None
        self.ends: float | None = None  # when what is counted will be done
        self.pace = Pace()
        self.lock, self.over = Lock(), Event()
        self.thread: Thread | None = None

    def show(self, message: str, progress: Progress | None) -> None:
        with self.lock:
            now = self.clock()
            self.message, self.progress, self.since = _printable(message), progress, now
            left = self.pace.left(progress, now) if progress else None
            self.ends = None if left is None else now + left
            self._write()
        if self.thread is None:
            self.thread = Thread(target=self._beat, name="duckanon-line", daemon=True)
            self.thread.start()

    def end(self) -> None:
        """Nothing is written any more, and the line is empty."""
        self.over.set()
        with self.lock:
            self._put("")
        if self.thread is not None:
            self.thread.join()

    def _beat(self) -> None:
        while not self.over.wait(_BEAT):
            with self.lock:
                # It may have ended while the lock was waited for.
                if not self.over.is_set() and self.clock() - self.since >= _QUIET:
                    self._write()

    def _write(self) -> None:
        tail = self._tail()
        room = max(0, self._columns() - 1 - shown_width(tail))
        self._put(cut(cut(self.message, room) + tail, self._columns() - 1))

    def _tail(self) -> str:
        """What stays to be seen where the message is too long for the terminal."""
        now = self.clock()
        known = [str(self.progress)] if self.progress else []
        if self.progress and self.ends is not None and self.ends - now >= 1:
            known.append(f"{'at most' if self.progress.at_most else 'about'} {in_words(self.ends - now)} left")
        counted = f" ({', '.join(known)})" if known else ""
        quiet = now - self.since
        return f"{counted} … {in_words(quiet)}" if quiet >= _QUIET else f"{counted} …"

    def _columns(self) -> int:
        with suppress(OSError, ValueError):
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        return 80

    def _put(self, text: str) -> None:
        blank = " " * max(0, self.width - shown_width(text))
        erased = f"\r{text}{blank}" + ("\r" if not text else "") if self.plain else f"{_ERASE}{text}"
        self.width = shown_width(text)
        with suppress(OSError, ValueError):  # a terminal that has gone does not change the outcome
            self.stream.write(erased)
            self.stream.flush()


class Pace:
    """How long what is left will take, judged by what has been done since it was counted first."""

    def __init__(self) -> None:
        self.first: Progress | None = None
        self.since = 0.0
        self.last, self.at = 0, 0.0  # how many were done at the last change, and when that was

    def left(self, progress: Progress, now: float) -> float | None:
        """Seconds; None where nothing can be said."""
        if not progress.even:
            return None
        first = self.first
        if first is None or (first.things, first.of) != (progress.things, progress.of) or progress.done < first.done:
            self.first, self.since, self.last, self.at = progress, now, progress.done, now
            return None
        if progress.done != self.last:
            self.last, self.at = progress.done, now
        made, took = self.last - first.done, self.at - self.since
        return took / made * progress.left - (now - self.at) if made >= _ENOUGH and took >= _LONG else None


def in_words(seconds: float) -> str:
    """As roughly as it is known."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds)} s"


def _printable(text: str) -> str:
    """A name may hold what a terminal would obey."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def shown_width(text: str) -> int:
    """Columns of a terminal."""
    return sum(_sign_width(sign) for sign in text)


def cut(text: str, columns: int) -> str:
    """The text, or as much of it as these columns hold, with a sign that there is more."""
    if shown_width(text) <= columns:
        return text
    kept, room = "", columns - 1
    for sign in text:
        room -= _sign_width(sign)
        if room < 0:
            break
        kept += sign
    return kept + "…" if columns > 0 else ""


def _sign_width(sign: str) -> int:
    return 0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1
