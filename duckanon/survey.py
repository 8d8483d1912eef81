"""Many nodes of the lattice per statement, each measured from a finer aggregate that is at hand already."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.census import Census
from duckanon.expressions import column, double, sql
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.kinds import IntervalsKind
from duckanon.lattice import Node, meet, nowhere_above
from duckanon.measure import Measurer, judged_classes
from duckanon.objective import Surveyed

_MOST_KEPT = 24  # aggregates kept at a time
_WORTH_IT = 20_000  # below this many rows an aggregate is as cheap to read as to shrink


@dataclass(frozen=True)
class _Aggregate:
    node: Node
    table: exp.Table
    rows: int


class Survey:
    """Counts the classes of nodes. The statement is built once; a node only chooses other columns of an aggregate."""

    def __init__(self, measurer: Measurer) -> None:
        self.measurer = measurer
        self.census: Census = measurer.census
        self.bottom: Node = (0,) * len(self.census.hierarchies)
        self._kept: list[_Aggregate] = []
        self._made = 0
        self._values = sorted({part.index for part in measurer.judged})
        self._question = self._asked()

    def measure(self, nodes: list[Node]) -> list[Surveyed]:
        """Measure the nodes in one statement."""
        base = self._aggregate(meet(nodes))
        parts = [
            f'SELECT {place} AS place, * FROM (WITH "cells" AS ({self._cells(node, base)}) {self._question})'
            for place, node in enumerate(nodes)
        ]
        rows = self.census.engine.fetch(" UNION ALL ".join(parts), f"survey of {len(nodes)} nodes")
        found: dict[int, Surveyed] = {}
        for place, classes, failing_classes, failing, squares, covered in rows:
            node = nodes[place]
            found[place] = Surveyed(node, classes, int(failing), failing_classes, squares, covered)
        return [found[place] for place in range(len(nodes))]

    def _asked(self) -> str:
        """One row about the classes of `cells`: their keys k0 …, whose cost they determine, s0 …, n."""
        keys = [f"k{h.index}" for h in self.census.hierarchies] + ["cost"]
        classes = judged_classes(exp.to_table("cells"), keys, self.measurer.policy.k, self.measurer.judged, nulls=False)
        summary = exp.select("COUNT(*)", *map(sql, _FIGURES)).from_(classes.subquery("classes"))
        return summary.sql(self.census.engine.dialect, identify=True)

    def _cells(self, node: Node, base: _Aggregate) -> str:
        """The columns of an aggregate that make a node; all names are the driver's own."""
        chosen, costs = [], ["0e0"]
        for hierarchy, level in zip(self.census.hierarchies, node, strict=True):
            key = f"k{hierarchy.index}"
            if level == hierarchy.height:
                chosen.append(f'0 AS "{key}"')
                costs.append(repr(float(hierarchy.importance)) if hierarchy.domain > 1 else "0e0")
            else:
                chosen.append(f'"{hierarchy.code(level)}" AS "{key}"')
                costs += [f'"{_cost(hierarchy, level)}"'] if level > 0 else []
        chosen.append(f'{" + ".join(costs)} AS "cost"')
        chosen += [f'"s{index}"' for index in self._values]
        return f'SELECT {", ".join(chosen)}, "n" FROM {base.table.sql("duckdb", identify=True)}'

    def _aggregate(self, node: Node) -> _Aggregate:
        """The smallest aggregate that is nowhere more general than `node`; a new one where that pays."""
        if not self._kept:
            self._keep(self.bottom, self._priced())
        fitting = [kept for kept in self._kept if nowhere_above(kept.node, node)]
        smallest = min(fitting, key=lambda kept: kept.rows)
        if smallest.node == node or smallest.rows <= _WORTH_IT:
            return smallest
        names = [column(name) for name in self._columns(node)]
        rolled = exp.select(*names, sql("SUM(n)").as_("n")).from_(smallest.table).group_by(*names)
        return self._keep(node, rolled)

    def _keep(self, node: Node, query: exp.Query) -> _Aggregate:
        scratch = self.census.scratch
        self._made += 1
        table = scratch.table(f"aggregate_{self._made}", query, f"aggregate at node {node}")
        ((rows,),) = self.census.engine.fetch(exp.select("COUNT(*)").from_(table))
        if len(self._kept) >= _MOST_KEPT:
            scratch.drop(self._kept.pop(1).table)
        self._kept.append(_Aggregate(node, table, rows))
        return self._kept[-1]

    def _columns(self, node: Node) -> list[str]:
        """Codes and costs of every level from the node's upwards, and the judged sensitive values."""
        names = []
        for hierarchy, level in zip(self.census.hierarchies, node, strict=True):
            names += [hierarchy.code(above) for above in range(level, hierarchy.height)]
            names += [_cost(hierarchy, above) for above in range(max(1, level), hierarchy.height)]
        return names + [f"s{index}" for index in self._values]

    def _priced(self) -> exp.Query:
        """The measurer's cells with the NCP of every code of every level, weighted by importance."""
        query = exp.select().from_(exp.alias_(self.measurer.base, "b", table=True))
        for hierarchy in self.census.hierarchies:
            codes = [column(hierarchy.code(level), "b") for level in range(hierarchy.height)]
            query = query.select(*codes)
            for level in range(1, hierarchy.height):
                query = _with_cost(query, hierarchy, level, self.census.rows)
        values = [column(f"s{index}", "b") for index in self._values]
        return query.select(*values, column("n", "b"))


_FIGURES = (
    "COUNT(CASE WHEN failing THEN 1 END)",
    "COALESCE(SUM(CASE WHEN failing THEN x END), 0)",
    "COALESCE(SUM(CASE WHEN NOT failing THEN x * x END), 0)",
    "COALESCE(SUM(CASE WHEN NOT failing THEN x * cost END), 0)",
)


def _cost(hierarchy: Hierarchy, level: int) -> str:
    return f"c{hierarchy.index}_{level}"


def _with_cost(query: exp.Select, hierarchy: Hierarchy, level: int, rows: int) -> exp.Select:
    name, code = _cost(hierarchy, level), column(hierarchy.code(level), "b")
    if isinstance(hierarchy.kind, IntervalsKind):
        cost = hierarchy.importance * hierarchy.levels[level].ncp / (rows - hierarchy.nulls)
        priced = sql("CASE WHEN :code = 0 THEN CAST(0 AS DOUBLE) ELSE :cost END", code=code, cost=double(cost))
        return query.select(priced.as_(name))
    alias = f"m{hierarchy.index}_{level}"
    share = sql("CAST(:size AS DOUBLE) / :num * :weight", size=column(f"size_{level}"),
                num=double(hierarchy.domain), weight=double(hierarchy.importance))  # fmt: skip
    priced = sql(
        "CASE WHEN :size > 1 THEN :share ELSE CAST(0 AS DOUBLE) END", size=column(f"size_{level}"), share=share
    )
    sizes = exp.select(column(f"code_{level}").as_("code"), priced.as_("cost")).distinct().from_(hierarchy.mapping)
    on = exp.EQ(this=code, expression=column("code", alias))
    joined = query.join(sizes.subquery(alias), on=on, join_type="left")
    return joined.select(sql("COALESCE(:cost, 0)", cost=column("cost", alias)).as_(name))
