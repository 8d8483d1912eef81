"""What one engine does while another one is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

_BETWEEN_TRIES = 0.1  # seconds


@contextmanager
def beside(work: Callable[[], object], stop: Callable[[], None]) -> Iterator[None]:
    """Within, work is done in a thread of its own; afterwards it is done. Where what is waited for fails, or somebody
    interrupts it, the work is told to `stop`, as often as it takes; what goes wrong with it is then of no interest."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        try:
            yield
        except BaseException:
            while not doing.done():
                stop()
                wait([doing], _BETWEEN_TRIES)
            raise
        doing.result()
