"""What a key may hold: each check says what is wrong with a value; those of numbers say it to an editor, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Check = Callable[[Any], str | None]  # the fault's text, or None when the value will do


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


@dataclass(frozen=True)
class Bounds:
    """A check of numbers: `whole` ones, or any."""

    whole: bool = False
    above: float | None = None
    least: float | None = None
    most: float | None = None

    def __call__(self, value: Any) -> str | None:
        return None if is_number(value) and self._holds(value) else f"must be {self._wanted}".rstrip()

    def _holds(self, value: int | Decimal) -> bool:
        if self.whole and not (isinstance(value, int) and value < _MOST_WHOLE):
            return False
        low = (self.above is None or value > self.above) and (self.least is None or value >= self.least)
        return low and (self.most is None or value <= self.most)

    @property
    def _wanted(self) -> str:
        if self.whole:
            return f"a whole number of at least {self.least}"
        named = {"above": self.above, "at least": self.least, "at most": self.most}
        return f"a number {' and '.join(f'{word} {bound:g}' for word, bound in named.items() if bound is not None)}"

    def of(self, value: int | Decimal) -> int | float:
        """A value that holds, as all else counts with it."""
        return int(value) if self.whole else float(value)

    @property
    def schema(self) -> dict[str, Any]:
        """The same as a JSON schema."""
        bounds = {"minimum": self.least, "exclusiveMinimum": self.above, "maximum": self.most}
        most = {"exclusiveMaximum": _MOST_WHOLE} if self.whole else {}
        told = {word: bound for word, bound in bounds.items() if bound is not None}
        return {"type": "integer" if self.whole else "number", **told, **most}


_MOST_WHOLE = 2**53


def whole(least: int) -> Bounds:
    return Bounds(whole=True, least=least)


def number(above: float | None = None, least: float | None = None, most: float | None = None) -> Bounds:
    return Bounds(above=above, least=least, most=most)


share = number(above=0, most=1)
