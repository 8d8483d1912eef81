"""The node of the whole lattice with the least loss among those that hold.

Nodes are taken by rising bound on their loss, and the search ends when the next bound exceeds the best loss found: all
others are worse without being measured. Where failing is monotone a failing node proves that every finer node fails
too, so a chain upwards from a candidate is bisected and its highest failing node prunes all below it.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from duckanon.lattice import Lattice, Node, nowhere_above
from duckanon.measure import Measurer
from duckanon.objective import TIE, Objective, Surveyed, objective
from duckanon.policy import Policy
from duckanon.search import Found, Seen, Step
from duckanon.search.greedy import least_loss
from duckanon.search.walk import walk
from duckanon.survey import Survey

_BATCH = 24  # nodes per statement
# Rules that merging classes never breaks, with nothing suppressed. DIF and proximity are not among them.
_NEVER_MONOTONE = ("dif", "proximity")


@dataclass
class Effort:
    """How the search went: for the user to read."""

    nodes: int
    measured: int = 0
    pruned_by_bound: int = 0
    pruned_by_failing: int = 0
    proven: bool = True
    bound: float | None = None  # no node is better than this, when it is not proven

    def as_json(self) -> dict[str, object]:
        return dict(self.__dict__)


@dataclass(frozen=True)
class Limits:
    seconds: float | None = None
    nodes: int | None = None


@dataclass
class _Best:
    """The best nodes so far: all within a tie of each other, so that the choice among them is deterministic."""

    found: list[tuple[float, Surveyed]] = field(default_factory=list)

    @property
    def loss(self) -> float:
        return min((loss for loss, _ in self.found), default=float("inf"))

    def offer(self, loss: float, surveyed: Surveyed) -> bool:
        better = loss < self.loss
        self.found.append((loss, surveyed))
        self.found = [(known, node) for known, node in self.found if known <= _tied(self.loss)]
        return better

    def choice(self) -> Surveyed | None:
        """Of equal losses the one that suppresses least, then the one that comes first."""
        return min((node for _, node in self.found), key=lambda node: (node.failing_rows, node.node), default=None)


class OptimalSearch:
    """The state of one search."""

    def __init__(
        self, lattice: Lattice, measurer: Measurer, objective: Objective, budget: int, limits: Limits,
        seen: Seen,
    ) -> None:  # fmt: skip
        self.lattice, self.measurer, self.objective = lattice, measurer, objective
        self.budget, self.limits, self.seen = budget, limits, seen
        self.survey = Survey(measurer)
        self.effort = Effort(lattice.size)
        self.best = _Best()
        self.improvements: list[Surveyed] = []
        self.measured: dict[Node, bool] = {}  # node → does it hold the class rules within the budget
        self.failing: list[Node] = []  # maximal nodes known to fail: all finer ones fail
        self.started = time.monotonic()

    def run(self, known: list[Node]) -> Node | None:
        """The best node, or None when no node holds; `known` are nodes worth measuring first."""
        self._measure(known)
        monotone = is_monotone(self.measurer, self.budget)
        waiting: list[Node] = []
        for bound, node in ascending(self.lattice, self.objective.bound):
            if bound > _tied(self.best.loss):
                break
            if self._out_of_time():
                self.effort.bound = bound
                break
            if node in self.measured:
                continue
            if self._known_to_fail(node):
                self.effort.pruned_by_failing += 1
                continue
            if monotone and not self._known_to_hold(node):
                self._bisect(node)
                continue
            waiting.append(node)
            if len(waiting) >= self._room():
                self._measure([n for n in waiting if self._open(n)])
                waiting = []
        self._measure([n for n in waiting if self._open(n)])
        return self._ended()

    def _ended(self) -> Node | None:
        choice = self.best.choice()
        skipped = self.effort.nodes - self.effort.measured - self.effort.pruned_by_failing
        self.effort.pruned_by_bound = max(0, skipped) if self.effort.proven else 0
        return choice.node if choice else None

    def _room(self) -> int:
        """Nodes that the next statement may measure."""
        left = _BATCH if self.limits.nodes is None else self.limits.nodes - self.effort.measured
        return max(1, min(_BATCH, left))

    def _open(self, node: Node) -> bool:
        """Whether a node may still be the answer."""
        return node not in self.measured and self.objective.bound(node) <= _tied(self.best.loss)

    def _out_of_time(self) -> bool:
        late = self.limits.seconds is not None and time.monotonic() - self.started > self.limits.seconds
        if late or (self.limits.nodes is not None and self.effort.measured >= self.limits.nodes):
            self.effort.proven = False
        return not self.effort.proven

    def _known_to_fail(self, node: Node) -> bool:
        return any(nowhere_above(node, known) for known in self.failing)

    def _known_to_hold(self, node: Node) -> bool:
        """A finer node holds the class rules, so this one does; only its loss is not known."""
        return any(holds and nowhere_above(known, node) for known, holds in self.measured.items())

    def _bisect(self, node: Node) -> None:
        """Measure along a chain upwards: find where failing ends, and remember it for all finer nodes."""
        chain = self._chain(node)
        low, high = 0, len(chain)  # chain[:low] fails, chain[high:] holds
        while low < high:
            middle = (low + high) // 2
            if self._measure([chain[middle]])[0]:
                high = middle
            else:
                low = middle + 1
        if low:
            highest = chain[low - 1]
            self.failing = [known for known in self.failing if not nowhere_above(known, highest)]
            self.failing.append(highest)

    def _chain(self, node: Node) -> list[Node]:
        """Upwards from a node by the least rise of the bound, as far as a node may still be the answer."""
        chain = [node]
        while True:
            above = [self.lattice.raised(chain[-1], index) for index in self.lattice.raisable(chain[-1])]
            above = [n for n in above if self.objective.bound(n) <= _tied(self.best.loss)]
            if not above:
                return chain
            chain.append(min(above, key=lambda n: (self.objective.bound(n), n)))

    def _measure(self, nodes: list[Node]) -> list[bool]:
        """Measure nodes; whether each holds its class rules within the budget."""
        unknown = [node for node in nodes if node not in self.measured]
        for surveyed in self.survey.measure(unknown) if unknown else []:
            self.effort.measured += 1
            within = surveyed.failing_rows <= self.budget and surveyed.failing_classes < surveyed.classes
            self.measured[surveyed.node] = within
            if within and self._table_rules_hold(surveyed.node):
                self.seen(surveyed.node, surveyed.failing_rows)
                if self.best.offer(self.objective.loss(surveyed), surveyed):
                    self.improvements.append(surveyed)
        return [self.measured[node] for node in nodes]

    def _table_rules_hold(self, node: Node) -> bool:
        return not self.measurer.table_rules or self.measurer.measure(node, self.budget).holds(self.budget)


def find_optimal(policy: Policy, lattice: Lattice, measurer: Measurer, seen: Seen) -> Found:
    """The best node by the policy's objective; the path is that of the ever better nodes found."""
    budget = policy.budget(measurer.census.rows)
    limits = Limits(policy.search.time_limit, policy.search.nodes)
    search = OptimalSearch(lattice, measurer, objective(policy, measurer.census), budget, limits, seen)
    # The greedy answer comes first: something to improve on, and to fall back on when the search is cut short.
    choose = least_loss(lattice, measurer.census.hierarchies, policy.search.weighting)
    greedy = walk(lattice, measurer, budget, choose, seen)
    node = search.run([greedy.answer.node] if greedy.answer else [])
    path = tuple(Step(better.node, better.failing_rows, True) for better in search.improvements)
    effort = search.effort.as_json()
    if node is None:
        return Found(path, greedy.bottom, None, top=measurer.measure(lattice.top, budget), effort=effort)
    return Found(path, greedy.bottom, measurer.measure(node, budget), effort=effort)


def is_monotone(measurer: Measurer, budget: int) -> bool:
    """Whether a node that fails proves that every finer one fails. With a budget that is so for k alone."""
    rules = [rule.constraint.name for part in measurer.judged for rule in part.rules]
    if not rules:
        return True
    return budget == 0 and not any(name in _NEVER_MONOTONE for name in rules)


def ascending(lattice: Lattice, bound: Callable[[Node], float]) -> Iterator[tuple[float, Node]]:
    """All nodes by rising bound, ties in order, without enumerating the lattice first: each node is reached once."""
    heap = [(bound(lattice.bottom), lattice.bottom, 0)]
    while heap:
        value, node, last = heapq.heappop(heap)
        yield value, node
        for index in range(last, len(node)):
            if node[index] < lattice.heights[index]:
                raised = lattice.raised(node, index)
                heapq.heappush(heap, (bound(raised), raised, index))


def _tied(loss: float) -> float:
    """The highest loss that counts as equal to `loss`."""
    return loss + abs(loss) * TIE + 1e-12 if loss != float("inf") else loss
