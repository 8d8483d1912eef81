"""Hierarchies that are listed: a CSV file or a table of the warehouse, one column per level."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from duckanon.engine import Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, HierarchyError, Message, examples_of
from duckanon.hierarchy.matching import EXACTLY, Matching
from duckanon.policy import MappingFile, MappingTable
from duckanon.query.expressions import any_of, column, sql, text_of
from duckanon.query.names import folded


@dataclass(frozen=True)
class Listing:
    """A temporary table level_0 … level_h of distinct texts that forms a tree under one top."""

    table: exp.Table
    height: int
    top: str
    values: int
    matching: Matching = EXACTLY
    unfilled: str = ""  # what of it is left to fill in, in words; such values are not among its own

    def lacks(self, value: exp.Expr) -> exp.Expr:
        """Whether a value that is not NULL finds no row."""
        return not_listed(self.matching.key(text_of(value)), self.table)


def list_file(spec: MappingFile, index: int, where: str, scratch: Scratch) -> Listing:
    shape = _shape(spec.path, where)
    matching = Matching(shape.pattern, numbers=spec.ready_made)
    name = scratch.adopt("TABLE", f"listing_{index}")
    try:
        scratch.workbench.define_mapping(name, spec.path, shape.width, shape.delimiter, shape.header)
    except EngineError as error:
        what = "not every row has the same number of columns, or the file is not UTF-8 text"
        raise HierarchyError([Fault(where, f"{spec.path}: {what}")]) from error
    unfilled = _leave_out_unfilled(scratch.workbench, name, shape, spec.path)
    try:
        listing = _checked(scratch.workbench, name, shape.width - 1, where, str(spec.path))
    except HierarchyError:
        if unfilled:
            raise unfilled_fault(unfilled, where) from None
        raise
    return replace(listing, matching=matching, unfilled=unfilled)


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


@dataclass(frozen=True)
class _Shape:
    """Of a file, as its first record tells it."""

    width: int
    delimiter: str
    header: bool
    pattern: str | None  # of a list of codes, in the place of level_0


def _shape(path: Path, where: str) -> _Shape:
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
    first, *others = cells
    header = others == [f"level_{level}" for level in range(1, len(cells))] and (
        first == "level_0" or first.startswith("^")
    )
    pattern = first if header and first.startswith("^") else None
    if pattern is not None:
        _must_be_plain(pattern, path, where)
    return _Shape(len(cells), delimiter, header, pattern)


def _must_be_plain(pattern: str, path: Path, where: str) -> None:
    """Made of what every engine takes for the same: digits, letters, sets of them, groups, and how many there are; and
    of the whole code, not of one that begins so."""
    plain = re.fullmatch(r"\^[A-Za-z0-9 (|){,}?\[\].-]+\$", pattern) and not re.search(r"\(\?|\?\?|\}\?", pattern)
    try:
        groups = re.compile(pattern).groups
    except re.error:
        groups = 0
    if not plain or not groups or "|" in _outside_groups(pattern):
        like = "like ^([A-Z][0-9]{2})([.][0-9])?$, with what is listed in the first group"
        raise HierarchyError([Fault(where, f"{path}: the pattern of its codes must be {like}")])


def _outside_groups(pattern: str) -> str:
    inner = re.sub(r"\([^()]*\)", "", pattern)
    return inner if inner == pattern else _outside_groups(inner)


def _leave_out_unfilled(workbench: Workbench, name: exp.Table, shape: _Shape, path: Path) -> str:
    """A file that was proposed has values whose groups somebody has yet to name. Says how many, and leaves them out."""
    levels = range(0 if shape.pattern else 1, shape.width)  # the empty text is a value, but no code
    empty = any_of(sql(":level = ''", level=column(f"level_{level}")) for level in levels)
    ((values,),) = workbench.fetch(exp.select("COUNT(DISTINCT level_0)").from_(name).where(empty))
    if not values:
        return ""
    workbench.execute(exp.delete(name, where=empty), "values that are left to fill in")
    many = "1 value is" if values == 1 else f"{values:,} values are"
    return f"{path}: {many} left to fill in"


def unfilled_fault(unfilled: str, where: str) -> HierarchyError:
    remedy = 'write the groups of each into its empty cells, or set privacy.unmapped = "suppress" or "top"'
    return HierarchyError([Fault(where, unfilled, remedy)])


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


def not_listed(key: exp.Expr, listing: exp.Table, name: str = "level_0") -> exp.Expr:
    """Whether the listing has no such text in its column `name`. A NULL there would make every value a known one."""
    known = exp.select(column(name)).from_(listing.copy()).where(sql(":name IS NOT NULL", name=column(name)))
    return exp.not_(exp.In(this=key.copy(), query=known.subquery()))


def mapping_query(domain: exp.Table, listing: Listing) -> exp.Query:
    """value, n and per level label_l, order_l, size_l: the listed parents of each source value. A size is that of the
    list or, of codes, that of the values which are there."""
    sizes, labels = [], list[exp.Expr]()
    for level in range(1, listing.height):
        size = sql("COUNT(*) OVER (PARTITION BY :label)", label=column(f"level_{level}"))
        sizes.append(size.as_(f"size_{level}"))
        label = column(f"level_{level}", "listed")
        labels += [label.as_(f"label_{level}"), label.as_(f"order_{level}"), column(f"size_{level}", "listed")]
    source = exp.alias_(domain, "data", table=True)
    on = exp.EQ(this=listing.matching.key(text_of(column("value", "data"))), expression=column("level_0", "listed"))
    query = exp.select("data.value", "data.n", *labels)
    if listing.matching.pattern is None:
        sized = exp.select("*", *sizes).from_(listing.table)
        return query.from_(source).join(sized.subquery("listed"), on=on, join_type="inner")
    listed = exp.alias_(listing.table, "listed", table=True)
    joined = exp.select("data.value", "data.n", "listed.*").from_(source).join(listed, on=on, join_type="inner")
    sized = exp.select("*", *sizes).from_(joined.subquery("joined"))
    named = exp.alias_(sized.subquery(), "listed", table=True)
    return exp.select("listed.value", "listed.n", *labels).from_(named)
