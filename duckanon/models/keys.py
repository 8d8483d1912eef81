"""The keys of a privacy model in the policy file: how they are read, compared with those of another policy, and told to
a person and to an editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from duckanon.toml import Section
from duckanon.toml.checks import Bounds, Check, a_table

LEVEL = "^(0|[1-9][0-9]{0,5})$"  # a level is written in one way only: 1, not 01


@dataclass(frozen=True)
class Demand:
    """A threshold: the larger the stricter, or the smaller. None: nothing is demanded."""

    threshold: float | None
    larger_is_stricter: bool

    def is_less_than(self, other: Demand) -> bool:
        if other.threshold is None or self.threshold is None:
            return other.threshold is not None
        rises = self.threshold - other.threshold
        return rises < 0 if self.larger_is_stricter else rises > 0


@dataclass(frozen=True)
class Key:
    """A threshold that is one number."""

    name: str
    bounds: Bounds
    larger_is_stricter: bool
    meaning: str
    example: float

    def read(self, section: Section, required: str | None = None) -> Any:
        """What the section asks for; None: nothing. `required`: the remedy where it has to."""
        value = section.get(self.name, self.bounds, required=required)
        return None if value is None else self.bounds.of(value)

    def demands(self, mine: Any, others: Any) -> dict[str, Demand]:
        """Every number of a threshold, also those that only another policy's has."""
        return {self.name: Demand(mine, self.larger_is_stricter)}

    @property
    def meanings(self) -> Mapping[str, str]:
        """Every key that there is to write, with what it means."""
        return {self.name: self.meaning}

    @property
    def schema(self) -> dict[str, Any]:
        return {"description": sentence(self.meaning), **self.bounds.schema, "examples": [self.example]}


@dataclass(frozen=True)
class Option:
    """What may be said beside a threshold, in one table with it."""

    name: str
    check: Check
    meaning: str
    schema: Mapping[str, Any]
    weakens: bool = False  # whether who says yes to it asks for less


@dataclass(frozen=True)
class OptionKey(Key):
    """A threshold that is one number, or a table of this number, its `threshold`, and an option."""

    option: Option
    made: Callable[[Any, Any], Any]  # of both; the option is None where nothing is said of it

    def read(self, section: Section, required: str | None = None) -> Any:
        if not isinstance(section.data.get(self.name), dict):
            number = super().read(section, required)
            return None if number is None else self.made(number, None)
        inner = section.section(self.name)
        number = inner.get("threshold", self.bounds, required=f"{self.name} = {{ threshold = {self.example}, … }}")
        option = inner.get(self.option.name, self.option.check)
        inner.finish()
        return None if number is None else self.made(self.bounds.of(number), option)

    def demands(self, mine: Any, others: Any) -> dict[str, Demand]:
        found = super().demands(getattr(mine, "threshold", mine), others)
        if self.option.weakens and mine is not None and others is not None:
            found[f"{self.name}.{self.option.name}"] = Demand(float(getattr(mine, self.option.name)), False)
        return found

    @property
    def meanings(self) -> Mapping[str, str]:
        parts = {"threshold": "the same, in a table with what follows", self.option.name: self.option.meaning}
        return {self.name: self.meaning} | {f"{self.name}.{part}": meaning for part, meaning in parts.items()}

    @property
    def schema(self) -> dict[str, Any]:
        option = {"description": sentence(self.option.meaning), **self.option.schema}
        table = {
            "type": "object",
            "required": ["threshold"],
            "additionalProperties": False,
            "properties": {"threshold": self.bounds.schema, self.option.name: option},
        }
        kinds = [self.bounds.schema, table]
        return {"description": sentence(self.meaning), "oneOf": kinds, "examples": [self.example]}


@dataclass(frozen=True)
class TableKey:
    """A threshold of several numbers, all of which have to be there."""

    name: str
    parts: tuple[Key, ...]
    made: Callable[..., Any]  # of the parts by their names
    meaning: str

    @property
    def example(self) -> dict[str, float]:
        return {part.name: part.example for part in self.parts}

    def read(self, section: Section) -> Any:
        if section.get(self.name, a_table) is None:
            return None
        inner = section.section(self.name)
        remedy = f"{self.name} = {{ {', '.join(f'{name} = {shown}' for name, shown in self.example.items())} }}"
        read = {part.name: part.read(inner, required=remedy) for part in self.parts}
        inner.finish()
        return self.made(**read)

    def demands(self, mine: Any, others: Any) -> dict[str, Demand]:
        return {
            f"{self.name}.{part.name}": Demand(getattr(mine, part.name, None), part.larger_is_stricter)
            for part in self.parts
        }

    @property
    def meanings(self) -> Mapping[str, str]:
        return {f"{self.name}.{part.name}": part.meaning for part in self.parts}

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "description": sentence(self.meaning),
            "type": "object",
            "required": [part.name for part in self.parts],
            "additionalProperties": False,
            "properties": {part.name: part.schema for part in self.parts},
            "examples": [self.example],
        }


@dataclass(frozen=True)
class LevelKey:
    """A threshold of the same kind for each level of sensitivity that has one."""

    name: str
    bounds: Bounds
    larger_is_stricter: bool
    meaning: str
    example: Mapping[str, float]

    def read(self, section: Section) -> Any:
        inner = section.section(self.name)
        bounds: dict[int, float] = {}
        for key in inner.data:
            bound = inner.get(key, self.bounds)
            if not is_level(key):
                inner.fault(key, "must be the number of a level")
            elif bound is not None:
                bounds[int(key)] = self.bounds.of(bound)
        return bounds or None

    def demands(self, mine: Any, others: Any) -> dict[str, Demand]:
        bounds = mine or {}
        levels = dict.fromkeys([*bounds, *(others or {})])
        return {f"{self.name}.{level}": Demand(bounds.get(level), self.larger_is_stricter) for level in levels}

    @property
    def meanings(self) -> Mapping[str, str]:
        return {self.name: self.meaning}

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "description": sentence(self.meaning),
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {LEVEL: self.bounds.schema},
            "examples": [dict(self.example)],
        }


ThresholdKey = Key | TableKey | LevelKey


def is_level(key: str) -> bool:
    """Whether a key is the number of a level."""
    return key.isascii() and key.isdigit() and len(key) <= 6 and key == str(int(key))


def sentence(meaning: str) -> str:
    return f"{meaning[0].upper()}{meaning[1:]}."
