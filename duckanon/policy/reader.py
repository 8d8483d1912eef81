"""Reads typed keys out of parsed TOML and gathers every fault on the way."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from duckanon.errors import Fault

Check = Callable[[Any], str | None]  # the fault's text, or None when the value will do


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


def is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and Decimal(value).is_finite()


def a_table(value: Any) -> str | None:
    return None if isinstance(value, dict) else "must be a table"


def text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a non-empty text"


def texts(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return None
    return "must be a list of non-empty texts"


def one_character(value: Any) -> str | None:
    good = isinstance(value, str) and len(value) == 1 and not value.isalnum() and value not in '"\r\n'
    return None if good else "must be one character, and no letter, digit, quote or line end"


def truth(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def one_of(*options: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in options and isinstance(value, str) else f"must be one of {', '.join(options)}"

    return check


def whole(least: int) -> Check:
    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**53
        return None if good else f"must be a whole number of at least {least}"

    return check


def number(above: float | None = None, least: float | None = None, most: float | None = None) -> Check:
    bounds = [
        f"above {above:g}" if above is not None else "",
        f"at least {least:g}" if least is not None else "",
        f"at most {most:g}" if most is not None else "",
    ]
    wanted = " and ".join(bound for bound in bounds if bound)

    def check(value: Any) -> str | None:
        if is_number(value):
            low = (above is None or value > above) and (least is None or value >= least)
            if low and (most is None or value <= most):
                return None
        return f"must be a number {wanted}".rstrip()

    return check


share = number(above=0, most=1)
