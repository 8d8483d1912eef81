"""The distinct values of a sensitive column: their codes, shares and levels, and which of them the policy names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.engine import Column, Type, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, SourceError
from duckanon.hierarchy.ground import Ground
from duckanon.models import Numbers
from duckanon.models.registry import models_of
from duckanon.models.wanted import ancestors
from duckanon.policy import Sensitive
from duckanon.query.expressions import case_of, column, literal, sql, table, text_of
from duckanon.query.functions import cast_or_null, look
from duckanon.query.steps import with_steps

# Stands for "no level": policies number their levels from 0.
NO_LEVEL = -1
# Of a column of numbers, no more than this share of the values are something else.
_FEW = 0.1


@dataclass(frozen=True)
class ValueTable:
    """Table columns: value, code, rows (or people), named, level, number, and the source's distribution for t."""

    index: int
    wanted: Sensitive
    column: Column
    table: exp.Table
    distinct: int  # non-NULL values
    numeric: bool
    warnings: tuple[str, ...]
    ground: Ground | None = None  # by which the values lie apart


def released_value(wanted: Sensitive, type_: Type, value: exp.Expr) -> exp.Expr:
    """A sensitive value as the release shows it: itself, or its level."""
    if wanted.publish == "value":
        return value
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    known = case_of(type_.text(value), levels, literal(NO_LEVEL))
    return sql("CASE WHEN :value IS NULL THEN NULL ELSE :known END", value=value, known=known)


# Builds it over the values (value, n) of a sensitive column.
GroundBuilder = Callable[[exp.Table], Ground]


def value_table(
    index: int,
    wanted: Sensitive,
    source_column: Column,
    tuples: exp.Expr,
    people: bool,
    scratch: Scratch,
    built: GroundBuilder,
) -> ValueTable:
    """From the tuples of the source, whose rows or `people` are what the values' shares are of."""
    workbench = scratch.workbench
    where = f"sensitive.{wanted.column}"
    # A published level is a number, too.
    numeric = wanted.publish == "level" or source_column.type.is_number
    needing = [model.written for model in models_of(wanted) if model.numbers is Numbers.NEEDED]
    if needing and not numeric:
        what = f"the column is {source_column.type}"
        raise SourceError([Fault(f"{where}.{key}", what, f"{key} needs a number") for key in needing])
    value = column(f"s{index}")
    counts = exp.select(value.as_("value"), sql("COUNT(DISTINCT e)" if people else "SUM(n)").as_("rows")).from_(tuples)
    counts = counts.where(exp.Not(this=exp.Is(this=value, expression=exp.null()))).group_by(value)
    ground = None
    if wanted.hierarchy is not None:
        n = sql("CAST(rows AS BIGINT)").as_("n")
        domain = exp.select("value", n).from_(counts.subquery("counts"))
        ground = built(scratch.table(f"domain_{index}", domain, f"values of {wanted.column}"))
        wanted = replace(wanted, height=ground.height)
        counts = _below_nodes(counts, ground)
    table = scratch.table(f"sensitive_{index}", describe_values(wanted, counts, numeric), f"values of {wanted.column}")
    ((distinct, unlevelled),) = workbench.fetch(exp.select("COUNT(*)", "COUNT(*) - COUNT(level)").from_(table))
    if distinct == 0:
        remedy = "list it under columns.drop to leave it out"
        raise SourceError([Fault(where, "has no value at all, only NULL", remedy)])
    if wanted.needs_levels and unlevelled:
        what = f"{unlevelled} of the {distinct} values of the data have no level"
        if wanted.publish == "level":
            what = "some values of the data have no level"
        raise SourceError([Fault(f"{where}.levels", what, "list every value that the column has")])
    found = list(_mentioned(wanted, table, workbench)) if wanted.publish == "value" else []
    warnings = tuple(warning for part in found for warning in part.warnings("people" if people else "rows"))
    weighing = [model.written for model in models_of(wanted) if model.numbers is Numbers.WEIGHED]
    if weighing and not numeric and ground is None:
        warnings += _nearly_numbers(wanted, weighing, source_column, table, workbench)
    return ValueTable(index, wanted, source_column, table, distinct, numeric, warnings, ground)


def _below_nodes(counts: exp.Select, ground: Ground) -> exp.Select:
    """The counts with the nodes above each value."""
    nodes = [column(f"code_{level}", "mapped").as_(f"up_{level}") for level in range(1, ground.height)]
    placed = exp.select("counts.value", "counts.rows", *nodes).from_(counts.subquery("counts"))
    return placed.join(exp.alias_(ground.mapping, "mapped", table=True), on="counts.value = mapped.value")


def _nearly_numbers(
    wanted: Sensitive, weighing: list[str], source_column: Column, table: exp.Table, workbench: Workbench
) -> tuple[str, ...]:
    """A word on a text column that is one only for a few values, to who would weigh amounts: t takes texts for equally
    far from each other."""
    number = cast_or_null(text_of(column("value")), "DOUBLE")
    none = sql("COUNT(CASE WHEN :number IS NULL THEN 1 END)", number=number)
    ((others, values),) = workbench.fetch(exp.select(none, "COUNT(*)").from_(table))
    if others == 0 and source_column.written:
        what = "DOUBLE cannot hold all values as they are written"
        remedy = "clean them, or say a DECIMAL in source.csv.types"
    elif 0 < others <= values * _FEW:
        what = f"{others:,} of the {values:,} values are no numbers"
        remedy = "clean them, or cast the column in source.query"
    else:
        return ()
    return tuple(
        f"sensitive.{wanted.column}.{key}: {what}, so the column is text and {key} does not weigh amounts; {remedy}"
        for key in weighing
    )


def describe_values(wanted: Sensitive, counts: exp.Query, numeric: bool) -> exp.Query:
    """All that the models ask about a value, from its count: one row per value of `counts` (value, rows, and the nodes
    above it where it lies in a hierarchy).

    With Q_i the share of the values up to the i-th: cumulated = Q_i, prefix = Σ_{j<i} Q_j.
    """
    text = text_of(column("value"))
    named = {value: literal(ordinal) for ordinal, value in enumerate(wanted.values, start=1)}
    shares = exp.select(
        "value",
        "rows",
        sql("CAST(ROW_NUMBER() OVER (ORDER BY value) AS INTEGER)").as_("code"),
        case_of(text, named, literal(0)).as_("named"),
        level_of(wanted).as_("level"),
        (sql("CAST(value AS DOUBLE)") if numeric else exp.cast(exp.null(), "DOUBLE")).as_("number"),
        sql("CAST(rows AS DOUBLE) / CAST(SUM(rows) OVER () AS DOUBLE)").as_("share"),
        sql("COUNT(*) OVER ()").as_("values_"),
        *map(column, ancestors(wanted)),
    ).from_(table("counts"))
    cumulated = exp.select("*", sql("SUM(share) OVER (ORDER BY code)").as_("cumulated")).from_(table("shares"))
    prefix = sql("COALESCE(SUM(cumulated) OVER (ORDER BY code ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)")
    whole = sql("SUM(cumulated) OVER ()")
    query = exp.select("*", prefix.as_("prefix"), whole.as_("whole")).from_(table("cumulated_shares"))
    return with_steps(query, counts=counts, shares=shares, cumulated_shares=cumulated)


def level_of(wanted: Sensitive) -> exp.Expr:
    if wanted.publish == "level":
        return sql("CASE WHEN value = :none THEN NULL ELSE CAST(value AS INTEGER) END", none=literal(NO_LEVEL))
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    return case_of(text_of(column("value")), levels, exp.cast(exp.null(), "INTEGER"))


@dataclass(frozen=True)
class _Mentioned:
    """A value that the policy names, and what the data has of it."""

    where: str
    value: str
    present: bool
    alike: int  # values that look like it and that the policy does not name there
    rows: int  # of these

    def warnings(self, who: str) -> Iterator[str]:
        """Never a value as the data spells it: the policy does not name that one."""
        others = "1 other value" if self.alike == 1 else f"{self.alike} other values"
        looks = f"{others} ({self.rows:,} {who}) look{'s' if self.alike == 1 else ''} like it"
        if not self.present:
            meant = f", but {looks}: spell it as the data does" if self.alike else ""
            yield f"{self.where}: the data has no value '{self.value}'{meant}"
        elif self.alike:
            yield f"{self.where}: {looks}, but for case, spaces or signs that nobody sees, without its thresholds"


def _mentioned(wanted: Sensitive, table: exp.Table, workbench: Workbench) -> Iterator[_Mentioned]:
    """What the policy names under `values` and `levels`: it may be misspelled, or the data spell it in several ways."""
    for value, (present, alike, rows) in _spellings(list(wanted.values), table, workbench).items():
        yield _Mentioned(f"sensitive.{wanted.column}.values.{value}", value, bool(present), alike, rows)
    for value, (present, alike, rows) in _spellings(list(wanted.level_of), table, workbench).items():
        if not present:  # what has no level where one is needed is an error
            where = f"sensitive.{wanted.column}.levels.{wanted.level_of[value]}"
            yield _Mentioned(where, value, False, alike, rows)


def _spellings(named: list[str], table: exp.Table, workbench: Workbench) -> dict[str, tuple[int, int, int]]:
    """Of each text, how often it is a value of the table, how many others look like it, and the rows of these."""
    if not named:
        return {}
    texts = exp.values([(literal(text),) for text in named], alias="m", columns=["named"])
    spelled, found = column("named", "m"), column("text", "t")
    other = exp.not_(found.isin(*map(literal, named)))
    query = exp.select(
        spelled,
        sql("COUNT(CASE WHEN :found = :spelled THEN 1 END)", found=found, spelled=spelled),
        sql("COUNT(CASE WHEN :other THEN 1 END)", other=other),
        sql("CAST(COALESCE(SUM(CASE WHEN :other THEN t.rows END), 0) AS BIGINT)", other=other),
    )
    text = text_of(column("value"))
    values = exp.select(text.as_("text"), look(text).as_("look"), "rows").from_(table).subquery("t")
    query = query.from_(texts).join(values, on=sql("t.look = :look", look=look(spelled)), join_type="left")
    counts = {row[0]: row[1:] for row in workbench.fetch(query.group_by(spelled))}
    return {text: counts[text] for text in named}
