"""Numbers in place of labels: what a class shows of a column that the policy releases as a mean, a median or the middle
of its range.

Classes are found, and hold, by their labels. A number is of a whole released class, so that nobody in it is told apart
by it; classes of different labels that come to show the same numbers are one class to whoever has the release, and are
counted as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.computed import VALUE, IntervalsKind
from duckanon.hierarchy.numbers import rounded
from duckanon.query.expressions import column, literal, same, sql, table
from duckanon.query.steps import select, with_steps
from duckanon.recoding.over_source import Label
from duckanon.recoding.rows import Shown


@dataclass(frozen=True)
class NumberColumn:
    """The numbers of a quasi-identifier: `number`, by those of the classes' keys that tell it."""

    index: int
    key: str  # the column of the classes that has its label
    by: tuple[str, ...]
    numbers: exp.Select


class ClassNumbers:
    """The released classes by their keys, with the number m{i} of each column i, and its code a{i}; 0: it has none."""

    def __init__(self, census: Census, classes: exp.Query, keys: list[str], columns: list[NumberColumn]) -> None:
        self._census, self._classes, self.keys = census, classes, keys
        self.columns = {part.index: part for part in columns}

    def __bool__(self) -> bool:
        return bool(self.columns)

    @cached_property
    def table(self) -> exp.Table:
        steps = {f"numbers_{part.index}": part.numbers for part in self.columns.values()}
        query = exp.select(*(column(key, "classes") for key in self.keys)).from_(table("classes"))
        for part in self.columns.values():
            step = f"numbers_{part.index}"
            query = query.select(column("number", step).as_(f"m{part.index}"))
            query = query.join(table(step), on=same(part.by, "classes", step, nulls=False), join_type="left")
        coded = exp.select("*", *(sql(_CODE.format(index)).as_(f"a{index}") for index in self.columns))
        query = with_steps(coded.from_(table("numbered")), classes=self._classes, **steps, numbered=query)
        return self._census.scratch.table("class_numbers", query, "the numbers that classes show")

    def shown(self, labels: list[Shown]) -> list[Shown]:
        """How the quasi-identifiers are shown, where `labels` says how without numbers."""
        return [
            Shown(f"a{index}", self._numbers(index, "label")) if index in self.columns else part
            for index, part in enumerate(labels)
        ]

    def _numbers(self, index: int, name: str) -> exp.Select:
        """The code and, by this name, the number of all that is shown of a column."""
        query = select(code=f"a{index}", **{name: f"m{index}"}).distinct().from_(self.table)
        return query.where(sql(f"m{index} IS NOT NULL"))

    def _replaced(self, key: str) -> tuple[str, str] | None:
        """The number and the code that a key of the classes is shown as; None: by its label."""
        return next(((f"m{i}", f"a{i}") for i, part in self.columns.items() if part.key == key), None)

    def joined(self, query: exp.Select, classes: str) -> exp.Select:
        """With the `numbers` of the classes that a query has the keys of."""
        if not self:
            return query
        numbers = exp.alias_(self.table, "numbers", table=True)
        return query.join(numbers, on=same(self.keys, classes, "numbers", nulls=False))

    def codes(self, cells: str) -> dict[str, exp.Expr]:
        """What tells released classes apart, by name: the keys of cells, or the codes of their numbers."""
        found: dict[str, exp.Expr] = {}
        for key in self.keys:
            replaced = self._replaced(key)
            name = replaced[1] if replaced else key
            found[name] = column(name, "numbers" if replaced else cells)
        return found

    def labels(self, labels: Iterable[Label]) -> Iterator[Label]:
        """The same of a release afar."""
        for label in labels:
            replaced = self._replaced(label.key) if label.key is not None else None
            yield replace(label, labels=None, number=replaced[0]) if replaced else label

    def told(self, classes: exp.Select, name: str) -> exp.Select:
        """Classes, which the query knows by this name, with their numbers."""
        return self.joined(classes, name).select(*(column(f"m{index}", "numbers") for index in self.columns))

    def found_again(self, index: int) -> tuple[exp.Expr, exp.Query]:
        """The code of what is shown of a column, and the numbers of the codes: as an analyst finds them."""
        return column(f"a{index}", "numbers"), self._numbers(index, "number")

    def count(self) -> int:
        """How many classes there are to who sees the numbers."""
        names = [column(name) for name in self.codes("")]
        different = exp.select(*names).distinct().from_(self.table).subquery("shown")
        ((classes,),) = self._census.workbench.fetch(exp.select("COUNT(*)").from_(different), "classes by numbers")
        return int(classes)


_CODE = "CASE WHEN m{0} IS NULL THEN 0 ELSE DENSE_RANK() OVER (ORDER BY m{0}) END"


def middles(hierarchy: Hierarchy, level: int) -> exp.Select:
    """code and number of a level below the top: the middle of its range, or the value itself."""
    assert isinstance(hierarchy.kind, IntervalsKind)
    number = hierarchy.kind.middle(VALUE, level) if level else hierarchy.number
    assert number is not None
    code = column(f"code_{level}")
    # The same for all values of a range.
    return select(code=code, number=sql("MIN(:number)", number=number)).from_(hierarchy.mapping).group_by(code.copy())


def aggregates(hierarchy: Hierarchy, cells: exp.Select, keys: list[str], level: str) -> exp.Select:
    """keys and number: the mean or the median of the rows that a class has with a value. `cells` have the keys of their
    class, the finest code of the column, n, and by the name `level` at which level of its hierarchy they are shown. At
    level 0 it is the value itself, at the top nothing."""
    named = select(code="code_0", number=hierarchy.number or exp.null()).from_(hierarchy.mapping)
    names = [column(key, "cells") for key in keys]
    values = (
        exp.select(
            *names,
            column("number", "named"),
            sql("MAX(:level)", level=column(level, "cells")).as_("level"),
            sql("CAST(SUM(cells.n) AS DOUBLE)").as_("n"),
        )
        .from_(cells.subquery("cells"))
        .join(named.subquery("named"), on=sql(":finest = named.code", finest=column(hierarchy.code(0), "cells")))
        .group_by(*names, column("number", "named"))
    )
    of_class = [column(key) for key in keys]
    total = exp.Window(this=sql("SUM(n)"), partition_by=of_class)
    upto = exp.Window(this=sql("SUM(n)"), partition_by=of_class, order=exp.Order(expressions=[column("number")]))
    ranked = exp.select("*", total.as_("total"), upto.as_("upto")).from_(table("values_of_classes"))
    figure = rounded(sql(_FIGURES[hierarchy.release_as]), hierarchy)
    number = sql(
        "CASE WHEN MAX(level) = 0 THEN MIN(number) WHEN MAX(level) < :top THEN :figure END",
        top=literal(hierarchy.height),
        figure=figure,
    )
    found = exp.select(*of_class, number.as_("number")).from_(table("ranked")).group_by(*of_class)
    return with_steps(found, values_of_classes=values, ranked=ranked)


_FIGURES = {
    "mean": "SUM(n * number) / SUM(n)",
    "median": (
        "(MIN(CASE WHEN 2 * upto >= total THEN number END) + MIN(CASE WHEN 2 * upto > total THEN number END)) / 2"
    ),
}
