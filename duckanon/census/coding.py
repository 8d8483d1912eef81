"""The source with codes for every level: on the workbench, or in the warehouse if it was to stay there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from duckanon.census.hashes import RowHashes
from duckanon.census.packed import PackedRows, SourceValues, can_be_packed
from duckanon.census.people import count_people
from duckanon.census.source import BoundSource
from duckanon.census.tuples import BOUNDS, Tuples, count_tuples, enough_rows, spans_of
from duckanon.census.values import ValueTable, value_table
from duckanon.census.words import CensusWords
from duckanon.engine import Column, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER
from duckanon.engine.warehouse import Told
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.build import Built, build_hierarchies
from duckanon.hierarchy.ground import build_ground
from duckanon.models.column_steps import KNOWN
from duckanon.models.wanted import ancestors
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.steps import select

# A source with more rows is worth statements that only spare time.
MANY_ROWS = 200_000

_NOTE = "the census: codes of every level"


def are_many(rows: int) -> bool:
    return rows > MANY_ROWS


@dataclass(frozen=True)
class CensusAfar:
    """Where the table of a census is that has stayed in the warehouse, with the values of its sensitive columns."""

    warehouse: Warehouse
    values: tuple[exp.Table, ...]


@dataclass(frozen=True)
class Coded:
    """The source as it was counted: the table of the census, and what its codes mean."""

    table: exp.Table
    built: Built
    sensitive: tuple[ValueTable, ...]
    rows: int  # of the source
    people: int | None = None  # of it, where people are counted
    afar: CensusAfar | None = None
    counted: RowCounts | None = None
    hashes: RowHashes | None = None  # of the rows of the source, where they came with the counts
    words: CensusWords | None = None  # what the table is made of, where it is a view


def code_source(
    policy: Policy, source: BoundSource, scratch: Scratch, told: Told, hashed: Sequence[Column] = ()
) -> Coded:
    """`hashed`: the columns of the source, if the hashes of its rows are to come with their counts."""
    if can_be_packed(policy, source):
        return _code_values(policy, source, scratch, told)
    return _code_tuples(policy, source, scratch, told, hashed)


def _code_values(policy: Policy, source: BoundSource, scratch: Scratch, told: Told) -> Coded:
    """The values come first, then the rows by their codes."""
    values = SourceValues(source, scratch)
    rows = enough_rows(policy, values.count()[0], scratch)
    built = build_hierarchies(list(source.quasi_identifiers), values, source.warehouse, scratch, policy.unmapped)
    people = count_people(policy, values.everybody, scratch.workbench)
    counted = values.table if people is None else values.everybody
    sensitive = _sensitive(source, lambda _: counted.copy(), people is not None, scratch)
    words = CensusWords(built.hierarchies, sensitive)
    packed = PackedRows(values, words, len(source.keep), spans_of(policy, built.hierarchies), people is not None)
    counts = packed.counts(packed.rows().subquery("packed_rows"))
    table, lasting = _unpacked(words, counts, packed.figures, people, rows, scratch, told)
    values.clear()
    return Coded(table, built, tuple(sensitive), rows, people, words=lasting)


def _code_tuples(policy: Policy, source: BoundSource, scratch: Scratch, told: Told, hashed: Sequence[Column]) -> Coded:
    """The tuples are counted first, then coded."""
    tuples = count_tuples(policy, source, scratch, told, hashed)
    built = tuples.built
    people = count_people(policy, tuples.every, scratch.workbench)
    sensitive = _sensitive(source, lambda at: with_values(at, tuples, scratch), people is not None, scratch)
    coded = partial(Coded, built=built, sensitive=tuple(sensitive), rows=tuples.rows, people=people)
    others = [*(f"k{index}" for index in range(len(source.keep))), *(["e"] if people is not None else [])]
    figures = [*others, *(f"{name}{index}" for index in tuples.spans for _, name in BOUNDS), "n"]
    if tuples.warehouse is not None:
        there = tuples.warehouse
        values = tuple(sent_values(v, there, scratch) for v in sensitive)
        codes = [sent_codes(h, there, scratch) for h in built.hierarchies]
        query = coded_tuples(tuples, sensitive, codes, values, figures)
        table, words = scratch.kept("census", query, _NOTE, there), None
        afar = CensusAfar(there, values)
    else:
        words, afar = CensusWords(built.hierarchies, sensitive), None
        query = _by_words(tuples, words, figures, others)
        told_then = told if tuples.parts > 1 else None
        table, words = _unpacked(words, query, figures, people, tuples.rows, scratch, told_then)
    if (tuples.warehouse or scratch.workbench).temporary_tables:
        scratch.drop(tuples.every)
        scratch.drop(tuples.known)
    return coded(table, afar=afar, counted=tuples.counted, hashes=tuples.hashes, words=words)


def _by_words(tuples: Tuples, words: CensusWords, figures: list[str], others: list[str]) -> exp.Select:
    """The tuples with their words in place of values. What was counted in parts is added up here: codes are grouped in
    a fraction of the time that values take."""
    beside = exp.select(*(column(name, "tuples") for name in figures))
    coded = words.coded("tuples", beside.from_(exp.alias_(tuples.known, "tuples", table=True)), tuples.by_code)
    if tuples.parts == 1:
        query = exp.select("*")
    else:
        keys = [*words.columns, *map(column, others)]
        query = select(*keys, n="CAST(SUM(n) AS BIGINT)").group_by(*keys)
    return query.from_(coded.subquery("coded")).where(words.whole)


def _unpacked(
    words: CensusWords,
    query: exp.Select,
    figures: list[str],
    people: int | None,
    rows: int,
    scratch: Scratch,
    told: Told | None = None,
) -> tuple[exp.Table, CensusWords | None]:
    """The census of a query for its words and `figures`. A large one stays packed, as a view says its codes; not where
    people are counted, whose rows are asked for one by one."""
    columns: list[exp.Expr] = [column(name) for name in figures]
    if people is not None:
        columns.append(sql("0").as_("p"))
    if people is None and are_many(rows):
        made = scratch.collected("census_words", query, _NOTE, scratch.workbench, told)
        return scratch.view("census", words.unpacked(made, words.codes, *words.columns, *columns), _NOTE), words
    census = words.unpacked(query.subquery("packed"), words.codes, *columns)
    return scratch.collected("census", census, _NOTE, scratch.workbench, told), None


def _sensitive(
    source: BoundSource, values_of: Callable[[int], exp.Expr], people: bool, scratch: Scratch
) -> list[ValueTable]:
    """What is known of the sensitive columns; `values_of`: where the values s{j} of one are counted."""
    sensitive = []
    for index, (asked, c) in enumerate(source.sensitive):
        place = len(source.quasi_identifiers) + index  # after those of the quasi-identifiers
        ground = partial(build_ground, place, asked, c, source.warehouse, scratch)
        sensitive.append(value_table(index, asked, c, values_of(index), people, scratch, ground))
    return sensitive


def with_values(index: int, tuples: Tuples, scratch: Scratch) -> exp.Table:
    """Where the values of a sensitive column can be counted: of tuples in the warehouse, with n rows each."""
    if tuples.warehouse is None:
        return tuples.every
    value = column(f"s{index}")
    counts = exp.select(value, sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(tuples.every).group_by(value.copy())
    return scratch.collected(f"census_counts_{index}", counts, "sensitive values", tuples.warehouse)


def sent_values(values: ValueTable, warehouse: Warehouse, scratch: Scratch) -> exp.Table:
    """All that is known of a sensitive column's values, which are texts there."""
    known = (*KNOWN, *ancestors(values.wanted))
    query = exp.select(text_of(column("value")).as_("value"), *map(column, known)).from_(values.table)
    return scratch.sent(f"census_values_{values.index}", query, f"values of {values.column.name}", warehouse)


def sent_codes(hierarchy: Hierarchy, warehouse: Warehouse, scratch: Scratch) -> exp.Table:
    """The codes of all levels, by that of the lowest."""
    codes: list[exp.Expr] = [column(f"code_{level}") for level in hierarchy.coded]
    codes = codes or [sql("0").as_("code_0")]
    query = exp.select(*codes).distinct().from_(hierarchy.mapping)
    return scratch.sent(f"census_levels_{hierarchy.index}", query, f"levels of {hierarchy.column.name}", warehouse)


def coded_tuples(
    tuples: Tuples,
    sensitive: list[ValueTable],
    levels: list[exp.Table],
    known_values: tuple[exp.Table, ...],
    figures: list[str],
) -> exp.Query:
    """The tuples in the warehouse with codes for every level, by what was sent there of `levels` and values."""
    query = exp.select().from_(exp.alias_(tuples.known, "tuples", table=True))
    for h in tuples.built.hierarchies:
        if not h.coded:
            continue
        alias = f"map_{h.index}"
        codes = {level: column(f"code_{level}", alias) for level in h.coded}
        # NULL is in no mapping table: code 0 at every level below the top.
        query = query.select(*(sql("COALESCE(:code, 0)", code=code).as_(h.code(at)) for at, code in codes.items()))
        known = exp.select(*(column(f"code_{level}") for level in h.coded)).distinct().from_(levels[h.index])
        on = exp.EQ(this=column(f"q{h.index}", "tuples"), expression=codes[h.lowest])
        query = query.join(known.subquery(alias), on=on, join_type="left")
    for values in sensitive:
        alias = f"values_{values.index}"
        query = query.select(column("code", alias).as_(f"s{values.index}"))
        type_ = INTEGER if values.wanted.publish == "level" else values.column.type.released
        on = exp.EQ(this=column(f"s{values.index}", "tuples"), expression=type_.cast(column("value", alias)))
        query = query.join(exp.alias_(known_values[values.index], alias, table=True), on=on, join_type="left")
    return query.select(*(column(name, "tuples") for name in figures))
