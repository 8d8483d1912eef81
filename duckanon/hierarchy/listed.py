"""Hierarchies that are listed: a CSV file or a table of the warehouse, one column per level."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from duckanon.engine import Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, HierarchyError
from duckanon.hierarchy.checked import Unchecked
from duckanon.hierarchy.matching import Matching
from duckanon.policy import MappingFile, MappingTable
from duckanon.query.expressions import column, sql
from duckanon.query.names import folded


def list_file(spec: MappingFile, index: int, where: str, scratch: Scratch) -> Unchecked:
    shape = _shape(spec.path, where)
    name = scratch.adopt("TABLE", f"listing_{index}")
    try:
        scratch.workbench.define_mapping(name, spec.path, shape.width, shape.delimiter, shape.header)
    except EngineError as error:
        what = "not every row has the same number of columns, or the file is not UTF-8 text"
        raise HierarchyError([Fault(where, f"{spec.path}: {what}")]) from error
    matching = Matching(shape.pattern, numbers=spec.ready_made)
    return Unchecked(name, shape.width - 1, where, str(spec.path), matching, fillable=True)


def list_table(spec: MappingTable, index: int, where: str, warehouse: Warehouse, scratch: Scratch) -> Unchecked:
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
    return Unchecked(name, height, where, spec.table)


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
