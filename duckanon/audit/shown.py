"""The rows that a release shows, read once where they lie, and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from sqlglot import exp

from duckanon.audit import DistinctRows
from duckanon.census.counting import Census
from duckanon.census.hashes import with_hashes
from duckanon.census.pseudonyms import Pseudonym
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError, EngineError
from duckanon.query.counts import NumberedRows, RowCounts
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.names import folded, free_name
from duckanon.query.packed import Digit, Words, value_counts
from duckanon.query.steps import select, with_steps


def quasi_identifiers_of(census: Census) -> list[str]:
    return [h.column.name for h in census.hierarchies]


def kept_of(census: Census) -> list[str]:
    """The columns that are shown as they are."""
    return [c.name for c in census.keep if not isinstance(c, Pseudonym)]


def count_rows(released: Relation, census: Census, scratch: Scratch, hashed: bool = False) -> DistinctRows:
    """What a release shows, pseudonyms aside: it is read where it lies, in the engine of the `scratch`. Kept columns
    that are set aside, since nearly every row has its own, are asked of the release itself.

    The counts come to the workbench, where questions cost least, if those of the source have come and are no fewer.
    `hashed`: with the hashes of the rows, where that saves a scan."""
    qi, others = quasi_identifiers_of(census), [v.column.name for v in census.sensitive]
    others += [] if census.aside else kept_of(census)
    relation = released.table if census.aside else None
    if scratch.engine is census.workbench and census.is_large:
        numbered = _Numbered(released, qi, others, scratch)
        return DistinctRows(numbered.counts(relation, kept_of(census) if census.aside else []), qi, scratch)
    names = [*qi, *others]
    copies = free_name("n", names)
    number = released.number.as_(copies, quoted=True)
    query = exp.select(*map(column, names), number).from_(released.table).group_by(*map(column, names))
    counts = RowCounts(released.table, {name: name for name in names}, copies, relation)
    counting = _Counting(query, counts, census, scratch)
    if scratch.engine is census.workbench or census.afar is not None or census.people is not None:
        return counting.kept()  # where whose the rows are is asked, too
    return counting.come(scratch.engine.columns(released.table) if hashed else []) or counting.kept()


@dataclass(frozen=True)
class _Counting:
    """A query that counts the rows of a release, and what it gives."""

    query: exp.Select
    counts: RowCounts
    census: Census
    scratch: Scratch

    def kept(self) -> DistinctRows:
        """Where the release lies. To keep what is asked there once is only worth where that costs nothing."""
        keep = self.scratch.table if self.scratch.engine.temporary_tables or self.census.afar else self.scratch.view
        kept = keep("distinct_rows", self.query, "verify: the rows that are shown, counted")
        return DistinctRows(replace(self.counts, table=kept), quasi_identifiers_of(self.census), self.scratch)

    def come(self, hashed: list[Column]) -> DistinctRows | None:
        """On the workbench; None: there are too many."""
        census, engine, counts, query = self.census, cast(Warehouse, self.scratch.engine), self.counts, self.query
        ((most,),) = census.workbench.fetch(exp.select("COUNT(*)").from_(census.table))
        query, hashes = with_hashes(query, hashed, counts.names, counts.copies) if hashed else (query, None)
        rows, note = exp.select("*").from_(query.subquery("shown")), "verify: the counts of the release"
        told = None if engine.transactional else partial(_no_more_than, most)
        rows = rows.limit(most + 1) if engine.transactional else rows  # of what is broken off no transaction is left
        try:
            with engine.shared_out():
                come = census.scratch.collected("distinct_rows", rows, note, engine, told)
        except _TooMany:
            return None
        ((number,),) = census.workbench.fetch(exp.select("COUNT(*)").from_(come))
        if number > most:
            census.scratch.drop(come)
            return None
        return DistinctRows(replace(counts, table=come, hashes=hashes), quasi_identifiers_of(census), census.scratch)


class _TooMany(DuckanonError):
    """The counts of a release stay where they are."""


def _no_more_than(most: int, counts: int, more: bool = False) -> None:
    if counts > most:
        raise _TooMany(f"{counts:,} counts, more than {most:,}")


class _Numbered:
    """Counts many rows by the numbers of their values: the columns c0 … of the release, quasi-identifiers first."""

    def __init__(self, released: Relation, qi: list[str], others: list[str], scratch: Scratch) -> None:
        self.scratch, self.names = scratch, {f"c{at}": name for at, name in enumerate((*qi, *others))}
        self.released, self.rows = released, exp.select(*self._renamed, *_copies(released)).from_(released.table)
        counted = value_counts(self.rows.subquery("released"), list(self.names), released.number)
        values = exp.select("*", sql("ROW_NUMBER() OVER (PARTITION BY q)").as_("nth")).from_(counted.subquery("values"))
        self.values = scratch.table("shown_values", values, "verify: the values that are shown, numbered")
        bases = dict(scratch.workbench.fetch(exp.select("q", "MAX(nth) + 1").from_(self.values).group_by("q")))
        digits = [Digit(c, self._known(at), bases.get(at, 1)) for at, c in enumerate(self.names)]
        taken = [*self.names.values()]
        self.copies = free_name("n", taken)
        self.classes = Words(digits[: len(qi)], _prefix("class_", taken))
        self.others = Words(digits[len(qi) :], _prefix("others_", taken))

    @property
    def _renamed(self) -> list[exp.Expr]:
        return [column(name).as_(c) for c, name in self.names.items()]

    def _known(self, at: int) -> exp.Select:
        value = column(f"c{at}")
        known = select(value=value, code="nth").from_(self.values)
        return known.where(sql("q = :at AND :value IS NOT NULL", at=literal(at), value=value))

    def counts(self, relation: exp.Table | None, aside: list[str]) -> RowCounts:
        """`aside`: columns that are not counted."""
        numbered = self.scratch.table("distinct_rows", self._distinct(), "verify: the rows that are shown, counted")
        self._must_be_all(numbered)
        shown = self.scratch.view("shown_rows", self._shown(numbered), "verify: the same by their values")
        names = {name: name for name in self.names.values()}
        rows = self._with_classes(aside) if aside else None
        return RowCounts(
            shown, names, self.copies, relation, numbered=NumberedRows(numbered, tuple(self.classes.names), rows)
        )

    def _with_classes(self, aside: list[str]) -> exp.Select:
        """All rows: the numbers of their classes, and what else they show, these columns too."""
        others = [*(self.names[digit.name] for digit in self.others.digits), *aside]
        rows = exp.select(*self._renamed, *map(column, others)).from_(self.released.table)
        beside = exp.select(*(column(name, "rows") for name in others)).from_(table("rows"))
        return with_steps(self.classes.coded("rows", beside), rows=rows)

    def _distinct(self) -> exp.Select:
        """The numbers of classes, the values of other columns, and how many rows."""
        keys = [*self.classes.columns, *self.others.columns]
        rows = exp.select(*(column(copies.name, "rows") for copies in _copies(self.released))).from_(table("rows"))
        rows = self.others.coded("rows", self.classes.coded("rows", rows))
        number = self.released.number.as_(self.copies, quoted=True)
        counted = exp.select(*keys, number).from_(table("coded_rows")).group_by(*keys)
        whole = exp.and_(self.classes.whole, self.others.whole)
        numbers = [*self.classes.columns, *self.others.unpacked, column(self.copies)]
        steps = {"rows": self.rows, "coded_rows": rows, "counted_rows": counted}
        steps["numbered_rows"] = exp.select(*numbers).from_(table("counted_rows")).where(whole)
        return with_steps(self._valued(self.others, self.classes.columns), **steps)

    def _valued(self, words: Words, beside: list[exp.Column]) -> exp.Select:
        """The `numbered_rows` with values in place of the digits of these words."""
        names = [*(name.name for name in beside), self.copies]
        query = exp.select(*(column(name, "numbered_rows") for name in names)).from_(table("numbered_rows"))
        for digit in words.digits:
            on = exp.EQ(this=column(digit.name, "numbered_rows"), expression=column("code", digit.alias))
            query = query.join(digit.known.subquery(digit.alias), on=on, join_type="left")
            query = query.select(column("value", digit.alias).as_(self.names[digit.name], quoted=True))
        return query

    def _shown(self, numbered: exp.Table) -> exp.Select:
        """All columns of the release, by their names."""
        beside = [column(self.names[digit.name]) for digit in self.others.digits]
        rows = exp.select(*self.classes.unpacked, *beside, column(self.copies)).from_(numbered)
        return with_steps(self._valued(self.classes, beside), numbered_rows=rows)

    def _must_be_all(self, numbered: exp.Table) -> None:
        """What is read twice must be the same twice."""
        every = exp.select(sql("SUM(n)")).from_(self.values).where(sql("q = 0"))
        found = exp.select(sql("SUM(:n)", n=column(self.copies))).from_(numbered)
        ((first, second),) = self.scratch.workbench.fetch(exp.select(every.subquery(), found.subquery()))
        if first != second:
            raise EngineError("the release has changed while it was verified: nothing can be trusted")


def _copies(released: Relation) -> list[exp.Column]:
    return [column(released.copies)] if released.copies else []


def _prefix(wanted: str, taken: list[str]) -> str:
    """What none of these names begins with."""
    while any(folded(name).startswith(wanted) for name in taken):
        wanted += "_"
    return wanted
