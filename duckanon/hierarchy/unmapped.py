"""Values that a hierarchy does not know: how many there are, and what becomes of their rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, HierarchyError, Message, examples_of
from duckanon.hierarchy.computed import VALUE, CutsKind, DatesKind, IntervalsKind
from duckanon.hierarchy.scheme import Scheme
from duckanon.query.expressions import any_of, column, literal, sql, text_of
from duckanon.query.steps import select, united


@dataclass(frozen=True)
class Unmapped:
    """Values of a quasi-identifier that its hierarchy does not know, and the rows that have them."""

    column: str
    values: int
    rows: int

    def __str__(self) -> str:
        values = "1 value" if self.values == 1 else f"{self.values:,} values"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"quasi_identifiers.{self.column}: the hierarchy does not know {values} ({rows})"


def find_unmapped(schemes: list[Scheme], domains: list[exp.Expr], workbench: Workbench) -> dict[int, Unmapped]:
    """What each of the hierarchies does not know of its domain (value, n), if there is something: in one statement."""
    asked = []
    for scheme in schemes:
        unknown = scheme.unknown(VALUE)
        if unknown is not None:
            figures = {"values": "COUNT(*)", "rows": "CAST(COALESCE(SUM(n), 0) AS BIGINT)"}
            found = select(hierarchy=literal(scheme.index), **figures).from_(domains[scheme.index].copy())
            asked.append(found.where(_strange(unknown)))
    names = {scheme.index: scheme.column.name for scheme in schemes}
    answers = workbench.fetch(united(asked)) if asked else []
    return {index: Unmapped(names[index], values, rows) for index, values, rows in answers if values}


def unknown_values(scheme: Scheme, domain: exp.Expr) -> exp.Select | None:
    """What the hierarchy does not know of `domain`, as texts; None: there can be nothing."""
    unknown = scheme.unknown(VALUE)
    return None if unknown is None else exp.select(text_of(VALUE).as_("value")).from_(domain).where(_strange(unknown))


def unmapped_fault(scheme: Scheme, unmapped: Unmapped, domain: exp.Expr, workbench: Workbench) -> Fault:
    """What is unmapped as an error that shows, of a listed hierarchy, what it lacks."""
    remedies = 'set privacy.unmapped = "suppress" or "top"'
    if scheme.kind is not None:
        many = f"{unmapped.values} value{'s' if unmapped.values > 1 else ''}"
        what = f"{many} cannot be placed: not a {scheme.kind.takes}"
        written = (
            'say how a CSV file writes dates (source.csv.dateformat = "%d/%m/%Y"), ' if _may_be_dates(scheme) else ""
        )
        return Fault(scheme.where, what, f"{written}clean the source, cast the column in source.query, or {remedies}")
    unknown = scheme.unknown(VALUE)
    assert unknown is not None
    examples = (
        exp.select(text_of(VALUE).as_("text")).from_(domain.copy()).where(_strange(unknown)).order_by("text").limit(3)
    )
    named = examples_of(text for (text,) in workbench.fetch(examples))
    many = f"{unmapped.values} value{'s' if unmapped.values > 1 else ''} of the source ({unmapped.rows} rows)"
    remedy = f"add them to the hierarchy, clean the source, or {remedies}"
    return Fault(scheme.where, Message.of(f"does not map {many}, such as ", named), remedy)


def _may_be_dates(scheme: Scheme) -> bool:
    return isinstance(scheme.kind, (CutsKind, DatesKind, IntervalsKind)) and scheme.kind.from_text


def without_unknown(tuples: exp.Table, schemes: list[Scheme], scratch: Scratch) -> exp.Table:
    """The tuples without those that have a value which some hierarchy does not know."""
    query = exp.select("*").from_(tuples).where(exp.not_(exp.paren(is_unknown(schemes))))
    return scratch.table("known", query, "the source, without the rows that a hierarchy does not know")


def is_unknown(schemes: list[Scheme]) -> exp.Expr:
    """Whether a row q0 … has a value that some hierarchy does not know."""
    return any_of(_strange(u, q) for s in schemes if (u := s.unknown(q := column(f"q{s.index}"))) is not None)


def with_tops(tuples: exp.Table, schemes: list[Scheme], scratch: Scratch) -> exp.Table:
    """The tuples as text, with the top in place of every value which the hierarchy does not know."""
    shown = as_tops(schemes)
    names = [c.name for c in scratch.workbench.columns(tuples) if c.name != "n"]
    replaced = exp.select(*(shown.get(name, column(name)).as_(name) for name in names), "n").from_(tuples)
    query = exp.select(*map(column, names), sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(replaced.subquery("shown"))
    query = query.group_by(*map(column, names))
    return scratch.table("known", query, "the source, with the top for what a hierarchy does not know")


def as_tops(schemes: list[Scheme]) -> dict[str, exp.Expr]:
    """What is shown of the columns q0 … that have values which their hierarchies do not know: texts, or the top."""
    return {f"q{s.index}": shown_as_top(s.unknown(q := column(f"q{s.index}")), q, s.top, text_of(q)) for s in schemes}


def shown_as_top(unknown: exp.Expr | None, value: exp.Expr, top: str, label: exp.Expr) -> exp.Expr:
    """The label of a value or, where the hierarchy does not know it, the top; NULL stays NULL."""
    if unknown is None:
        return label
    return sql(
        "CASE WHEN :value IS NULL THEN NULL WHEN :unknown THEN :top ELSE :label END",
        value=value,
        unknown=exp.paren(unknown),
        top=literal(top),
        label=label,
    )


def top_must_be_alone(scheme: Scheme, workbench: Workbench) -> None:
    """A label of a lower level that is the top's own could not be told from what the hierarchy does not know."""
    if scheme.listing is None:
        return
    below = any_of(
        exp.EQ(this=column(f"level_{level}"), expression=literal(scheme.top)) for level in range(scheme.height)
    )
    ((found,),) = workbench.fetch(exp.select("COUNT(*)").from_(scheme.listing.table).where(below))
    if found:
        what = f"has '{scheme.top}' below its top, where it stands for what the hierarchy does not know"
        raise HierarchyError([Fault(scheme.where, what, 'rename that label, or set privacy.unmapped = "suppress"')])


def known(scheme: Scheme, value: exp.Expr) -> exp.Expr:
    """Whether a value is there and the hierarchy knows it."""
    unknown = scheme.unknown(value)
    if unknown is None:
        return sql(":value IS NOT NULL", value=value)
    return sql(":value IS NOT NULL AND NOT :unknown", value=value, unknown=exp.paren(unknown))


def _strange(unknown: exp.Expr, value: exp.Expr = VALUE) -> exp.Expr:
    return sql(":value IS NOT NULL AND :unknown", value=value, unknown=exp.paren(unknown))
