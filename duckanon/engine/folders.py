"""Folders of files that the servers of a warehouse write themselves."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from duckanon.policy import Release


class Folders(Protocol):
    """Each is at an address that all servers see, and another beside it says whose it is."""

    def holds_files(self, address: str) -> bool:
        """Whether there is a file at the address, or somewhere below it."""

    def mark(self, address: str) -> str | None:
        """What is said of the folder; None: nothing is."""

    def say_whose(self, address: str, mark: str) -> None: ...

    def write(self, rows: exp.Query, release: Release) -> None:
        """The rows of a query, in place of all that the folder holds."""
