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
_ALIKE = {False: 0.5, True: 0.1}  # of the cells, or those of people: fewer are not worth to be counted together


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


def hardly_alike(census: Census, sensitive: list[int]) -> bool:
    """Whether most cells differ, by some of them, when only these sensitive columns tell them apart. Then the census
    does as it is: who has two cells that are alike is told apart in any class."""
    people = census.people is not None
    if census.afar is not None or census.rows <= _FEW:
        return False
    ((rows,),) = census.workbench.fetch(exp.select("COUNT(*)").from_(census.table))
    if rows <= _FEW:
        return False
    names = [*census.finest, *(f"s{index}" for index in sensitive)]
    keys: list[exp.Expr] = [column(name) for name in names]
    if census.words is not None:
        keys = [sql(word) for word in census.words.masked(names).values()]
    some = _some(rows, column("e")) if people else _some(rows, *keys)
    keys += [column("e")] if people else []
    alike = exp.select(sql("COUNT(*)").as_("n")).from_(census.table).where(some).group_by(*keys)
    figures = exp.select("COUNT(*)", "SUM(n)").from_(alike.subquery("alike"))
    ((different, every),) = census.workbench.fetch(figures, "how many cells differ")
    return bool(different and different > (1 - _ALIKE[people]) * every)


def _some(cells: int, *told_by: exp.Expr) -> exp.Expr:
    """Whether a cell is one of those that are asked first, of so many: all that are alike in this, or none."""
    one_in = literal(_one_in(cells))
    return exp.EQ(
        this=exp.Mod(this=exp.Anonymous(this="HASH", expressions=[*told_by]), expression=one_in), expression=literal(0)
    )


def _one_in(cells: int) -> int:
    return max(1, cells // _SAMPLED)


class Gatherings:
    """Makes such cells of those that tell everybody apart, and keeps them."""

    def __init__(self, census: Census, cells: exp.Table, sensitive: list[int]) -> None:
        self._census, self._cells, self._sensitive = census, cells, sensitive
        self.rows = self._number(cells, "COUNT(*)")
        self.made: list[Gathered] = []
        self._sample: exp.Table | None = None

    @property
    def top(self) -> Node:
        return tuple(h.height for h in self._census.hierarchies)

    def at(self, finest: Node, highest: Node) -> Gathered:
        """From which all nodes between two are measured."""
        return self._at_hand(finest, highest) or self._make(self._census.bottom, self.top)

    def without_values(self) -> Gatherings:
        """The same where no sensitive value tells cells apart."""
        cells = rolled_up(self._census, self._cells, self._census.bottom, [])
        table = self._census.scratch.table("sizes", cells, "the census, without sensitive values")
        return Gatherings(self._census, table, [])

    def forget(self) -> None:
        """What was made is made anew when it is asked for."""
        for made in self.made:
            self._census.scratch.drop(made.table)
        self.made = []

    def expect(self, path: list[Node]) -> None:
        """That nodes are asked for one after the other, none finer than the one before it."""
        if self._persons_at(path[0], path[0]) > _FEW:
            self._prepare(path[0], path[_WORTH - 1 :])

    def expect_together(self, nodes: list[Node]) -> None:
        """That nodes are asked for at once."""
        if len(set(nodes)) >= _WORTH:
            self._prepare(meet(nodes), [join(nodes)])

    def _prepare(self, finest: Node, ceilings: list[Node]) -> None:
        """Make the cells below the highest of the ceilings at which few meet themselves, if any is such."""
        if not ceilings or (persons := self._persons_at(finest, ceilings[0])) <= _FEW:
            return
        met = zip(ceilings, self._guessed(finest, ceilings), strict=True)
        low = [ceiling for ceiling, cells in met if cells <= persons // _SHARE]
        if low:
            self._make(finest, low[-1])

    def _at_hand(self, finest: Node, highest: Node) -> Gathered | None:
        covering = [made for made in self.made if made.covers(finest, highest)]
        return min(covering, key=lambda made: made.persons, default=None)

    def _persons_at(self, finest: Node, highest: Node) -> int:
        made = self._at_hand(finest, highest)
        return self.rows if made is None else made.persons

    def _make(self, node: Node, ceiling: Node) -> Gathered:
        census, of = self._census, self._at_hand(node, ceiling)
        source, finest = (of.table, of.node) if of else (self._cells, census.bottom)
        cells = source if node == finest else rolled_up(census, source, node, self._sensitive)
        query = gathered(cells, self._names(node), census.keys(ceiling))
        note = f"cells of node {node}, for nodes up to {ceiling}"
        made = census.scratch.table(self._named(f"gathered_{len(self.made)}"), query, note)
        self.made.append(Gathered(node, ceiling, made, self._number(made, "COUNT(e)")))
        return self.made[-1]

    def _guessed(self, node: Node, ceilings: list[Node]) -> list[int]:
        """How many cells of a node meet another one of the same person at each ceiling, by some of the people."""
        if self._sample is None:
            some = exp.select("*").from_(self._cells).where(_some(self.rows, column("e")))
            self._sample = self._census.scratch.table(self._named("some_people"), some, "the cells of some people")
        cells = exp.select(*map(column, self._names(node)), "e").distinct().from_(self._sample)
        parts = [self._meeting(position, ceiling) for position, ceiling in enumerate(ceilings)]
        query = with_steps(exp.select("*").from_(table("met")), cells=cells, met=united(parts))
        met = dict(self._census.workbench.fetch(query, "where people meet themselves"))
        return [met[position] * _one_in(self.rows) for position in range(len(ceilings))]

    def _meeting(self, position: int, ceiling: Node) -> exp.Select:
        shared = [column(name) for name in (*self._census.keys(ceiling), "e")]
        met = exp.select(sql("COUNT(*)").as_("n")).from_(table("cells")).group_by(*shared).having("COUNT(*) > 1")
        number = sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)").as_("n")
        return exp.select(literal(position).as_("place"), number).from_(met.subquery("several"))

    def _names(self, node: Node) -> list[str]:
        pairs = zip(self._census.hierarchies, node, strict=True)
        codes = [hierarchy.code(up) for hierarchy, level in pairs for up in hierarchy.coded if up >= level]
        return [*codes, *(f"s{index}" for index in self._sensitive)]

    def _named(self, thing: str) -> str:
        return thing + "".join(f"_s{index}" for index in self._sensitive)

    def _number(self, cells: exp.Table, what: str) -> int:
        ((number,),) = self._census.workbench.fetch(exp.select(what).from_(cells))
        return int(number)
