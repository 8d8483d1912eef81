"""Whose the released rows are. A release does not tell; the source at the same levels does."""

from __future__ import annotations

from sqlglot import exp

from duckanon.audit import People
from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.query.expressions import column, same, sql, text_of
from duckanon.query.names import folded
from duckanon.recoding import Recoding
from duckanon.recoding.view import generalized_by_level, read_source
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
    checked, value by value. The `scratch` is of the engine that holds the release; people are counted where the source
    lies, and of a release that lies elsewhere the counts go there.
    """
    assert source.entity is not None
    there = _Beside(source, census, scratch)
    qi = [h.column.name for h in census.hierarchies]
    sensitive = [values.column.name for values in census.sensitive]
    shown = there.brought("released_groups", _groups(released.table, qi, sensitive), scratch.engine)
    number = _free_name("class", [*sensitive, source.entity.name])
    classes = there.scratch.table("released_classes", _numbered(shown, len(qi), number), "verify: the classes")
    rows = there.source_rows(node, classes, number)
    people = there.scratch.table("people", rows, "verify: whose the released rows are")
    there.must_be_whole(people, shown, classes, number)
    return People(Relation((people.name,), "table"), [number], there.scratch, source.entity.name)


class _Beside:
    """The engine that the source lies in."""

    def __init__(self, source: BoundSource, census: Census, scratch: Scratch) -> None:
        self.source, self.census = source, census
        self.scratch = scratch.at(source.warehouse)

    def brought(self, thing: str, query: exp.Query, of: Engine) -> exp.Table:
        """Keep here what a query to the workbench, or to this engine itself, gives."""
        note = f"verify: {thing}"
        if of is self.scratch.engine:
            return self.scratch.table(thing, query, note)
        return self.scratch.sent(thing, query, note, self.source.warehouse)

    def source_rows(self, node: Node, classes: exp.Table, number: str) -> exp.Select:
        """The source rows of the released classes: the number of the class, what is sensitive, and the person."""
        assert self.source.entity is not None
        census = self.census
        rows = generalized_by_level(
            census, node, self.source, lambda thing, query: self.brought(f"{thing}_shown", query, census.workbench)
        )
        keys = [
            exp.EQ(this=_key(column(f"g{h.index}", "r")), expression=column(f"q{h.index}", "c"))
            for h in census.hierarchies
        ]
        shown = {f"s{values.index}": values.column.name for values in census.sensitive} | {"e": self.source.entity.name}
        return (
            exp.select(column(number, "c"), *(column(code, "r").as_(name, quoted=True) for code, name in shown.items()))
            .from_(rows.subquery("r"))
            .join(exp.alias_(classes, "c", table=True), on=exp.and_(*keys))
            .with_("source", as_=read_source(self.source, self.source.table))
        )

    def must_be_whole(self, people: exp.Table, shown: exp.Table, classes: exp.Table, number: str) -> None:
        """Of every class and sensitive value the release has as many rows as the source."""
        sensitive = [values.column.name for values in self.census.sensitive]
        values = [f"v{position}" for position in range(len(sensitive))]
        of_people = _groups(people, [], sensitive).select(column(number).as_("c")).group_by(column(number))
        of_people = exp.select("c", *map(column, values), "n").from_(of_people.subquery("p"))
        keys = [f"q{h.index}" for h in self.census.hierarchies]
        of_release = (
            exp.select(column(number, "c").as_("c"), *(column(v, "s") for v in values), sql("-s.n").as_("n"))
            .from_(exp.alias_(shown, "s", table=True))
            .join(exp.alias_(classes, "c", table=True), on=same(keys, "s", "c", nulls=False))
        )
        both = exp.union(of_people, of_release, distinct=False).subquery("both_")
        differing = exp.select("c").from_(both).group_by("c", *map(column, values)).having(sql("SUM(n) <> 0"))
        query = exp.select("COUNT(*)").from_(differing.subquery("differing"))
        ((found,),) = self.scratch.engine.fetch(query, "verify: the release is the source at its levels")
        if found:
            what = (
                "does not hold the rows of the source at its levels, so nobody can tell how many people are in a class"
            )
            raise ReleaseError(f"the release {what}; release it anew")


def _groups(rows: exp.Table, qi: list[str], sensitive: list[str]) -> exp.Select:
    """How many n rows show the same: q0 …, v0 …, as keys."""
    keys = {f"q{position}": _key(column(name)) for position, name in enumerate(qi)}
    keys |= {f"v{position}": _key(column(name)) for position, name in enumerate(sensitive)}
    query = exp.select(*(key.as_(name) for name, key in keys.items()), sql("COUNT(*)").as_("n")).from_(rows)
    return query.group_by(*(key.copy() for key in keys.values()))


def _numbered(groups: exp.Table, width: int, number: str) -> exp.Select:
    """The classes of the groups, q0 …, each with a number."""
    keys = [column(f"q{position}") for position in range(width)]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy(), nulls_first=True) for key in keys])
    nth = exp.Window(this=sql("ROW_NUMBER()"), order=order)
    classes = exp.select(*keys).distinct().from_(groups)
    return exp.select(*keys, nth.as_(number, quoted=True)).from_(classes.subquery("classes"))


def _key(value: exp.Expr) -> exp.Expr:
    """A value as a text, since a file does not tell a number from a label; never NULL, so that any engine can join."""
    return sql("CASE WHEN :value IS NULL THEN '' ELSE '=' || :text END", value=value, text=text_of(value))


def _free_name(name: str, taken: list[str]) -> str:
    while folded(name) in map(folded, taken):
        name += "_"
    return name
