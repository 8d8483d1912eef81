"""The source, counted once: distinct quasi-identifier tuples with their sensitive values, coded for every level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.people import linked_by_pseudonym, must_name_everybody, repeated_identifiers
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.census.tuples import Tuples, count_tuples
from duckanon.census.values import ValueTable, value_table
from duckanon.engine import Column, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.engine.warehouse import Told
from duckanon.errors import EngineError, Fault, SourceError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.unmapped import Unmapped
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, text_of

# A kept column with more rows than this alone with their value is worth a warning.
_TELLING_SHARE = 0.01


def _unheard(counts: int) -> None:
    pass


@dataclass(frozen=True)
class Census:
    """One row per distinct released tuple: q{i}_{l} for every level that the policy allows, below the top, s{j}, k{j}
    for kept columns, n; where people are counted, one per tuple and person e. Where a local method needs the numbers
    that the codes do not tell, from{i} and to{i}: their bounds.

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
        return [h.code(level) for h in self.hierarchies for level in h.coded]

    @property
    def bottom(self) -> tuple[int, ...]:
        """The finest levels that are counted."""
        return tuple(h.lowest for h in self.hierarchies)

    @property
    def finest(self) -> list[str]:
        """The columns that tell the tuples apart."""
        return self.keys(self.bottom)

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
        """With what a release shows of the hierarchies: as many stars as the longest of the `released` codes (of the
        lowest level, q0_0 …) has characters, not as the longest value of a row that stays hidden; of a column that is
        never counted, one."""
        told = [h for h in shown if h.tells_length]
        masks = [h for h in told if h.lowest < h.height]
        longest: dict[int, int | None] = {h.index: None for h in told}
        if masks:
            query = exp.select().from_(released.subquery("released"))
            for h in masks:
                # A label has as many characters as its values.
                length = sql("MAX(LENGTH(:text))", text=text_of(column(h.label(h.lowest), f"map_{h.index}")))
                code = column(f"code_{h.lowest}", f"map_{h.index}")
                on = exp.EQ(this=column(h.code(h.lowest), "released"), expression=code)
                mapping = exp.alias_(h.mapping, f"map_{h.index}", table=True)
                query = query.select(length).join(mapping, on=on, join_type="left")
            (lengths,) = self.workbench.fetch(query, "the longest values that are released")
            longest |= dict(zip((h.index for h in masks), lengths, strict=True))
        return self.with_lengths(longest)

    def keys(self, levels: tuple[int, ...]) -> list[str]:
        """The columns that tell the classes of a node apart; a column at its top tells nothing."""
        return [h.code(level) for h, level in zip(self.hierarchies, levels, strict=True) if level < h.height]


def take_census(policy: Policy, source: BoundSource, scratch: Scratch, told: Told = _unheard) -> Census:
    """Count the source in one scan, build the hierarchies from what was counted, and code it. `told` hears how many
    counts there are before they come."""
    tuples = count_tuples(policy, source, scratch, _limited(policy, told))
    built, rows = tuples.built, tuples.rows
    people = _people(policy, tuples.every, scratch.workbench)
    sensitive = [
        value_table(index, asked, column, tuples.every, people is not None, scratch)
        for index, (asked, column) in enumerate(source.sensitive)
    ]
    coded = _coded(tuples, sensitive, len(source.keep), people is not None)
    table = scratch.table("census", coded, "the census: codes of every level")
    scratch.drop(tuples.every)
    scratch.drop(tuples.known)
    ((coded_rows,),) = scratch.workbench.fetch(exp.select(sql("CAST(SUM(n) AS BIGINT)")).from_(table))
    if coded_rows != built.rows:
        raise EngineError(f"the census holds {coded_rows:,} rows, the source {built.rows:,}: nothing can be trusted")
    fate = "they are suppressed" if policy.unmapped == "suppress" else "they are shown as the top"
    warnings = [warning for values in sensitive for warning in values.warnings]
    warnings += [f"{unmapped}: {fate}" for unmapped in built.unmapped]
    telling = _telling_columns(source, table, rows, scratch.workbench)
    warnings += telling.values()
    warnings += repeated_identifiers(source)
    census = Census(
        table=table,
        rows=rows,
        hierarchies=built.hierarchies,
        sensitive=tuple(sensitive),
        keep=source.keep,
        scratch=scratch,
        warnings=(),
        unmapped=built.unmapped,
        left_out=rows - built.rows,
        people=people,
        telling=tuple(telling),
    )
    linked = linked_by_pseudonym(source, table, census.finest, scratch.workbench)
    return replace(census, warnings=(*warnings, *linked))


def _limited(policy: Policy, told: Told) -> Told:
    """Refuses more counts than the policy lets come, once it is told how many there are."""
    most = policy.search.census_limit

    def hear(counts: int) -> None:
        told(counts)
        if counts > most:
            what = f"the source has {counts:,} counts, more than {most:,}"
            raise SourceError([Fault("search.census_limit", what, _FEWER)], policy.file)

    return hear


_FEWER = "count it coarser, by the at_least of quasi-identifiers with many values, or raise the limit"


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


def _coded(tuples: Tuples, sensitive: list[ValueTable], kept: int, people: bool) -> exp.Query:
    query = exp.select().from_(exp.alias_(tuples.known, "tuples", table=True))
    for h in tuples.built.hierarchies:
        if not h.coded:
            continue
        alias = f"map_{h.index}"
        codes = {level: column(f"code_{level}", alias) for level in h.coded}
        # NULL is in no mapping table: code 0 at every level below the top.
        query = query.select(*(sql("COALESCE(:code, 0)", code=code).as_(h.code(at)) for at, code in codes.items()))
        mapping, key = exp.alias_(h.mapping, alias, table=True), column("value", alias)
        if tuples.by_code:
            known = exp.select(*(column(f"code_{level}") for level in h.coded)).distinct().from_(h.mapping)
            mapping, key = known.subquery(alias), codes[h.lowest]
        on = exp.EQ(this=column(f"q{h.index}", "tuples"), expression=key)
        query = query.join(mapping, on=on, join_type="left")
    for values in sensitive:
        alias = f"values_{values.index}"
        query = query.select(column("code", alias).as_(f"s{values.index}"))
        on = exp.EQ(this=column(f"s{values.index}", "tuples"), expression=column("value", alias))
        query = query.join(exp.alias_(values.table, alias, table=True), on=on, join_type="left")
    keeps = [column(f"k{index}", "tuples") for index in range(kept)]
    bounds = [column(f"{name}{index}", "tuples") for index in tuples.spans for name in ("from", "to")]
    person = [column("e", "tuples"), sql("0").as_("p")] if people else []
    return query.select(*keeps, *bounds, *person, column("n", "tuples"))
