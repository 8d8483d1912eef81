"""The chosen node as the rows that are released."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from duckanon.census import Census
from duckanon.expressions import column, literal, same, sql
from duckanon.hierarchy import Hierarchy
from duckanon.lattice import Node
from duckanon.source import BoundSource

# A cell is repeated in lists of at most this length, however many rows it stands for.
_LONGEST_LIST = 10_000

# Makes a table (code, label) of the query, in whatever form the target is written from best.
Labels = Callable[[str, exp.Query], exp.Expr]


def as_they_are(_: str, query: exp.Query) -> exp.Expr:
    return query.subquery()


def released_rows(
    census: Census, node: Node, good: exp.Table, source: BoundSource, labels: Labels = as_they_are
) -> exp.Select:
    """The released rows, from the census: its cells in classes of `good`, labelled, sorted and repeated n times.

    The order is that of the released values themselves, so nothing of the source's order remains, and the same
    input gives the same output whatever the number of threads.
    """
    cells, order = _cells(census, node, good)
    named: dict[str, exp.Expr] = {}
    labelled = exp.select().from_(cells.subquery("c"))
    for hierarchy, level in zip(census.hierarchies, node, strict=True):
        alias = f"l{hierarchy.index}"
        if level == hierarchy.height:
            named[hierarchy.column.name] = literal(hierarchy.top)
            continue
        named[hierarchy.column.name] = column("label", alias)
        on = exp.EQ(this=column(hierarchy.code(level), "c"), expression=column("code", alias))
        known = labels(f"labels_{hierarchy.index}", _labels(hierarchy, level))
        labelled = labelled.join(exp.alias_(known, alias, table=True), on=on, join_type="left")
    for values in census.sensitive:
        alias = f"v{values.index}"
        named[values.column.name] = column("label", alias)
        on = exp.EQ(this=column(f"s{values.index}", "c"), expression=column("code", alias))
        known = labels(f"values_{values.index}", exp.select("code", column("value").as_("label")).from_(values.table))
        labelled = labelled.join(exp.alias_(known, alias, table=True), on=on, join_type="left")
    for place, kept in enumerate(census.keep):
        named[kept.name] = column(f"k{place}", "c")
    labelled = labelled.select(*(named[name].as_(f"r{i}") for i, name in enumerate(source.released)), column("n", "c"))
    labelled = labelled.order_by(*(column(name, "c") for name in order)) if order else labelled
    outputs = [column(f"r{i}").as_(name, quoted=True) for i, name in enumerate(source.released)]
    return exp.select(*outputs).from_(_repeated(labelled).subquery("copies"))


def _repeated(cells: exp.Select) -> exp.Select:
    """Each of the cells n times."""
    longest = literal(_LONGEST_LIST)
    lists = sql("UNNEST(RANGE(CAST((n + :longest - 1) // :longest AS BIGINT)))", longest=longest)
    parts = exp.select("*", lists.as_("part")).from_(cells.subquery("cells"))
    copies = sql("UNNEST(RANGE(CAST(LEAST(:longest, n - part * :longest) AS BIGINT)))", longest=longest)
    return exp.select("*", copies.as_("copy")).from_(parts.subquery("parts"))


def _cells(census: Census, node: Node, good: exp.Table) -> tuple[exp.Select, list[str]]:
    """Distinct released rows as codes, with their number; and the columns that tell them apart."""
    keys = census.keys(node)
    others = [f"s{values.index}" for values in census.sensitive] + [f"k{i}" for i in range(len(census.keep))]
    columns = [column(name, "c") for name in (*keys, *others)]
    cells = (
        exp.select(*columns, sql("SUM(c.n)").as_("n"))
        .from_(exp.alias_(census.table, "c", table=True))
        .join(exp.alias_(good, "g", table=True), on=same(keys, "c", "g", nulls=False))
    )
    return (cells.group_by(*columns) if columns else cells), [*keys, *others]


def _labels(hierarchy: Hierarchy, level: int) -> exp.Select:
    """code and label of one level; at level 0 the label is the value itself, in its own type."""
    label = column("value") if level == 0 else column(f"label_{level}")
    code = column(f"code_{level}")
    return exp.select(code.as_("code"), label.as_("label")).distinct().from_(hierarchy.mapping)
