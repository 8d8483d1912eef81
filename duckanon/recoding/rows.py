"""The recoded cells of the census as the rows that are released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.pseudonyms import pseudonymized
from duckanon.census.source import BoundSource
from duckanon.engine.scratch import Scratch
from duckanon.query.expressions import column, literal, sql
from duckanon.query.functions import each_below, quotient

# A cell is repeated in lists of at most this length, however many rows it stands for.
_LONGEST_LIST = 10_000


class Labels(Protocol):
    """The form of cells and labels that a target is written from best."""

    def cells(self, query: exp.Query) -> exp.Query:
        """The released cells, which every column's labels are asked for once more."""

    def labels(self, thing: str, known: exp.Query, shown: exp.Query) -> exp.Expr:
        """A table of what is `known` (code, label), at least for the codes that are `shown`."""


class AsTheyAre:
    """Nothing is kept: the release is one query."""

    def cells(self, query: exp.Query) -> exp.Query:
        return query

    def labels(self, thing: str, known: exp.Query, shown: exp.Query) -> exp.Expr:
        return known.subquery()


@dataclass(frozen=True)
class Dictionaries:
    """Labels as dictionaries of the engine's own. A file holds such a dictionary whole, so it lists the labels of
    released cells and no others: one that is there and not used tells of a row that is not."""

    scratch: Scratch

    def cells(self, query: exp.Query) -> exp.Query:
        return exp.select("*").from_(self.scratch.table("released_cells", query, "the cells that are released"))

    def labels(self, thing: str, known: exp.Query, shown: exp.Query) -> exp.Expr:
        query = exp.select("code", "label").from_(known.subquery("known"))
        return self.scratch.dictionary(thing, query.where(exp.In(this=column("code"), query=shown.subquery())))


AS_THEY_ARE = AsTheyAre()


@dataclass(frozen=True)
class Shown:
    """How a quasi-identifier is shown: the column of the cells that has its codes, and the labels (code, label) of
    these. None: everything is generalized to the top."""

    code: str | None
    labels: exp.Query | None


def released_rows(
    census: Census, cells: exp.Query, shown: list[Shown], source: BoundSource, labels: Labels = AS_THEY_ARE
) -> exp.Select:
    """The released rows, from the released cells of the census: labelled, sorted and repeated n times.

    The order is that of the released values themselves, so nothing of the source's order remains, and the same
    input gives the same output whatever the number of threads.
    """
    labelled = labelled_cells(census, cells, shown, source, labels)
    order = [part.code for part in shown if part.code is not None] + census.others
    labelled = labelled.order_by(*(column(name, "c") for name in order)) if order else labelled
    return repeated_rows(labelled, source)


def repeated_rows(labelled: exp.Select, source: BoundSource) -> exp.Select:
    """The rows that labelled cells (r0 …, n) stand for, in their order, under the names of the release."""
    outputs = [column(f"r{i}").as_(name, quoted=True) for i, name in enumerate(source.released)]
    return exp.select(*outputs).from_(repeated(labelled).subquery("copies"))


def labelled_cells(
    census: Census, cells: exp.Query, shown: list[Shown], source: BoundSource, labels: Labels = AS_THEY_ARE
) -> exp.Select:
    """The cells `c` as the release shows them: r0 … in the order of its columns, and n."""
    named: dict[str, exp.Expr] = {}
    # Pseudonyms are made here, where there are the fewest, and where the order of the release is still to come: it must
    # not be that of the values behind them.
    cells = labels.cells(pseudonymized(cells, census.keep, census.scratch))
    labelled = exp.select().from_(cells.subquery("c"))
    for hierarchy, part in zip(census.hierarchies, shown, strict=True):
        if part.code is None or part.labels is None:
            named[hierarchy.column.name] = literal(hierarchy.top)
            continue
        known = labels.labels(f"labels_{hierarchy.index}", part.labels, _codes(cells, part.code))
        labelled, named[hierarchy.column.name] = _labelled(labelled, part.code, known, f"l{hierarchy.index}")
    for values in census.sensitive:
        code, alias = f"s{values.index}", f"v{values.index}"
        value = exp.select("code", column("value").as_("label")).from_(values.table)
        known = labels.labels(f"values_{values.index}", value, _codes(cells, code))
        labelled, named[values.column.name] = _labelled(labelled, code, known, alias)
    for position, kept in enumerate(census.keep):
        named[kept.name] = column(f"k{position}", "c")
    return labelled.select(*(named[name].as_(f"r{i}") for i, name in enumerate(source.released)), column("n", "c"))


def _codes(cells: exp.Query, code: str) -> exp.Select:
    return exp.select(column(code)).distinct().from_(cells.subquery("cells"))


def _labelled(query: exp.Select, code: str, labels: exp.Expr, alias: str) -> tuple[exp.Select, exp.Expr]:
    on = exp.EQ(this=column(code, "c"), expression=column("code", alias))
    return query.join(exp.alias_(labels, alias, table=True), on=on, join_type="left"), column("label", alias)


def repeated(cells: exp.Select) -> exp.Select:
    """Each of the cells n times, in order."""
    longest = literal(_LONGEST_LIST)
    lists = each_below(quotient(sql("(n + :longest - 1)", longest=longest), longest))
    parts = exp.select("*", lists.as_("part")).from_(cells.subquery("cells"))
    copies = each_below(sql("LEAST(:longest, n - part * :longest)", longest=longest))
    return exp.select("*", copies.as_("copy")).from_(parts.subquery("parts"))
