"""What measured nodes tell of others: at which rows fail all the same, and which are worse than the best."""

from __future__ import annotations

from duckanon.search.batch import Sizes
from duckanon.search.lattice import Lattice, Node, nowhere_above

_RECENT = 48  # nodes that are looked through one by one


class HighestAbove:
    """Nodes with a figure each. Of those that are nowhere below a node, the one with the highest figure.

    A node is a bit, the higher its figure the lower the bit; of every attribute and level a mask has the bits of the
    nodes that are nowhere below. What another tells as well is forgotten.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self._recent: list[tuple[float, Node]] = []  # not sorted yet
        self._sorted: list[tuple[float, Node]] = []
        self._masks: list[list[int]] = []
        self._sort()

    def learn(self, node: Node, figure: float) -> None:
        self._recent.append((figure, node))
        if len(self._recent) > _RECENT:
            self._sort()

    def at(self, node: Node) -> tuple[float, Node] | None:
        """The highest figure, and where it is."""
        found = self._found(node)
        best = self._sorted[(found & -found).bit_length() - 1] if found else None
        for known in self._recent:
            if (best is None or known[0] > best[0]) and nowhere_above(node, known[1]):
                best = known
        return best

    def _found(self, node: Node) -> int:
        found = -1
        for mask, level in zip(self._masks, node, strict=True):
            found &= mask[level]
        return found

    def _sort(self) -> None:
        known = sorted(self._sorted + self._recent, key=lambda pair: (-pair[0], pair[1]))
        self._recent, self._sorted = [], []
        self._masks = [[0] * (level + 1) for level in self.lattice.heights]
        for figure, node in known:
            if self._found(node):
                continue
            bit = 1 << len(self._sorted)
            self._sorted.append((figure, node))
            for mask, level in zip(self._masks, node, strict=True):
                for lower in range(level + 1):
                    mask[lower] |= bit


class HighestBelow:
    """The same of the nodes that are nowhere above: the lattice upside down."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self._mirrored = HighestAbove(lattice)

    def learn(self, node: Node, figure: float) -> None:
        self._mirrored.learn(self._of(node), figure)

    def at(self, node: Node) -> tuple[float, Node] | None:
        found = self._mirrored.at(self._of(node))
        return found and (found[0], self._of(found[1]))

    def _of(self, node: Node) -> Node:
        return tuple(height - level for height, level in zip(self.lattice.heights, node, strict=True))


class Knowledge:
    """A search's, of the whole lattice."""

    def __init__(self, lattice: Lattice, budget: int) -> None:
        self.budget = budget  # rows that may fail: those of the policy or, if fewer, what leaves a loss to be the best
        self._sizes: dict[Node, Sizes] = {}
        self._lasting = HighestAbove(lattice)
        self._open = HighestBelow(lattice)
        self._squares = HighestBelow(lattice)

    def learn(self, node: Node, sizes: Sizes) -> None:
        self._sizes[node] = sizes
        self._squares.learn(node, sizes.squares)
        if sizes.lasting:
            self._lasting.learn(node, min(sizes.lasting, self.budget + 1))

    def settle(self, node: Node) -> None:
        """No more will be learned of this node."""
        if (lasting := self._sizes[node].lasting) <= self.budget:
            self._open.learn(node, -lasting)

    @property
    def closed(self) -> list[Node]:
        """Where more rows than the budget last: at these nodes and all finer ones too many fail."""
        return [node for node, sizes in self._sizes.items() if sizes.lasting > self.budget]

    def lasting(self, node: Node) -> int:
        """Rows that fail at a node at the least: those that last from further up."""
        known = self._lasting.at(node)
        return int(known[0]) if known else 0

    def closed_above(self, node: Node) -> Node | None:
        """A node known to fail that is this one or more general: so this one fails, too."""
        known = self._lasting.at(node)
        return known[1] if known and known[0] > self.budget else None

    def is_open(self, node: Node) -> bool:
        """Whether no more rows than the budget last, as at a finer node."""
        known = self._open.at(node)
        return known is not None and -known[0] <= self.budget

    def finer(self, node: Node) -> Sizes | None:
        """The sizes of the known node with the largest classes that is this one or finer."""
        known = self._squares.at(node)
        return self._sizes[known[1]] if known else None
