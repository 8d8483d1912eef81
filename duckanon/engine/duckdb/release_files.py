"""The files of a release: written by DuckDB, and read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from duckanon.engine.duckdb.client_errors import explained
from duckanon.engine.duckdb.files import (
    NOT_IN_LINES,
    copy_options,
    escaped,
    inside,
    line_options,
    lines_inside,
    read_back,
    text,
    written,
)
from duckanon.engine.types import Column
from duckanon.policy import Release

if TYPE_CHECKING:
    from duckanon.engine.workbench import Workbench


class ReleaseFiles:
    """Parquet and CSV files, and folders of them."""

    not_in_lines = NOT_IN_LINES  # signs: a file that has one of them within a line cannot be read by its lines

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench

    def write(
        self, query: exp.Query, columns: list[Column], path: Path, release: Release, metadata: dict[str, str]
    ) -> None:
        """The rows of a query, which has these columns."""
        rows, options = query.sql(self.workbench.dialect, identify=True), copy_options(release, metadata)
        if release.options.escape_formulas:
            rows = f"SELECT {written(columns, release)} FROM ({rows})"
        # DuckDB 2.0 leaves out of the dictionary of a file what no row shows. Of several threads that find out what is
        # shown one may undo what another has found: a label comes out as the empty text, in one of twenty files with
        # ten thousand labels, and no two files are the same.
        from_dictionaries = release.kind == "parquet" and any(c.type.is_enumeration for c in columns)
        with self._one_thread() if release.options.partition_by or from_dictionaries else nullcontext():
            self.workbench.run(f"COPY ({rows}) TO {text(str(path))} ({options})", "the release")

    def write_lines(self, lines: exp.Query, path: Path, release: Release) -> None:
        """The rows of a query, each of which is a line."""
        rows = lines.sql(self.workbench.dialect, identify=True)
        self.workbench.run(f"COPY ({rows}) TO {text(str(path))} ({line_options(release)})", "the release, by its lines")

    def define_lines(self, name: exp.Table, path: Path, release: Release) -> None:
        """A view of the lines of a file: line."""
        self.workbench.define_view(name, lines_inside(path, release), temporary=True)

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Several threads would write the rows of a partition in whatever order they come by, too; and none is
        faster."""
        ((threads,),) = self.workbench.fetch("SELECT current_setting('threads')")
        self.workbench.run("SET threads = 1")
        try:
            yield
        finally:
            # Outside of the transaction, which an error has ended: the setting is that of all connections.
            with suppress(duckdb.Error), self.workbench.connection.cursor() as apart:
                apart.execute(f"SET threads = {threads}")

    def define(self, name: exp.Table, path: Path, release: Release, columns: list[Column]) -> None:
        self.workbench.define_view(name, read_back(path, release, columns), temporary=True)

    def columns(self, path: Path, release: Release) -> list[str]:
        with explained(f"release.to: {path} cannot be read as {release.kind}"):
            return [row[0] for row in self.workbench.fetch(f"DESCRIBE {inside(path, release)}")]

    def mark(self, path: Path) -> str | None:
        if not path.is_file():
            return None
        try:
            rows = self.workbench.connection.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'duckanon'", [escaped(path)]
            ).fetchall()
        except duckdb.Error:
            return None
        return rows[0][0] if rows else None
