"""The node of the whole lattice with the least loss among those that hold.

Nodes are taken by rising bound on their loss, and the search ends when the next bound exceeds the best loss found: all
others are worse without being measured. Where failing is monotone a failing node proves that every finer node fails
too, so a chain upwards from a candidate is bisected and its highest failing node prunes all below it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from duckanon.search import FoundNode, Seen, Step
from duckanon.search.batch import NodeCounts, NodeMeasurer
from duckanon.search.effort import Effort, SearchLimits
from duckanon.search.greedy import least_loss
from duckanon.search.lattice import Lattice, Node, nowhere_above
from duckanon.search.monotone import is_monotone, top_is_best
from duckanon.search.objective import TIE, Objective, objective
from duckanon.search.walk import walk

_BATCH = 24  # nodes per statement


@dataclass
class _Best:
    """The best nodes so far: all within a tie of each other, so that the choice among them is deterministic."""

    found: list[tuple[float, NodeCounts]] = field(default_factory=list)

    @property
    def loss(self) -> float:
        return min((loss for loss, _ in self.found), default=float("inf"))

    def offer(self, loss: float, counted_nodes: NodeCounts) -> bool:
        better = loss < self.loss
        self.found.append((loss, counted_nodes))
        self.found = [(known, node) for known, node in self.found if known <= _tied(self.loss)]
        return better

    def choice(self) -> NodeCounts | None:
        """Of equal losses the one that suppresses least, then the one that comes first."""
        return min((node for _, node in self.found), key=lambda node: (node.failing_rows, node.node), default=None)


class _Probe:
    """A chain of nodes upwards from a candidate, bisected: below some node of it all fail, from there on all hold."""

    def __init__(self, chain: list[Node]) -> None:
        self.chain = chain
        self._low, self._high = 0, len(chain)  # chain[:low] fails, chain[high:] holds

    @property
    def node(self) -> Node:
        return self.chain[0]

    @property
    def middle(self) -> Node:
        return self.chain[(self._low + self._high) // 2]

    def learn(self, holds: bool) -> None:
        """Whether the middle holds."""
        middle = (self._low + self._high) // 2
        if holds:
            self._high = middle
        else:
            self._low = middle + 1

    @property
    def done(self) -> bool:
        return self._low >= self._high


class OptimalSearch:
    """The state of one search."""

    def __init__(
        self, lattice: Lattice, batch: NodeMeasurer, objective: Objective, limits: SearchLimits, seen: Seen
    ) -> None:
        self.lattice, self.batch, self.objective = lattice, batch, objective
        self.budget, self.limits, self.seen = batch.measurer.problem.budget, limits, seen
        self.effort = Effort(lattice.size)
        self.best = _Best()
        self.improvements: list[NodeCounts] = []
        self.measured: dict[Node, NodeCounts] = {}
        self.k_alone = not batch.measurer.judged
        self.monotone = is_monotone(batch.measurer)
        self.failing: list[Node] = []  # where failing is monotone: the highest nodes known to fail
        self.holding: list[Node] = []  # … and the lowest known to hold
        self.started = time.monotonic()

    def run(self, known: list[Node]) -> Node | None:
        """The best node, or None when no node holds; `known` are nodes worth measuring first."""
        self._measure(known)
        self._approach()
        self._descend()
        candidates = self.lattice.ascending(self.objective.bound, self._failing_above)
        probes: list[_Probe] = []
        while probes := self._filled(probes, candidates):
            if self._out_of_time():
                self.effort.bound = min(self.objective.bound(probe.node) for probe in probes)
                break
            self._measure([probe.middle for probe in probes])
            for probe in probes:
                self._teach(probe)
            probes = [probe for probe in probes if self._goes_on(probe)]
        return self._ended()

    def _approach(self) -> None:
        """From the measured node at which the fewest rows fail, of equal ones the most general, to its neighbours, up
        and down, until some node holds: where the top is not the best, no direction is."""
        asked: set[Node] = set()
        while not self.best.found and (nodes := self.measured.keys() - asked) and not self._out_of_time():
            nearest = min(nodes, key=lambda node: (self.measured[node].failing_rows, -self.lattice.rise(node), node))
            asked.add(nearest)
            self._measure(self.lattice.neighbours(nearest))

    def _descend(self) -> None:
        """From the best node downwards while that is better: a good answer early prunes most, and is there when
        the search is cut short."""
        loss = float("inf")
        while (best := self.best.choice()) and self.best.loss < loss and not self._out_of_time():
            loss = self.best.loss
            self._measure([self.lattice.lowered(best.node, index) for index in self.lattice.lowerable(best.node)])

    def _filled(self, probes: list[_Probe], candidates: Iterator[tuple[float, Node]]) -> list[_Probe]:
        """The probes that go on, and new ones for the next candidates, as many as go into one statement."""
        while len(probes) < self._room():
            bound, node = next(candidates, (float("inf"), self.lattice.top))
            if bound > _tied(self.best.loss) or bound == float("inf"):
                break
            if node in self.measured or (self._too_costly(node) and not self._out_of_time()):
                continue
            if not self.monotone or self._known_to_hold(node):
                probes.append(_Probe([node]))
            else:
                probes.append(_Probe(self._chain(node)))
                self._teach(probes[-1])
        return probes

    def _teach(self, probe: _Probe) -> None:
        """Tell a probe what is known of its chain. A candidate that holds is measured all the same, for its loss."""
        while not probe.done:
            holds = self._verdict(probe.middle)
            wanted = holds and probe.middle == probe.node and probe.node not in self.measured
            if holds is None or wanted:
                return
            probe.learn(holds)

    def _verdict(self, node: Node) -> bool | None:
        """Whether a node holds its class rules within the budget, if that is known."""
        if node in self.measured:
            return self.measured[node].within(self.budget)
        return False if self._failing_above(node) else True if self._known_to_hold(node) else None

    def _goes_on(self, probe: _Probe) -> bool:
        return not probe.done and not self._too_costly(probe.node)

    def _too_costly(self, node: Node) -> bool:
        """Whether a node is worse than the best, at the least. For k alone, what fails further up fails here too."""
        failing_rows = 0
        if self.k_alone:
            above = (found.failing_rows for known, found in self.measured.items() if nowhere_above(node, known))
            failing_rows = max(above, default=0)
        return self.objective.bound(node, failing_rows) > _tied(self.best.loss)

    def _remember(self, node: Node, holds: bool) -> None:
        """Where a node fails all finer ones do, and where it holds all more general ones."""
        if not self.monotone:
            return
        if not holds and self._failing_above(node) is None:
            self.failing = [known for known in self.failing if not nowhere_above(known, node)] + [node]
        if holds and not self._known_to_hold(node):
            self.holding = [known for known in self.holding if not nowhere_above(node, known)] + [node]

    def _ended(self) -> Node | None:
        choice, effort = self.best.choice(), self.effort
        fail = self.lattice.count_below(self.failing) if effort.proven else None
        if fail is not None:
            effort.pruned_by_failing = fail - sum(1 for node in self.measured if self._failing_above(node))
            effort.pruned_by_bound = effort.nodes - effort.measured - effort.pruned_by_failing
        return choice.node if choice else None

    def _room(self) -> int:
        """Nodes that the next statement may measure."""
        left = _BATCH if self.limits.nodes is None else self.limits.nodes - self.effort.measured
        return max(1, min(_BATCH, left))

    def _out_of_time(self) -> bool:
        late = self.limits.seconds is not None and time.monotonic() - self.started > self.limits.seconds
        most = self.lattice.size if self.limits.nodes is None else self.limits.nodes
        # What has measured every node has proven all there is to prove.
        if late or most <= self.effort.measured < self.lattice.size:
            self.effort.proven = False
        return not self.effort.proven

    def _failing_above(self, node: Node) -> Node | None:
        """A node known to fail that is this one or more general: so this one fails, too."""
        return next((known for known in self.failing if nowhere_above(node, known)), None)

    def _known_to_hold(self, node: Node) -> bool:
        """A finer node holds the class rules, so this one does; only its loss is not known."""
        return any(nowhere_above(known, node) for known in self.holding)

    def _chain(self, node: Node) -> list[Node]:
        """Upwards from a node by the least rise of the bound, as far as a node may still be the answer."""
        chain = [node]
        while True:
            above = [self.lattice.raised(chain[-1], index) for index in self.lattice.raisable(chain[-1])]
            above = [n for n in above if self.objective.bound(n) <= _tied(self.best.loss)]
            if not above:
                return chain
            chain.append(min(above, key=lambda n: (self.objective.bound(n), n)))

    def _measure(self, nodes: list[Node]) -> None:
        """Measure nodes, and keep the best."""
        unknown = [node for node in dict.fromkeys(nodes) if node not in self.measured]
        counted_nodes = self.batch.measure(unknown) if unknown else []
        self.effort.measured += len(counted_nodes)
        self.measured |= {found.node: found for found in counted_nodes}
        for found in counted_nodes:
            self._remember(found.node, found.within(self.budget))
        bound, most = self.objective.bound, _tied(self.best.loss)
        good = [found for found in counted_nodes if bound(found.node, found.failing_rows) <= most]
        good = [found for found in good if self.batch.holds(found)]
        for found, loss in zip(good, self.objective.loss(good), strict=True):
            self.seen(found.node, found.failing_rows)
            if self.best.offer(loss, found):
                self.improvements.append(found)


def find_optimal(lattice: Lattice, batch: NodeMeasurer, seen: Seen) -> FoundNode:
    """The best node by the policy's objective; the path is that of the ever better nodes found."""
    wanted = batch.measurer.policy.search
    # The greedy answer comes first: something to improve on, and to fall back on when the search is cut short.
    choose = least_loss(lattice, batch.census.hierarchies, wanted.weighting)
    greedy = walk(lattice, batch, choose, seen)
    found = search_on(greedy, lattice, batch, SearchLimits(wanted.time_limit, wanted.nodes), seen)
    return replace(found, path=found.path[len(greedy.path) :])


def search_on(walked: FoundNode, lattice: Lattice, batch: NodeMeasurer, limits: SearchLimits, seen: Seen) -> FoundNode:
    """The best node that is found within the limits, whatever a walk has found; its path, then the better nodes."""
    measurer = batch.measurer
    search = OptimalSearch(lattice, batch, objective(batch, measurer.policy.search.loss), limits, seen)
    known = [] if top_is_best(measurer) else [lattice.top, _nearest(walked)]
    node = search.run([walked.answer.node] if walked.answer else known)
    path = (*walked.path, *(Step(better.node, better.failing_rows, True) for better in search.improvements))
    effort = search.effort.as_json()
    if node is None:
        return FoundNode(path, walked.bottom, None, top=walked.top, effort=effort)
    return FoundNode(path, walked.bottom, batch.alone(node), effort=effort)


def _nearest(walked: FoundNode) -> Node:
    """The node of the path at which the fewest rows fail."""
    return min(walked.path, key=lambda step: (step.failing_rows, step.node)).node


def _tied(loss: float) -> float:
    """The highest loss that counts as equal to `loss`."""
    return loss + abs(loss) * TIE + 1e-12 if loss != float("inf") else loss
