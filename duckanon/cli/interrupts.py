"""Ctrl-C and SIGTERM of the command. A program that imports us keeps its own answers: only the command calls these."""

from __future__ import annotations

import os
import signal
import sys

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
    """The exit code. Where a thread still waits for a server that does not answer, at once: to take everything down
    around it would be told at length."""
    if code == INTERRUPTED:
        from duckanon.engine.postgres.connection import somebody_waits

        if somebody_waits():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return code


def _leave(*_: object) -> None:
    os.write(2, b"duckanon: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
