"""The recoded cells of the census as the rows that are released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym, pseudonymized
from duckanon.census.source import BoundSource
from duckanon.engine.scratch import Scratch
from duckanon.query.csv_text import LINE_END, CsvText
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.functions import each_below, quotient
from duckanon.query.steps import select, with_steps

# A cell is repeated in lists of at most this length, however many rows it stands for.
_LONGEST_LIST = 10_000
# So many copies of a line are one text: more would only take more memory.
_LINES_TOGETHER = 16


class Labels(Protocol):
    """The form of cells and labels that a target is written from best."""

    def cells(self, query: exp.Select) -> exp.Select:
        """The released cells, which every column's labels are asked for once more."""

    def labels(self, thing: str, known: exp.Select, shown: exp.Select) -> exp.Select:
        """What is `known` (code, label), at least for the codes that are `shown`."""

    def value(self, shown: exp.Expr) -> exp.Expr:
        """What is shown without a label."""

    def numbers(self, thing: str, query: exp.Select) -> exp.Select:
        """What sorts the rows, beside what they show."""


class AsTheyAre:
    """Nothing is kept: the release is one query."""

    def cells(self, query: exp.Select) -> exp.Select:
        return query

    def labels(self, thing: str, known: exp.Select, shown: exp.Select) -> exp.Select:
        return known

    def value(self, shown: exp.Expr) -> exp.Expr:
        return shown

    def numbers(self, thing: str, query: exp.Select) -> exp.Select:
        return query


@dataclass(frozen=True)
class Dictionaries:
    """Labels as dictionaries of the engine's own. A file holds such a dictionary whole, so it lists the labels of
    released cells and no others: one that is there and not used tells of a row that is not."""

    scratch: Scratch

    def cells(self, query: exp.Select) -> exp.Select:
        return exp.select("*").from_(self.scratch.table("released_cells", query, "the cells that are released"))

    def labels(self, thing: str, known: exp.Select, shown: exp.Select) -> exp.Select:
        return exp.select("code", "label").from_(self.scratch.dictionary(thing, _among(known, shown)))

    def value(self, shown: exp.Expr) -> exp.Expr:
        return shown

    def numbers(self, thing: str, query: exp.Select) -> exp.Select:
        """Kept, so that a planner knows how few they are."""
        return exp.select("*").from_(self.scratch.table(thing, query, "numbers that sort the release"))


@dataclass(frozen=True)
class CsvCells(Dictionaries):
    """Labels as they stand in the cells of a CSV file, each put together once."""

    csv: CsvText

    def labels(self, thing: str, known: exp.Select, shown: exp.Select) -> exp.Select:
        cells = select(code="code", label=self.value(column("label"))).from_(_among(known, shown).subquery("shown"))
        return exp.select("code", "label").from_(self.scratch.table(thing, cells, "labels, as a file says them"))

    def value(self, shown: exp.Expr) -> exp.Expr:
        return self.csv.cell(shown)


def _among(known: exp.Select, shown: exp.Select) -> exp.Select:
    query = exp.select("code", "label").from_(known.subquery("known"))
    return query.where(exp.In(this=column("code"), query=shown.subquery()))


AS_THEY_ARE = AsTheyAre()


@dataclass(frozen=True)
class Shown:
    """How a quasi-identifier is shown: the column of the cells that has its codes, and the labels (code, label) of
    these. None: everything is generalized to the top."""

    code: str | None
    labels: exp.Select | None


@dataclass(frozen=True)
class Cells:
    """Released cells of the census: a query, and its columns."""

    query: exp.Select
    names: tuple[str, ...]
    kept: exp.Table | None = None  # a table that holds them, and no others
    words: tuple[str, ...] = ()  # of the table, which hold their codes and values


Steps = dict[str, exp.Select]  # by their names; the last are the `labelled_cells`: r0 …, n


def sorted_cells(
    census: Census, cells: Cells, shown: list[Shown], source: BoundSource, labels: Labels = AS_THEY_ARE
) -> Steps:
    """The released cells of the census, labelled and sorted.

    The order is that of the released values themselves, so nothing of the source's order remains, and the same
    input gives the same output whatever the number of threads.
    """
    steps = label_steps(census, cells, shown, source.released, labels)
    order = [part.code for part in shown if part.code is not None] + census.others
    if cells.words and not any(isinstance(kept, Pseudonym) for kept in census.keep):
        order = [*cells.words, *census.others[len(census.sensitive) :]]  # which is the same, in fewer columns
    if order:
        labelled = steps["labelled_cells"]
        steps["labelled_cells"] = labelled.order_by(*(column(name, "released_cells") for name in order))
    return steps


def repeated_rows(steps: Steps, source: BoundSource, in_lists: bool = True) -> exp.Select:
    """The released rows: each of the `labelled_cells` n times, in their order, under the names of the release."""
    outputs = [column(f"r{i}").as_(name, quoted=True) for i, name in enumerate(source.released)]
    return with_steps(exp.select(*outputs).from_(table("copies")), **steps, **copy_steps("labelled_cells", in_lists))


def line_counts(steps: Steps, columns: int, csv: CsvText) -> exp.Select:
    """The cells, which are those of CSV, as lines in their order, and n."""
    line = csv.line([column(f"r{i}") for i in range(columns)])
    return with_steps(select(line=line, n="n").from_(table("labelled_cells")), **steps)


def repeated_lines(lines: exp.Table) -> exp.Select:
    """Each line n times, in their order. Several copies are one row, which holds the ends of lines between them: texts
    are repeated in less time than rows are."""
    together = literal(_LINES_TOGETHER)
    parts = each_below(quotient(sql("(n + :together - 1)", together=together), together))
    more = sql("CAST(LEAST(:together, n - part * :together) - 1 AS BIGINT)", together=together)
    text = sql("REPEAT(line || :end, :more) || line", end=literal(LINE_END), more=more)
    return with_steps(
        select(line=text).from_(table("parts")),
        lines=exp.select("*").from_(lines),
        parts=exp.select("*", parts.as_("part")).from_(table("lines")),
    )


def label_steps(
    census: Census, cells: Cells, shown: list[Shown], names: Sequence[str], labels: Labels = AS_THEY_ARE
) -> Steps:
    """The steps from the `released_cells` to the `labelled_cells` as the release shows them: r0 …, the columns of these
    names, and n."""
    # Pseudonyms are made here, where there are the fewest, and where the order of the release is still to come: it must
    # not be that of the values behind them.
    shown_cells = pseudonymized(cells.query, cells.names, census.keep, census.scratch)
    released = shown_cells if cells.kept and shown_cells is cells.query else labels.cells(shown_cells)
    steps = {"released_cells": released}
    labelled = exp.select().from_(table("released_cells"))
    named: dict[str, exp.Expr] = {}
    for hierarchy, part in zip(census.hierarchies, shown, strict=True):
        if part.code is None or part.labels is None:
            named[hierarchy.column.name] = labels.value(hierarchy.removed)
            continue
        step = f"labels_{hierarchy.index}"
        steps[step] = labels.labels(step, part.labels, codes_in(released, part.code))
        labelled, named[hierarchy.column.name] = _labelled(labelled, part.code, step)
    for values in census.sensitive:
        code, step = f"s{values.index}", f"values_{values.index}"
        value = exp.select("code", column("value").as_("label")).from_(values.table)
        steps[step] = labels.labels(step, value, codes_in(released, code))
        labelled, named[values.column.name] = _labelled(labelled, code, step)
    for position, kept in enumerate(census.keep):
        named[kept.name] = labels.value(column(f"k{position}", "released_cells"))
    outputs = [named[name].as_(f"r{i}") for i, name in enumerate(names)]
    return {**steps, "labelled_cells": labelled.select(*outputs, column("n", "released_cells"))}


def codes_in(cells: exp.Select, code: str) -> exp.Select:
    return exp.select(column(code)).distinct().from_(cells.subquery("cells"))


def _labelled(query: exp.Select, code: str, step: str) -> tuple[exp.Select, exp.Expr]:
    on = exp.EQ(this=column(code, "released_cells"), expression=column("code", step))
    return query.join(table(step), on=on, join_type="left"), column("label", step)


def copy_steps(cells: str, in_lists: bool = True) -> dict[str, exp.Select]:
    """The steps to the `copies`: each row of the step `cells` n times, in order. `in_lists`: where it is repeated by
    lists, which must not be long."""
    if not in_lists:
        return {"copies": exp.select("*", each_below(column("n")).as_("copy")).from_(table(cells))}
    longest = literal(_LONGEST_LIST)
    lists = each_below(quotient(sql("(n + :longest - 1)", longest=longest), longest))
    copies = each_below(sql("LEAST(:longest, n - part * :longest)", longest=longest))
    return {
        "parts": exp.select("*", lists.as_("part")).from_(table(cells)),
        "copies": exp.select("*", copies.as_("copy")).from_(table("parts")),
    }
