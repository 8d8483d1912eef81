"""Ctrl-C and SIGTERM while the command is only starting: nothing has begun, so it just ends."""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130  # the exit code


def starting() -> None:
    """Answer before the modules are loaded; but only for the command itself, not for a program that imports us."""
    program = os.path.basename((getattr(sys, "argv", None) or [""])[0])
    if program in ("-m", "duckanon"):  # `python -m duckanon` is "-m" until it runs
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)


def started() -> None:
    """From here on a KeyboardInterrupt unwinds what was begun."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def _leave(*_: object) -> None:
    os.write(2, b"duckanon: interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
