"""How a table falls into classes, and who has which value there: what the metrics and the audit are asked of.

Only what engines agree on: explicit GROUP BY lists, CASE in place of FILTER, and no join on keys that may be NULL. NULL
makes classes like any other value of a quasi-identifier; as a sensitive value it counts in its class, and is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.expressions import column, sql, table
from duckanon.query.steps import select, united, with_steps


@dataclass(frozen=True)
class RowCounts:
    """The distinct rows of a relation, and how often each is there."""

    table: exp.Table
    names: Mapping[str, str]  # of columns of the relation, and what they are called in the table
    copies: str = "n"
    relation: exp.Table | None = None  # itself, where some of its columns are not in the table
    hashes: str | None = None  # a column with the hash of each row, made where it lies
    numbered: NumberedRows | None = None


@dataclass(frozen=True)
class NumberedRows:
    """The same rows with few numbers in place of their quasi-identifiers, beside which their other columns have the
    names of the relation."""

    table: exp.Table
    classes: tuple[str, ...]  # columns of these numbers
    relation: exp.Select | None = None  # all rows, with the numbers and the columns that are not in the table


@dataclass(frozen=True)
class ClassedTable:
    """A table, and the quasi-identifiers that make its classes. Every row counts, as often as the column of its
    `copies` says; or, where a column names the `person` of a row, everybody once. With both, copies without a person
    are of as many people, who are nowhere else in their class."""

    source: Sequence[str]
    qi: Sequence[str]
    person: str | None = None
    copies: str | None = None
    others: Sequence[str] | None = None  # the only columns by which rows of a class differ, if each is there once

    @property
    def groups(self) -> list[exp.Column]:
        """The class key under names of our own, which no column of the user's can be mistaken for."""
        return [column(f"g{position}") for position in range(len(self.qi))]

    @property
    def renamed(self) -> str:
        """The first step's name; no WITH may hide the table that it reads."""
        return "renamed_" if self.source[-1].lower() == "renamed" else "renamed"

    @property
    def number(self) -> str:
        """How many there are in a group of the first step's rows."""
        if self.person and self.copies:
            return "CAST(SUM(CASE WHEN e IS NULL THEN n ELSE 0 END) AS BIGINT) + COUNT(DISTINCT e)"
        if self.person:
            return "COUNT(DISTINCT e)"
        return "CAST(SUM(n) AS BIGINT)" if self.copies else "COUNT(*)"

    def sizes(self, final: exp.Select) -> exp.Select:
        """A question to the step `sizes`, which has the size x of every class."""
        sizes = select(x=self.number).from_(table(self.renamed)).group_by(*self.groups)
        return with_steps(final.from_(table("sizes")), **self._first(), sizes=sizes)

    def beside(self, population: Sequence[str], final: exp.Select) -> exp.Select:
        """A question to the step `sizes`, which has the size x of every class and how many rows m of a population have
        its quasi-identifiers; x is 0 where only these have."""
        keys = [column(name).as_(f"g{position}", quoted=True) for position, name in enumerate(self.qi)]
        people = select(*keys, x="0", m="1").from_(table(*population))
        (ours,) = self._first().values()
        first = f"{self.renamed}_" if population[-1].lower() == self.renamed else self.renamed
        ours_sized = select(*self.groups, x="1", m="0").from_(table(first))
        steps = {first: ours, "both": exp.union(ours_sized, people, distinct=False)}
        sizes = select(x="CAST(SUM(x) AS BIGINT)", m="CAST(SUM(m) AS BIGINT)").from_(table("both"))
        return with_steps(final.from_(table("sizes")), **steps, sizes=sizes.group_by(*self.groups))

    def subsets(self, parts: Sequence[Subset]) -> dict[str, exp.Query]:
        """Steps up to `groups`, which has the size x of every class that some of the quasi-identifiers make, under the
        labels of each such part."""
        everything = select(*self.groups, **({"e": "e"} if self.person else {"n": self.number}))
        tuples = everything.from_(table(self.renamed)).group_by(*self.groups, *([column("e")] if self.person else []))
        size = self.number if self.person else "SUM(n)"
        groups = united(
            select(**part.labels, x=size).from_(table("tuples")).group_by(*(self.groups[place] for place in part.qi))
            for part in parts
        )
        return {**self._first(), "tuples": tuples, "groups": groups}

    def totals(self, value: exp.Expr) -> exp.Select:
        """Of every value v, NULL aside, how many n have it."""
        totals = select(column("v"), n=self.number).from_(table(self.renamed)).where(sql("v IS NOT NULL"))
        return with_steps(totals.group_by(column("v")), **self._first(v=value))

    def counts(self, value: exp.Expr) -> ValueCounts:
        """Who has which value: an expression over the table's columns."""
        first, keys = self._first(v=value), [*self.groups, column("v")]
        if self.person:
            return ValueCounts(self.groups, {**first, **self._people(keys)}, people=True, sized=True)
        if self.others is not None and [column(name) for name in self.others] == [value]:
            counts = select(*keys, y="n").from_(table(self.renamed))  # as they are counted already
        else:
            counts = select(*keys, y=self.number).from_(table(self.renamed)).group_by(*keys)
        return ValueCounts(self.groups, {**first, "counts": counts})

    def _people(self, keys: list[exp.Column]) -> dict[str, exp.Query]:
        """People are not additive, since who has two values is one of the class: the class is counted for itself."""
        both = exp.GroupingSets(expressions=[exp.Tuple(expressions=part) for part in (keys, self.groups)])
        tallies = select(*keys, whole="GROUPING(v)", y=self.number).from_(table(self.renamed)).group_by(both)
        of_class = exp.Window(this=sql("MAX(CASE WHEN whole = 1 THEN y END)"), partition_by=self.groups)
        sized = select(*keys, column("whole"), column("y"), x=of_class).from_(table("tallies"))
        counts = select(*keys, column("y"), column("x")).from_(table("sized")).where(sql("whole = 0"))
        return {"tallies": tallies, "sized": sized, "counts": counts}

    def _first(self, **values: exp.Expr) -> dict[str, exp.Query]:
        """The columns under names of our own."""
        keys = [column(name).as_(f"g{position}", quoted=True) for position, name in enumerate(self.qi)]
        values |= {"e": column(self.person)} if self.person else {}
        values |= {"n": column(self.copies)} if self.copies else {}
        return {self.renamed: select(*keys, **values).from_(table(*self.source))}


@dataclass(frozen=True)
class Subset:
    """Some of the quasi-identifiers of a table, by their places, and what is said of each class that they make."""

    qi: Sequence[int]
    labels: Mapping[str, exp.Expr]


@dataclass(frozen=True)
class ValueCounts:
    """The last of its steps, `counts`: of every class and every value v there, NULL included, y rows or `people`.
    Where it is `sized`, x is the size of the class; where it is `kept` so, z is the sum of y of its values."""

    groups: Sequence[exp.Column]
    steps: Mapping[str, exp.Query]
    people: bool = False
    sized: bool = False
    summed: bool = False

    def asked(self, final: exp.Select, **steps: exp.Query) -> exp.Select:
        """A question, by further steps."""
        return with_steps(final, **{name: step.copy() for name, step in self.steps.items()}, **steps)

    @property
    def shares(self) -> exp.Select:
        """A step of that name: the counts, each with the size x of its class."""
        return select(*self.keys, column("y"), x=self._size).from_(table("counts"))

    @property
    def totals(self) -> exp.Select:
        """Of every value v, NULL aside, how many n have it, whatever their class."""
        return select(column("v"), n="SUM(y)").from_(table("counts")).where(sql("v IS NOT NULL")).group_by(column("v"))

    def sized_once(self, numbered: bool) -> ValueCounts:
        """The same with all sizes, as one step. `numbered`: a number stands for the class, which is faster to group by;
        for that an engine must have all counts in one place."""
        if not numbered:
            sized = select(*self.keys, column("y"), x=self._size, z=self.over_class(_OF_VALUES)).from_(table("counts"))
            return self._of(self.groups, self.asked(sized))
        nth = select(*self.keys, column("y"), *self._x, nth="ROW_NUMBER() OVER ()").from_(table("counts"))
        sized = select(g0=self.over_class("MIN(nth)"), v="v", y="y", x=self._size, z=self.over_class(_OF_VALUES)).from_(
            table("nth")
        )
        return self._of([column("g0")], self.asked(sized, nth=nth))

    def kept(self, name: exp.Table) -> ValueCounts:
        """The same, where a table keeps their sizes."""
        return self._of(self.groups, select(*self.keys, column("y"), column("x"), column("z")).from_(name))

    def _of(self, groups: Sequence[exp.Column], counts: exp.Select) -> ValueCounts:
        return ValueCounts(groups, {"counts": counts}, self.people, sized=True, summed=True)

    @property
    def of_values(self) -> exp.Expr:
        """In a step without NULL: the sum of y over the class."""
        return column("z") if self.summed else self.over_class("SUM(y)")

    @property
    def _x(self) -> list[exp.Column]:
        return [column("x")] if self.sized else []

    @property
    def _size(self) -> exp.Expr:
        return column("x") if self.sized else self.over_class("SUM(y)")

    @property
    def keys(self) -> list[exp.Column]:
        return [*self.groups, column("v")]

    @property
    def size(self) -> str:
        """Of a group that is a class."""
        return "MAX(x)" if self.sized else "SUM(y)"

    @property
    def homogeneous(self) -> str:
        """Whether everybody in a group that is a class has the same value, beside what else they have."""
        return f"MAX(CASE WHEN v IS NOT NULL THEN y END) = {self.size}"

    def unless_homogeneous(self, figure: str, known: str) -> str:
        """The figure of a class but, where a value is everybody's, what is `known` then. Of rows it is the same."""
        return f"CASE WHEN {self.homogeneous} THEN {known} ELSE {figure} END" if self.people else figure

    def over_class(self, figure: str, *order: exp.Expr) -> exp.Expr:
        """A window over each class."""
        ordering = exp.Order(expressions=list(order)) if order else None
        return exp.Window(this=sql(figure), partition_by=[group.copy() for group in self.groups], order=ordering)


_OF_VALUES = "SUM(CASE WHEN v IS NOT NULL THEN y END)"
HIGHEST_SHARE = "MAX(CAST(y AS DOUBLE) / CAST(x AS DOUBLE))"


def per_value(**figures: str) -> exp.Select:
    """Of the step `shares` one row per value."""
    figured = select(value="v", row_count="CAST(SUM(y) AS BIGINT)", **figures).from_(table("shares"))
    return figured.where(sql("v IS NOT NULL")).group_by(column("v"))
