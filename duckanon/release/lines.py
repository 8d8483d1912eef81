"""A CSV release by its lines: rows that show the same are one line, which is put together, and parsed, once for all of
them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.engine import Column, Relation
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import NUMBER_OF_ROWS
from duckanon.errors import EngineError
from duckanon.policy import Release
from duckanon.query.csv_text import CsvText
from duckanon.query.expressions import any_of, column, literal, sql
from duckanon.query.functions import row_hash, wide
from duckanon.query.names import free_name
from duckanon.query.steps import select, united
from duckanon.recoding import Recoding
from duckanon.recoding.rows import AS_THEY_ARE, CsvCells, line_counts, repeated_lines

# Lines are parsed singly where each stands for so many rows on average; else the file is parsed as it is.
_REPEATED = 2
# Bytes of a line: DuckDB reads some two million, the number before it included.
_LONGEST = 1_000_000


def can_be_lines(release: Release, recoding: Recoding, source: BoundSource) -> bool:
    """Not where rows are read from the source once more, nor where cells are changed on their way; where each person
    has a pseudonym, lines hardly repeat. The line of a single cell that is empty would be no line. A delimiter of
    several bytes also makes DuckDB write other cells within quotes than those that hold it."""
    options = release.options
    plain = release.kind == "csv" and not options.partition_by and not options.escape_formulas
    plain = plain and options.delimiter.isascii() and not any(isinstance(kept, Pseudonym) for kept in source.keep)
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
        scratch = self.scratch
        written = self._known(self._lines) if self._can_be_read_singly() else None
        scratch.drop(self._lines)
        if written is None:
            return None
        found = scratch.adopt("VIEW", "written_lines")
        scratch.workbench.files.define_lines(found, path, self.release)
        counted = exp.select("line", sql("COUNT(*)").as_("n")).from_(found).group_by("line")
        read = scratch.table("read_lines", counted, "the lines of the release, read back")
        if self._known(read) != written:
            raise EngineError("the file does not hold the lines that were written to it: nothing can be trusted")
        return self._parsed(read, apart)

    def _can_be_read_singly(self) -> bool:
        """Where lines are few, none is long, and no row goes on in the next: that of the header neither."""
        bench, line = self.scratch.workbench, column("line")
        strange = any_of(
            sql("CONTAINS(:line, :sign)", line=line, sign=literal(sign)) for sign in bench.files.not_in_lines
        )
        odd = exp.paren(any_of([strange, sql("STRLEN(line) > :longest", longest=literal(_LONGEST))]))
        asked = exp.select(sql("COUNT(*)"), sql("COUNT(CASE WHEN :odd THEN 1 END)", odd=odd))
        ((lines, others),) = bench.fetch(asked.from_(self._lines), "how many lines there are")
        header = "".join(c.name for c in self.columns)
        plain = not others and not any(sign in header for sign in bench.files.not_in_lines)
        return bool(lines * _REPEATED <= self.rows) and plain

    def _known(self, lines: exp.Table) -> tuple[Any, ...]:
        """By what lines, each with its number, are known again in any order."""
        sums = exp.select(sql("SUM(n)"), sql("SUM(:hash * n)", hash=wide(row_hash([column("line")]))))
        return self.scratch.workbench.fetch(sums.from_(lines), "verify: the lines of the release")[0]

    def _parsed(self, lines: exp.Table, apart: Path) -> Relation:
        files, options = self.scratch.workbench.files, self.release.options
        bare = replace(self.release, options=replace(options, header=False, compression=None))
        # A number is a cell, too: one that is written as the text for NULL stands within quotes.
        numbered = select(line=self.csv.line([self.csv.cell(column("n")), column("line")])).from_(lines)
        files.write_lines(numbered, apart, bare)
        copies = free_name("n", (c.name for c in self.columns))
        parsed = self.scratch.adopt("VIEW", "parsed_lines")
        files.define(parsed, apart, bare, [Column(copies, NUMBER_OF_ROWS), *self.columns])
        read = self.scratch.table("read", exp.select("*").from_(parsed), "the release, read back")
        self.scratch.drop(lines)
        return Relation((read.name,), "table", copies=copies)
