"""Which quasi-identifiers, alone or together, tell people apart."""

from __future__ import annotations

import math
from itertools import combinations

from sqlglot import exp

from duckanon.query.counts import ClassedTable, Subset
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.steps import select, with_steps

_MOST = 3  # quasi-identifiers in one set
_SETS = 500  # in one query: 14 quasi-identifiers make 469 sets of up to three

_ALONE = "COUNT(CASE WHEN x = 1 THEN 1 END)"


def row_risk(asked: ClassedTable) -> exp.Select:
    """The rows of the table, each with class_size and risk."""
    size = exp.Window(this=sql("COUNT(*)"), partition_by=[column(name) for name in asked.qi])
    risk = sql("CAST(1 AS DOUBLE) / CAST(:size AS DOUBLE)", size=size.copy())
    return select(exp.Star(), class_size=size, risk=risk).from_(table(*asked.source))


def column_risk(asked: ClassedTable) -> exp.Select:
    """column_name, unique_rows_without, unique_rows_added; where people are counted, it is they who are alone."""
    every = range(len(asked.qi))
    parts = [Subset(every, {"part": literal(0)})]
    parts += [Subset([o for o in every if o != place], {"part": literal(place + 1)}) for place in every]
    alone = select(column("part"), alone=_ALONE).from_(table("groups")).group_by(column("part"))
    first, *others = (
        select(part=literal(place + 1), whole=literal(0), column_name=literal(name))
        for place, name in enumerate(asked.qi)
    )
    names = exp.union(first, *others, distinct=False) if others else first
    figured = select(
        column("column_name", "names"),
        unique_rows_without="COALESCE(without.alone, 0)",
        unique_rows_added="COALESCE(everything.alone, 0) - COALESCE(without.alone, 0)",
    ).from_(table("names"))
    for alias, key in (("without", "part"), ("everything", "whole")):
        matches = exp.EQ(this=column("part", alias), expression=column(key, "names"))
        figured = figured.join(table("alone").as_(alias, quoted=True), on=matches, join_type="left")
    ordered = figured.order_by(exp.Ordered(this=column("unique_rows_added"), desc=True), column("part", "names"))
    return with_steps(ordered, **asked.subsets(parts), alone=alone, names=names)


def distinction(asked: ClassedTable) -> exp.Select:
    """columns, distinct_values, unique_rows, unique_share of the sets of quasi-identifiers, small ones first."""
    parts = [
        _set(asked, places)
        for size in range(1, largest_set(len(asked.qi)) + 1)
        for places in combinations(range(len(asked.qi)), size)
    ]
    figures = select(
        column("columns"),
        distinct_values="COUNT(*)",
        unique_rows=_ALONE,
        unique_share=f"CAST({_ALONE} AS DOUBLE) / CAST(SUM(x) AS DOUBLE)",
    ).from_(table("groups"))
    by = [column("size"), *(exp.Ordered(this=column(name), desc=True) for name in ("unique_rows", "distinct_values"))]
    ordered = figures.group_by(column("size"), column("columns")).order_by(*by, column("columns"))
    return with_steps(ordered, **asked.subsets(parts))


def largest_set(columns: int) -> int:
    """How many quasi-identifiers a set has at most: three, and fewer where that were too many sets for one query."""
    return max((most for most in range(2, _MOST + 1) if _number_of_sets(columns, most) <= _SETS), default=1)


def _number_of_sets(columns: int, most: int) -> int:
    return sum(math.comb(columns, size) for size in range(1, most + 1))


def _set(asked: ClassedTable, places: tuple[int, ...]) -> Subset:
    names = ", ".join(asked.qi[place] for place in places)
    return Subset(places, {"size": literal(len(places)), "columns": literal(names)})
