"""Sources that are no table: a query of the user's, or files."""

from __future__ import annotations

import secrets
from typing import Any

import duckdb
from sqlglot import exp

from duckanon.engine.duckdb.client_errors import explained, first_line, translated
from duckanon.engine.duckdb.source_csv import csv_columns, dialect, interpret, later_texts, texts
from duckanon.engine.duckdb.source_csv_faults import csv_fault
from duckanon.engine.duckdb.source_files import SourceFiles, find_files, must_agree
from duckanon.engine.relation import ReadFile, Reading
from duckanon.engine.workbench import Workbench
from duckanon.errors import EngineError, Message
from duckanon.policy import CsvOptions
from duckanon.query.expressions import table


class Sources:
    """Makes views that hold the source's rows."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench

    def define_query(self, name: exp.Table, query: str, temporary: bool) -> None:
        try:
            statements = self.workbench.connection.extract_statements(query)
        except duckdb.Error as error:
            raise EngineError(f"source.query: cannot be parsed: {first_line(error)}") from error
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise EngineError("source.query: must be one SELECT statement")
        if statements[0].named_parameters:
            raise EngineError("source.query: must not have parameters")
        with explained("source.query"):
            self.workbench.define_view(name, statements[0].query.rstrip().rstrip(";") + "\n", temporary)

    def define_file(self, name: exp.Table, path: str, reading: Reading, rows: exp.Table | None) -> ReadFile:
        files = find_files(path, self.workbench.fetch)
        with explained(f"source.file: {path}"):
            if files.reader == "read_csv":
                return self._define_csv(name, files, reading, rows)
            if reading.csv != CsvOptions():
                raise EngineError("source.csv: is for CSV files only")
            must_agree(files, self.workbench.fetch)
            self.workbench.define_view(name, files.reading(reading.texts), rows is not None)
        return ReadFile()

    def _define_csv(self, name: exp.Table, files: SourceFiles, reading: Reading, rows: exp.Table | None) -> ReadFile:
        bench, fetch = self.workbench, self.workbench.fetch
        held = rows or table(f"{name.name} {secrets.token_hex(4)}")
        kept = held.sql(bench.dialect, identify=True)
        said = None
        try:
            said = dialect(files, reading.csv, fetch)
            inside = must_agree(files, fetch, lambda path: csv_columns(path, said, fetch))
            bench.run(f"CREATE TEMP TABLE {kept} AS {texts(files, said)}", "the source, every field a text")
        except EngineError as error:
            if not isinstance(error.__cause__, duckdb.InvalidInputException):
                raise
            fault = csv_fault(files, said, error, self._fetch_apart)
            raise EngineError(Message.of(f"source.file: {files.named}: ", fault)) from error.__cause__
        shown = [c.name for c in bench.columns(held)]  # with the folders' columns
        found = interpret(kept, shown, reading, fetch)
        if rows is not None:
            bench.define_view(name, found.query(kept, shown, strict=True), temporary=True)
        else:
            bench.run(f"DROP TABLE {kept}")
            later = later_texts(files, said, inside, shown)
            bench.define_view(name, found.query(f"({later})", shown, strict=False), temporary=False)
        return ReadFile(found.misfits, found.texts(shown))

    def _fetch_apart(self, query: str) -> list[tuple[Any, ...]]:
        """Outside of the transaction, which an error has ended."""
        with translated(query), self.workbench.connection.cursor() as apart:
            return apart.execute(query).fetchall()
