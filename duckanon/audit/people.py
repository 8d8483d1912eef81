"""Whose the released rows are. A release does not tell; the source at the same levels does."""

from __future__ import annotations

from sqlglot import exp

from duckanon.audit import People
from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.census.tuples import released_columns, tuple_counts
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.query.expressions import column, same, sql, table, text_of
from duckanon.query.names import free_name
from duckanon.query.steps import with_steps
from duckanon.recoding import Recoding
from duckanon.recoding.rows import copy_steps
from duckanon.recoding.view_rows import generalized_by_level, read_source
from duckanon.search.lattice import Node


def people_of_release(recoding: Recoding, source: BoundSource, released: Relation, scratch: Scratch) -> People | None:
    """Whose the rows of a release are, where people are counted."""
    if source.entity is None:
        return None
    assert recoding.levels is not None  # the policy has refused methods without
    return people_of(recoding.shown, tuple(recoding.levels.values()), source, released, scratch)


def people_of(census: Census, node: Node, source: BoundSource, released: Relation, scratch: Scratch) -> People:
    """The released rows by class, each with its person, from the source itself: not from the census that was searched.

    A class is released whole or not at all, so the people of its source rows are its people. That it is whole is
    checked, value by value.
    """
    assert source.entity is not None
    sensitive = [values.column.name for values in census.sensitive]
    number = free_name("class", [*sensitive, source.entity.name])
    qi = [h.column.name for h in census.hierarchies]
    classes = scratch.table("released_classes", _numbered(released, qi, number), "verify: the classes of the release")
    rows = _numbered_rows(census, node, source, classes, number, scratch)
    people = scratch.table("people", rows, "verify: whose the released rows are")
    _must_be_whole(people, released, classes, (number, qi, sensitive), scratch)
    return People(Relation((people.name,), "table"), [number], scratch, source.entity.name)


def _numbered(released: Relation, qi: list[str], number: str) -> exp.Select:
    """The classes of a release, q0 …, each with a number; not every engine numbers what has no order."""
    keys = [column(f"q{position}") for position in range(len(qi))]
    nth = exp.Window(this=sql("ROW_NUMBER()"), order=exp.Order(expressions=[key.copy() for key in keys]))
    return exp.select(*keys, nth.as_(number, quoted=True)).from_(_by_text(released.table, qi, "q").subquery("classes"))


def _numbered_rows(
    census: Census, node: Node, source: BoundSource, classes: exp.Table, number: str, scratch: Scratch
) -> exp.Select:
    """The source rows of the released classes: the number of the class, what is sensitive, and the person."""
    assert source.entity is not None
    rows = generalized_by_level(
        census, node, source, lambda thing, query: scratch.sent(f"{thing}_shown", query, "labels")
    )
    labels = [
        exp.NullSafeEQ(this=text_of(column(f"g{h.index}", "r")), expression=column(f"q{h.index}", "c"))
        for h in census.hierarchies
    ]
    shown = {f"s{values.index}": values.column.name for values in census.sensitive} | {"e": source.entity.name}
    return (
        exp.select(column(number, "c"), *(column(code, "r").as_(name, quoted=True) for code, name in shown.items()))
        .from_(rows.subquery("r"))
        .join(exp.alias_(classes, "c", table=True), on=exp.and_(*labels))
        .with_("source", as_=_rows_of_source(source, scratch))
    )


def _rows_of_source(source: BoundSource, scratch: Scratch) -> exp.Query:
    """The source where the release lies: itself or, if its warehouse is afar, as counted there once more."""
    if source.warehouse.is_workbench or scratch.engine is source.warehouse:
        return read_source(source, source.table)
    counts = scratch.collected("source_counts", tuple_counts(source), "verify: the source, counted", source.warehouse)
    names = [column(name) for _, name in released_columns(source)]
    return with_steps(exp.select(*names).from_(table("copies")), **copy_steps(counts.name))


def _must_be_whole(
    people: exp.Table,
    released: Relation,
    classes: exp.Table,
    columns: tuple[str, list[str], list[str]],
    scratch: Scratch,
) -> None:
    """Of every class and sensitive value the release has as many rows as the source."""
    number, qi, sensitive = columns
    keys = [f"v{position}" for position in range(len(sensitive))]
    groups = _by_text(released.table, qi, "q", sensitive)
    shown = (
        exp.select(column(number, "c"), *(column(key, "g") for key in keys), column("n", "g"))
        .from_(groups.subquery("g"))
        .join(exp.alias_(classes, "c", table=True), on=same([f"q{i}" for i in range(len(qi))], "g", "c", nulls=True))
    )
    of_people = _by_text(people, sensitive, "v").select(column(number), sql("COUNT(*)").as_("n"))
    of_people = of_people.group_by(column(number))
    differing = (
        exp.select("COUNT(*)")
        .from_(of_people.subquery("p"))
        .join(shown.subquery("r"), on=same([number, *keys], "p", "r", nulls=True), join_type="full")
        .where(sql("p.n IS DISTINCT FROM r.n"))
    )
    ((found,),) = scratch.engine.fetch(differing, "verify: the release is the source at its levels")
    if found:
        what = "does not hold the rows of the source at its levels, so nobody can tell how many people are in a class"
        raise ReleaseError(f"the release {what}; release it anew")


def _by_text(relation: exp.Table, names: list[str], key: str, values: list[str] | None = None) -> exp.Select:
    """The distinct values of the columns as texts: a file does not tell a number from a label. With those of the
    `values` columns, v0 …, the number n of their rows."""
    texts = {f"{key}{position}": text_of(column(name)) for position, name in enumerate(names)}
    texts |= {f"v{position}": text_of(column(name)) for position, name in enumerate(values or [])}
    query = exp.select(*(text.as_(alias) for alias, text in texts.items())).from_(relation)
    query = query.select(sql("COUNT(*)").as_("n")) if values is not None else query
    return query.group_by(*(text.copy() for text in texts.values())) if texts else query
