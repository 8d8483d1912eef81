"""How often each value occurs, of every column in one scan; of columns with many values, those of a part of them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.source import plain
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.proposal.peek import Peek
from duckanon.query.expressions import any_of, column, literal, sql
from duckanon.query.functions import row_hash
from duckanon.query.steps import select

_FEW = 5_000  # values of a column that come one by one
_EXACT = 1_000_000  # rows up to which every value is counted
_PART = 250_000  # rows that a part of the values of a column should have
_SAMPLE = 50_000  # rows whose numbers are looked at


@dataclass(frozen=True)
class Counts:
    """Of a column: rows that have a value, values, and the rows that are alone with theirs, or with fewer than k."""

    filled: int
    distinct: int
    alone: int
    few: int
    exact: bool = True


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
    """Two statements at most. `measured`: the columns of numbers and days."""
    many = frozenset(i for i, peek in enumerate(peeks) if peek.distinct > _FEW)
    parts = max(1, rows // _PART) if rows > _EXACT else 1
    keys = [_part_of(plain(c), parts) if i in many else plain(c) for i, c in enumerate(columns)]
    counted = _counted(relation, columns, keys, many, k)
    table = scratch.collected("frequencies", counted, "how often each value occurs", warehouse)
    whole = _summed(table, len(columns), many, parts, scratch)
    values: exp.Query = (
        select(column("g"), column("v"), n=column("n"))
        .from_(table)
        .where(sql("v IS NOT NULL"), exp.not_(_is_one_of(many)))
    )
    if many & measured:
        sample = _sampled(relation, columns, sorted(many & measured), peeks, rows)
        some = scratch.collected("sample", sample, "numbers of some rows", warehouse)
        values = exp.union(values, exp.select("g", "v", "n").from_(some).where(sql("v IS NOT NULL")), distinct=False)
    return Frequencies(scratch.table("some_values", values, "values, as texts"), whole, many)


def _part_of(value: exp.Expr, parts: int) -> exp.Expr:
    """The value if its hash is one of so many, with all of its rows; else NULL."""
    if parts == 1:
        return value
    return sql(
        "CASE WHEN :hash % :parts = 0 THEN :value END", hash=row_hash([value]), parts=literal(parts), value=value
    )


def _counted(
    relation: Relation, columns: list[Column], keys: list[exp.Expr], many: frozenset[int], k: int
) -> exp.Query:
    """g, v, and of its values how many there are (of a column with few: one), in n rows, alone, with fewer than k."""
    named = exp.select(*(key.as_(f"c{i}") for i, key in enumerate(keys))).from_(relation.table)
    texts = {i: _said(c, i) if i not in many else sql("CASE WHEN :c IS NULL THEN NULL ELSE '' END", c=column(f"c{i}"))
             for i, c in enumerate(columns)}  # fmt: skip
    groups = by_column(named, texts)
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


def _summed(table: exp.Table, columns: int, many: frozenset[int], parts: int, scratch: Scratch) -> list[Counts]:
    sums = [sql(f"CAST(SUM({name}) AS BIGINT)") for name in ("n", "value_count", "alone", "few")]
    query = exp.select("g", *sums).from_(table).where(sql("v IS NOT NULL")).group_by("g")
    found = {g: figures for g, *figures in scratch.workbench.fetch(query)}
    return [_counts(found.get(i, [0, 0, 0, 0]), parts if i in many else 1) for i in range(columns)]


def _counts(figures: list[int], times: int) -> Counts:
    filled, distinct, alone, few = (times * figure for figure in figures)
    return Counts(filled, distinct, alone, few, times == 1)


def _is_one_of(columns: frozenset[int]) -> exp.Expr:
    return any_of(exp.EQ(this=column("g"), expression=literal(i)) for i in sorted(columns))


def _sampled(relation: Relation, columns: list[Column], wanted: list[int], peeks: list[Peek], rows: int) -> exp.Query:
    """Rows are chosen by a hash of the columns that tell most of them apart: the same ones every time."""
    telling = sorted(range(len(columns)), key=lambda i: -peeks[i].distinct)[:4]
    named = exp.select(*(plain(columns[i]).as_(f"c{i}") for i in wanted)).from_(relation.table)
    parts = rows // _SAMPLE
    if parts > 1:
        chosen = row_hash([plain(columns[i]) for i in telling])
        named = named.where(sql(":hash % :parts = 0", hash=chosen, parts=literal(parts)))
    return by_column(named, {i: _said(columns[i], i) for i in wanted})
