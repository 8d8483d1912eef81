"""Where people are counted: cells from which nodes are measured without looking at everybody.

Somebody in two cells is one only in a class that has both. So below a node at whose classes he is in one cell each, his
cells are counted as any others, and only who meets himself there is told apart. That node is the ceiling of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.people import gathered
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.steps import united, with_steps
from duckanon.search.cells import rolled_up
from duckanon.search.lattice import Node, join, meet, nowhere_above

_FEW = 100_000  # cells of people that are read about as fast as a statement is planned
_SAMPLED = 20_000  # cells of people who are asked where they meet themselves
_SHARE = 8  # of the cells of people at hand, that many fewer are worth to be made
_WORTH = 4  # nodes that are to be measured from what is made


@dataclass(frozen=True)
class Gathered:
    """Cells (codes of a node and of all levels above, sensitive values, e, p and n) from which all nodes between it and
    a ceiling are measured."""

    node: Node
    ceiling: Node
    table: exp.Table
    persons: int  # cells of single people

    def covers(self, finest: Node, highest: Node) -> bool:
        return nowhere_above(self.node, finest) and nowhere_above(highest, self.ceiling)


class Gatherings:
    """Keeps such cells, and makes them where several nodes gain from it."""

    def __init__(self, census: Census, base: exp.Table, sensitive: list[int]) -> None:
        """From the `base`, which tells everybody apart who is in several cells."""
        self._census, self._sensitive = census, sensitive
        self._base = Gathered(census.bottom, tuple(h.height for h in census.hierarchies), base, self._persons(base))
        self.made: list[Gathered] = []
        self._sample: exp.Table | None = None

    def at(self, node: Node) -> exp.Table:
        """From which a node is measured."""
        return self._at(node, node).table

    def _at(self, finest: Node, highest: Node) -> Gathered:
        covering = [kept for kept in (self._base, *self.made) if kept.covers(finest, highest)]
        return min(covering, key=lambda kept: kept.persons)

    def expect(self, path: list[Node]) -> None:
        """That nodes are asked for one after the other, none finer than the one before it."""
        if self._at(path[0], path[0]).persons > _FEW:
            self._prepare(path[0], path[_WORTH - 1 :])

    def expect_together(self, nodes: list[Node]) -> None:
        """That nodes are asked for at once."""
        if len(set(nodes)) >= _WORTH:
            self._prepare(meet(nodes), [join(nodes)])

    def _prepare(self, finest: Node, ceilings: list[Node]) -> None:
        """Make the cells below the highest of the ceilings at which few meet themselves, if any is such."""
        if not ceilings or self._at(finest, ceilings[0]).persons <= _FEW:
            return
        most = self._at(finest, ceilings[0]).persons // _SHARE
        low = [ceiling for ceiling, met in zip(ceilings, self._guessed(finest, ceilings), strict=True) if met <= most]
        if low:
            self._make(finest, low[-1])

    def _make(self, node: Node, ceiling: Node) -> None:
        census, of = self._census, self._at(node, ceiling)
        cells: exp.Query = exp.select("*").from_(of.table)
        if node != of.node:
            cells = rolled_up(census, of.table, node, self._sensitive)
        query = gathered(cells, self._names(node), census.keys(ceiling))
        named = "".join(f"_s{index}" for index in self._sensitive)
        note = f"cells of node {node}, for nodes up to {ceiling}"
        made = census.scratch.table(f"gathered{named}_{len(self.made)}", query, note)
        self.made.append(Gathered(node, ceiling, made, self._persons(made)))

    def _guessed(self, node: Node, ceilings: list[Node]) -> list[int]:
        """How many cells of a node meet another one of the same person at each ceiling, by some of the people."""
        one_in = max(1, self._base.persons // _SAMPLED)
        if self._sample is None:
            some = exp.select("*").from_(self._base.table).where(sql("e % :one_in = 0", one_in=literal(one_in)))
            named = "".join(f"_s{index}" for index in self._sensitive)
            self._sample = self._census.scratch.table(f"some_people{named}", some, "the cells of some people")
        cells = exp.select(*map(column, self._names(node)), "e").distinct().from_(self._sample)
        parts = [self._meeting(position, ceiling) for position, ceiling in enumerate(ceilings)]
        query = with_steps(exp.select("*").from_(table("met")), cells=cells, met=united(parts))
        met = dict(self._census.workbench.fetch(query, "where people meet themselves"))
        return [met[position] * one_in for position in range(len(ceilings))]

    def _meeting(self, position: int, ceiling: Node) -> exp.Select:
        shared = [column(name) for name in (*self._census.keys(ceiling), "e")]
        met = exp.select(sql("COUNT(*)").as_("n")).from_(table("cells")).group_by(*shared).having("COUNT(*) > 1")
        number = sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)").as_("n")
        return exp.select(literal(position).as_("place"), number).from_(met.subquery("several"))

    def _names(self, node: Node) -> list[str]:
        pairs = zip(self._census.hierarchies, node, strict=True)
        codes = [hierarchy.code(up) for hierarchy, level in pairs for up in hierarchy.coded if up >= level]
        return [*codes, *(f"s{index}" for index in self._sensitive)]

    def _persons(self, cells: exp.Table) -> int:
        ((persons,),) = self._census.workbench.fetch(exp.select("COUNT(e)").from_(cells))
        return int(persons)
