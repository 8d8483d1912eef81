"""Reads typed keys out of parsed TOML and gathers every fault on the way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from duckanon.errors import Fault
from duckanon.toml.checks import Check, a_table


class Section:
    """One table of the policy file. Every key asked for is remembered; `finish` reports those never asked for."""

    def __init__(self, data: dict[str, Any], where: str, faults: list[Fault]) -> None:
        self.data = data
        self.where = where
        self.faults = faults
        self.known: list[str] = []

    def key(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def fault(self, name: str, what: str, remedy: str = "") -> None:
        self.faults.append(Fault(self.key(name), what, remedy))

    def get(self, name: str, check: Check, default: Any = None, required: str | None = None) -> Any:
        """The value of `name` if it passes `check`, else `default` and a fault. `required`: remedy when missing."""
        self.known.append(name)
        if name not in self.data:
            if required is not None:
                self.fault(name, "is missing", required)
            return default
        value = self.data[name]
        problem = check(value)
        if problem is not None:
            self.fault(name, f"{problem}, found {shown(value)}")
            return default
        return value

    def section(self, name: str) -> Section:
        """A nested table, empty when it is not there."""
        value = self.get(name, a_table, {})
        return Section(value, self.key(name), self.faults)

    def sections(self, name: str) -> Iterable[tuple[str, Section]]:
        """Every nested table of a table whose keys are the user's own names."""
        outer = self.section(name)
        for child in outer.data:
            yield child, outer.section(child)

    def finish(self) -> None:
        for name in self.data:
            if name in self.known:
                continue
            near = difflib.get_close_matches(name, self.known, n=1, cutoff=0.6)
            remedy = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(sorted(self.known))}"
            self.fault(name, "unknown key", remedy)


def shown(value: Any) -> str:
    """A value as TOML writes it, shortened: policy text, not data."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return str(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
