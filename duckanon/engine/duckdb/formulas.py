"""Cells that a spreadsheet would run as formulas: an apostrophe makes them texts, and is taken off again."""

from __future__ import annotations

from duckanon.engine.types import Column
from duckanon.query.expressions import literal
from duckanon.query.formulas import FORMULA, NUMBER
from duckanon.query.names import quoted

_WRITTEN = r"^'+[=+\-@\t\r]"


def may_be_formulas(column: Column) -> bool:
    """A number, and a text that is one, stays what it is."""
    return not column.type.is_number


def escaped_cell(column: Column) -> str:
    cell = f"CAST({quoted(column.name)} AS VARCHAR)"
    formula = f"regexp_matches({cell}, {_text(FORMULA)}) AND NOT regexp_full_match({cell}, {_text(NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {cell} ELSE {cell} END AS {quoted(column.name)}"


def unescaped_cell(column: Column) -> str:
    cell = quoted(column.name)
    plain = f"CASE WHEN regexp_matches({cell}, {_text(_WRITTEN)}) THEN substr({cell}, 2) ELSE {cell} END"
    return f"CAST({plain} AS {column.type}) AS {cell}"


def _text(pattern: str) -> str:
    return literal(pattern).sql("duckdb")
