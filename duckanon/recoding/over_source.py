"""The released rows as one SELECT over the source itself, for a warehouse whose rows never left it.

What goes up are small tables: the code of every value of a quasi-identifier, of a local recoding the placement of every
tuple of codes, the label of every code, and the classes that are released, with their sizes. A class whose rows are not
as many as were counted is not released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym, pseudonymized
from duckanon.census.source import BoundSource
from duckanon.census.tuples import tuple_counts
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.query.expressions import column, literal, same, sql, table, text_of
from duckanon.query.functions import byte_order
from duckanon.query.steps import with_steps
from duckanon.recoding.rows import copy_steps


@dataclass(frozen=True)
class Coding:
    """The `codes` (value, as a text, and code) of a column of the source. What they do not know is of the code
    `strangers` or, without one, not released."""

    name: str  # q0, s0, …
    type: Type  # what a value is there
    codes: exp.Select
    key: str | None  # how the code is called; None: nobody asks for it
    by_text: bool = False  # whether texts are compared, not values
    strangers: int | None = None


@dataclass(frozen=True)
class Label:
    """How a column is shown: by the labels (code, label) of a key; as it is, if there are none; the same everywhere; or
    by a number of its class."""

    column: str  # of the release
    key: str | None = None
    labels: exp.Select | None = None
    constant: exp.Expr | None = None
    number: str | None = None  # a column of the classes


@dataclass(frozen=True)
class Plan:
    """A recoding in codes. All queries are of the workbench."""

    codings: tuple[Coding, ...]
    shown: tuple[Label, ...]  # of the quasi-identifiers
    classes: exp.Select  # that are released: their keys, x rows, and the numbers that they show
    keys: tuple[str, ...]
    placement: exp.Select | None = None  # the keys of each combination of codes; None: the codes are the keys


# Keeps a query of the workbench where the rows are (thing, its rows), and says how to name it.
Sent = Callable[[str, exp.Query], exp.Expr]


def rows_over_source(plan: Plan, census: Census, source: BoundSource, scratch: Scratch) -> exp.Select:
    """The rows of the classes that are released, labelled, sorted and repeated. The order is that of what is released,
    so nothing of the source's order remains."""
    return _OverSource(plan, census, source, scratch).query()


class _OverSource:
    def __init__(self, plan: Plan, census: Census, source: BoundSource, scratch: Scratch) -> None:
        self.plan, self.census, self.source, self.scratch = plan, census, source, scratch

    def query(self) -> exp.Select:
        raw = {part.key: self._name(part.column) for part in self.plan.shown if self._is_raw(part)}
        others = [*raw.values(), *self.census.others]
        # Counted first: there are fewer tuples than rows to find codes for.
        counted = self.census.counted
        tuples_of_source = tuple_counts(self.source) if counted is None else exp.select("*").from_(counted.table)
        steps: dict[str, exp.Query] = {"source": tuples_of_source}
        # What is shown as it is has one code for each value, which tells nothing more.
        keys = [key for key in self.plan.keys if key not in raw]
        if self.plan.placement is not None:
            steps["coded_tuples"] = coded("source", self.plan.codings, [*others, "n"], self._sent)
            steps["placed_tuples"] = placed("coded_tuples", self.plan, [*others, "n"], self._sent)
            steps["coded_cells"] = _counted(
                "placed_tuples", [*keys, *others], [key for key in self.plan.keys if key in raw]
            )
        else:
            # Such a code is looked for once the tuples are counted as cells, of which there are fewer still.
            early = [coding for coding in self.plan.codings if coding.key not in raw]
            late = [coding for coding in self.plan.codings if coding.key in raw]
            steps["coded_tuples"] = coded("source", early, [*others, "n"], self._sent)
            steps["cells"] = _counted("coded_tuples", [*keys, *others], [])
            steps["coded_cells"] = coded("cells", late, [*keys, *others, "n"], self._sent)
        steps["sized_cells"] = _sized(list(self.plan.keys))
        steps["released_cells"] = self._guarded()
        steps["labelled_cells"] = self._labelled()
        outputs = [column(f"r{at}").as_(name, quoted=True) for at, name in enumerate(self.source.released)]
        steps |= copy_steps("labelled_cells", in_lists=self.source.warehouse.lists_numbers)
        return with_steps(exp.select(*outputs).from_(table("copies")), **steps)

    def _sent(self, thing: str, query: exp.Query) -> exp.Expr:
        """A table of the warehouse, under its plain name."""
        sent = self.scratch.sent(thing, query, "sent for the release")
        return exp.alias_(sent, thing, table=True)

    @staticmethod
    def _is_raw(part: Label) -> bool:
        return part.labels is None and part.constant is None and part.number is None

    def _name(self, shown: str) -> str:
        """A quasi-identifier in the step `source`."""
        (index,) = (h.index for h in self.census.hierarchies if h.column.name == shown)
        return f"q{index}"

    def _guarded(self) -> exp.Select:
        """The cells of the classes that are released, and that are as large as they were counted; with the number of
        the class, which sorts faster than its keys."""
        keys = [column(key) for key in self.plan.keys]
        numbers = {part.key: part.number for part in self.plan.shown if part.number is not None}
        # By what is shown of them: classes that show the same have one number.
        shown = [column(numbers.get(key, key)) for key in self.plan.keys]
        order = exp.Order(expressions=shown) if keys else None
        nth = exp.Window(this=sql("DENSE_RANK()" if keys else "ROW_NUMBER()"), order=order).as_("class")
        found = exp.select(*keys, *map(column, numbers.values()), "x", nth)
        classes = self._sent("classes", found.from_(self.plan.classes.subquery("classes")))
        as_counted = sql("sized_cells.class_size = classes.x")
        on = exp.and_(same(self.plan.keys, "sized_cells", "classes", nulls=False), as_counted)
        told = [column(name, "classes") for name in ("class", *numbers.values())]
        released = exp.select("sized_cells.*", *told)
        return released.from_(table("sized_cells")).join(classes, on=on)

    def _labelled(self) -> exp.Select:
        query, named = exp.select().from_(table("released_cells")), dict[str, exp.Expr]()
        for part in self.plan.shown:
            if part.constant is not None:
                named[part.column] = part.constant
            elif part.number is not None:
                named[part.column] = column(part.number, "released_cells")
            elif part.labels is None:
                named[part.column] = column(self._name(part.column), "released_cells")
            else:
                assert part.key is not None
                code = column(part.key, "released_cells")
                query, named[part.column] = self._joined(query, f"labels_{part.key}", part.labels, code)
        named |= {v.column.name: column(f"s{v.index}", "released_cells") for v in self.census.sensitive}
        for at, kept in enumerate(self.census.keep):
            named[kept.name] = column(f"k{at}", "released_cells")
            if isinstance(kept, Pseudonym):
                text, thing = text_of(named[kept.name]), f"pseudonyms_{at}"
                query, named[kept.name] = self._joined(query, thing, self._pseudonyms(at), text)
        texts = {v.column.name: v.wanted.publish == "value" and v.column.type.is_text for v in self.census.sensitive}
        texts |= {kept.name: kept.type.is_text for kept in self.census.keep}
        order = [byte_order(text_of(named[name])) if text else named[name].copy() for name, text in texts.items()]
        outputs = [named[name].as_(f"r{at}") for at, name in enumerate(self.source.released)]
        labelled = query.select(*outputs, column("n", "released_cells"))
        return labelled.order_by(column("class", "released_cells"), *order)

    def _joined(self, query: exp.Select, thing: str, labels: exp.Select, code: exp.Expr) -> tuple[exp.Select, exp.Expr]:
        on = exp.EQ(this=code, expression=column("code", thing))
        return query.join(self._sent(thing, labels), on=on, join_type="left"), column("label", thing)

    def _pseudonyms(self, at: int) -> exp.Select:
        """The pseudonym of every value, made on the workbench: the key goes nowhere."""
        name = column(f"k{at}")
        values = exp.select(name, text_of(name).as_("code")).distinct().from_(self.census.table)
        values = values.where(sql(":value IS NOT NULL", value=name))
        made = pseudonymized(values, (f"k{at}", "code"), self.census.keep, self.census.scratch, f"pseudonyms_{at}")
        return exp.select("code", name.as_("label")).from_(made.subquery("made"))


def coded(step: str, codings: Iterable[Coding], others: Iterable[str], sent: Sent) -> exp.Select:
    """A step with codes in place of values, beside other columns of it. What is not known has no code, and finds no
    class: a join that keeps all rows tells a planner how many come out of it."""
    query = exp.select().from_(table(step))
    for coding in codings:
        raw, alias = column(coding.name, step), f"codes_{coding.name}"
        known, type_ = column("value", alias), coding.type.released
        compared = (type_.text(raw), known) if coding.by_text else (raw, type_.cast(known))
        on = exp.EQ(this=compared[0], expression=compared[1])
        query = query.join(sent(alias, coding.codes), on=on, join_type="left")
        if coding.key is not None:
            query = query.select(_code(raw, column("code", alias), coding.strangers).as_(coding.key))
        elif coding.strangers is None:
            query = query.where(exp.paren(sql(":raw IS NULL OR :known IS NOT NULL", raw=raw, known=known)))
    return query.select(*(column(name, step) for name in others))


def placed(step: str, plan: Plan, others: Iterable[str], sent: Sent) -> exp.Select:
    """A step of codes with the keys of each combination of them, beside other columns of it."""
    assert plan.placement is not None
    codes = [coding.key for coding in plan.codings if coding.key is not None]
    query = exp.select(*(column(key, "placement") for key in plan.keys), *(column(name, step) for name in others))
    query = query.from_(table(step))
    return query.join(sent("placement", plan.placement), on=same(codes, step, "placement", nulls=False))


def _code(raw: exp.Expr, code: exp.Expr, strangers: int | None) -> exp.Expr:
    """NULL is a value of its own, and in no table: code 0."""
    known = code
    if strangers is not None:
        known = sql("COALESCE(:code, :strangers)", code=code, strangers=literal(strangers))
    return sql("CASE WHEN :raw IS NULL THEN 0 ELSE :known END", raw=raw, known=known)


def _counted(step: str, names: Iterable[str], told: Iterable[str]) -> exp.Select:
    """The rows by these columns, with others that they tell."""
    columns = [column(name) for name in names]
    of_each = [sql("MIN(:code)", code=column(name)).as_(name) for name in told]
    query = exp.select(*columns, *of_each, sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(table(step))
    return query.group_by(*(part.copy() for part in columns)) if columns else query


def _sized(keys: list[str]) -> exp.Select:
    """Each cell with the rows of its whole class."""
    size = exp.Window(this=sql("SUM(n)"), partition_by=[column(key) for key in keys])
    return exp.select("*", size.as_("class_size")).from_(table("coded_cells"))
