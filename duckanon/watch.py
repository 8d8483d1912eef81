"""How a run is followed: in the log of the program that embeds it, unless somebody else is given to it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from duckanon.errors import outcome_of

if TYPE_CHECKING:
    from duckanon.search.progress import Progress

_LOGGER = logging.getLogger("duckanon")
_LOGGER.addHandler(logging.NullHandler())  # who does not ask for the log hears nothing


class Watch:
    """Sees a run go by, and says nothing of it. `say` is for people, `step` for logs."""

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        pass

    def say(self, message: str, progress: Progress | None = None) -> None:
        pass

    def step(self, step: str, **facts: Any) -> None:
        pass


class Logged(Watch):
    """Every step as a record of the logger `duckanon`: in words, and with its facts for handlers that keep them apart
    (`record.policy`, `record.step`, `record.facts`). Like every log of ours it holds no value of a row."""

    def __init__(self, policy: str) -> None:
        self.policy = policy

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            outcome, message = outcome_of(error)
            self.step("failed", outcome=outcome, message=message)

    def step(self, step: str, **facts: Any) -> None:
        level = logging.ERROR if step == "failed" else logging.WARNING if facts.get("warnings") else logging.INFO
        told = ", ".join(f"{name} {fact}" for name, fact in facts.items())
        apart = {"policy": self.policy, "step": step, "facts": facts}
        _LOGGER.log(level, "%s: %s%s", self.policy, step, f": {told}" if told else "", extra=apart)


class Stopwatch:
    """Follows a run part by part, and knows how many seconds each has taken."""

    def __init__(self, watch: Watch) -> None:
        self.seconds: dict[str, float] = {}
        self.say, self._step = watch.say, watch.step

    @contextmanager
    def timed(self, part: str, message: str, more: bool = False) -> Iterator[dict[str, Any]]:
        """What is put into the dictionary goes into the log with the part. `more` of this part is to come."""
        self.say(message)
        start, facts = time.perf_counter(), dict[str, Any]()
        yield facts
        self.seconds[part] = round(self.seconds.get(part, 0.0) + time.perf_counter() - start, 4)
        if not more:
            self._step(part, seconds=self.seconds[part], **facts)
