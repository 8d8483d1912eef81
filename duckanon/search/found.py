"""How a search went and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from duckanon.search.batch import NodeCounts
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement
from duckanon.search.progress import Progress


class Seen(Protocol):
    """Told of every node on the path, its levels and failing rows and, where that can be counted, how far it is."""

    def __call__(self, node: Node, failing_rows: int, progress: Progress | None = None, /) -> None: ...


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
