"""The source, counted once: distinct quasi-identifier tuples with their sensitive values, coded for every level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.people import linked_by_pseudonym, must_name_everybody, repeated_identifiers
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource, plain
from duckanon.census.values import NO_LEVEL, ValueTable, value_table
from duckanon.engine import Column, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, SourceError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.build import build_hierarchies
from duckanon.hierarchy.unmapped import Unmapped
from duckanon.policy import Policy, Sensitive
from duckanon.query.expressions import case_of, column, literal, sql, text_of

# Below this many rows there is nobody to hide among.
_FEWEST_ROWS = 2
# A kept column with more rows than this alone with their value is worth a warning.
_TELLING_SHARE = 0.01


@dataclass(frozen=True)
class Census:
    """One row per distinct released tuple: q{i}_{l} for every level below the top, s{j}, k{j} for kept columns, n;
    where people are counted, one per tuple and person e.

    A column of pseudonyms holds what these are made of: they are made for what is released, and only there.
    """

    table: exp.Table
    rows: int
    hierarchies: tuple[Hierarchy, ...]
    sensitive: tuple[ValueTable, ...]
    keep: tuple[Column, ...]
    scratch: Scratch
    warnings: tuple[str, ...]
    unmapped: tuple[Unmapped, ...] = ()  # what the hierarchies do not know
    left_out: int = 0  # rows of the source that are not in the table: they are suppressed
    people: int | None = None  # of the source, where people are counted
    telling: tuple[str, ...] = ()  # kept columns that may each identify people by themselves

    @property
    def workbench(self) -> Workbench:
        return self.scratch.workbench

    @property
    def codes(self) -> list[str]:
        return [h.code(level) for h in self.hierarchies for level in range(h.height)]

    @property
    def others(self) -> list[str]:
        """The columns of what is released beside the quasi-identifiers."""
        return [f"s{values.index}" for values in self.sensitive] + [
            f"k{position}" for position in range(len(self.keep))
        ]

    def with_lengths(self, longest: dict[int, int | None]) -> Census:
        """The census of a release whose longest values have so many characters, by hierarchy; None: it has no value."""
        shown = [h.of_length(longest[h.index] or 0) if h.index in longest else h for h in self.hierarchies]
        return replace(self, hierarchies=tuple(shown))

    def as_released(self, released: exp.Query, shown: Iterable[Hierarchy]) -> Census:
        """With what a release shows of the hierarchies: as many stars as the longest of the `released` codes (of raw
        values, q0_0 …) has characters, not as the longest value of a row that stays hidden."""
        masks = [h for h in shown if h.tells_length]
        if not masks:
            return self
        query = exp.select().from_(released.subquery("released"))
        for h in masks:
            length = sql("MAX(LENGTH(:text))", text=text_of(column("value", f"map_{h.index}")))
            on = exp.EQ(this=column(h.code(0), "released"), expression=column("code_0", f"map_{h.index}"))
            mapping = exp.alias_(h.mapping, f"map_{h.index}", table=True)
            query = query.select(length).join(mapping, on=on, join_type="left")
        (lengths,) = self.workbench.fetch(query, "the longest values that are released")
        return self.with_lengths(dict(zip((h.index for h in masks), lengths, strict=True)))

    def keys(self, levels: tuple[int, ...]) -> list[str]:
        """The columns that tell the classes of a node apart; a column at its top tells nothing."""
        return [h.code(level) for h, level in zip(self.hierarchies, levels, strict=True) if level < h.height]


def take_census(policy: Policy, source: BoundSource, scratch: Scratch) -> Census:
    """Count the source in one scan, build the hierarchies from what was counted, and code it."""
    tuples = scratch.collected("tuples", tuple_counts(source), "the source, counted in one scan", source.warehouse)
    ((rows,),) = scratch.workbench.fetch(exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(tuples))
    if rows < _FEWEST_ROWS:
        what = "has no rows" if rows == 0 else "has only one row: nobody to hide among"
        raise SourceError([Fault("source", what)], policy.file)
    people = _people(policy, tuples, scratch.workbench)
    wanted = list(source.quasi_identifiers)
    built = build_hierarchies(wanted, tuples, source.warehouse, scratch, policy.unmapped)
    sensitive = [
        value_table(index, asked, column, tuples, people is not None, scratch)
        for index, (asked, column) in enumerate(source.sensitive)
    ]
    coded = _coded(built.tuples, built.hierarchies, sensitive, len(source.keep), people is not None)
    table = scratch.table("census", coded, "the census: codes of every level")
    scratch.drop(tuples)
    scratch.drop(built.tuples)
    ((coded_rows,),) = scratch.workbench.fetch(exp.select(sql("CAST(SUM(n) AS BIGINT)")).from_(table))
    if coded_rows != built.rows:
        raise EngineError(f"the census holds {coded_rows:,} rows, the source {built.rows:,}: nothing can be trusted")
    fate = "they are suppressed" if policy.unmapped == "suppress" else "they are shown as the top"
    warnings = [warning for values in sensitive for warning in values.warnings]
    warnings += [f"{unmapped}: {fate}" for unmapped in built.unmapped]
    telling = _telling_columns(source, table, rows, scratch.workbench)
    warnings += telling.values()
    warnings += repeated_identifiers(source)
    warnings += linked_by_pseudonym(source, table, [h.code(0) for h in built.hierarchies], scratch.workbench)
    return Census(
        table=table,
        rows=rows,
        hierarchies=built.hierarchies,
        sensitive=tuple(sensitive),
        keep=source.keep,
        scratch=scratch,
        warnings=tuple(warnings),
        unmapped=built.unmapped,
        left_out=rows - built.rows,
        people=people,
        telling=tuple(telling),
    )


def _people(policy: Policy, tuples: exp.Table, workbench: Workbench) -> int | None:
    if policy.entity is None:
        return None
    must_name_everybody(policy, tuples, workbench)
    ((people,),) = workbench.fetch(exp.select("COUNT(DISTINCT e)").from_(tuples))
    return int(people)


def _telling_columns(source: BoundSource, table: exp.Table, rows: int, workbench: Workbench) -> dict[str, str]:
    """A word on each kept column in which many rows are alone with their value: it may identify them by itself."""
    told = {}
    for position, kept in enumerate(source.keep):
        if isinstance(kept, Pseudonym):
            continue
        value = column(f"k{position}")
        counts = exp.select(sql("SUM(n)").as_("n")).from_(table).where(sql(":v IS NOT NULL", v=value)).group_by(value)
        ((alone,),) = workbench.fetch(exp.select("COUNT(*)").from_(counts.subquery("c")).where("n = 1"))
        if alone > rows * _TELLING_SHARE:
            share = f"{alone / rows:.0%} of the rows are alone with their value"
            told[kept.name] = f"columns.keep: {kept.name}: {share}, and it is released unchanged; is it an identifier?"
    return told


def tuple_counts(source: BoundSource) -> exp.Query:
    """q0 …, s0 …, k0 … and n: one row per distinct combination of the columns that will be released, and of the
    person e where people are counted."""
    named = released_columns(source)
    values = [expression.as_(name) for expression, name in named]
    values_of_rows = exp.select(*values).from_(source.table).subquery("source")
    names = [column(name) for _, name in named]
    return exp.select(*names, sql("COUNT(*)").as_("n")).from_(values_of_rows).group_by(*names)


def released_columns(source: BoundSource) -> list[tuple[exp.Expr, str]]:
    """What a release is made of, by the names it has in all that follows."""
    named: list[tuple[exp.Expr, str]] = [(plain(c), f"q{i}") for i, (_, c) in enumerate(source.quasi_identifiers)]
    named += [(released_value(s, plain(c)), f"s{j}") for j, (s, c) in enumerate(source.sensitive)]
    named += [(plain(c), f"k{j}") for j, c in enumerate(source.keep)]
    return [*named, (plain(source.entity), "e")] if source.entity else named


def released_value(wanted: Sensitive, value: exp.Expr) -> exp.Expr:
    """A sensitive value as the release shows it: itself, or its level."""
    if wanted.publish == "value":
        return value
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    known = case_of(text_of(value), levels, literal(NO_LEVEL))
    return sql("CASE WHEN :value IS NULL THEN NULL ELSE :known END", value=value, known=known)


def _coded(
    tuples: exp.Table, hierarchies: Iterable[Hierarchy], sensitive: list[ValueTable], kept: int, people: bool
) -> exp.Query:
    query = exp.select().from_(exp.alias_(tuples, "tuples", table=True))
    for hierarchy in hierarchies:
        alias = f"map_{hierarchy.index}"
        # NULL is in no mapping table: code 0 at every level below the top.
        codes = [
            sql("COALESCE(:code, 0)", code=column(f"code_{level}", alias)).as_(hierarchy.code(level))
            for level in range(hierarchy.height)
        ]
        query = query.select(*codes)
        on = exp.EQ(this=column(f"q{hierarchy.index}", "tuples"), expression=column("value", alias))
        query = query.join(exp.alias_(hierarchy.mapping, alias, table=True), on=on, join_type="left")
    for values in sensitive:
        alias = f"values_{values.index}"
        query = query.select(column("code", alias).as_(f"s{values.index}"))
        on = exp.EQ(this=column(f"s{values.index}", "tuples"), expression=column("value", alias))
        query = query.join(exp.alias_(values.table, alias, table=True), on=on, join_type="left")
    keeps = [column(f"k{index}", "tuples") for index in range(kept)]
    person = [column("e", "tuples"), sql("0").as_("p")] if people else []
    return query.select(*keeps, *person, column("n", "tuples"))
