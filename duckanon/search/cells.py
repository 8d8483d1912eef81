"""The cells of the census at a node of the lattice."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.query.expressions import column, sql
from duckanon.search.lattice import Node


def rolled_up(census: Census, finer: exp.Table, node: Node, sensitive: list[int]) -> exp.Select:
    """The census, or a finer aggregate of it, at a node: the codes of its levels and the sensitive values tell the rows
    apart; the codes of the levels above follow from them."""
    pairs = list(zip(census.hierarchies, node, strict=True))
    names = [hierarchy.code(level) for hierarchy, level in pairs if level < hierarchy.height]
    names += [f"s{index}" for index in sensitive]
    numbers = ["n"]
    if census.people is not None:
        names.append("e")
        numbers.append("p")
    above = [hierarchy.code(up) for hierarchy, level in pairs for up in hierarchy.coded if up > level]
    query = exp.select(
        *map(column, names),
        *(sql("MIN(:code)", code=column(name)).as_(name) for name in above),
        *(sql(f"CAST(SUM({number}) AS BIGINT)").as_(number) for number in numbers),
    ).from_(finer)
    return query.group_by(*map(column, names)) if names else query
