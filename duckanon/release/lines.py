"""A CSV release by its lines: rows that show the same are one line, which is put together, and parsed, once for all of
them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Column, Relation
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import NUMBER_OF_ROWS
from duckanon.policy import Release
from duckanon.query.csv_text import QUOTE, CsvText
from duckanon.query.expressions import any_of, column, literal, sql, text_of
from duckanon.query.names import free_name
from duckanon.query.steps import select, united
from duckanon.recoding import Recoding
from duckanon.recoding.rows import AS_THEY_ARE, CsvCells, line_counts, repeated_lines

# Lines are parsed singly where each stands for so many rows on average; else the file is parsed as it is.
_REPEATED = 2


def can_be_lines(release: Release, recoding: Recoding, source: BoundSource) -> bool:
    """Not where rows are read from the source once more, nor where cells are changed on their way. The line of a single
    cell that is empty would be no line."""
    options = release.options
    plain = release.kind == "csv" and not options.partition_by and not options.escape_formulas
    return plain and recoding.shown.aside is None and len(source.released) > 1


class CsvLines:
    """The lines of one release: written, and read back."""

    def __init__(self, release: Release, recoding: Recoding, source: BoundSource, scratch: Scratch) -> None:
        self.release, self.scratch, self.rows = release, scratch, recoding.rows
        self.csv = CsvText(release.options.delimiter, release.options.null)
        self.columns = scratch.workbench.shape(recoding.query(source, AS_THEY_ARE))
        cells = recoding.shown_cells(source, CsvCells(scratch, self.csv))
        counts = line_counts(cells, len(self.columns), self.csv)
        self._lines = scratch.table("lines", counts, "the lines of the release")

    @property
    def query(self) -> exp.Query:
        """All lines of the file; the first names its columns."""
        lines = repeated_lines(self._lines)
        if not self.release.options.header:
            return lines
        names = [self.csv.cell(literal(c.name)) for c in self.columns]
        return united([select(line=self.csv.line(names)), exp.select("line").from_(lines.subquery("repeated"))])

    def read(self, path: Path, apart: Path) -> Relation | None:
        """The rows of the file at `path`, those that show the same once, with their number; None: it is to be parsed
        as it is. The lines are parsed as a file of their own, which is written `apart`."""
        scratch, bench, singly = self.scratch, self.scratch.workbench, self._can_be_read_singly()
        scratch.drop(self._lines)
        if not singly:
            return None
        found = scratch.adopt("VIEW", "written_lines")
        bench.files.define_lines(found, path, self.release)
        counted = exp.select("line", sql("COUNT(*)").as_("n")).from_(found).group_by("line")
        read = scratch.table("read_lines", counted, "the lines of the release, read back")
        return self._parsed(read, apart) if self._are_rows(read) else None

    def _can_be_read_singly(self) -> bool:
        """Where lines are few, and no row goes on in the next."""
        bench, line = self.scratch.workbench, column("line")
        strange = any_of(
            sql("CONTAINS(:line, :sign)", line=line, sign=literal(sign)) for sign in bench.files.not_in_lines
        )
        asked = exp.select(sql("COUNT(*)"), sql("COUNT(CASE WHEN :strange THEN 1 END)", strange=strange))
        ((lines, odd),) = bench.fetch(asked.from_(self._lines), "how many lines there are")
        return bool(lines * _REPEATED <= self.rows) and not odd

    def _parsed(self, lines: exp.Table, apart: Path) -> Relation:
        files, options = self.scratch.workbench.files, self.release.options
        bare = replace(self.release, options=replace(options, header=False, compression=None))
        numbered = select(line=self.csv.line([text_of(column("n")), column("line")])).from_(lines)
        files.write_lines(numbered, apart, bare)
        copies = free_name("n", (c.name for c in self.columns))
        parsed = self.scratch.adopt("VIEW", "parsed_lines")
        files.define(parsed, apart, bare, [Column(copies, NUMBER_OF_ROWS), *self.columns])
        read = self.scratch.table("read", exp.select("*").from_(parsed), "the release, read back")
        self.scratch.drop(lines)
        return Relation((read.name,), "table", copies=copies)

    def _are_rows(self, lines: exp.Table) -> bool:
        """Whether every line is a row, and none is missing: also of the file as it is now. A row goes on in the next
        line within quotes only, and then its first line has an odd number of them."""
        quotes = sql("LENGTH(line) - LENGTH(REPLACE(line, :quote, ''))", quote=literal(QUOTE))
        asked = exp.select(sql("SUM(n)"), sql("COUNT(CASE WHEN (:quotes) % 2 = 1 THEN 1 END)", quotes=quotes))
        ((rows, parts),) = self.scratch.workbench.fetch(asked.from_(lines), "verify: is a line a row?")
        return int(rows or 0) == self.rows and not parts
