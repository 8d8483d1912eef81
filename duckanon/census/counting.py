"""The source, counted once: distinct quasi-identifier tuples with their sensitive values, coded for every level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.aside import Aside, set_aside, without_kept
from duckanon.census.coding import CensusAfar, are_many, code_source
from duckanon.census.hashes import RowHashes
from duckanon.census.people import linked_by_pseudonym, repeated_identifiers
from duckanon.census.plain import plain
from duckanon.census.population import CountedPopulation, count_population
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.census.values import ValueTable
from duckanon.census.words import CensusWords
from duckanon.engine import Column, Engine, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.engine.warehouse import Told
from duckanon.errors import EngineError, Fault, SourceError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.unmapped import Unmapped
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, same, sql, text_of

# A kept column with more rows than this alone with their value is worth a warning.
_TELLING_SHARE = 0.01


def _unheard(counts: int, more: bool = False) -> None:
    pass


@dataclass(frozen=True)
class Census:
    """One row per distinct released tuple: q{i}_{l} for every level that the policy allows, below the top, s{j}, k{j}
    for kept columns that are not set aside, n; where people are counted, one per tuple and person e. Where a local
    method needs the numbers that the codes do not tell, from{i} and to{i}: their bounds.

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
    afar: CensusAfar | None = None  # where the table is in the warehouse
    population: CountedPopulation | None = None  # as it was counted
    counted: RowCounts | None = None  # the tuples by their values, if a warehouse afar keeps them
    aside: Aside | None = None  # where the kept columns are not counted
    hashes: RowHashes | None = None  # of the rows of the source, where they came with the counts
    words: CensusWords | None = None  # w0 … of the table, which is a view that says the codes that these hold

    @property
    def workbench(self) -> Workbench:
        return self.scratch.workbench

    @property
    def engine(self) -> Engine:
        """Where the table is."""
        return self.afar.warehouse if self.afar else self.workbench

    def known_values(self, index: int) -> exp.Table:
        """What is known of the values of a sensitive column, where the table is."""
        return self.afar.values[index] if self.afar else self.sensitive[index].table

    def kept(self, thing: str, query: exp.Query, note: str) -> exp.Table:
        """The rows of a query over the table, kept where it is."""
        return self.scratch.kept(thing, query, note, self.engine)

    def sent(self, thing: str, query: exp.Query, note: str) -> exp.Table:
        """The rows of a query to the workbench, where the table is."""
        if self.afar is None:
            return self.scratch.table(thing, query, note)
        return self.scratch.sent(thing, query, note, self.afar.warehouse)

    @property
    def is_large(self) -> bool:
        return are_many(self.rows)

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
        """The columns of what is released beside the quasi-identifiers, as far as it is counted."""
        sensitive = [f"s{values.index}" for values in self.sensitive]
        return sensitive if self.aside else sensitive + self.kept_columns

    @property
    def kept_columns(self) -> list[str]:
        return [f"k{position}" for position in range(len(self.keep))]

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


def take_census(
    policy: Policy,
    source: BoundSource,
    scratch: Scratch,
    told: Told = _unheard,
    whole: bool = False,
    hashed: bool = False,
) -> Census:
    """Count the source in one scan, build the hierarchies from what was counted, and code it. `told` hears how many
    counts there are before they come. `whole`: kept columns are counted, whatever that costs. `hashed`: with the hashes
    of all rows, where that saves a scan."""
    aside = None if whole else set_aside(policy, source)
    counted = without_kept(source) if aside else source
    columns = source.warehouse.columns(source.table) if hashed and not source.warehouse.is_workbench else []
    coded = code_source(policy, counted, scratch, _limited(policy, told), columns)
    table, built, rows = coded.table, coded.built, coded.rows
    engine: Engine = coded.afar.warehouse if coded.afar else scratch.workbench
    ((coded_rows,),) = engine.fetch(exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(table))
    if coded_rows != built.rows:
        raise EngineError(f"the census holds {coded_rows:,} rows, the source {built.rows:,}: nothing can be trusted")
    telling = _telling_columns(source, table if aside is None and rows == built.rows else None, rows, engine)
    fate = "they are suppressed" if policy.unmapped == "suppress" else "they are shown as the top"
    warnings = [warning for values in coded.sensitive for warning in values.warnings]
    warnings += [f"{unmapped}: {fate}" for unmapped in built.unmapped]
    warnings += _telling(telling)
    warnings += repeated_identifiers(source)
    census = Census(
        table=table,
        rows=rows,
        hierarchies=built.hierarchies,
        sensitive=coded.sensitive,
        keep=source.keep,
        scratch=scratch,
        warnings=(),
        unmapped=built.unmapped,
        left_out=rows - built.rows,
        people=coded.people,
        telling=tuple(telling),
        counted=coded.counted,
        afar=coded.afar,
        aside=aside,
        hashes=coded.hashes,
        words=coded.words,
    )
    linked = linked_by_pseudonym(source, table, census.finest, engine)
    census = replace(census, warnings=(*warnings, *linked), population=_population(policy, source, census))
    return replace(census, warnings=(*census.warnings, *_lacking(census)))


def _population(policy: Policy, source: BoundSource, census: Census) -> CountedPopulation | None:
    bound, told = source.population, policy.population
    if told is not None and told.size is not None and told.size < census.rows:
        what = f"{told.size:,} is below the {census.rows:,} rows of the source, which is a part of it"
        raise SourceError([Fault("population.size", what)], policy.file)
    if bound is None:
        return None
    values = [plain(c) for c in bound.columns]
    return count_population(bound, values, census.hierarchies, census.scratch, _limited(policy, _unheard))


def _lacking(census: Census) -> Iterator[str]:
    """A word on people of the source whom the population has not."""
    if census.population is None or not census.finest:
        return
    names = [column(name) for name in census.finest]
    counts = [
        exp.select(*names, sql(f"SUM({n})").as_(n)).from_(rows).group_by(*names)
        for n, rows in (("n", census.table), ("m", census.population.cells))
    ]
    more = sql("COALESCE(SUM(GREATEST(here.n - COALESCE(there.m, 0), 0)), 0)")
    query = exp.select(sql("CAST(:more AS BIGINT)", more=more)).from_(counts[0].subquery("here"))
    on = same(census.finest, "here", "there", nulls=False)
    ((lacking,),) = census.workbench.fetch(query.join(counts[1].subquery("there"), on=on, join_type="left"))
    if lacking:
        who = "1 row of the source is" if lacking == 1 else f"{lacking:,} rows of the source are"
        yield f"population: {who} not in it, by the quasi-identifiers; is it that of the source?"


def _limited(policy: Policy, told: Told) -> Told:
    """Refuses more counts than the policy lets come, once it is told how many there are."""
    most = policy.search.census_limit

    def hear(counts: int, more: bool = False) -> None:
        told(counts, more)
        if counts > most:
            what = f"there are {'at least ' if more else ''}{counts:,} counts, more than {most:,}"
            other = "raise the limit" if policy.search.where == "warehouse" else _THERE
            raise SourceError([Fault("search.census_limit", what, f"{_COARSER}, or {other}")], policy.file)

    return hear


_COARSER = "count it coarser, by the at_least of quasi-identifiers with many values"
_THERE = 'walk the lattice where the rows lie, by search.where = "warehouse"'


def _telling_columns(source: BoundSource, counts: exp.Table | None, rows: int, engine: Engine) -> dict[str, float]:
    """The kept columns that may identify people by themselves: the share of rows that are alone with their value. They
    are in the `counts` of an engine or, if there are none of all rows, in the source itself."""
    told = {}
    for position, kept in enumerate(source.keep):
        if isinstance(kept, Pseudonym):
            continue
        value, number = (column(f"k{position}"), "SUM(n)") if counts is not None else (plain(kept), "COUNT(*)")
        same = exp.select(sql(number).as_("n")).from_(counts if counts is not None else source.table)
        same = same.where(sql(":v IS NOT NULL", v=value)).group_by(value)
        asked = engine if counts is not None else source.warehouse
        ((alone,),) = asked.fetch(exp.select("COUNT(*)").from_(same.subquery("c")).where("n = 1"))
        if alone > rows * _TELLING_SHARE:
            told[kept.name] = alone / rows
    return told


def _telling(columns: dict[str, float]) -> Iterator[str]:
    """A word on these columns, which are released as they are."""
    if columns:
        named = ", ".join(f"{name} ({share:.0%})" for name, share in columns.items())
        what = "so many of the rows are alone with their value, and it is released unchanged"
        yield f"columns.keep: {named}: {what}; is it an identifier?"


def brought(policy: Policy, census: Census, node: tuple[int, ...]) -> Census:
    """The census at a node, on the workbench: of one in the warehouse, what it takes to release that node. The stars of
    a mask are counted one level below, if that is counted."""
    if census.afar is None:
        return census
    pairs = zip(census.hierarchies, node, strict=True)
    hierarchies = tuple(
        replace(h, lowest=max(h.lowest, min(level, h.height - 1)) if h.tells_length else level, cap=level)
        for h, level in pairs
    )
    at_node = replace(census, hierarchies=hierarchies, afar=None)
    names = [column(name) for name in (*at_node.finest, *census.others)]
    counts = exp.select(*names, sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(census.table)
    counts = counts.group_by(*(name.copy() for name in names)) if names else counts
    note, limited = f"the census at node {node}", _limited(policy, _unheard)
    return replace(at_node, table=census.scratch.collected("brought", counts, note, census.afar.warehouse, limited))
