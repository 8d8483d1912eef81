"""Whose the released rows are. A release does not tell; the source at the same levels does."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.audit import People
from duckanon.census.counting import Census
from duckanon.census.source import BoundSource
from duckanon.census.tuples import released_columns, tuple_counts
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import ReleaseError
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, same, sql, table, text_of
from duckanon.query.names import free_name
from duckanon.query.steps import with_steps
from duckanon.recoding import Recoding
from duckanon.recoding.rows import copy_steps
from duckanon.recoding.view_rows import labelled_values
from duckanon.search.lattice import Node


def people_of_release(recoding: Recoding, source: BoundSource, counts: RowCounts, scratch: Scratch) -> People | None:
    """Whose the rows of a release are, where people are counted; `counts`: its rows."""
    if source.entity is None:
        return None
    assert recoding.levels is not None  # the policy has refused methods without
    return people_of(recoding.shown, tuple(recoding.levels.values()), source, counts, scratch)


def people_of(census: Census, node: Node, source: BoundSource, counts: RowCounts, scratch: Scratch) -> People:
    """The released rows by class, each with its person, from the source itself: not from the census that was searched.

    A class is released whole or not at all, so the people of its source rows are its people. That it is whole is
    checked, value by value.
    """
    return _Release(census, node, source, counts, scratch).people()


@dataclass(frozen=True)
class _Release:
    """A release at one node, as its rows were counted in the engine of the scratch, and the source beside it."""

    census: Census
    node: Node
    source: BoundSource
    counts: RowCounts
    scratch: Scratch

    def people(self) -> People:
        keep = self.scratch.table
        classes = keep("released_classes", self._classes(), "verify: the classes of the release")
        people = keep("people", self._rows(classes), "verify: whose the released rows are")
        in_classes = keep("people_in_classes", self._in_classes(people), "verify: who is several times in a class")
        self._must_be_whole(in_classes, classes)
        relations = [Relation((made.name,), "table") for made in (in_classes, people)]
        return People(relations[0], [self._number], self.scratch, self._entity, self._copies, relations[1])

    @property
    def _qi(self) -> list[str]:
        return [h.column.name for h in self.census.hierarchies]

    @property
    def _sensitive(self) -> list[str]:
        return [values.column.name for values in self.census.sensitive]

    @property
    def _entity(self) -> str:
        assert self.source.entity is not None
        return self.source.entity.name

    @property
    def _number(self) -> str:
        """The column that tells the classes apart."""
        return free_name("class", [*self._sensitive, self._entity])

    @property
    def _copies(self) -> str:
        return free_name("n", [*self._sensitive, self._entity, self._number])

    def _classes(self) -> exp.Select:
        """The classes of a release by the texts q0 … of their labels, each with a number, and with numbers c0 … of the
        labels; not every engine numbers what has no order."""
        keys = [column(f"q{h.index}") for h in self.census.hierarchies]
        nth = exp.Window(this=sql("ROW_NUMBER()"), order=_by(*keys)).as_(self._number, quoted=True)
        labels = [
            exp.Window(this=sql("DENSE_RANK()"), order=_by(key)).as_(f"c{position}")
            for position, key in enumerate(keys)
        ]
        shown = self._by_text(self.counts.table, self._qi, "q")
        return exp.select(*keys, nth, *labels).from_(shown.subquery("classes"))

    def _rows(self, classes: exp.Table) -> exp.Select:
        """The source rows of the released classes: the number of the class, what is sensitive, and the person. A label
        is made once for every value, and not for every row."""
        rows, numbers = self._source_rows(), dict[str, str]()
        named = {f"s{values.index}": values.column.name for values in self.census.sensitive} | {"e": self._entity}
        shown = (column(name, "r").as_(alias, quoted=True) for name, alias in named.items())
        query = exp.select(column(self._number, "c"), *shown).from_(rows.subquery("r"))
        steps: dict[str, exp.Query] = {}
        for h, level in zip(self.census.hierarchies, self.node, strict=True):
            value, label, coded = f"q{h.index}", f"c{h.index}", f"coded_{h.index}"
            values, labelled = f"values_{h.index}", f"labelled_{h.index}"
            steps[values] = exp.select(column(value)).distinct().from_(rows.subquery("source"))
            steps[labelled] = labelled_values(h, level, values, self._kept)
            labels = exp.select(column(value), column(label)).distinct().from_(classes).subquery("labels")
            is_shown = exp.NullSafeEQ(this=text_of(column(f"g{h.index}", labelled)), expression=column(value, "labels"))
            known = exp.select(column("value", labelled), column(label, "labels")).from_(table(labelled))
            steps[coded] = known.join(labels, on=is_shown)
            of_row = exp.NullSafeEQ(this=column(value, "r"), expression=column("value", coded))
            query, numbers[label] = query.join(table(coded), on=of_row), coded
        on = exp.and_(
            *(exp.EQ(this=column(label, coded), expression=column(label, "c")) for label, coded in numbers.items())
        )
        query = query.join(exp.alias_(classes, "c", table=True), on=on)
        # A row of nobody, which a run refuses, may have come since.
        return with_steps(query.where(sql("r.e IS NOT NULL")), **steps)

    def _kept(self, thing: str, query: exp.Query) -> exp.Table:
        return self.scratch.sent(f"{thing}_shown", query, "labels")

    def _source_rows(self) -> exp.Select:
        """The source where the release lies, with the names of the census: itself, if it is a table there; what is
        computed, or parsed, whenever it is read, is read once; and a source afar is counted there once more."""
        source, scratch = self.source, self.scratch
        if source.warehouse.is_workbench or scratch.engine is source.warehouse:
            named = [value.as_(name) for value, name in released_columns(source)]
            rows = exp.select(*named).from_(source.table)
            if source.relation.kind == "table":
                return rows
        else:
            note = "verify: the source, counted"
            counts = scratch.collected("source_counts", tuple_counts(source), note, source.warehouse)
            names = [column(name) for _, name in released_columns(source)]
            rows = with_steps(exp.select(*names).from_(table("copies")), **copy_steps(counts.name))
        return exp.select("*").from_(scratch.table("source_rows", rows, "verify: the rows of the source"))

    def _in_classes(self, people: exp.Table) -> exp.Select:
        """The same counted, with the person only of rows of whom there are several in a class: all others are as many
        people as rows."""
        shared = [self._number, self._entity]
        several = exp.select(*map(column, shared)).from_(people).group_by(*map(column, shared)).having("COUNT(*) > 1")
        keys = [column(name, "people") for name in (self._number, *self._sensitive)]
        keys.append(column(self._entity, "several"))
        query = exp.select(*keys, sql("COUNT(*)").as_(self._copies, quoted=True))
        query = query.from_(exp.alias_(people, "people", table=True))
        on = same(shared, "people", "several", nulls=False)
        return query.join(several.subquery("several"), on=on, join_type="left").group_by(*keys)

    def _must_be_whole(self, in_classes: exp.Table, classes: exp.Table) -> None:
        """Of every class and sensitive value the release has as many rows as the source."""
        keys = [f"v{position}" for position in range(len(self._sensitive))]
        groups = self._by_text(self.counts.table, self._qi, "q", self.counts.copies).subquery("g")
        texts = [f"q{h.index}" for h in self.census.hierarchies]
        shown = (
            exp.select(column(self._number, "c"), *(column(key, "g") for key in keys), column("n", "g"))
            .from_(groups)
            .join(exp.alias_(classes, "c", table=True), on=same(texts, "g", "c", nulls=True))
        )
        of_people = self._by_text(in_classes, [], "q", self._copies).select(column(self._number))
        differing = (
            exp.select("COUNT(*)")
            .from_(of_people.group_by(column(self._number)).subquery("p"))
            .join(shown.subquery("r"), on=same([self._number, *keys], "p", "r", nulls=True), join_type="full")
            .where(sql("p.n IS DISTINCT FROM r.n"))
        )
        ((found,),) = self.scratch.engine.fetch(differing, "verify: the release is the source at its levels")
        if found:
            what = "does not hold the rows of the source at its levels, so nobody can tell how many people are in a"
            raise ReleaseError(f"the release {what} class; release it anew")

    def _by_text(self, relation: exp.Table, names: list[str], key: str, copies: str | None = None) -> exp.Select:
        """The distinct values of the columns as texts: a file does not tell a number from a label. With `copies` also
        those of the sensitive columns, v0 …, and the number n of their rows."""
        texts = {f"{key}{position}": text_of(column(name)) for position, name in enumerate(names)}
        if copies is not None:
            texts |= {f"v{position}": text_of(column(name)) for position, name in enumerate(self._sensitive)}
        query = exp.select(*(text.as_(alias) for alias, text in texts.items())).from_(relation)
        if copies is not None:
            query = query.select(sql("CAST(SUM(:copies) AS BIGINT)", copies=column(copies)).as_("n"))
        return query.group_by(*(text.copy() for text in texts.values())) if texts else query


def _by(*keys: exp.Expr) -> exp.Order:
    return exp.Order(expressions=[key.copy() for key in keys])
