"""Chains of nodes upwards, and where on them nodes begin to be open: so few rows fail there at all finer nodes that one
of these may still be the answer."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

from duckanon.hierarchy import Hierarchy
from duckanon.search.lattice import Lattice, Node

_HEED = 0.2  # how much the last chain counts among all


class Probe:
    """A chain of nodes upwards from a candidate: up to some node of it all are closed, from there on all are open. That
    place is looked for around the expected one, ever farther, then halfway."""

    def __init__(self, chain: list[Node], expected: int = 0) -> None:
        self.chain = chain
        self._low, self._high = 0, len(chain)  # chain[:low] is closed, chain[high:] open
        self._at, self._step = expected, 1

    @property
    def node(self) -> Node:
        return self.chain[0]

    @property
    def asked(self) -> Node:
        return self.chain[self._at]

    @property
    def border(self) -> tuple[Node, Node] | None:
        """The last closed and the first open node, once both are known."""
        found = self.done and 0 < self._low < len(self.chain)
        return (self.chain[self._low - 1], self.chain[self._low]) if found else None

    @property
    def done(self) -> bool:
        return self._low >= self._high

    def learn(self, is_open: bool) -> None:
        """Whether the asked node is open."""
        self._low, self._high = (self._low, self._at) if is_open else (self._at + 1, self._high)
        if self._low > 0 and self._high < len(self.chain):
            self._at = (self._low + self._high) // 2
        else:
            farther = self._at - self._step if is_open else self._at + self._step
            self._at, self._step = min(max(farther, self._low), self._high - 1), 2 * self._step


class Chains:
    """Goes up from nodes, and remembers where others have become open."""

    def __init__(
        self, lattice: Lattice, bound: Callable[[Node], float], hierarchies: tuple[Hierarchy, ...], open_: Node | None
    ) -> None:
        """`open_`: a node that is open, and about the lowest."""
        self.lattice, self.bound = lattice, bound
        self._logs = [[log(max(1, level.values)) for level in h.levels] for h in hierarchies]
        self._border = None if open_ is None else self._fineness(open_)  # below it, nodes are open as a rule

    def probe(self, node: Node) -> Probe:
        chain = self._chain(node)
        border = (self._fineness(node) / 2) if self._border is None else self._border
        return Probe(chain, next((at for at, above in enumerate(chain) if self._fineness(above) <= border), 0))

    def learn(self, probe: Probe) -> None:
        if probe.border:
            found = sum(map(self._fineness, probe.border)) / 2
            self._border = found if self._border is None else (1 - _HEED) * self._border + _HEED * found

    def _fineness(self, node: Node) -> float:
        """How many classes a node might have, as a logarithm."""
        return sum(logs[level] for logs, level in zip(self._logs, node, strict=True))

    def _chain(self, node: Node) -> list[Node]:
        """To the top: what is closed far up closes the most nodes, and has the fewest classes to be counted."""
        chain = [node]
        while (last := chain[-1]) != self.lattice.top:
            above = [self.lattice.raised(last, index) for index in self.lattice.raisable(last)]
            chain.append(min(above, key=lambda raised: self._step(last, raised)))
        return chain

    def _step(self, node: Node, raised: Node) -> tuple[float, float, Node]:
        """What is raised first costs little, where the candidates are, and leaves most values apart: so nodes stay
        closed for long."""
        merged = self._fineness(node) - self._fineness(raised)
        return sqrt(max(0.0, self.bound(raised) - self.bound(node))) * merged, merged, raised
