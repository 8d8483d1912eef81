"""How far a search has come, where that can be counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """So many of so many nodes, rows or choices are done. No value of a row is in it."""

    done: int
    of: int
    things: str
    at_most: bool = False  # it may be over sooner
    even: bool = False  # each of them takes about as long as those before or, with `at_most`, no longer

    @property
    def left(self) -> int:
        return self.of - self.done

    def __str__(self) -> str:
        return f"{self.done:,} of {'at most ' if self.at_most else ''}{self.of:,} {self.things}"
