"""Ctrl-C and SIGTERM of the command. A program that imports us keeps its own answers: only the command calls these."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

INTERRUPTED = 130  # the exit code


def starting() -> None:
    """While the command is being loaded: nothing has begun, so it just ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def started() -> None:
    """From here on a KeyboardInterrupt unwinds what was begun."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def ended(code: int) -> int:
    """Ends the process at once: all that was opened is closed. To take everything else down takes as long as several
    small statements, and where a thread still waits for a server that does not answer, Python would tell of it at
    length. What cannot be written any more is told in its way: then it is the exit code that is returned."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _leave(*_: object) -> None:
    os.write(2, b"duckanon: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
