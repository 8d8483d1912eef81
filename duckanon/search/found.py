"""How a search went and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duckanon.search.batch import NodeCounts
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement

Seen = Callable[[Node, int], None]  # told of every node on the path: its levels and failing rows


@dataclass(frozen=True)
class Step:
    """A node on the path of a search."""

    node: Node
    failing_rows: int
    holds: bool


@dataclass(frozen=True)
class FoundNode:
    """How a search went and what it found; without an answer `top` says what does not hold at the top node."""

    path: tuple[Step, ...]
    bottom: NodeCounts
    answer: Measurement | None
    top: Measurement | None = None
    effort: dict[str, Any] | None = None
