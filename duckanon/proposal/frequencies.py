"""How often each value occurs, of every column in one scan; of columns with many values, those of a part of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sqlglot import exp

from duckanon.census.peek import Peek
from duckanon.census.plain import plain
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.query.expressions import any_of, column, literal, sql
from duckanon.query.functions import row_hash
from duckanon.query.steps import select

_FEW = 5_000  # values of a column that come one by one
_EXACT = 1_000_000  # rows up to which every value is counted
_PART = 250_000  # rows that a part of the values of a column should have
_SAMPLE = 20_000  # rows whose numbers are looked at
_HASHES = 1_000  # by which these are chosen, at least


@dataclass(frozen=True)
class Counts:
    """Of a column: rows that have a value, values, and the rows that are alone with theirs, or with fewer than k."""

    filled: int
    distinct: int
    alone: int
    few: int
    exact: bool = True


_NOTHING = Counts(0, 0, 0, 0)


@dataclass(frozen=True)
class Frequencies:
    """`table`, on the workbench: of column g the value v, as a text, in n rows; of columns with many values (`sampled`)
    those of some rows, if they are numbers or days, and else none."""

    table: exp.Table
    counts: list[Counts]
    sampled: frozenset[int]


def count_values(
    relation: Relation,
    columns: list[Column],
    peeks: list[Peek],
    measured: set[int],
    rows: int,
    k: int,
    warehouse: Warehouse,
    scratch: Scratch,
) -> Frequencies:
    """Two statements at most. `measured`: the columns of numbers and days, whose values are not listed: of a large
    table a sample of its rows tells enough of them."""
    many = frozenset(i for i, peek in enumerate(peeks) if peek.distinct > _FEW)
    parts = max(1, rows // _PART) if rows > _EXACT else 1
    sample = _Sample.of(columns, peeks, rows)
    thinned = frozenset(measured - many) if parts > 1 and sample.parts > 1 else frozenset[int]()
    whole = [i for i in range(len(columns)) if i not in thinned]
    values: list[exp.Query] = []
    counts: dict[int, Counts] = {}
    if whole:
        groups = _groups(relation, columns, whole, many, parts, warehouse)
        counted = _counted(groups, k)
        table = scratch.collected("frequencies", counted, "how often each value occurs", warehouse)
        counts |= _summed(table, many, parts, scratch)
        listed = exp.select("g", "v", "n").from_(table).where(sql("v IS NOT NULL"), exp.not_(_is_one_of(many)))
        values.append(listed)
    if wanted := sorted(many & measured | thinned):
        sampled = by_column(sample.rows(relation, wanted), {i: _said(columns[i], i) for i in wanted})
        some = scratch.collected("sample", sampled, "numbers of some rows", warehouse)
        counts |= {i: found for i, found in _seen(some, sample.parts, scratch).items() if i in thinned}
        values.append(exp.select("g", "v", "n").from_(some).where(sql("v IS NOT NULL")))
    united = exp.union(*values, distinct=False) if len(values) > 1 else values[0]
    kept = scratch.table("some_values", united, "values, as texts")
    return Frequencies(kept, [counts.get(i, _NOTHING) for i in range(len(columns))], many | thinned)


@dataclass(frozen=True)
class _Sample:
    """Every so many rows, by a hash of the columns that tell most of them apart: the same ones every time."""

    columns: list[Column]
    telling: list[int]
    parts: int

    @classmethod
    def of(cls, columns: list[Column], peeks: list[Peek], rows: int) -> _Sample:
        telling = sorted(range(len(columns)), key=lambda i: -peeks[i].distinct)[:4]
        hashes = prod(max(1, peeks[i].distinct) for i in telling)
        return cls(columns, telling, max(1, min(rows // _SAMPLE, hashes // _HASHES)))

    def rows(self, relation: Relation, wanted: list[int]) -> exp.Select:
        named = exp.select(*(plain(self.columns[i]).as_(f"c{i}") for i in wanted)).from_(relation.table)
        if self.parts == 1:
            return named
        return named.where(_is_chosen([plain(self.columns[i]) for i in self.telling], self.parts))


def _groups(
    relation: Relation, columns: list[Column], whole: list[int], many: frozenset[int], parts: int, warehouse: Warehouse
) -> exp.Query:
    """g, v, n of every column; of those with many values '' for v, and of each only one of so many parts.

    A table of DuckDB's, which has its columns apart, is asked for these one by one; any other in one scan."""
    apart = sorted(many) if parts > 1 and warehouse.is_workbench and relation.kind == "table" else []
    together = [i for i in whole if i not in apart]
    queries: list[exp.Query] = []
    if together:
        keys = {i: _part_of(plain(columns[i]), parts) if i in many else plain(columns[i]) for i in together}
        named = exp.select(*(key.as_(f"c{i}") for i, key in keys.items())).from_(relation.table)
        queries.append(by_column(named, {i: _any(i) if i in many else _said(columns[i], i) for i in together}))
    for i in apart:
        value = plain(columns[i])
        groups = select(g=literal(i), v=literal(""), n="COUNT(*)").from_(relation.table).group_by(value)
        queries.append(groups.where(_is_chosen([value], parts), sql(":value IS NOT NULL", value=value)))
    return exp.union(*queries, distinct=False) if len(queries) > 1 else queries[0]


def _part_of(value: exp.Expr, parts: int) -> exp.Expr:
    """The value if its hash is one of so many, with all of its rows; else NULL."""
    if parts == 1:
        return value
    return sql("CASE WHEN :chosen THEN :value END", chosen=_is_chosen([value], parts), value=value)


def _is_chosen(cells: list[exp.Expr], parts: int) -> exp.Expr:
    return sql(":hash % :parts = 0", hash=row_hash(cells), parts=literal(parts))


def _counted(groups: exp.Query, k: int) -> exp.Query:
    """g, v, and of its values how many there are (of a column with few: one), in n rows, alone, with fewer than k."""
    figures = {
        "n": "CAST(SUM(n) AS BIGINT)",
        "value_count": "COUNT(*)",
        "alone": "COUNT(CASE WHEN n = 1 THEN 1 END)",
        "few": f"CAST(COALESCE(SUM(CASE WHEN n < {k:d} THEN n END), 0) AS BIGINT)",
    }
    return select(column("g"), column("v"), **figures).from_(groups.subquery("groups")).group_by("g", "v")


def by_column(named: exp.Select, texts: dict[int, exp.Expr]) -> exp.Select:
    """g, v, n: the rows of every value of every column c0, c1, … that has a text, in one scan."""
    sets = exp.GroupingSets(expressions=[exp.Tuple(expressions=[column(f"c{i}")]) for i in texts])
    which, said = exp.Case(), exp.Case()
    for i, text in texts.items():
        grouped = sql("GROUPING(:c) = 0", c=column(f"c{i}"))
        which, said = which.when(grouped, literal(i)), said.when(grouped.copy(), text)
    return select(g=which, v=said, n=sql("COUNT(*)")).from_(named.subquery("named")).group_by(sets)


def _said(c: Column, i: int) -> exp.Expr:
    return c.type.released.text(column(f"c{i}"))


def _any(i: int) -> exp.Expr:
    """One text for all values: none of them is told."""
    return sql("CASE WHEN :c IS NULL THEN NULL ELSE '' END", c=column(f"c{i}"))


def _summed(table: exp.Table, many: frozenset[int], parts: int, scratch: Scratch) -> dict[int, Counts]:
    sums = [sql(f"CAST(SUM({name}) AS BIGINT)") for name in ("n", "value_count", "alone", "few")]
    query = exp.select("g", *sums).from_(table).where(sql("v IS NOT NULL")).group_by("g")
    return {g: _times(parts if g in many else 1, *figures) for g, *figures in scratch.workbench.fetch(query)}


def _times(parts: int, filled: int, distinct: int, alone: int, few: int) -> Counts:
    return Counts(parts * filled, parts * distinct, parts * alone, parts * few, exact=parts == 1)


def _seen(table: exp.Table, parts: int, scratch: Scratch) -> dict[int, Counts]:
    """Of columns with few values, so that a sample has them all; who is alone is none of it."""
    query = exp.select("g", "CAST(SUM(n) AS BIGINT)", "COUNT(*)").from_(table).where(sql("v IS NOT NULL")).group_by("g")
    found = scratch.workbench.fetch(query)
    return {g: Counts(parts * rows, distinct, 0, 0, exact=False) for g, rows, distinct in found}


def _is_one_of(columns: frozenset[int]) -> exp.Expr:
    return any_of(exp.EQ(this=column("g"), expression=literal(i)) for i in sorted(columns))
