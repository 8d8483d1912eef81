"""A sensitive column of a policy, as the models see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class ValueWanted(Protocol):
    """What is asked of one value, over what is asked of its column."""

    @property
    def thresholds(self) -> Mapping[str, Any]: ...


class Wanted(Protocol):
    """A sensitive column with its thresholds, by key; what is not there is not asked for."""

    @property
    def column(self) -> str: ...
    @property
    def thresholds(self) -> Mapping[str, Any]: ...
    @property
    def values(self) -> Mapping[str, ValueWanted]: ...
    @property
    def publish(self) -> str: ...
    @property
    def levels(self) -> Mapping[int, tuple[str, ...]]: ...
    @property
    def level_of(self) -> Mapping[str, int]: ...
    @property
    def needs_levels(self) -> bool: ...
    @property
    def height(self) -> int:
        """Of the hierarchy by which its values lie apart; 0: there is none."""
        ...


def ancestors(wanted: Wanted) -> list[str]:
    """What tells the nodes above a value apart, from its parent up to those below the top."""
    return [f"up_{level}" for level in range(1, wanted.height)]


def ordinal_of(wanted: Wanted, value: str | None) -> int:
    """The number of a value among those that the policy names, from 1."""
    return list(wanted.values).index(value or "") + 1


def own_thresholds(wanted: Wanted, key: str) -> dict[int, Any]:
    """The thresholds of single values, by their ordinals."""
    named = enumerate(wanted.values.values(), start=1)
    return {ordinal: value.thresholds[key] for ordinal, value in named if key in value.thresholds}


def ordinals_without(wanted: Wanted, key: str) -> list[int]:
    """The values that the column's threshold is for: those without one of their own; 0 stands for all unnamed."""
    own = own_thresholds(wanted, key)
    return [ordinal for ordinal in range(len(wanted.values) + 1) if ordinal not in own]
