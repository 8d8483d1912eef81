"""The tuples with codes for every level: on the workbench, or in the warehouse if they have stayed there."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.tuples import Tuples
from duckanon.census.values import ValueTable
from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER
from duckanon.hierarchy import Hierarchy
from duckanon.models.column_steps import KNOWN
from duckanon.models.wanted import ancestors
from duckanon.query.expressions import column, sql, text_of


def with_values(index: int, tuples: Tuples, scratch: Scratch) -> exp.Table:
    """Where the values of a sensitive column can be counted: of tuples in the warehouse, with n rows each."""
    if tuples.warehouse is None:
        return tuples.every
    value = column(f"s{index}")
    counts = exp.select(value, sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(tuples.every).group_by(value.copy())
    return scratch.collected(f"census_counts_{index}", counts, "sensitive values", tuples.warehouse)


def sent_values(values: ValueTable, warehouse: Warehouse, scratch: Scratch) -> exp.Table:
    """All that is known of a sensitive column's values, which are texts there."""
    known = (*KNOWN, *ancestors(values.wanted))
    query = exp.select(text_of(column("value")).as_("value"), *map(column, known)).from_(values.table)
    return scratch.sent(f"census_values_{values.index}", query, f"values of {values.column.name}", warehouse)


def sent_codes(hierarchy: Hierarchy, warehouse: Warehouse, scratch: Scratch) -> exp.Table:
    """The codes of all levels, by that of the lowest."""
    codes: list[exp.Expr] = [column(f"code_{level}") for level in hierarchy.coded]
    codes = codes or [sql("0").as_("code_0")]
    query = exp.select(*codes).distinct().from_(hierarchy.mapping)
    return scratch.sent(f"census_levels_{hierarchy.index}", query, f"levels of {hierarchy.column.name}", warehouse)


def coded_tuples(
    tuples: Tuples,
    sensitive: list[ValueTable],
    tables: tuple[list[exp.Table], list[exp.Table]],
    kept: int,
    people: bool,
) -> exp.Query:
    """The tuples with codes for every level; `tables` are the mappings and the values of where they are."""
    query = exp.select().from_(exp.alias_(tuples.known, "tuples", table=True))
    mappings, known_values = tables
    for h in tuples.built.hierarchies:
        if not h.coded:
            continue
        alias = f"map_{h.index}"
        codes = {level: column(f"code_{level}", alias) for level in h.coded}
        # NULL is in no mapping table: code 0 at every level below the top.
        query = query.select(*(sql("COALESCE(:code, 0)", code=code).as_(h.code(at)) for at, code in codes.items()))
        mapping, key = exp.alias_(mappings[h.index], alias, table=True), column("value", alias)
        if tuples.by_code:
            known = exp.select(*(column(f"code_{level}") for level in h.coded)).distinct().from_(mappings[h.index])
            mapping, key = known.subquery(alias), codes[h.lowest]
        on = exp.EQ(this=column(f"q{h.index}", "tuples"), expression=key)
        query = query.join(mapping, on=on, join_type="left")
    for values in sensitive:
        alias = f"values_{values.index}"
        query = query.select(column("code", alias).as_(f"s{values.index}"))
        value: exp.Expr = column("value", alias)
        if tuples.warehouse is not None:
            value = (INTEGER if values.wanted.publish == "level" else values.column.type.released).cast(value)
        on = exp.EQ(this=column(f"s{values.index}", "tuples"), expression=value)
        query = query.join(exp.alias_(known_values[values.index], alias, table=True), on=on, join_type="left")
    keeps = [column(f"k{index}", "tuples") for index in range(kept)]
    bounds = [column(f"{name}{index}", "tuples") for index in tuples.spans for name in ("from", "to")]
    person = [column("e", "tuples"), sql("0").as_("p")] if people else []
    return query.select(*keeps, *bounds, *person, column("n", "tuples"))
