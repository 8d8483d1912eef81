"""How a dialect refuses what it has no words for, and what it leaves out because it needs none."""

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


def inside(generator: Any, node: exp.Expr) -> str:
    """What a node is made around, and nothing else."""
    text: str = generator.sql(node, "this")
    return text
