"""What a climb stands on: the distinct tuples with the labels and costs of every level, and statements over them.

Labels are numbered by their text, across all levels of a hierarchy: tuples are in one class exactly if the numbers of
their released labels are equal, wherever they were placed. All names in the statements are the driver's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from duckanon.errors import Fault, PolicyError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.computed import IntervalsKind
from duckanon.hierarchy.labels import label_numbers
from duckanon.local.costs import UNIT
from duckanon.local.tables import Tables
from duckanon.models.classes import judged_classes
from duckanon.query.dialects import WORKBENCH
from duckanon.query.packing import LONGEST, Packing
from duckanon.search.lattice import Lattice, Node
from duckanon.search.measure import Measurer


class TupleTable(Tables):
    """Tables: tuples (id, n, codes, g{i}_{l}: labels, c{i}_{l}: costs), cells (id, s…, n) and, where labels are to
    cover people of the population, people (id, m): how many rows of it each tuple has itself."""

    def __init__(self, measurer: Measurer) -> None:
        self.measurer, self.census = measurer, measurer.census
        super().__init__(self.census.scratch, "climb")
        self.hierarchies = self.census.hierarchies
        self.lattice = Lattice.of(self.hierarchies)
        # A node is a number, its levels the digits.
        self._nodes = Packing((height + 1 for height in self.lattice.heights), in_one=True)
        if self._nodes.bits > LONGEST:
            what = f"the levels of {len(self.hierarchies)} quasi-identifiers are more than a number of a node can tell"
            raise PolicyError([Fault("search.method", what, "take greedy, or fewer columns")], measurer.policy.file)
        self.number = self._nodes.type
        self._verdicts: dict[tuple[str, ...], str] = {}
        self.values = sorted({part.index for part in measurer.judged} | set(measurer.table_rules))
        self.tops = [self._number_labels(h) for h in self.hierarchies]
        self._count_tuples()
        self._count_cells()
        # Who is counted for one class is counted for no other: labels of differing levels may cover the same people.
        self.least_covered = measurer.policy.thresholds.get("k_map", 0)
        if self.least_covered:
            self._count_people()
        self._keys = Packing(self._greatest_label(h) + 1 for h in self.hierarchies)
        self.words = [f"k{word}" for word in range(self._keys.words)]

    @staticmethod
    def in_halves(query: str, number: str) -> str:
        """A query without WHERE, for even and odd numbers apart: DuckDB reads a small table with one thread, however
        much a join makes of it, and the parts of a union at the same time."""
        return f"{query} WHERE {number} % 2 = 0 UNION ALL {query} WHERE {number} % 2 = 1"

    # -- labels, costs ---------------------------------------------------------------------------------

    def _number_labels(self, hierarchy: Hierarchy) -> int:
        """Makes labels_{i}: code, and per level the number of its label and its cost; says the number of the top's, if
        that is allowed."""
        mapping, below = hierarchy.mapping.sql(WORKBENCH, identify=True), hierarchy.coded
        self.make("listed", label_numbers(hierarchy).sql(WORKBENCH, identify=True))
        listed = self.name("listed")
        joins = " ".join(f"JOIN {listed} n{at} ON n{at}.level = {at} AND n{at}.code = code_{at}" for at in below)
        columns = [f"n{level}.id AS g{level}" for level in below]
        columns += [f"{self._cost(hierarchy, level)} AS c{level}" for level in _costly(hierarchy)]
        if below:
            chosen = f"SELECT DISTINCT code_{hierarchy.lowest} AS code, {', '.join(columns)}"
            self.make(f"labels_{hierarchy.index}", f"{chosen} FROM {mapping} {joins}")
        return self.count("listed", f"MAX(id) FILTER (level = {hierarchy.height})")

    def _cost(self, hierarchy: Hierarchy, level: int) -> str:
        """The NCP of a value's label, weighted; nothing where the label is that of the level below."""
        if isinstance(hierarchy.kind, IntervalsKind):
            cost = str(round(UNIT * hierarchy.importance * hierarchy.levels[level].highest_ncp))
        else:
            weight = UNIT * hierarchy.importance / hierarchy.domain
            cost = f"CASE WHEN size_{level} > 1 THEN ROUND(size_{level} * {weight!r}) ELSE 0 END"
        return f"CAST({cost} AS INTEGER)"

    def top_cost(self, hierarchy: Hierarchy) -> int:
        return round(UNIT * hierarchy.importance) if hierarchy.domain > 1 else 0

    @property
    def whole_cost(self) -> int:
        """What a suppressed row costs."""
        return sum(round(UNIT * h.importance) for h in self.hierarchies)

    def _count_tuples(self) -> None:
        codes = self.census.finest
        base = self.measurer.base.sql(WORKBENCH, identify=True)
        counted = f"SELECT {', '.join([*codes, 'CAST(SUM(n) AS BIGINT) AS n'])} FROM {base} GROUP BY ALL"
        columns, joins = ["t.*"], []
        for h in self.hierarchies:
            # NULL is in no mapping table: label 0, without cost, at every level below the top.
            columns += [f"COALESCE(m{h.index}.g{level}, 0) AS g{h.index}_{level}" for level in h.coded]
            columns += [f"COALESCE(m{h.index}.c{level}, 0) AS c{h.index}_{level}" for level in _costly(h)]
            if h.coded:
                labels = f"{self.name(f'labels_{h.index}')} m{h.index}"
                joins.append(f"LEFT JOIN {labels} ON m{h.index}.code = t.{h.code(h.lowest)}")
        order = f"ORDER BY {', '.join(f't.{code}' for code in codes)}" if codes else ""
        self.make(
            "tuples",
            f"SELECT CAST(ROW_NUMBER() OVER ({order}) AS INTEGER) AS id, "
            f"{', '.join(columns)} FROM ({counted}) t {' '.join(joins)}",
            "the distinct tuples",
        )

    def _count_cells(self) -> None:
        """The sensitive values of the tuples; without any rule on them the tuples are the cells."""
        if not self.values:
            self.alias("cells", "tuples")
            return
        base = self.measurer.base.sql(WORKBENCH, identify=True)
        same = " AND ".join(f"t.{code} = b.{code}" for code in self.census.finest) or "TRUE"
        values = ", ".join(f"b.s{index}" for index in self.values)
        self.make(
            "cells",
            f"SELECT t.id, {values}, CAST(SUM(b.n) AS BIGINT) AS n "
            f"FROM {base} b JOIN {self.name('tuples')} t ON {same} GROUP BY t.id, {values}",
            "the sensitive values of the tuples",
        )

    def _count_people(self) -> None:
        population = self.census.population
        assert population is not None
        codes = ", ".join(self.census.finest)
        cells = population.cells.sql(WORKBENCH, identify=True)
        counts = f"SELECT {', '.join(filter(None, [codes, 'CAST(SUM(m) AS BIGINT) AS m']))} FROM {cells} GROUP BY ALL"
        joined = f"LEFT JOIN ({counts}) USING ({codes})" if codes else f", ({counts})"
        query = f"SELECT id, COALESCE(m, 0) AS m FROM {self.name('tuples')} {joined}"
        self.make("people", query, "the population, by the tuples of the source")

    # -- keys ------------------------------------------------------------------------------------------

    def _greatest_label(self, hierarchy: Hierarchy) -> int:
        labels = [f"MAX(g{hierarchy.index}_{level})" for level in hierarchy.coded]
        below = self.count("tuples", f"GREATEST({', '.join(labels)})") if labels else 0
        return max(self.tops[hierarchy.index], below)

    def key_at(self, levels: str, of: str) -> str:
        """The key k0, k1, … of a tuple at the levels of a row; both are aliases of tables."""
        keys = self._keys.packed(self.label_by(h, f"{levels}.l{h.index}", f"{of}.") for h in self.hierarchies)
        return ", ".join(f"{key} AS {word}" for key, word in zip(keys, self.words, strict=True))

    def cost_at(self, levels: str, of: str) -> str:
        """What a row of such a tuple costs there."""
        return " + ".join(self.cost_by(h, f"{levels}.l{h.index}", f"{of}.") for h in self.hierarchies)

    def label(self, hierarchy: Hierarchy, level: int, alias: str = "") -> str:
        return f"{alias}g{hierarchy.index}_{level}" if level < hierarchy.height else str(self.tops[hierarchy.index])

    def cost(self, hierarchy: Hierarchy, level: int, alias: str = "") -> str:
        if level == hierarchy.height:
            return str(self.top_cost(hierarchy))
        return f"{alias}c{hierarchy.index}_{level}" if level else "0"

    def levels_of(self, number: str) -> str:
        """The levels l0, … of a node by its number."""
        levels = self._nodes.unpacked([number])
        return ", ".join(f"CAST({level} AS SMALLINT) AS l{index}" for index, level in enumerate(levels))

    def number_by(self, levels: Iterable[str]) -> str:
        """The number of the node with these levels, one expression per column."""
        (number,) = self._nodes.packed(levels)
        return number

    def number_of(self, node: Node) -> int:
        (number,) = self._nodes.words_of(node)
        return number

    def node_of(self, number: int) -> Node:
        return self._nodes.numbers_of([number])

    def label_by(self, hierarchy: Hierarchy, level: str, alias: str = "") -> str:
        """The label at a level that a column tells."""
        return _by_level(level, {at: self.label(hierarchy, at, alias) for at in hierarchy.allowed})

    def cost_by(self, hierarchy: Hierarchy, level: str, alias: str = "") -> str:
        return _by_level(level, {at: self.cost(hierarchy, at, alias) for at in hierarchy.allowed})

    # -- where two meet --------------------------------------------------------------------------------

    def can_meet(self) -> str:
        """Whether a and b, tuples or classes, have the same labels at the highest levels allowed; at the top all do."""
        capped = (f"g{h.index}_{h.highest}" for h in self.hierarchies if h.highest < h.height)
        return " AND ".join(f"a.{label} = b.{label}" for label in capped) or "TRUE"

    def meeting_level(self, hierarchy: Hierarchy) -> str:
        """The lowest level at which a and b, which can meet, have the same label."""
        return _where_they_meet(hierarchy, {level: str(level) for level in hierarchy.allowed})

    def joint_levels(self) -> str:
        """The levels l0, … of a class of both a and b."""
        joint = ((h.index, f"GREATEST(a.l{h.index}, b.l{h.index}, {self.meeting_level(h)})") for h in self.hierarchies)
        return ", ".join(f"CAST({level} AS SMALLINT) AS l{index}" for index, level in joint)

    def joint_cost(self) -> str:
        """What a row of that class costs: costs rise with the level."""
        joint = []
        for h in self.hierarchies:
            meeting = _where_they_meet(h, {level: self.cost(h, level, "a.") for level in h.allowed})
            joint.append(f"GREATEST(a.v{h.index}, b.v{h.index}, {meeting})")
        return " + ".join(joint)

    # -- verdicts --------------------------------------------------------------------------------------

    def judged(self, members: str, keys: tuple[str, ...]) -> str:
        """The classes of `members` (id, n, the keys): the keys, and whether each is failing. The values are asked only
        of those with rows enough."""
        asked = sorted({part.index for part in self.measurer.judged})
        names = ", ".join(keys)
        few, counted = f"SUM(n) < {self.measurer.policy.k}", members
        if self.least_covered:
            few = f"{few} OR SUM(m) < {self.least_covered}"
            counted = f"{members} JOIN {self.name('people')} USING (id)"
        sizes = f"SELECT {names}, {few} AS failing FROM {counted} GROUP BY {names}"
        if not asked:
            return f"({sizes})"
        columns = ", ".join([*keys, *(f"c.s{index}" for index in asked)])
        large = f"{members} m SEMI JOIN (FROM sizes WHERE NOT failing) USING ({names})"
        cells = (
            f"SELECT {columns}, c.n FROM (SELECT {names}, id FROM {large}) m JOIN {self.name('cells')} c ON c.id = m.id"
        )
        return (
            f"(WITH sizes AS MATERIALIZED ({sizes}), judged AS ({cells}) FROM sizes WHERE failing "
            f"UNION ALL SELECT {names}, failing FROM ({self._verdict(keys)}))"
        )

    def _verdict(self, keys: tuple[str, ...]) -> str:
        """Written once: building it takes longer than asking it."""
        if keys not in self._verdicts:
            k, judged = self.measurer.policy.k, self.measurer.judged
            classes = judged_classes(exp.to_table("judged"), list(keys), k, judged, nulls=False)
            self._verdicts[keys] = classes.sql(WORKBENCH, identify=True)
        return self._verdicts[keys]


def _costly(hierarchy: Hierarchy) -> list[int]:
    """The levels below the top that cost something: a value as it is does not."""
    return [level for level in hierarchy.coded if level > 0]


def _by_level(level: str, results: dict[int, str]) -> str:
    """What is told of each level that is allowed, at the one that an expression says."""
    *lower, (_, highest) = results.items()
    cases = " ".join(f"WHEN {at} THEN {result}" for at, result in lower)
    return f"CASE {level} {cases} ELSE {highest} END" if cases else highest


def _where_they_meet(hierarchy: Hierarchy, results: dict[int, str]) -> str:
    label = f"g{hierarchy.index}"
    *lower, (_, highest) = results.items()
    cases = " ".join(f"WHEN a.{label}_{at} = b.{label}_{at} THEN {what}" for at, what in lower)
    return f"CASE {cases} ELSE {highest} END" if cases else highest
