"""Whose the released rows are. A release does not tell; the source at the same levels does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.audit import People
from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.query.expressions import all_of, column, sql, text_of
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
    there = _Beside(source, census, scratch.at(source.warehouse))
    shown = there.shown(released, scratch.engine)
    number = _free_name("class", [*shown.sensitive, source.entity.name])
    classes = there.scratch.table("released_classes", shown.classes(number), "verify: the classes of the release")
    rows = there.source_rows(node, classes, number)
    people = there.scratch.table("people", rows, "verify: whose the released rows are")
    there.must_be_whole(people, shown, classes, number)
    return People(Relation((people.name,), "table"), [number], there.scratch, source.entity.name)


@dataclass(frozen=True)
class _Shown:
    """A release, or all that it shows with the number of rows that show it. Values are compared as texts: a file does
    not tell a number from a label."""

    rows: exp.Table
    qi: list[str]
    sensitive: list[str]
    number: exp.Expr = field(default_factory=lambda: sql("COUNT(*)"))

    def classes(self, number: str) -> exp.Select:
        """q0 …, and the `number` of each class."""
        keys = [column(f"q{position}") for position in range(len(self.qi))]
        order = exp.Order(expressions=[exp.Ordered(this=key.copy(), nulls_first=True) for key in keys])
        nth = exp.Window(this=sql("ROW_NUMBER()"), order=order)
        classes = _by_text(self.rows, {"q": self.qi}).subquery("classes")
        return exp.select(*keys, nth.as_(number, quoted=True)).from_(classes)

    def groups(self) -> exp.Select:
        """q0 …, v0 …, and n rows that show them."""
        return _by_text(self.rows, {"q": self.qi, "v": self.sensitive}).select(self.number.as_("n"))


class _Beside:
    """The engine that the source lies in."""

    def __init__(self, source: BoundSource, census: Census, scratch: Scratch) -> None:
        self.source, self.census, self.scratch = source, census, scratch

    def shown(self, released: Relation, home: Engine) -> _Shown:
        qi = [h.column.name for h in self.census.hierarchies]
        shown = _Shown(released.table, qi, [values.column.name for values in self.census.sensitive])
        if home is self.scratch.engine:
            return shown
        groups = self.brought("released_groups", shown.groups(), home)
        keys, values = [f"q{at}" for at in range(len(qi))], [f"v{at}" for at in range(len(shown.sensitive))]
        return _Shown(groups, keys, values, sql("SUM(n)"))

    def brought(self, thing: str, query: exp.Query, of: Engine) -> exp.Table:
        """Keep here what a query to the workbench, or to this engine itself, gives."""
        note = "verify: labels and counts of the release"
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
        labels = {text_of(column(f"g{h.index}", "r")): column(f"q{h.index}", "c") for h in census.hierarchies}
        shown = {f"s{values.index}": values.column.name for values in census.sensitive} | {"e": self.source.entity.name}
        return (
            exp.select(column(number, "c"), *(column(code, "r").as_(name, quoted=True) for code, name in shown.items()))
            .from_(rows.subquery("r"))
            .join(exp.alias_(classes, "c", table=True), on=_same_texts(labels.items()))
            .with_("source", as_=read_source(self.source, self.source.table))
        )

    def must_be_whole(self, people: exp.Table, shown: _Shown, classes: exp.Table, number: str) -> None:
        """Of every class and sensitive value the release has as many rows as the source."""
        sensitive = [values.column.name for values in self.census.sensitive]
        values = [f"v{position}" for position in range(len(sensitive))]
        of_people = _by_text(people, {"v": sensitive}).select(column(number), sql("COUNT(*)").as_("n"))
        of_release = (
            exp.select(column(number, "c"), *(column(value, "g") for value in values), column("n", "g"))
            .from_(shown.groups().subquery("g"))
            .join(exp.alias_(classes, "c", table=True), on=_alike([f"q{at}" for at in range(len(shown.qi))], "g", "c"))
        )
        same_class = exp.EQ(this=column(number, "p"), expression=column(number, "r"))
        differing = (
            exp.select("COUNT(*)")
            .from_(of_people.group_by(column(number)).subquery("p"))
            .join(of_release.subquery("r"), on=exp.and_(same_class, _alike(values, "p", "r")), join_type="full")
            .where(sql("COALESCE(p.n, 0) <> COALESCE(r.n, 0)"))
        )
        ((found,),) = self.scratch.engine.fetch(differing, "verify: the release is the source at its levels")
        if found:
            what = "does not hold the rows of the source at its levels"
            so = "so nobody can tell how many people are in a class"
            raise ReleaseError(f"the release {what}, {so}; release it anew")


def _by_text(rows: exp.Table, names: dict[str, list[str]]) -> exp.Select:
    """What rows show in the columns of these names, as texts, each of its own: under the key with its position."""
    texts = {f"{key}{at}": text_of(column(name)) for key, part in names.items() for at, name in enumerate(part)}
    query = exp.select(*(text.as_(alias) for alias, text in texts.items())).from_(rows)
    return query.group_by(*(text.copy() for text in texts.values())) if texts else query


def _alike(names: list[str], left: str, right: str) -> exp.Expr:
    return _same_texts((column(name, left), column(name, right)) for name in names)


def _same_texts(pairs: Iterable[tuple[exp.Expr, exp.Expr]]) -> exp.Expr:
    """Whether texts are the same or both NULL, in words that every engine can join by."""
    same = "COALESCE(:a, '') = COALESCE(:b, '') AND (:a IS NULL) = (:b IS NULL)"
    return all_of(sql(same, a=a, b=b) for a, b in pairs)


def _free_name(name: str, taken: list[str]) -> str:
    while folded(name) in map(folded, taken):
        name += "_"
    return name
