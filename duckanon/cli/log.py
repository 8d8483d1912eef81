"""How a run is followed: a line on a terminal for a person, lines of JSON for a log; never a row's value."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from duckanon.cli.line import Line
from duckanon.watch import Watch

if TYPE_CHECKING:
    from duckanon.search.progress import Progress


class Terminal(Watch):
    """One line on a terminal, rewritten; nothing at all when piped."""

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = stream or sys.stderr
        self.line = Line(stream) if stream.isatty() else None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.line:
            self.line.end()

    def say(self, message: str, progress: Progress | None = None) -> None:
        if self.line:
            self.line.show(message, progress)


class JsonLog(Watch):
    """One JSON object per line and step."""

    def __init__(self, policy: str | None, stream: TextIO | None = None) -> None:
        self.policy, self.stream = policy, stream or sys.stderr

    def step(self, step: str, **facts: Any) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "policy": self.policy, "step": step, **facts}
        with suppress(OSError):  # a log that nobody reads any more does not change the outcome
            print(json.dumps(line, ensure_ascii=False, default=str), file=self.stream, flush=True)
