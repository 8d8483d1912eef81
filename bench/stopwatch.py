"""How long things take, and how much memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

_AT_LEAST = 0.2  # seconds: what is short is repeated more often
_KILOBYTE = 1 if sys.platform == "darwin" else 1024  # the unit of ru_maxrss


# Does something, and says how long that took.
Clock = Callable[[Callable[[], object]], float]


def best(action: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds."""
    return least(lambda: seconds_of(action), times)


def least(timed: Callable[[], float], times: int) -> float:
    """The least of several times that something says it took."""
    taken: list[float] = []
    while len(taken) < times or sum(taken) < _AT_LEAST:
        taken.append(timed())
    return min(taken)


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def cpu_of(action: Callable[[], object]) -> float:
    """Seconds of all cores, in this process."""
    start = time.process_time()
    action()
    return time.process_time() - start


@dataclass(frozen=True)
class Spent:
    """What a process of its own took, its start included, and what it printed."""

    seconds: float
    peak: int  # bytes of memory
    output: str
    cpu: float = 0.0  # seconds of all cores

    @property
    def memory(self) -> str:
        return f"{self.peak / 1e9:.2f} GB"


def process(*arguments: str) -> Spent:
    """Run `python -m …` to its end. A failure is an error, with what the process said."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, arguments, output)
    seconds = time.perf_counter() - start
    return Spent(seconds, used.ru_maxrss * _KILOBYTE, output, used.ru_utime + used.ru_stime)


def fastest(times: int, *arguments: str) -> Spent:
    """The fastest of several processes."""
    return min((process(*arguments) for _ in range(times)), key=lambda spent: spent.seconds)
