"""What is wrong with several hierarchies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from duckanon.errors import EngineError, Fault, HierarchyError


class Faults:
    """Gathers the faults of each, to report them together in the order of the policy."""

    def __init__(self) -> None:
        self._found: dict[int, list[Fault]] = {}

    @contextmanager
    def of(self, index: int) -> Iterator[None]:
        """What is raised within is a fault of that hierarchy."""
        try:
            yield
        except HierarchyError as error:
            self._found.setdefault(index, []).extend(error.faults)
            if isinstance(error.__cause__, EngineError):
                self.must_be_none()  # what the database has refused once ends the transaction: no more can be asked

    def __contains__(self, index: int) -> bool:
        return index in self._found

    def must_be_none(self) -> None:
        if self._found:
            raise HierarchyError([fault for index in sorted(self._found) for fault in self._found[index]])
