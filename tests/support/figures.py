"""What runs and checks tell, compared figure by figure."""

from __future__ import annotations

import math
from typing import Any


def lost(utility: dict[str, Any] | None) -> dict[str, Any]:
    """What a release has lost. What analysts find again in it is said only by a run that counts the source here."""
    return {key: value for key, value in (utility or {}).items() if key not in ("numbers", "associations")}


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == expected)


def must_be_alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys(), (found, expected)
    for part in expected:
        assert alike(found[part], expected[part]), f"{part}: found {found[part]}, expected {expected[part]}"
