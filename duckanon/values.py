"""The distinct values of a sensitive column: their codes, shares and levels, and which of them the policy names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column
from duckanon.errors import Fault, PolicyError
from duckanon.expressions import case_of, column, literal, sql, text_of
from duckanon.policy import Sensitive
from duckanon.scratch import Scratch

# Stands for "no level": policies number their levels from 0.
NO_LEVEL = -1


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


def value_table(
    index: int, wanted: Sensitive, source_column: Column, counted: exp.Table, people: bool, scratch: Scratch
) -> ValueTable:
    """From the counted source, whose rows or `people` are what the values' shares are of."""
    engine = scratch.engine
    where = f"sensitive.{wanted.column}"
    # A published level is a number, too.
    numeric = wanted.publish == "level" or engine.is_number(source_column)
    if wanted.proximity and not numeric:
        fault = Fault(f"{where}.proximity", f"the column is {source_column.type}", "proximity needs a number")
        raise PolicyError([fault])
    value = column(f"s{index}")
    counts = exp.select(value.as_("value"), sql("COUNT(DISTINCT e)" if people else "SUM(n)").as_("rows")).from_(counted)
    counts = counts.where(exp.Not(this=exp.Is(this=value, expression=exp.null()))).group_by(value)
    table = scratch.table(f"sensitive_{index}", describe_values(wanted, counts, numeric), f"values of {wanted.column}")
    ((distinct, unlevelled),) = engine.fetch(exp.select("COUNT(*)", "COUNT(*) - COUNT(level)").from_(table))
    if distinct == 0:
        remedy = "list it under columns.drop to leave it out"
        raise PolicyError([Fault(where, "has no value at all, only NULL", remedy)])
    if wanted.needs_levels and unlevelled:
        what = f"{unlevelled} of the {distinct} values of the data have no level"
        if wanted.publish == "level":
            what = "some values of the data have no level"
        raise PolicyError([Fault(f"{where}.levels", what, "list every value that the column has")])
    warnings = _absent(wanted, table, scratch) if wanted.publish == "value" else ()
    return ValueTable(index, wanted, source_column, table, distinct, numeric, warnings)


def describe_values(wanted: Sensitive, counts: exp.Query, numeric: bool) -> exp.Query:
    """All that the models ask about a value, from its count: one row per value of `counts` (value, rows).

    With Q_i the share of the values up to the i-th: cumulated = Q_i, prefix = Σ_{j<i} Q_j.
    """
    text = text_of(column("value"))
    named = {value: literal(place) for place, value in enumerate(wanted.values, start=1)}
    shares = exp.select(
        "value",
        "rows",
        sql("CAST(ROW_NUMBER() OVER (ORDER BY value) AS INTEGER)").as_("code"),
        case_of(text, named, literal(0)).as_("named"),
        level_of(wanted).as_("level"),
        (sql("CAST(value AS DOUBLE)") if numeric else exp.cast(exp.null(), "DOUBLE")).as_("number"),
        sql("CAST(rows AS DOUBLE) / CAST(SUM(rows) OVER () AS DOUBLE)").as_("share"),
        sql("COUNT(*) OVER ()").as_("values_"),
    ).from_(counts.subquery("counts"))
    cumulated = exp.select("*", sql("SUM(share) OVER (ORDER BY code)").as_("cumulated"))
    cumulated = cumulated.from_(shares.subquery("shares"))
    prefix = sql("COALESCE(SUM(cumulated) OVER (ORDER BY code ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)")
    whole = sql("SUM(cumulated) OVER ()")
    return exp.select("*", prefix.as_("prefix"), whole.as_("whole")).from_(cumulated.subquery("c"))


def level_of(wanted: Sensitive) -> exp.Expr:
    if wanted.publish == "level":
        return sql("CASE WHEN value = :none THEN NULL ELSE CAST(value AS INTEGER) END", none=literal(NO_LEVEL))
    levels = {text: literal(level) for text, level in wanted.level_of.items()}
    return case_of(text_of(column("value")), levels, exp.cast(exp.null(), "INTEGER"))


def _absent(wanted: Sensitive, table: exp.Table, scratch: Scratch) -> tuple[str, ...]:
    """Values that the policy names and the data does not have: worth a word, since a threshold may be misspelled."""
    mentioned = [(f"values.{value}", value) for value in wanted.values]
    mentioned += [(f"levels.{level}", value) for level, texts in wanted.levels.items() for value in texts]
    if not mentioned:
        return ()
    text = text_of(column("value"))
    names = [literal(value.lower()) for _, value in mentioned]
    alike = exp.select(text.as_("text")).from_(table).where(exp.Lower(this=text).isin(*names))
    present = {row[0] for row in scratch.engine.fetch(alike)}
    spelled = {value.lower(): value for value in present}
    warnings = []
    for where, value in mentioned:
        if value not in present:
            meant = f"; did you mean '{spelled[value.lower()]}'?" if value.lower() in spelled else ""
            warnings.append(f"sensitive.{wanted.column}.{where}: the data has no value '{value}'{meant}")
    return tuple(warnings)
