"""Which columns single people out together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from duckanon.census.plain import plain
from duckanon.engine import Relation, Warehouse
from duckanon.proposal.columns import ColumnProfile
from duckanon.query.expressions import column, literal, sql
from duckanon.query.functions import row_hash
from duckanon.query.steps import select

_MOST_COLUMNS = 8  # those with the most values; they make 92 sets of three or fewer
_TOGETHER = 3
_EXACT = 200_000  # rows up to which all of them are counted
_TOLD = 5
_MORE = 1.05  # times as many rows alone as without it, for a column to be told


@dataclass(frozen=True)
class Combination:
    """Columns, and how many rows are alone with what they have in them; `exact`: all rows were counted."""

    columns: tuple[str, ...]
    alone: int
    exact: bool = True


def riskiest(relation: Relation, profiles: list[ColumnProfile], rows: int, warehouse: Warehouse) -> list[Combination]:
    """One statement. Of many rows only sets with the column of the most values are counted, and of these a part of its
    values with all of their rows."""
    told = [profile for profile in profiles if profile.distinct > 1]
    chosen = sorted(told, key=lambda profile: -profile.distinct)[:_MOST_COLUMNS]
    if not chosen:
        return []
    parts = max(1, rows // _EXACT)
    named = exp.select(*(plain(profile.column).as_(f"c{i}") for i, profile in enumerate(chosen))).from_(relation.table)
    if parts > 1:
        named = named.where(sql(":hash % :parts = 0", hash=row_hash([plain(chosen[0].column)]), parts=literal(parts)))
    sizes = range(1, min(_TOGETHER, len(chosen)) + 1)
    sets = [s for size in sizes for s in combinations(range(len(chosen)), size) if parts == 1 or 0 in s]
    found = warehouse.fetch(_counted(named, sets, len(chosen)), "rows alone, by combinations of columns")
    alone = dict.fromkeys(sets, 0) | {sets[which]: min(rows, int(count) * parts) for which, count in found}
    return [
        Combination(tuple(chosen[i].name for i in sorted(s, key=lambda i: chosen[i].index)), alone[s], parts == 1)
        for s in _telling(alone)
    ]


def _counted(named: exp.Select, sets: list[tuple[int, ...]], width: int) -> exp.Query:
    keys = [column(f"c{i}") for i in range(width)]
    tuples = select(*keys, n="COUNT(*)").from_(named.subquery("named")).group_by(*keys)
    grouping = exp.GroupingSets(expressions=[exp.Tuple(expressions=[column(f"c{i}") for i in s]) for s in sets])
    which = exp.Case()
    for position, s in enumerate(sets):
        flags = [sql(f"GROUPING(:c) = {0 if i in s else 1}", c=column(f"c{i}")) for i in range(width)]
        which = which.when(exp.and_(*flags), literal(position))
    groups = select(g=which, n="SUM(n)").from_(tuples.subquery("tuples")).group_by(grouping)
    return select(column("g"), alone="COUNT(CASE WHEN n = 1 THEN 1 END)").from_(groups.subquery("groups")).group_by("g")


def _telling(alone: dict[tuple[int, ...], int]) -> list[tuple[int, ...]]:
    """The sets that single out most, without those of which a part does nearly as much."""
    worth = [
        s
        for s, count in alone.items()
        if count > 0
        and all(count > _MORE * alone.get(part, 0) for size in range(1, len(s)) for part in combinations(s, size))
    ]
    return sorted(worth, key=lambda s: (-alone[s], len(s), s))[:_TOLD]
