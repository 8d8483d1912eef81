"""The recoded cells of the census as the rows that are released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census import Census
from duckanon.expressions import column, literal, sql
from duckanon.pseudonyms import pseudonymized
from duckanon.source import BoundSource

# A cell is repeated in lists of at most this length, however many rows it stands for.
_LONGEST_LIST = 10_000

# Makes a table (code, label) of the query, in whatever form the target is written from best.
Labels = Callable[[str, exp.Query], exp.Expr]


def as_they_are(_: str, query: exp.Query) -> exp.Expr:
    return query.subquery()


@dataclass(frozen=True)
class Shown:
    """How a quasi-identifier is shown: the column of the cells that has its codes, and the labels (code, label) of
    these. None: everything is generalized to the top."""

    code: str | None
    labels: exp.Query | None


def released_rows(
    census: Census, cells: exp.Query, shown: list[Shown], source: BoundSource, labels: Labels = as_they_are
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
    census: Census, cells: exp.Query, shown: list[Shown], source: BoundSource, labels: Labels = as_they_are
) -> exp.Select:
    """The cells `c` as the release shows them: r0 … in the order of its columns, and n."""
    named: dict[str, exp.Expr] = {}
    # Pseudonyms are made here, where there are the fewest, and where the order of the release is still to come: it must
    # not be that of the values behind them.
    labelled = exp.select().from_(pseudonymized(cells, census.keep, census.scratch).subquery("c"))
    for hierarchy, part in zip(census.hierarchies, shown, strict=True):
        if part.code is None or part.labels is None:
            named[hierarchy.column.name] = literal(hierarchy.top)
            continue
        known = labels(f"labels_{hierarchy.index}", part.labels)
        labelled, named[hierarchy.column.name] = _labelled(labelled, part.code, known, f"l{hierarchy.index}")
    for values in census.sensitive:
        known = labels(f"values_{values.index}", exp.select("code", column("value").as_("label")).from_(values.table))
        code, alias = f"s{values.index}", f"v{values.index}"
        labelled, named[values.column.name] = _labelled(labelled, code, known, alias)
    for place, kept in enumerate(census.keep):
        named[kept.name] = column(f"k{place}", "c")
    return labelled.select(*(named[name].as_(f"r{i}") for i, name in enumerate(source.released)), column("n", "c"))


def _labelled(query: exp.Select, code: str, labels: exp.Expr, alias: str) -> tuple[exp.Select, exp.Expr]:
    on = exp.EQ(this=column(code, "c"), expression=column("code", alias))
    return query.join(exp.alias_(labels, alias, table=True), on=on, join_type="left"), column("label", alias)


def repeated(cells: exp.Select) -> exp.Select:
    """Each of the cells n times, in order."""
    longest = literal(_LONGEST_LIST)
    lists = sql("UNNEST(RANGE(CAST((n + :longest - 1) // :longest AS BIGINT)))", longest=longest)
    parts = exp.select("*", lists.as_("part")).from_(cells.subquery("cells"))
    copies = sql("UNNEST(RANGE(CAST(LEAST(:longest, n - part * :longest) AS BIGINT)))", longest=longest)
    return exp.select("*", copies.as_("copy")).from_(parts.subquery("parts"))
