"""The cells of the census at a node of the lattice."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.query.expressions import column, sql
from duckanon.search.lattice import Node


def rolled_up(
    census: Census, finer: exp.Table, node: Node, sensitive: list[int], population: bool = False
) -> exp.Select:
    """The census, or a finer aggregate of it, at a node: the codes of its levels and the sensitive values tell the rows
    apart; the codes of the levels above follow from them. `population`: with the m rows of it that there are.

    A census of words is rolled up to words, with the bits of all these codes."""
    pairs = list(zip(census.hierarchies, node, strict=True))
    names = [hierarchy.code(level) for hierarchy, level in pairs if level < hierarchy.height]
    names += [f"s{index}" for index in sensitive]
    above = [hierarchy.code(up) for hierarchy, level in pairs for up in hierarchy.coded if up > level]
    if census.words is not None and not population:
        return census.words.rolled_up(finer, [*names, *above])
    numbers = ["n", "m"] if population else ["n"]
    if census.people is not None:
        # Hardly two rows are alike that tell people apart: to group by all codes is faster than to look for the least.
        names, above = [*names, *above, "e"], []
        numbers.append("p")
    query = exp.select(
        *map(column, names),
        *(sql("MIN(:code)", code=column(name)).as_(name) for name in above),
        *(sql(f"CAST(SUM({number}) AS BIGINT)").as_(number) for number in numbers),
    ).from_(finer)
    return query.group_by(*map(column, names)) if names else query


def with_population(census: Census, cells: exp.Table, sensitive: list[int]) -> exp.Query:
    """The cells of the census, and beside them those of the population, which are no rows of it."""
    assert census.population is not None
    codes, values = [column(name) for name in census.codes], [f"s{index}" for index in sensitive]
    ours = exp.select(*codes, *map(column, values), "n", sql("0").as_("m")).from_(cells)
    theirs = exp.select(*codes, *(exp.null().as_(value) for value in values), sql("0").as_("n"), "m")
    return exp.union(ours, theirs.from_(census.population.cells), distinct=False)
