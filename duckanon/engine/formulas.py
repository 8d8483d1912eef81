"""Cells that a spreadsheet would run as formulas: an apostrophe makes them texts, and is taken off again."""

from __future__ import annotations

import re

from duckanon.engine import Column
from duckanon.engine.names import quoted
from duckanon.engine.types import is_number
from duckanon.query.expressions import literal

# With apostrophes in front one more is written, so that what is read back is what was there.
_BEGINS = r"^'*[=+\-@\t\r]"
_WRITTEN = r"^'+[=+\-@\t\r]"
_NUMBER = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"


def like_a_formula(cell: str) -> bool:
    return re.match(_BEGINS, cell) is not None and re.fullmatch(_NUMBER, cell) is None


def may_be_formulas(column: Column) -> bool:
    """A number, and a text that is one, stays what it is."""
    return not is_number(column.type)


def escaped_cell(column: Column) -> str:
    cell = f"CAST({quoted(column.name)} AS VARCHAR)"
    formula = f"regexp_matches({cell}, {_text(_BEGINS)}) AND NOT regexp_full_match({cell}, {_text(_NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {cell} ELSE {cell} END AS {quoted(column.name)}"


def unescaped_cell(column: Column) -> str:
    cell = quoted(column.name)
    plain = f"CASE WHEN regexp_matches({cell}, {_text(_WRITTEN)}) THEN substr({cell}, 2) ELSE {cell} END"
    return f"CAST({plain} AS {column.type}) AS {cell}"


def _text(pattern: str) -> str:
    return literal(pattern).sql("duckdb")
