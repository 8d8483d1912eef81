"""What becomes of each quasi-identifier, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from duckanon.hierarchy import Hierarchy

AS_IT_IS, GONE = "as it is", "gone"
_FEW = 0.01  # of the rows


def column_words(columns: Mapping[str, Any], hierarchies: Iterable[Hierarchy]) -> dict[str, str]:
    """By column: what its level does or, where classes have their own, what each does to which share of the rows.
    `columns` are those of a utility."""
    return {h.column.name: _mix(h, columns[h.column.name]["levels"]) for h in hierarchies}


def _mix(hierarchy: Hierarchy, shares: Mapping[int, float]) -> str:
    """The levels of few rows are not worth a word."""
    if len(shares) == 1:
        return level_words(hierarchy, *shares)
    said = {level: "> 99%" if share > 1 - _FEW else f"{share:.0%}" for level, share in shares.items() if share >= _FEW}
    return ", ".join(f"{level_words(hierarchy, level)} {share}" for level, share in said.items())


def level_words(hierarchy: Hierarchy, level: int) -> str:
    """What a level does. Not by example: a label is only for who may see the release."""
    if level == hierarchy.height:
        return GONE
    if level == 0:
        return AS_IT_IS
    return f"level {level} of {hierarchy.height}" if hierarchy.kind is None else hierarchy.describe(level)
