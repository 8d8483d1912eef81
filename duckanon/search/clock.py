"""How long a search may go on."""

from __future__ import annotations

from time import monotonic


class Clock:
    """Runs from when it is made; without a limit it is never over."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return self._end is not None and monotonic() >= self._end
