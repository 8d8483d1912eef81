"""Hierarchies that are listed: a CSV file or a table of the warehouse, one column per level."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from duckanon.engine import Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, HierarchyError, Message, examples_of
from duckanon.policy import MappingFile, MappingTable
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.names import folded


@dataclass(frozen=True)
class Listing:
    """A temporary table level_0 … level_h of distinct texts that forms a tree under one top."""

    table: exp.Table
    height: int
    top: str
    values: int


def list_file(spec: MappingFile, index: int, where: str, scratch: Scratch) -> Listing:
    width, delimiter, header = _shape(spec.path, where)
    name = scratch.adopt("TABLE", f"listing_{index}")
    try:
        scratch.workbench.define_mapping(name, spec.path, width, delimiter, header)
    except EngineError as error:
        what = "not every row has the same number of columns, or the file is not UTF-8 text"
        raise HierarchyError([Fault(where, f"{spec.path}: {what}")]) from error
    return _checked(scratch.workbench, name, width - 1, where, str(spec.path))


def list_table(spec: MappingTable, index: int, where: str, warehouse: Warehouse, scratch: Scratch) -> Listing:
    """The rows of a dimension table; a top is added above its last column unless that is one `*` already."""
    relation = warehouse.find(spec.table)
    if relation is None:
        raise HierarchyError([Fault(where, f"there is no table '{spec.table}'", warehouse.nearest(spec.table))])
    known = {folded(c.name): c for c in warehouse.columns(relation.table)}
    missing = [name for name in spec.columns if folded(name) not in known]
    if missing:
        remedy = f"it has {', '.join(c.name for c in known.values())}"
        raise HierarchyError([Fault(where, f"{spec.table} has no column {', '.join(missing)}", remedy)])
    names = [known[folded(name)] for name in spec.columns]
    texts = [c.type.text(column(c.name)).as_(f"level_{level}") for level, c in enumerate(names)]
    finest = exp.Not(this=exp.Is(this=column(names[0].name), expression=exp.null()))
    query = exp.select(*texts).distinct().from_(relation.table).where(finest)
    last = f"level_{len(names) - 1}"
    starred = sql("BOOL_AND(:last = '*')", last=column(last))
    ((has_top,),) = warehouse.fetch(exp.select(starred).from_(query.subquery("listing")))
    height = len(names) - 1 if has_top and len(names) > 1 else len(names)
    if height == len(names):
        query = query.select(exp.Literal.string("*").as_(f"level_{height}"))
    name = scratch.collected(f"listing_{index}", query, f"hierarchy of {where.split('.')[1]}", warehouse)
    return _checked(scratch.workbench, name, height, where, spec.table)


def _shape(path: Path, where: str) -> tuple[int, str, bool]:
    """Columns, delimiter and whether there is a header, from the first record."""
    if path.exists() and not path.is_file():
        raise HierarchyError([Fault(where, f"{path}: is no file that can be read more than once")])
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            line = file.readline(1_000_000)
    except OSError as error:
        fault = Fault(where, f"{path}: cannot be read: {error.strerror or error}")
        raise HierarchyError([fault]) from None
    except UnicodeDecodeError:
        raise HierarchyError([Fault(where, f"{path}: is not UTF-8 text", "save it as UTF-8")]) from None
    if not line.strip():
        raise HierarchyError([Fault(where, f"{path}: is empty", "list every value with its parents")])
    try:
        parsed = [(next(csv.reader([line], delimiter=delimiter)), delimiter) for delimiter in ";,"]
    except csv.Error as error:
        raise HierarchyError([Fault(where, f"{path}: cannot be parsed: {error}")]) from None
    cells, delimiter = max(parsed, key=lambda pair: len(pair[0]))
    if len(cells) < 2:
        remedy = "separate the levels by , or ; and end with one top"
        raise HierarchyError([Fault(where, f"{path}: has only one level", remedy)])
    header = cells == [f"level_{level}" for level in range(len(cells))]
    return len(cells), delimiter, header


def _checked(workbench: Workbench, name: exp.Table, height: int, where: str, origin: str) -> Listing:
    levels = [f"level_{level}" for level in range(height + 1)]
    ((values, tops, top, *holes),) = workbench.fetch(
        exp.select(
            "COUNT(*)",
            sql("COUNT(DISTINCT :top)", top=column(levels[-1])),
            sql("MIN(:top)", top=column(levels[-1])),
            *(sql("COUNT(*) - COUNT(:level)", level=column(level)) for level in levels),
        ).from_(name)
    )
    faults = []
    if values == 0:
        faults.append(Fault(where, f"{origin}: lists no value", "list every value with its parents"))
    for level, missing in enumerate(holes):
        if missing:
            what = f"{missing} values have no parent at level {level} (NULL)" if level else f"{missing} values are NULL"
            faults.append(Fault(where, f"{origin}: {what}"))
    if tops > 1:
        remedy = "add a last level that is `*` for every value"
        faults.append(Fault(where, f"{origin}: has {tops} tops at its last level {height}, must have one", remedy))
    for level in range(height):
        faults += _two_parents(workbench, name, level, where, origin)
    if faults:
        raise HierarchyError(faults)
    return Listing(name, height, top, values)


def _two_parents(workbench: Workbench, name: exp.Table, level: int, where: str, origin: str) -> list[Fault]:
    """A value must have one parent, or one label would stand for two groups of people."""
    here, above = column(f"level_{level}"), column(f"level_{level + 1}")
    parents = exp.select(here.as_("label"), sql("COUNT(DISTINCT :above)", above=above).as_("parents"))
    parents = parents.from_(name).group_by(here)
    broken = exp.select("COUNT(*)", "MIN(label)").from_(parents.subquery("p")).where("parents > 1")
    ((count, example),) = workbench.fetch(broken)
    if not count:
        return []
    what = f"{origin}: {count} values of level {level} have two parents at level {level + 1}, such as "
    return [Fault(where, Message.of(what, examples_of([example])), "give each value one parent")]


def not_listed(value: exp.Expr, listing: exp.Table, name: str = "level_0") -> exp.Expr:
    """Whether the listing has no such value in its column `name`. A NULL there would make every value a known one."""
    known = exp.select(column(name)).from_(listing.copy()).where(sql(":name IS NOT NULL", name=column(name)))
    return exp.not_(exp.In(this=text_of(value), query=known.subquery()))


def _matches() -> exp.Expr:
    return exp.EQ(this=text_of(column("value", "data")), expression=column("level_0", "listed"))


def mapping_query(domain: exp.Table, listing: Listing) -> exp.Query:
    """value, n and per level label_l, order_l, size_l: the listed parents of each source value."""
    sizes, labels = [], list[exp.Expr]()
    for level in range(1, listing.height):
        size = sql("COUNT(*) OVER (PARTITION BY :label)", label=column(f"level_{level}"))
        sizes.append(size.as_(f"size_{level}"))
        label = column(f"level_{level}", "listed")
        labels += [label.as_(f"label_{level}"), label.as_(f"order_{level}"), column(f"size_{level}", "listed")]
    sized = exp.select("*", *sizes).from_(listing.table)
    source = exp.alias_(domain, "data", table=True)
    query = exp.select("data.value", "data.n", *labels)
    return query.from_(source).join(sized.subquery("listed"), on=_matches(), join_type="inner")
