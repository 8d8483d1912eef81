"""The tuples of the source, counted in one scan: by the values themselves or, where the policy never shows these, by
the codes of the finest labels that it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.hashes import RowHashes, hashes_of_counts, with_hashes
from duckanon.census.plain import plain
from duckanon.census.source import BoundSource
from duckanon.census.values import released_value
from duckanon.engine import Column, Engine, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.warehouse import Told
from duckanon.errors import EngineError, Fault, SourceError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.build import Built, build_hierarchies
from duckanon.hierarchy.domains import TupleDomains
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import unknown_values
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import any_of, column, literal, sql, text_of

# Below this many rows there is nobody to hide among.
_FEWEST_ROWS = 2
# Stands for a value that its hierarchy does not know; codes are numbers from 0.
_UNKNOWN = -1


@dataclass(frozen=True)
class Tuples:
    """One row per distinct combination of what may be released: q0 … (values, or codes of the lowest level), s0 …,
    k0 …, the person e where people are counted, and n. Each of the `parts` may have the same one."""

    every: exp.Table
    known: exp.Table  # those that are coded: without rows that are left out, with tops for what no hierarchy knows
    built: Built
    rows: int  # of the source
    by_code: bool
    warehouse: Warehouse | None = None  # where they have stayed; None: they are on the workbench
    counted: RowCounts | None = None  # the same by their values, kept in a warehouse afar
    spans: tuple[int, ...] = ()  # columns of numbers, with the bounds from{i} and to{i} that no code tells
    hashes: RowHashes | None = None  # of the rows of the source, where these were asked for
    parts: int = 1  # in which they were counted: each may have the same tuple


def count_tuples(
    policy: Policy, source: BoundSource, scratch: Scratch, told: Told, hashed: Sequence[Column] = ()
) -> Tuples:
    """Count the source in one scan, and build the hierarchies of what is counted. `hashed`: all columns of the source,
    where the hashes of its rows are to come with their counts."""
    stay = policy.search.where == "warehouse"
    if stay or any(wanted.at_least for wanted, _ in source.quasi_identifiers):
        return _by_code(policy, source, scratch, None if stay else told)
    if source.warehouse.may_keep and not _can_be_sent(source):
        # Counted once: to tell how many there are, to be brought, and to be released from.
        kept = scratch.kept("counted", tuple_counts(source), _SCANNED, source.warehouse)
        counted, hashes = RowCounts(kept, _as_they_are(source)), None
        scans = [exp.select("*").from_(kept)]
    else:
        counted, (scans, hashes) = None, _in_parts(source, hashed)
    every = scratch.collected("tuples", scans[0], _SCANNED, source.warehouse, told, scans[1:])
    rows = enough_rows(policy, every, scratch)
    domains = TupleDomains(every, len(source.quasi_identifiers), scratch)
    built = build_hierarchies(list(source.quasi_identifiers), domains, source.warehouse, scratch, policy.unmapped)
    tuples = Tuples(every, domains.tuples, built, rows, by_code=False, counted=counted, parts=len(scans))
    if counted is not None and hashed:
        return replace(tuples, hashes=hashes_of_counts(hashed, counted, source.warehouse))
    if hashes is not None:
        came = RowCounts(every, _as_they_are(source), hashes=hashes)
        return replace(tuples, hashes=hashes_of_counts(hashed, came, scratch.workbench))
    return tuples


def _in_parts(source: BoundSource, hashed: Sequence[Column]) -> tuple[list[exp.Select], str | None]:
    """A query for the counts of each of the parts that the warehouse names; where the hashes of the rows come with
    them, the name of these, which are made by whoever counts a part."""
    conditions: Sequence[exp.Expr | None] = source.warehouse.parts_of(source.relation) or [None]
    parts = [tuple_counts(source, condition) for condition in conditions]
    if not hashed:
        return parts, None
    with_theirs = [with_hashes(part, hashed, _as_they_are(source)) for part in parts]
    return [part for part, _ in with_theirs], with_theirs[0][1]


def _can_be_sent(source: BoundSource) -> bool:
    """Whether the cells of the release can be sent, so that nothing but the census needs the counts: what a transaction
    holds is as it was counted, if texts tell all that there is to tell of the columns."""
    columns = [c for _, c in (*source.quasi_identifiers, *source.sensitive)] + [*source.keep]
    return source.warehouse.transactional and all(c.type.released.declared is not None for c in columns)


_SCANNED = "the source, counted in one scan"


def tuple_counts(source: BoundSource, part: exp.Expr | None = None) -> exp.Select:
    """q0 …, s0 …, k0 … and n: one row per distinct combination of the columns that will be released, and of the
    person e where people are counted. `part`: which rows are counted; None: all."""
    rows = exp.select(*_named(released_columns(source))).from_(source.table)
    return _grouped(rows.where(part) if part else rows, source)


def released_columns(source: BoundSource) -> list[tuple[exp.Expr, str]]:
    """What a release is made of, by the names it has in all that follows."""
    return [*_quasi_identifiers(source), *_others(source)]


def _as_they_are(source: BoundSource) -> dict[str, str]:
    """The columns of the source whose values are counted as they are, and by which names."""
    return {value.name: name for value, name in released_columns(source) if isinstance(value, exp.Column)}


def _quasi_identifiers(source: BoundSource) -> list[tuple[exp.Expr, str]]:
    return [(plain(c), f"q{i}") for i, (_, c) in enumerate(source.quasi_identifiers)]


def _others(source: BoundSource) -> list[tuple[exp.Expr, str]]:
    named = [(released_value(s, c.type.released, plain(c)), f"s{j}") for j, (s, c) in enumerate(source.sensitive)]
    named += [(plain(c), f"k{j}") for j, c in enumerate(source.keep)]
    return [*named, (plain(source.entity), "e")] if source.entity else named


def _named(columns: list[tuple[exp.Expr, str]]) -> list[exp.Expr]:
    return [expression.as_(name) for expression, name in columns]


def _grouped(rows: exp.Select, source: BoundSource, *more: exp.Expr) -> exp.Select:
    """The rows counted by what is released, with `more` figures of each tuple."""
    names = [column(name) for _, name in released_columns(source)]
    return exp.select(*names, sql("COUNT(*)").as_("n"), *more).from_(rows.subquery("source")).group_by(*names)


def enough_rows(policy: Policy, counted: exp.Expr, scratch: Scratch) -> int:
    """How many there are: some, at least."""
    ((rows,),) = scratch.workbench.fetch(exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(counted))
    if rows < _FEWEST_ROWS:
        what = "has no rows" if rows == 0 else "has only one row: nobody to hide among"
        raise SourceError([Fault("source", what)], policy.file)
    return int(rows)


# -- by codes -----------------------------------------------------------------------------------------


class SourceDomains:
    """Of the source itself, one column at a time, before its tuples are counted by codes."""

    def __init__(self, source: BoundSource, scratch: Scratch) -> None:
        self._source, self._scratch = source, scratch
        self._unknown: dict[int, exp.Table] = {}  # of the warehouse: values whose rows are left out
        self._others: list[exp.Table] = []  # counted without them
        self.counted = self._count("counted")

    def count(self) -> list[exp.Expr]:
        if self._unknown:
            self._others = self._count("values")
        return [*(self._others or self.counted)]

    def _count(self, thing: str) -> list[exp.Table]:
        named = [c.name for _, c in self._source.quasi_identifiers]
        return [self._collected(f"{thing}_{index}", index, name) for index, name in enumerate(named)]

    def _collected(self, thing: str, index: int, name: str) -> exp.Table:
        """The values of the rows that are not left out."""
        rows = exp.select(*_named(_quasi_identifiers(self._source))).from_(self._source.table).subquery("source")
        value = column(f"q{index}", "source")
        counts = exp.select(value.as_("value"), sql("COUNT(*)").as_("n")).from_(rows).group_by(value)
        for other, values in self._unknown.items():
            alias = f"unknown_{other}"
            type_ = self._source.quasi_identifiers[other][1].type.released
            on = exp.EQ(this=column(f"q{other}", "source"), expression=type_.cast(column("value", alias)))
            counts = counts.join(exp.alias_(values, alias, table=True), on=on, join_type="left")
            counts = counts.where(sql(":unknown IS NULL", unknown=column("value", alias)))
        return self._scratch.collected(thing, counts, f"values of {name}", self._source.warehouse)

    def leave_out(self, schemes: list[Scheme]) -> None:
        for scheme in schemes:
            values = unknown_values(scheme, self.counted[scheme.index])
            if values is not None:
                thing, note = f"unknown_{scheme.index}", f"values of {scheme.column.name} that are left out"
                self._unknown[scheme.index] = self._scratch.sent(thing, values, note, self._source.warehouse)

    def show_tops(self, schemes: list[Scheme]) -> None:
        """Their codes are those of the top."""

    def forget(self) -> None:
        for values in self._others:
            self._scratch.drop(values)
        self._others = []


def _by_code(policy: Policy, source: BoundSource, scratch: Scratch, told: Told | None) -> Tuples:
    """What is never published finer is not even counted finer: the values of each column come first, then the tuples by
    the codes of their lowest levels, which go to the warehouse. Where nobody is `told`, the tuples stay there."""
    domains = SourceDomains(source, scratch)
    rows = enough_rows(policy, domains.counted[0], scratch)
    built = build_hierarchies(list(source.quasi_identifiers), domains, source.warehouse, scratch, policy.unmapped)
    spans = spans_of(policy, built.hierarchies)
    codes = [
        scratch.sent(f"codes_{h.index}", _codes(h, values, spans), f"codes of {h.column.name}", source.warehouse)
        for h, values in zip(built.hierarchies, domains.counted, strict=True)
    ]
    scan = _scan(source, codes, spans)
    for made in domains.counted:
        scratch.drop(made)
    if told is None:
        every = scratch.kept("tuples", scan, _SCANNED, source.warehouse)
        known = _known(every, built, source.warehouse, scratch)
        return Tuples(every, known, built, rows, by_code=True, warehouse=source.warehouse)
    if source.warehouse.may_keep and not source.warehouse.transactional:
        scan = exp.select("*").from_(scratch.kept("counted", scan, _SCANNED, source.warehouse))
    every = scratch.collected("tuples", scan, _SCANNED, source.warehouse, told)
    for made in codes:
        scratch.drop(made)
    return Tuples(every, _known(every, built, scratch.workbench, scratch), built, rows, by_code=True, spans=spans)


def spans_of(policy: Policy, hierarchies: Iterable[Hierarchy]) -> tuple[int, ...]:
    """The columns of numbers whose bounds no code tells, and a local method needs."""
    numbers = [h.index for h in hierarchies if h.lowest and h.column.type.is_number]
    return tuple(numbers) if policy.search.is_local else ()


def _codes(hierarchy: Hierarchy, counted: exp.Table, spans: tuple[int, ...]) -> exp.Select:
    """value, as a text, and code: of every value but NULL that of its label at the lowest level. One that is not in the
    mapping is shown as the top, or is left out. At the top all are alike; only numbers with bounds are not NULL."""
    level = hierarchy.lowest
    at_top = "mapped.code_0 * 0 + 1" if hierarchy.index in spans else "mapped.code_0 * 0"
    code = sql(at_top) if level == hierarchy.height else column(f"code_{level}", "mapped")
    value = text_of(column("value", "counted")) if hierarchy.starred else column("value", "counted")
    other = literal(_UNKNOWN)
    if hierarchy.strangers:
        of_top = exp.select(sql("MIN(:code)", code=code)).from_(exp.alias_(hierarchy.mapping, "mapped", table=True))
        other = of_top.where(sql("mapped.value = :top", top=literal(hierarchy.top))).subquery()
    text = text_of(column("value", "counted")).as_("value")
    query = exp.select(text, sql("COALESCE(:code, :other)", code=code, other=other).as_("code"))
    query = query.from_(exp.alias_(counted, "counted", table=True))
    on = exp.EQ(this=value, expression=column("value", "mapped"))
    query = query.join(exp.alias_(hierarchy.mapping, "mapped", table=True), on=on, join_type="left")
    return query.where(sql("counted.value IS NOT NULL"))


def _scan(source: BoundSource, codes: list[exp.Table], spans: tuple[int, ...]) -> exp.Select:
    """The tuples by codes; NULL is 0. The bounds of numbers are what a local method measures its classes by."""
    values = exp.select(*_named(released_columns(source))).from_(source.table).subquery("source")
    rows = exp.select().from_(values)
    for index, (coded, (_, c)) in enumerate(zip(codes, source.quasi_identifiers, strict=True)):
        value, alias = column(f"q{index}", "source"), f"codes_{index}"
        code = sql("CASE WHEN :value IS NULL THEN 0 ELSE :code END", value=value, code=column("code", alias))
        on = exp.EQ(this=value, expression=c.type.released.cast(column("value", alias)))
        rows = rows.select(code.as_(f"q{index}")).join(exp.alias_(coded, alias, table=True), on=on, join_type="left")
    rows = rows.select(*(column(name, "source") for _, name in _others(source)))
    rows = rows.select(*(column(f"q{index}", "source").as_(f"v{index}") for index in spans))
    bounds = [sql(f"{least}(v{index})").as_(f"{name}{index}") for index in spans for least, name in BOUNDS]
    return _grouped(rows, source, *bounds)


BOUNDS = (("MIN", "from"), ("MAX", "to"))


def _known(every: exp.Table, built: Built, engine: Engine, scratch: Scratch) -> exp.Table:
    """The tuples of which every hierarchy knows the value. What the warehouse has found no code for is a value that it
    compares otherwise than the workbench does."""
    codes = [column(f"q{h.index}") for h in built.hierarchies]
    lost = any_of(sql(":code IS NULL", code=code) for code in codes)
    strange = any_of(sql(":code < 0", code=code) for code in codes)
    counted = [sql("COUNT(CASE WHEN :what THEN 1 END)", what=exp.paren(what)) for what in (lost, strange)]
    ((lost_tuples, strange_tuples),) = engine.fetch(exp.select(*counted).from_(every))
    if lost_tuples:
        raise EngineError("values were counted that have no code in the scan: nothing can be trusted")
    if not strange_tuples:
        return every
    query = exp.select("*").from_(every).where(exp.not_(exp.paren(strange)))
    note = "the source, without the rows that a hierarchy does not know"
    return scratch.kept("known", query, note, engine)
