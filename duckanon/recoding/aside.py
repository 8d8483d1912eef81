"""The released rows where kept columns were set aside: as one SELECT over the source, whose rows find their classes by
their codes, on the workbench."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.plain import plain
from duckanon.census.source import BoundSource
from duckanon.census.tuples import released_columns
from duckanon.census.values import ValueTable
from duckanon.engine import Column
from duckanon.query.expressions import column, same, sql, table
from duckanon.query.steps import with_steps
from duckanon.recoding.over_source import Plan, coded, placed
from duckanon.recoding.rows import Cells, Labels, Shown, codes_in

_NUMBER = "class"  # of a class, in the order of its keys: sorts faster than they do
# Texts of a kept column, if there are no more, sort faster by their numbers.
_FEW_TEXTS = 100_000


def rows_with_kept(
    plan: Plan, census: Census, cells: Cells, shown: list[Shown], source: BoundSource, labels: Labels
) -> exp.Select:
    """The rows of the classes that are released, in the same order as if kept columns had been counted: that of what is
    shown. `cells` are those of the census that are released.

    What is no longer as it was counted finds no class or no label, and is not released; the audit counts what is.
    """
    return _WithKept(plan, census, cells, shown, source, labels).query()


class _WithKept:
    def __init__(
        self, plan: Plan, census: Census, cells: Cells, shown: list[Shown], source: BoundSource, labels: Labels
    ) -> None:
        self.plan, self.census, self.cells, self.shown = plan, census, cells, shown
        self.source, self.labels = source, labels
        self.steps: dict[str, exp.Query] = {}

    def query(self) -> exp.Select:
        rows = [value.as_(name) for value, name in released_columns(self.source)]
        self.steps["source"] = exp.select(*rows).from_(self.source.table)
        others = [*(f"s{values.index}" for values in self.census.sensitive), *self.census.kept_columns]
        coded_rows = coded("source", self.plan.codings, others, self._step)
        if self.plan.placement is not None:
            self.steps["coded_rows"] = coded_rows
            coded_rows = placed("coded_rows", self.plan, others, self._step)
        self.steps["rows"] = coded_rows
        self.steps["classes"] = self._labelled_classes()
        return with_steps(self._released(), **self.steps)

    def _step(self, thing: str, query: exp.Query) -> exp.Table:
        self.steps[thing] = query
        return table(thing)

    def _labelled_classes(self) -> exp.Select:
        """Each class with its number and the labels label_0 … of its quasi-identifiers: there are fewer than rows."""
        keys = [column(key) for key in self.plan.keys]
        order = exp.Order(expressions=keys) if keys else None
        nth = exp.Window(this=sql("ROW_NUMBER()"), order=order).as_(_NUMBER)
        numbered = self._step("numbered_classes", exp.select("*", nth).from_(self.plan.classes.subquery("classes")))
        query = exp.select(*(column(name, numbered.name) for name in (*self.plan.keys, _NUMBER))).from_(numbered)
        for h, part in zip(self.census.hierarchies, self.shown, strict=True):
            if part.code is None or part.labels is None:
                query = query.select(h.removed.as_(f"label_{h.index}"))
                continue
            step = f"labels_{h.index}"
            known = self.labels.labels(step, part.labels, codes_in(self.plan.classes, part.code))
            on = exp.EQ(this=column(part.code, numbered.name), expression=column("code", step))
            query = query.join(self._step(step, known), on=on, join_type="left")
            query = query.select(column("label", step).as_(f"label_{h.index}"))
        return query

    def _released(self) -> exp.Select:
        """The rows that have a class, sorted by its number and by what else they show."""
        query = exp.select().from_(table("rows"))
        query = query.join(table("classes"), on=same(self.plan.keys, "rows", "classes", nulls=False))
        named = {h.column.name: column(f"label_{h.index}", "classes") for h in self.census.hierarchies}
        order = [column(_NUMBER, "classes")]
        for values in self.census.sensitive:
            query, named[values.column.name], nth = self._with_value(query, values)
            order.append(nth)
        assert self.census.aside is not None
        for at, (kept, distinct) in enumerate(zip(self.census.keep, self.census.aside.values, strict=True)):
            nth = named[kept.name] = column(f"k{at}", "rows")
            if kept.type.is_text and distinct <= _FEW_TEXTS:
                query, nth = self._with_number(query, kept, nth)
            order.append(nth)
        outputs = [named[name].as_(name, quoted=True) for name in self.source.released]
        return query.select(*outputs).order_by(*(nth.copy() for nth in order))

    def _with_value(self, query: exp.Select, values: ValueTable) -> tuple[exp.Select, exp.Column, exp.Column]:
        """The rows, with what is shown of a sensitive column, and what sorts it."""
        name, step = f"s{values.index}", f"values_{values.index}"
        known = exp.select("code", column("value").as_("label")).from_(values.table)
        shown = self.labels.labels(step, known, codes_in(self.cells.query, name))
        raw, value = column(name, "rows"), column("value", self._step(step, _with_values(values.table, shown)).name)
        query = query.join(table(step), on=exp.EQ(this=raw, expression=value), join_type="left")
        query = query.where(exp.paren(sql(":raw IS NULL OR :value IS NOT NULL", raw=raw, value=value)))
        return query, column("label", step), column("code", step)

    def _with_number(self, query: exp.Select, kept: Column, text: exp.Column) -> tuple[exp.Select, exp.Column]:
        step = f"numbers_{text.name}"
        numbers = self._step(step, self.labels.numbers(step, self._numbered(kept)))
        on = exp.EQ(this=text, expression=column("value", step))
        return query.join(numbers, on=on, join_type="left"), column("nth", step)

    def _numbered(self, kept: Column) -> exp.Select:
        """The different texts of a column, with numbers in their order. A step that is read twice would be kept whole,
        so this one reads the source for itself."""
        texts = exp.select(plain(kept).as_("value")).distinct().from_(self.source.table)
        nth = exp.Window(this=sql("ROW_NUMBER()"), order=exp.Order(expressions=[column("value")]))
        return exp.select("value", nth.as_("nth")).from_(texts.subquery("texts"))


def _with_values(known: exp.Table, labels: exp.Select) -> exp.Select:
    """value, code and label: of the codes that have one."""
    query = exp.select(column("value", "known"), column("code", "known"), column("label", "shown"))
    on = sql("known.code = shown.code")
    return query.from_(exp.alias_(known, "known", table=True)).join(labels.subquery("shown"), on=on)
