"""How a dialect refuses what it has no words for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

Words = Callable[..., str]


def unsaid(what: str) -> Words:
    """A node that the dialect has no words for."""

    def refuse(generator: Any, node: exp.Expr) -> str:
        generator.unsupported(what)
        return ""

    return refuse
