"""Clusters of the census's cells: which cell is in which, and what the clusters are like.

The only state is the table of members. Everything else is counted anew from it after every round of merges, so that no
figure can drift. A cell goes whole to one cluster. All names in the statements are the driver's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.values import ValueTable
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.labels import labels_of_values
from duckanon.local import Placement
from duckanon.local.clusters.distance import Distance
from duckanon.local.tables import Tables
from duckanon.models.classes import judged_classes
from duckanon.models.wanted import own_thresholds
from duckanon.policy import Sensitive
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import TOLERANCE
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurer


@dataclass(frozen=True)
class Standing:
    """How far the clusters have come."""

    clusters: int
    failing: int
    failing_rows: int
    levels: Node  # no cluster is above them


class Clusters(Tables):
    """Every cell starts as a cluster of its own; merging is all that happens to them, but for yang's splits.

    Tables: cells (cell, codes, s…, n), burdens (cell, bound, alpha, y: the rows that a cell adds to a bounded value),
    members (cell, id); after each refresh counts (id, bound, alpha, y) and clusters (id, x, codes, levels l{i}, their
    costs c{i} and sum cost, labels g{i}, excess, failing; for sensitive column j the distinct values v{j}, the most
    that one of them asks for w{j}, the levels of sensitivity as bits z{j}, the highest sensitivity u{j}).
    """

    def __init__(self, measurer: Measurer, prefix: str = "clusters") -> None:
        self.measurer, self.policy = measurer, measurer.policy
        self.census = census = measurer.census
        super().__init__(census.scratch, prefix)
        self.distance = Distance(census.hierarchies, self.policy.search.beta)
        self.values = [part.index for part in measurer.judged]
        self.keys = census.finest + [f"s{index}" for index in self.values]
        self._judgement = self._asked()
        self._count_cells()

    # -- cells ----------------------------------------------------------------------------------------

    def _count_cells(self) -> None:
        codes = [*self.census.codes, *(f"s{index}" for index in self.values)]
        base = self.measurer.base.sql(WORKBENCH, identify=True)
        order = f"ORDER BY {', '.join(f'{key} NULLS FIRST' for key in self.keys)}" if self.keys else ""
        cells = f"SELECT {', '.join([*codes, 'CAST(SUM(n) AS BIGINT) AS n'])} FROM {base} GROUP BY ALL"
        asked = [_asked_of_values(self.census.sensitive[index]) for index in self.values]
        joins = "".join(
            f" LEFT JOIN ({query}) v{j} ON v{j}.code = c.s{j}" for j, query in zip(self.values, asked, strict=True)
        )
        known = "".join(
            f", COALESCE(v{j}.need, 0) AS w{j}, COALESCE(v{j}.bit, 0) AS z{j}, COALESCE(v{j}.sensitivity, 0e0) AS u{j}"
            for j in self.values
        )
        numbered = f"SELECT ROW_NUMBER() OVER ({order}) AS cell, c.*{known} FROM ({cells}) c{joins}"
        self.make("cells", numbered, "cells to cluster")
        self.make("members", f"SELECT cell, cell AS id FROM {self.name('cells')}")
        self.make("burdens", self._burdens())
        for hierarchy in self.census.hierarchies:
            self.make(f"labels_{hierarchy.index}", labels_of_values(hierarchy))

    def _burdens(self) -> str:
        """cell, bound, alpha, y: every bound on a frequency, be it of a value (α) or of a level of sensitivity."""
        parts = []
        for j in self.values:
            table = self.census.sensitive[j].table.sql(WORKBENCH, identify=True)
            for kind, (key, alpha) in enumerate(_frequency_bounds(self.census.sensitive[j].wanted)):
                what = f"{{'column': {j}, 'kind': {kind}, 'key': CAST(v.{key} AS INTEGER)}}"
                parts.append(
                    f"SELECT c.cell, {what} AS what, CAST({alpha} AS DOUBLE) AS alpha, c.n AS y "
                    f"FROM {self.name('cells')} c JOIN {table} v ON c.s{j} = v.code WHERE {alpha} IS NOT NULL"
                )
        if not parts:
            return "SELECT 0 AS cell, 0 AS bound, 0e0 AS alpha, 0 AS y WHERE FALSE"
        bounds = " UNION ALL ".join(parts)
        return f"SELECT cell, DENSE_RANK() OVER (ORDER BY what) AS bound, alpha, y FROM ({bounds})"

    # -- what the clusters are like ------------------------------------------------------------------

    def refresh(self, fully: bool) -> Standing:
        """Count the clusters anew. `fully`: judge them by all the policy's class rules; else by k and frequencies."""
        k = self.policy.k
        members, cells = self.name("members"), self.name("cells")
        self.make(
            "counts",
            f"SELECT m.id, b.bound, MIN(b.alpha) AS alpha, CAST(SUM(b.y) AS BIGINT) AS y FROM {members} m "
            f"JOIN {self.name('burdens')} b USING (cell) GROUP BY m.id, b.bound",
        )
        grouped = f"SELECT m.id, c.* FROM {members} m JOIN {cells} c USING (cell)"
        verdicts = f'(WITH "grouped" AS ({grouped}) {self._judgement})'
        judged = f"LEFT JOIN {verdicts} v USING (id)" if fully else ""
        self.make(
            "clusters",
            f"WITH shapes AS (SELECT id, CAST(SUM(n) AS BIGINT) AS x, {self._shape()} FROM ({grouped}) GROUP BY id), "
            f"priced AS (SELECT *, {self._prices()} FROM shapes), "
            f"heavy AS (SELECT id, SUM({self.excess('n.y', 'n.alpha', 's.x')}) AS excess, "
            f"BOOL_OR(n.y > (n.alpha + {TOLERANCE!r}) * s.x) AS broken "
            f"FROM {self.name('counts')} n JOIN shapes s USING (id) GROUP BY id) "
            f"SELECT p.*, {self._label_columns()}, COALESCE(h.excess, 0) AS excess, "
            f"p.x < {k} OR COALESCE(h.broken, FALSE) {'OR v.failing' if fully else ''} AS failing "
            f"FROM priced p {self._label_joins('p')} LEFT JOIN heavy h USING (id) {judged}",
            "the clusters",
        )
        levels = ", ".join(f"MAX(l{h.index})" for h in self.census.hierarchies)
        ((clusters, failing, failing_rows, *highest),) = self.workbench.fetch(
            "SELECT COUNT(*), COUNT(*) FILTER (failing), CAST(COALESCE(SUM(x) FILTER (failing), 0) AS BIGINT), "
            f"{levels} FROM {self.name('clusters')}"
        )
        return Standing(clusters, failing, failing_rows, tuple(highest))

    def excess(self, y: str, alpha: str, x: str) -> str:
        """Rows of a bounded value beyond what constraint 1 (han) allows in a class of x rows, counted as at least k.

        A class with one row of the value needs 1/α rows in the end: where that is more than k, it is counted as those.
        """
        least = f"CEIL(1 / NULLIF({alpha}, 0) - {TOLERANCE!r})"  # GREATEST leaves NULL out
        return f"GREATEST({y} - ({alpha} + {TOLERANCE!r}) * GREATEST({self.policy.k}, {least}, {x}), 0e0)"

    def _asked(self) -> str:
        classes = judged_classes(exp.to_table("grouped"), ["id"], self.policy.k, self.measurer.judged, nulls=False)
        return exp.select("id", "failing").from_(classes.subquery("classes")).sql(WORKBENCH, identify=True)

    def _shape(self) -> str:
        """A member's codes, and the lowest level at which all members agree: that of their common ancestor."""
        codes = [f"MIN({code}) AS {code}" for code in self.census.codes]
        levels = [f"{_lowest(h)} AS l{h.index}" for h in self.census.hierarchies]
        values = [
            f"COUNT(DISTINCT s{j}) AS v{j}, MAX(w{j}) AS w{j}, BIT_OR(z{j}) AS z{j}, MAX(u{j}) AS u{j}"
            for j in self.values
        ]
        return ", ".join(codes + levels + values)

    def _prices(self) -> str:
        prices = []
        for hierarchy, costs in zip(self.census.hierarchies, self.distance.costs, strict=True):
            cases = " ".join(f"WHEN {level} THEN {cost}" for level, cost in enumerate(costs))
            prices.append(f"CAST(CASE l{hierarchy.index} {cases} END AS BIGINT)")
        named = [f"{price} AS c{index}" for index, price in enumerate(prices)]
        return ", ".join([*named, f"{' + '.join(prices)} AS cost"])

    def _label_columns(self) -> str:
        return ", ".join(f"t{h.index}.label AS g{h.index}" for h in self.census.hierarchies)

    def _label_joins(self, cell: str) -> str:
        """What a cell, by its codes, shows at the levels of the cluster p."""
        return " ".join(
            f"JOIN {self.name(f'labels_{h.index}')} t{h.index} "
            f"ON t{h.index}.code = {f'{cell}.{h.code(h.lowest)}' if h.coded else 0} "
            f"AND t{h.index}.level = p.l{h.index}"
            for h in self.census.hierarchies
        )

    # -- what happens to them ------------------------------------------------------------------------

    def merge(self, merges: str) -> None:
        """Put the clusters `old` of the table of merges into `id`."""
        self.make(
            "members",
            f"SELECT m.cell, COALESCE(g.id, m.id) AS id FROM {self.name('members')} m "
            f"LEFT JOIN {self.name(merges)} g ON m.id = g.old",
        )

    def unite_equals(self) -> int:
        """Clusters that hold and are released with the same labels are one class: make them one cluster."""
        labels = ", ".join(f"g{h.index}" for h in self.census.hierarchies)
        self.make(
            "equals",
            f"SELECT id AS old, MIN(id) OVER (PARTITION BY {labels}) AS id FROM {self.name('clusters')} "
            "WHERE NOT failing QUALIFY old <> MIN(id) OVER (PARTITION BY " + labels + ")",
        )
        found = self.count("equals")
        if found:
            self.merge("equals")
        return found

    def split(self, hierarchy: Hierarchy) -> int:
        """Part each cluster in two where both halves hold: its most frequent child label of a column, and the rest."""
        index = hierarchy.index
        below = " ".join(f"WHEN {level + 1} THEN c.{hierarchy.code(level)}" for level in hierarchy.coded)
        if not below:
            return 0
        self.make(
            "halves",
            f"WITH parted AS (SELECT c.*, p.id AS whole, CASE p.l{index} {below} END AS child "
            f"FROM {self.name('members')} m JOIN {self.name('cells')} c USING (cell) JOIN {self.name('clusters')} p "
            f"USING (id) WHERE NOT p.failing AND p.l{index} > {hierarchy.lowest} AND p.x >= {2 * self.policy.k}), "
            "children AS (SELECT whole, child, SUM(n) AS n FROM parted GROUP BY whole, child), "
            "first AS (SELECT whole, MIN({'fewer': -n, 'child': child}).child AS child FROM children GROUP BY whole) "
            "SELECT p.*, MIN(p.cell) OVER (PARTITION BY p.whole, p.child = f.child) AS id "
            "FROM parted p JOIN first f USING (whole)",
        )
        halves = self.name("halves")
        verdicts = f'WITH "grouped" AS (SELECT * FROM {halves}) {self._judgement}'
        self.make(
            "parted",
            f"SELECT whole FROM (SELECT DISTINCT whole, id FROM {halves}) JOIN ({verdicts}) USING (id) "
            "GROUP BY whole HAVING COUNT(*) = 2 AND NOT BOOL_OR(failing)",
        )
        parted = self.count("parted")
        if not parted:
            return 0
        self.make(
            "members",
            f"SELECT m.cell, COALESCE(h.id, m.id) AS id FROM {self.name('members')} m "
            f"LEFT JOIN (SELECT cell, id FROM {halves} WHERE whole IN (FROM {self.name('parted')})) h USING (cell)",
        )
        self.refresh(fully=True)
        return parted

    def placement(self) -> Placement:
        """The cells of the clusters that hold, each at the lowest level that has its cluster's label."""
        levels = ", ".join(f"t{h.index}.lowest AS l{h.index}" for h in self.census.hierarchies)
        keys = ", ".join(f"c.{key}" for key in self.keys)
        self.make(
            "placement",
            f"SELECT {keys}, {levels} FROM {self.name('members')} m JOIN {self.name('clusters')} p USING (id) "
            f"JOIN {self.name('cells')} c USING (cell) {self._label_joins('c')} WHERE NOT p.failing",
            "where the cells go",
        )
        return Placement(self.keep_only("placement"), tuple(self.keys))


def _lowest(hierarchy: Hierarchy) -> str:
    codes = {level: hierarchy.code(level) for level in hierarchy.coded}
    cases = " ".join(f"WHEN MIN({code}) = MAX({code}) THEN {level}" for level, code in codes.items())
    return f"CASE {cases} ELSE {hierarchy.height} END" if cases else str(hierarchy.height)


def _asked_of_values(values: ValueTable) -> str:
    """code, need, bit, sensitivity: how many distinct values a class with this one must have, its level of sensitivity,
    and how sensitive it is."""
    wanted = values.wanted
    own = own_thresholds(wanted, "l")
    cases = " ".join(f"WHEN {ordinal} THEN {least}" for ordinal, least in own.items())
    need = f"CASE named {cases} ELSE 0 END" if own else "0"
    # Beyond 62 levels the last bit stands for all: bits only tell which partners are worth a look.
    bits = " ".join(f"WHEN {level} THEN {1 << min(position, 62)}" for position, level in enumerate(wanted.levels))
    bit = f"CAST(CASE level {bits} ELSE 0 END AS BIGINT)" if bits else "CAST(0 AS BIGINT)"
    table = values.table.sql(WORKBENCH, identify=True)
    least = f"GREATEST({need}, {wanted.threshold('l') or 0})"
    graded = {ordinal: own.sensitivity for ordinal, own in enumerate(wanted.values.values(), 1) if own.sensitivity}
    sensitivity = f"CAST({_case('named', graded, 0.0)} AS DOUBLE)"
    return f"SELECT code, {least} AS need, {bit} AS bit, {sensitivity} AS sensitivity FROM {table}"


def _frequency_bounds(wanted: Sensitive) -> list[tuple[str, str]]:
    """The bounds on a column's frequencies: the value table's column that they speak of, and the bound as SQL."""
    own, alpha = own_thresholds(wanted, "alpha"), wanted.threshold("alpha")
    level_alpha = wanted.threshold("level_alpha")
    found = []
    if own or alpha is not None:
        found.append(("code", _case("v.named", own, alpha)))
    if level_alpha:
        found.append(("level", _case("v.level", level_alpha, None)))
    return found


def _case(subject: str, results: dict[int, float], default: float | None) -> str:
    cases = " ".join(f"WHEN {key} THEN {bound!r}" for key, bound in results.items())
    otherwise = "NULL" if default is None else repr(default)
    return f"CASE {subject} {cases} ELSE {otherwise} END" if cases else f"CAST({otherwise} AS DOUBLE)"
