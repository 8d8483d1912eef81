"""What a relation is asked, through the analysts' macros: by rows, or by the people that the rows are of."""

from __future__ import annotations

from itertools import count
from typing import Any

from sqlglot import exp

from duckanon.engine import Relation, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.query.expressions import column, literal, sql

_NUMBERS = count()


class Rows:
    """A relation with its quasi-identifiers, of which every row counts."""

    def __init__(self, relation: Relation, qi: list[str], scratch: Scratch) -> None:
        self.relation, self.qi, self.scratch = relation, qi, scratch

    @property
    def workbench(self) -> Workbench:
        return self.scratch.workbench

    @property
    def shown(self) -> exp.Table:
        return self.relation.table

    def ask(self, query: exp.Query, note: str) -> list[tuple[Any, ...]]:
        """By SQL of the asker's own."""
        return self.workbench.fetch(query, note)

    def table(self, macro: str, *arguments: exp.Expr, **named: exp.Expr) -> exp.Table:
        qi = exp.Array(expressions=[literal(name) for name in self.qi])
        options = [exp.PropertyEQ(this=exp.to_identifier(key), expression=value) for key, value in named.items()]
        return self.workbench.macro(macro, literal(self.relation.spelled), qi, *arguments, *options)

    def fetch(self, macro: str, outputs: tuple[str, ...], *about: exp.Expr, **named: exp.Expr) -> list[tuple[Any, ...]]:
        query = exp.select(*(column(output) for output in outputs)).from_(self.table(macro, *about, **named))
        return self.workbench.fetch(query, f"verify: {macro}")

    def sizes(self) -> list[tuple[int, int]]:
        """One histogram says all about class sizes; n rows have at most √(2n) different ones."""
        return [(size, classes) for size, classes in self.fetch("class_sizes", ("class_size", "classes"))]

    def diversity(self, sensitive: str) -> tuple[int, float, int]:
        """distinct l, entropy l, and how many are in classes of a single value."""
        about = literal(sensitive)
        ((distinct_l, entropy_l),) = self.fetch("l_diversity", ("distinct_l", "entropy_l"), about)
        ((homogeneous,),) = self.fetch("homogeneity", ("homogeneous_rows",), about)
        return distinct_l, entropy_l, homogeneous

    def recursive(self, sensitive: str, least: int) -> float | None:
        """The least c for which recursive (c, l)-diversity holds; None: there is none."""
        (found,) = self.fetch("recursive_diversity", ("c",), literal(sensitive), l=literal(least))
        return found[0]  # type: ignore[no-any-return]

    def value_diversity(self, sensitive: str) -> exp.Select:
        """distinct_l by value: of the classes in which it occurs."""
        return exp.select("distinct_l").from_(self.table("value_diversity", literal(sensitive)))

    def leakage(self, sensitive: str) -> exp.Select:
        """value, row_count, alp, highest_lp, dif."""
        outputs = ("value", "row_count", "alp", "highest_lp", "dif")
        return exp.select(*outputs).from_(self.table("leakage", literal(sensitive)))

    def values_of(self, sensitive: str) -> Rows:
        """The relation in which every row is one that counts for its value."""
        return self

    def levelled(self, level: exp.Expr) -> Rows:
        """The same classes with a column `level` in position of what the rows show."""
        names = [f"g{position}" for position in range(len(self.qi))]
        classes = [column(qi).as_(alias) for qi, alias in zip(self.qi, names, strict=True)]
        query = exp.select(*classes, level.as_("level"), *self._person()).from_(self.relation.table)
        return self._of(self._view(query, "verify: the level of each row"), names)

    def number(self) -> exp.Expr:
        """How many there are in a group of rows."""
        return sql("COUNT(*)")

    def _view(self, query: exp.Query, note: str) -> Relation:
        view = self.scratch.view(f"asked_{next(_NUMBERS)}", query, note)
        return Relation((view.name,), "view")

    def _person(self) -> list[exp.Expr]:
        return []

    def _of(self, relation: Relation, qi: list[str]) -> Rows:
        return Rows(relation, qi, self.scratch)


class People(Rows):
    """A relation in which a person may have several rows, and counts once. `entity` names the person of a row."""

    def __init__(self, relation: Relation, qi: list[str], scratch: Scratch, entity: str) -> None:
        super().__init__(relation, qi, scratch)
        self.entity = entity

    def sizes(self) -> list[tuple[int, int]]:
        return self._once_each(self.qi).sizes()

    def everybody(self) -> int:
        """How many people there are."""
        ((people,),) = self.fetch("people", ("people",), literal(self.entity))
        return int(people)

    def diversity(self, sensitive: str) -> tuple[int, float, int]:
        outputs = ("distinct_l", "entropy_l", "homogeneous_people")
        (found,) = self.fetch("people_diversity", outputs, literal(sensitive), literal(self.entity))
        return found

    def recursive(self, sensitive: str, least: int) -> float | None:
        *_, homogeneous = self.diversity(sensitive)
        return None if homogeneous else self.values_of(sensitive).recursive(sensitive, least)

    def value_diversity(self, sensitive: str) -> exp.Select:
        table = self.table("people_value_diversity", literal(sensitive), literal(self.entity))
        return exp.select("distinct_l").from_(table)

    def number(self) -> exp.Expr:
        return sql("COUNT(DISTINCT :person)", person=column(self.entity))

    def leakage(self, sensitive: str) -> exp.Select:
        table = self.table("people_leakage", literal(sensitive), literal(self.entity))
        return exp.select("value", column("people").as_("row_count"), "alp", "highest_lp", "dif").from_(table)

    def values_of(self, sensitive: str) -> Rows:
        return self._once_each([*self.qi, sensitive])

    def _once_each(self, names: list[str]) -> Rows:
        return Rows(self.once(*names), self.qi, self.scratch)

    def once(self, *names: str) -> Relation:
        """One row for each combination of these columns that a person has."""
        query = exp.select(*map(column, (*names, self.entity))).distinct().from_(self.relation.table)
        return self._view(query, "verify: every person once")

    def _person(self) -> list[exp.Expr]:
        return [column(self.entity).as_("person")]

    def _of(self, relation: Relation, qi: list[str]) -> Rows:
        return People(relation, qi, self.scratch, "person")
