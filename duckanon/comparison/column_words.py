"""What becomes of each quasi-identifier, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from duckanon.hierarchy import Hierarchy
from duckanon.recoding import Recoding

AS_IT_IS, GONE = "as it is", "gone"
_FEW = 0.01  # of the rows


def column_words(recoding: Recoding, hierarchies: Iterable[Hierarchy]) -> dict[str, str]:
    """By column: what its level does or, where classes have their own, what each does to which share of the rows."""
    combinations = recoding.classes_by_levels()
    if combinations is None:
        levels = recoding.levels or {}
        return {h.column.name: _does(h, levels[h.column.name]) for h in hierarchies}
    return {h.column.name: _mix(h, _rows_by_level(h.column.name, combinations)) for h in hierarchies}


def _rows_by_level(column: str, combinations: list[dict[str, Any]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in combinations:
        levels, rows = part["levels"], part["rows"]
        found[levels[column]] = found.get(levels[column], 0) + rows
    return dict(sorted(found.items()))


def _mix(hierarchy: Hierarchy, rows: dict[int, int]) -> str:
    """The levels of few rows are not worth a word."""
    whole = sum(rows.values())
    shares = {level: count / whole for level, count in rows.items() if count >= whole * _FEW}
    said = {level: "> 99%" if share > 1 - _FEW else f"{share:.0%}" for level, share in shares.items()}
    return ", ".join(_does(hierarchy, level) + (f" {said[level]}" if len(rows) > 1 else "") for level in shares)


def _does(hierarchy: Hierarchy, level: int) -> str:
    """Not by example: a label is only for who may see the release."""
    if level == hierarchy.height:
        return GONE
    if level == 0:
        return AS_IT_IS
    return f"level {level} of {hierarchy.height}" if hierarchy.kind is None else hierarchy.describe(level)
