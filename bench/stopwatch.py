"""How long things take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


def best(action: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds."""
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        action()
        found = min(found, time.perf_counter() - start)
    return found
