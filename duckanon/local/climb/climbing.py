"""Local recoding on the lattice: every class is released at the finest node where it holds, the rest climbs on."""

from __future__ import annotations

from itertools import islice
from typing import Any

from duckanon.local import Placement
from duckanon.local.climb.class_repair import ClassRepair
from duckanon.local.climb.leakage_repair import LeakageRepair
from duckanon.local.climb.node_finder import NodeFinder
from duckanon.local.climb.refinement import Refinement
from duckanon.local.climb.tuples import TupleTable
from duckanon.search import Seen, search
from duckanon.search.clock import Clock
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer
from duckanon.search.progress import Progress

_LOOKS = 1_500_000  # tuples times nodes that one statement may look at
_YIELD = 0.03  # a batch of the cheapest nodes that places less of what is left is the last of them
_WHOLE = 30_000_000  # … unless the whole lattice is no more than so many looks
_GROWTH = 6  # how much larger each batch of the cheapest nodes is than the one before
_SHARE = 2  # of the nodes that are named, the cheapest with one in so many votes are visited before asking again
_STUCK = 0.95  # what leaves more behind calls for more company
_AGAIN = 20  # times that tuples may choose among the same nodes


class Climb:
    """Tables: left_over (tuples not placed yet) and placed (id, l0, …)."""

    def __init__(self, tuples: TupleTable, seen: Seen) -> None:
        self.tuples, self.seen = tuples, seen
        self.finder = NodeFinder(tuples)
        self.levels = [f"l{h.index}" for h in tuples.hierarchies]
        self.keys = ("j", *tuples.words)

    def run(self) -> None:
        tuples = self.tuples
        tuples.make("left_over", f"FROM {tuples.name('tuples')}")
        columns = ", ".join(f"CAST(0 AS SMALLINT) AS {level}" for level in self.levels)
        tuples.make("placed", f"SELECT id, {columns} FROM {tuples.name('tuples')} WHERE FALSE")
        self._cheapest_first()
        self._where_tuples_meet()

    def _cheapest_first(self) -> None:
        """All nodes by rising cost, as long as looking at them is worth it."""
        nodes = (node for _, node in self.tuples.lattice.ascending(self._average))
        batch, (left, rows) = [next(nodes)], self._left()
        while batch and rows >= self.tuples.measurer.policy.k:
            before = rows
            self._visit(batch)
            left, rows = self._left()
            self.seen(batch[-1], rows, self._progress(rows))
            if rows > before * (1 - _YIELD) and left * self.tuples.lattice.size > _WHOLE:
                return
            batch = list(islice(nodes, max(1, min(_LOOKS // max(1, left), _GROWTH * len(batch)))))

    def _where_tuples_meet(self) -> None:
        """The nodes that what is left asks for. Where rows alone do not make a class hold, it asks for more of them."""
        wanted, turn = self.tuples.measurer.policy.k, 0
        left, rows = self._left()
        while rows >= self.tuples.measurer.policy.k:
            before = rows
            named = self.finder.ask(left, min(wanted, rows), turn)
            self._visit(self._cheaper(named))
            left, rows = self._left()
            self.seen(named[0][0], rows, self._progress(rows))
            turn += 1
            if rows > before * _STUCK:
                if wanted >= before:
                    return
                wanted *= 2

    def _progress(self, left: int) -> Progress:
        rows = self.tuples.census.rows - self.tuples.census.left_out
        return Progress(rows - left, rows, "rows placed")

    def _left(self) -> tuple[int, int]:
        """Tuples and rows that are not placed yet."""
        return self.tuples.count("left_over"), self.tuples.count("left_over", "SUM(n)")

    def _average(self, node: Node) -> float:
        pairs = zip(self.tuples.hierarchies, node, strict=True)
        return sum(h.importance * h.levels[level].ncp for h, level in pairs)

    @staticmethod
    def _cheaper(named: list[tuple[Node, int]]) -> list[Node]:
        votes, nodes = sum(count for _, count in named), []
        for node, count in named:
            nodes.append(node)
            votes -= _SHARE * count
            if votes <= 0:
                break
        return nodes

    def _visit(self, nodes: list[Node]) -> None:
        """Place what holds at one of the nodes, each tuple where it costs least."""
        room = max(1, _LOOKS // max(1, self.tuples.count("left_over")))
        for start in range(0, len(nodes), room):
            self._place(nodes[start : start + room])

    def _place(self, nodes: list[Node]) -> None:
        tuples, keys = self.tuples, ", ".join(self.keys)
        self._name_nodes(nodes)
        key, cost = tuples.key_at("o", "t"), tuples.cost_at("o", "t")
        looks = (
            f"SELECT o.j, t.id, t.n, {key}, CAST({cost} AS BIGINT) * {len(nodes)} + o.j AS rank "
            f"FROM {tuples.name('left_over')} t, {tuples.name('nodes')} o"
        )
        tuples.make("looks", tuples.in_halves(looks, "t.id"))
        holding = f"SELECT {keys} FROM {tuples.judged(tuples.name('looks'), self.keys)} WHERE NOT failing"
        tuples.make("options", f"FROM {tuples.name('looks')} SEMI JOIN ({holding}) USING ({keys})")
        tuples.make("found", "SELECT CAST(0 AS INTEGER) AS id, CAST(0 AS BIGINT) AS j WHERE FALSE")
        for _ in range(_AGAIN):
            if not self._choose():
                break
        if tuples.count("found"):
            placed = f"{tuples.name('found')} JOIN {tuples.name('nodes')} USING (j)"
            tuples.add("placed", f"SELECT id, {', '.join(self.levels)} FROM {placed}")
            tuples.make("left_over", f"FROM {tuples.name('left_over')} ANTI JOIN {tuples.name('found')} USING (id)")

    def _name_nodes(self, nodes: list[Node]) -> None:
        """Makes nodes (j, l0, …). One text is read much faster than a list of values."""
        tuples = self.tuples
        numbers = " ".join(str(tuples.number_of(node)) for node in nodes)
        split = f"SELECT string_split('{numbers}', ' ') AS numbers"
        each = f"SELECT UNNEST(numbers) AS number, generate_subscripts(numbers, 1) - 1 AS j FROM ({split})"
        cast = f"SELECT j, CAST(number AS {tuples.number}) AS number FROM ({each})"
        tuples.make("nodes", f"SELECT j, {tuples.levels_of('number')} FROM ({cast})")

    def _choose(self) -> int:
        """Every tuple chooses the cheapest class that holds; those are placed that hold with who chose them."""
        tuples, keys = self.tuples, ", ".join(self.keys)
        options, chosen = tuples.name("options"), tuples.name("chosen")
        words = ", ".join(f"ARG_MIN({key}, rank) AS {key}" for key in self.keys)
        tuples.make("chosen", f"SELECT id, n, {words} FROM {options} GROUP BY id, n")
        holding = f"SELECT {keys} FROM {tuples.judged(chosen, self.keys)} WHERE NOT failing"
        tuples.make("settled", f"SELECT id, j FROM {chosen} JOIN ({holding}) USING ({keys})")
        placed = tuples.count("settled")
        if placed:
            tuples.add("found", f"FROM {tuples.name('settled')}")
            holding = f"SELECT {keys} FROM {tuples.judged('lasting', self.keys)} WHERE NOT failing"
            rest = f"FROM {options} ANTI JOIN {tuples.name('settled')} USING (id)"
            query = f"WITH lasting AS MATERIALIZED ({rest}) FROM lasting SEMI JOIN ({holding}) USING ({keys})"
            tuples.make("options", query)
        return placed


def climb(measurer: Measurer, seen: Seen) -> Placement | None:
    """Place every tuple at the levels of its class; None: no release within the budget was found."""
    clock = Clock(measurer.policy.search.time_limit)
    tuples = TupleTable(measurer)
    Climb(tuples, seen).run()
    repair = ClassRepair(tuples)
    refinement = Refinement(repair, clock)
    repair.take_in("left_over")
    if not (repair.mend() and _refined(refinement)):
        # A climb can lose its way where a single node would do, since not every rule survives a merge.
        found = search(measurer, seen, method="greedy")
        if found.answer is None or not repair.start_again(found.answer.node):
            return None
    return _placement(tuples, refinement.effort)


def _refined(refinement: Refinement) -> bool:
    """Refine what was mended; whether the rules of the whole table hold then. Smaller classes leak more, and to stop
    that may cost more than was gained: then it is as if nothing had been refined."""
    repair, tuples = refinement.repair, refinement.repair.tuples
    if not tuples.measurer.table_rules:
        refinement.run()
        return True
    leakage = LeakageRepair(repair)
    if not leakage.stop():
        return False
    tuples.make("stopped", f"FROM {tuples.name('placed')}")
    loss = repair.loss()
    refinement.run()
    if not leakage.stop() or repair.loss() >= loss:
        repair.restore("stopped")
    return True


def _placement(tuples: TupleTable, effort: dict[str, Any]) -> Placement:
    """Every tuple at the lowest levels that show the labels of its class."""
    levels = []
    for h in tuples.hierarchies:
        label = tuples.label_by(h, f"p.l{h.index}", "t.")
        same = " ".join(f"WHEN t.g{h.index}_{level} = {label} THEN {level}" for level in h.coded)
        lowest = f"CASE {same} ELSE {h.height} END" if same else str(h.height)
        levels.append(f"CAST({lowest} AS SMALLINT) AS l{h.index}")
    codes = tuple(tuples.census.finest)
    chosen = ", ".join([*(f"t.{code}" for code in codes), *levels])
    placed = f"{tuples.name('placed')} p JOIN {tuples.name('tuples')} t ON t.id = p.id"
    tuples.make("placement", f"SELECT {chosen} FROM {placed} ORDER BY t.id", "the levels of every tuple")
    return Placement(tuples.keep_only("placement"), codes, effort)
