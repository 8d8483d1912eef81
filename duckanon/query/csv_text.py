"""Cells and lines as they stand in a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.expressions import literal, sql, text_of

QUOTE = '"'
LINE_END = "\n"
_SIGNS = '\n\r#"'  # which, beside the delimiter, are written within quotes only


@dataclass(frozen=True)
class CsvText:
    """How a file says its cells, as DuckDB writes them: the same bytes."""

    delimiter: str
    null: str

    def cell(self, shown: exp.Expr) -> exp.Expr:
        """The text of a value; NULL stays NULL."""
        text, signs = text_of(shown), "".join(f"\\x{{{ord(sign):x}}}" for sign in _SIGNS + self.delimiter)
        return sql(
            """CASE WHEN :text = :null OR REGEXP_MATCHES(:text, :signs)
            THEN :quote || REPLACE(:text, :quote, :quote || :quote) || :quote ELSE :text END""",
            text=text,
            null=literal(self.null),
            signs=literal(f"[{signs}]"),
            quote=literal(QUOTE),
        )

    def line(self, cells: Sequence[exp.Expr]) -> exp.Expr:
        """Of the texts of its cells."""
        null, delimiter = literal(self.null), literal(self.delimiter)
        parts = [sql("COALESCE(:cell, :null)", cell=cell, null=null) for cell in cells]
        line = parts[0]
        for part in parts[1:]:
            line = exp.DPipe(this=exp.DPipe(this=line, expression=delimiter.copy()), expression=part)
        return line
