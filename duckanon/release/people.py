"""Whose the released rows are. A release does not tell; the source at the same levels does."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census import Census
from duckanon.engine import Relation
from duckanon.errors import ReleaseError
from duckanon.expressions import column, same, sql, text_of
from duckanon.lattice import Node
from duckanon.release.view import generalized_by_level
from duckanon.scratch import Scratch
from duckanon.source import BoundSource
from duckanon.verify import People


def people_of(census: Census, node: Node, source: BoundSource, released: Relation, scratch: Scratch) -> People:
    """The released rows with the person of each, from the source itself: not from the census that was searched.

    A class is released whole or not at all, so the people of its source rows are its people. That it is whole is
    checked, value by value.
    """
    assert source.entity is not None
    qi = [h.column.name for h in census.hierarchies]
    rows = scratch.table("generalized", _generalized(census, node, source, scratch), "verify: the source at its levels")
    classes = _counted(released.table, qi, [])
    keys = [f"t{place}" for place in range(len(qi))]
    texts = [text_of(column(name, "r")).as_(key) for name, key in zip(qi, keys, strict=True)]
    labelled = exp.select("r.*", *texts).from_(exp.alias_(rows, "r", table=True))
    names = [*qi, *(values.column.name for values in census.sensitive), source.entity.name]
    shown = (
        exp.select(*(column(name, "l") for name in names))
        .from_(labelled.subquery("l"))
        .join(classes.subquery("c"), on=same(keys, "l", "c", nulls=True))
    )
    people = scratch.table("people", shown, "verify: whose the released rows are")
    scratch.drop(rows)
    _must_be_equal(people, released, names[:-1], scratch)
    return People(Relation((people.name,), "table"), qi, scratch, source.entity.name)


def _generalized(census: Census, node: Node, source: BoundSource, scratch: Scratch) -> exp.Select:
    """Under the names that they are released by."""
    assert source.entity is not None
    rows = generalized_by_level(
        census, node, source, source.table, lambda thing, query: scratch.table(f"{thing}_shown", query, "labels")
    )
    named = {f"g{h.index}": h.column.name for h in census.hierarchies}
    named |= {f"s{values.index}": values.column.name for values in census.sensitive} | {"e": source.entity.name}
    shown = [column(code).as_(name, quoted=True) for code, name in named.items()]
    return exp.select(*shown).from_(rows.subquery("rows"))


def _must_be_equal(people: exp.Table, released: Relation, names: list[str], scratch: Scratch) -> None:
    keys = [f"t{place}" for place in range(len(names))]
    differing = (
        exp.select("COUNT(*)")
        .from_(_counted(people, names, ["n"]).subquery("p"))
        .join(
            _counted(released.table, names, ["n"]).subquery("r"), on=same(keys, "p", "r", nulls=True), join_type="full"
        )
        .where(sql("p.n IS DISTINCT FROM r.n"))
    )
    ((found,),) = scratch.engine.fetch(differing, "verify: the release is the source at its levels")
    if found:
        what = "does not hold the rows of the source at its levels, so nobody can tell how many people are in a class"
        raise ReleaseError(f"the release {what}; release it anew")


def _counted(table: exp.Table, names: list[str], counts: list[str]) -> exp.Select:
    """The distinct values of the columns, as texts t0 …: a file does not tell a number from a label."""
    texts = [text_of(column(name)) for name in names]
    query = exp.select(*(text.as_(f"t{place}") for place, text in enumerate(texts)))
    query = query.select(*(sql("COUNT(*)").as_(name) for name in counts))
    return query.from_(table).group_by(*(text.copy() for text in texts))
