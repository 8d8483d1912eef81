"""The node of the whole lattice with the least loss among those that hold.

Nodes are taken by rising bound on their loss, and the search ends when the next bound exceeds the best loss found: all
others are worse without being measured. Of every measured node is known how many rows fail at all finer ones, too, at
the least, whatever the budget and the rules: what these cost raises the bounds of the finer nodes, and where they are
too many, none of these is the answer. So a candidate is looked at from above, on a chain up to the top, and the highest
node of it with too many prunes all below it. Before values are counted, the sizes of the classes are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from duckanon.search import FoundNode, Seen, Step
from duckanon.search.batch import NodeCounts, NodeMeasurer
from duckanon.search.clock import Clock
from duckanon.search.effort import Effort, SearchLimits
from duckanon.search.greedy import least_loss
from duckanon.search.knowledge import Knowledge
from duckanon.search.lattice import Lattice, Node
from duckanon.search.monotone import top_is_best
from duckanon.search.objective import TIE, Objective, objective
from duckanon.search.probe import Chains, Probe
from duckanon.search.progress import Progress
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
        self.dropped: set[Node] = set()  # nodes that are no answer by the sizes of their classes alone
        self.knowledge = Knowledge(lattice, self.budget)

    def run(self, known: list[Node]) -> Node | None:
        """The best node, or None when no node holds; `known` are nodes worth measuring first."""
        self._measure(known)
        self._approach()
        self._descend()
        best, bound = self.best.choice(), self.objective.bound
        chains = Chains(self.lattice, bound, self.batch.census.hierarchies, best.node if best else None)
        candidates = self.lattice.ascending(bound, self.knowledge.closed_above, self._too_general)
        probes: list[Probe] = []
        while probes := self._filled(probes, candidates, chains):
            if self._out_of_time():
                self.effort.bound = min(bound(probe.node) for probe in probes)
                break
            self._measure(self._large_enough([probe.asked for probe in probes]))
            for probe in probes:
                self._teach(probe)
                chains.learn(probe)
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
            below = [self.lattice.lowered(best.node, index) for index in self.lattice.lowerable(best.node)]
            self._measure(self._large_enough(below))

    def _filled(self, probes: list[Probe], candidates: Iterator[tuple[float, Node]], chains: Chains) -> list[Probe]:
        """The probes that go on, and new ones for the next candidates, as many as go into one statement."""
        while len(probes) < self._room():
            bound, node = next(candidates, (float("inf"), self.lattice.top))
            if bound > _tied(self.best.loss) or bound == float("inf"):
                break
            if self._is_known(node) or (self._too_costly(node) and not self._out_of_time()):
                continue
            probes.append(Probe([node]) if self.knowledge.is_open(node) else chains.probe(node))
            self._teach(probes[-1])
        return probes

    def _teach(self, probe: Probe) -> None:
        """Tell a probe what is known of its chain. A candidate that holds is measured all the same, for its loss."""
        while not probe.done:
            is_open = self._is_open(probe.asked)
            wanted = is_open and probe.asked == probe.node and not self._is_known(probe.node)
            if is_open is None or wanted:
                return
            probe.learn(is_open)

    def _is_open(self, node: Node) -> bool | None:
        """Whether the rows that fail at all finer nodes are within the budget, if that is known."""
        if self.knowledge.closed_above(node):
            return False
        return True if self._is_known(node) or self.knowledge.is_open(node) else None

    def _is_known(self, node: Node) -> bool:
        return node in self.measured or node in self.dropped

    def _goes_on(self, probe: Probe) -> bool:
        return not probe.done and not self._too_costly(probe.node)

    def _too_costly(self, node: Node) -> bool:
        """Whether a node is worse than the best, at the least: what lasts from further up fails here, too."""
        failing, most = self.knowledge.lasting(node), _tied(self.best.loss)
        return self.objective.bound(node, failing) > most or self._above(node, failing) > most

    def _too_general(self, node: Node) -> bool:
        """Whether a node is, and all that are more general with it."""
        return self._above(node, 0) > _tied(self.best.loss)

    def _above(self, node: Node, failing: int) -> float:
        """The least loss of a node by what is known of finer ones."""
        finer = self.knowledge.finer(node) if self.objective.bound_above else None
        return self.objective.bound_above(finer, failing) if self.objective.bound_above and finer else 0.0

    def _large_enough(self, nodes: list[Node]) -> list[Node]:
        """Those of some nodes that may still be the answer, by the sizes of their classes alone."""
        nodes = [node for node in dict.fromkeys(nodes) if not self._is_known(node)]
        if not self.batch.measurer.judged or not nodes:
            return nodes
        left = []
        for node, sizes in zip(nodes, self.batch.sizes(nodes), strict=True):
            self.knowledge.learn(node, sizes)
            if self.knowledge.closed_above(node) or self._too_costly(node):
                self.knowledge.settle(node)
                self.dropped.add(node)
            else:
                left.append(node)
        self.effort.measured += len(nodes) - len(left)
        return left

    def _ended(self) -> Node | None:
        choice, effort = self.best.choice(), self.effort
        fail = self.lattice.count_below(self.knowledge.closed) if effort.proven else None
        if fail is not None:
            known = (*self.measured, *self.dropped)
            effort.pruned_by_failing = fail - sum(1 for node in known if self.knowledge.closed_above(node))
            effort.pruned_by_bound = effort.nodes - effort.measured - effort.pruned_by_failing
        return choice.node if choice else None

    @property
    def _progress(self) -> Progress:
        return Progress(self.effort.measured, self.lattice.size, "nodes", at_most=True)

    def _room(self) -> int:
        """Nodes that the next statement may measure."""
        left = _BATCH if self.limits.nodes is None else self.limits.nodes - self.effort.measured
        return max(1, min(_BATCH, left))

    def _out_of_time(self) -> bool:
        late = self.limits.clock.is_over
        most = self.lattice.size if self.limits.nodes is None else self.limits.nodes
        # What has measured every node has proven all there is to prove.
        if late or most <= self.effort.measured < self.lattice.size:
            self.effort.proven = False
        return not self.effort.proven

    def _measure(self, nodes: list[Node]) -> None:
        """Measure nodes, and keep the best."""
        unknown = [node for node in dict.fromkeys(nodes) if node not in self.measured]
        counted_nodes = self.batch.measure(unknown) if unknown else []
        self.effort.measured += len(counted_nodes)
        self.measured |= {found.node: found for found in counted_nodes}
        for found in counted_nodes:
            self.knowledge.learn(found.node, found.sizes)
            self.knowledge.settle(found.node)
        bound, most = self.objective.bound, _tied(self.best.loss)
        good = [found for found in counted_nodes if bound(found.node, found.failing_rows) <= most]
        good = [found for found in good if self.batch.holds(found)]
        for found, loss in zip(good, self.objective.loss(good), strict=True):
            self.seen(found.node, found.failing_rows, self._progress)
            if self.best.offer(loss, found):
                self.improvements.append(found)
                affordable = int(self.objective.failing_within(_tied(loss)))
                self.knowledge.budget = max(0, min(self.knowledge.budget, affordable))


def find_optimal(lattice: Lattice, batch: NodeMeasurer, seen: Seen) -> FoundNode:
    """The best node by the policy's objective; the path is that of the ever better nodes found."""
    wanted = batch.measurer.policy.search
    limits = SearchLimits(Clock(wanted.time_limit), wanted.nodes)
    # The greedy answer comes first: something to improve on, and to fall back on when the search is cut short.
    choose = least_loss(lattice, batch.census.hierarchies, wanted.weighting)
    greedy = walk(lattice, batch, choose, seen, limits.clock)
    found = search_on(greedy, lattice, batch, limits, seen)
    return replace(found, path=found.path[len(greedy.path) :])


def search_on(walked: FoundNode, lattice: Lattice, batch: NodeMeasurer, limits: SearchLimits, seen: Seen) -> FoundNode:
    """The best node that is found within the limits, whatever a walk has found; its path, then the better nodes."""
    measurer = batch.measurer
    search = OptimalSearch(lattice, batch, objective(batch, measurer.policy.search.loss), limits, seen)
    ended = walked.answer is not None or walked.path[-1].node == lattice.top  # not by the clock
    known = [] if top_is_best(measurer) or not ended else [lattice.top, _nearest(walked)]
    node = search.run([walked.answer.node] if walked.answer else known)
    path = (*walked.path, *(Step(better.node, better.failing_rows, True) for better in search.improvements))
    if not ended:
        search.effort.measured += len(walked.path)  # all that was looked at before time was over
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
