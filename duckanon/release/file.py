"""A release that is a Parquet or CSV file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, PolicyError, ReleaseError
from duckanon.policy import Policy, Release
from duckanon.query.counts import RowCounts
from duckanon.query.formulas import like_a_formula
from duckanon.recoding import Recoding
from duckanon.recoding.rows import AS_THEY_ARE, Dictionaries
from duckanon.release.disk_place import DiskPlace, remove, to_disk
from duckanon.release.fingerprints import files_fingerprint
from duckanon.release.lines import CsvLines, can_be_lines
from duckanon.release.mark import made_by, metadata_of
from duckanon.release.permissions import pass_on

_MANY = 200_000  # rows: fewer are written in the time that it takes to make dictionaries


class FileTarget:
    """Written beside its place, read back, then renamed."""

    def __init__(self, policy: Policy, warehouse: Warehouse, replace: bool) -> None:
        self.policy, self.workbench = policy, warehouse.workbench
        self.release = policy.release
        self.place = DiskPlace(policy, warehouse)
        self.path = self.place.path
        self.replace, self._usual = replace, 0o600
        self._columns: tuple[str, ...] = ()
        self._sorted: exp.Table | None = None
        self._lines: CsvLines | None = None
        self._must_fit()
        self.place.must_be_writable()
        self.place.must_hold_no_input()
        self._must_be_free()

    def _must_be_free(self) -> None:
        if self.path.exists() and not self.replace and not self._ours():
            why = "is not as this policy left it" if self._was_ours() else "exists and was not made by this policy"
            raise ReleaseError(f"release.to: {self.path} {why}; choose another name, or replace it with --replace")

    def _must_fit(self) -> None:
        if self.path.is_dir():
            raise ReleaseError(f"release.to: {self.path} is a folder; name a file, or see partition_by")

    @property
    def home(self) -> Engine:
        return self.workbench

    @property
    def unfinished(self) -> Path:
        return self.place.unfinished

    @property
    def _marked_inside(self) -> bool:
        """Whether the release itself says whose it is; else a file beside it does."""
        return self.release.kind == "parquet"

    def _ours(self) -> bool:
        if self._marked_inside:
            return made_by(self.workbench.files.mark(self.path), self.policy)
        known = read_json(sidecar_of(self.path))
        states = known.get("files")
        return made_by(known.get("mark"), self.policy) and isinstance(states, list) and any(map(self._is_now, states))

    def _was_ours(self) -> bool:
        """Whether a release of this policy stood here, which somebody has changed since."""
        return made_by(read_json(sidecar_of(self.path)).get("mark"), self.policy)

    def _state(self, path: Path) -> Any:
        """By what a release is known again."""
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]

    def _is_now(self, state: Any) -> bool:
        return bool(self._state(self.path) == state)

    def must_not_be(self, source: BoundSource) -> None:
        """A file is no table; that it is no input was checked at the start. Its columns name themselves in it."""
        self._columns = source.released
        named = [name for name in source.released if like_a_formula(name)]
        if self.release.options.escape_formulas and named:
            what, remedy = f"'{named[0]}' begins like a formula itself", "name it otherwise in source.query"
            raise PolicyError([Fault("release.escape_formulas: column", what, remedy)], self.policy.file)

    def query(self, recoding: Recoding, source: BoundSource, mark: str, scratch: Scratch) -> exp.Query:
        """Many rows are written much faster with their labels as dictionaries (Parquet), or by their lines (CSV)."""
        if recoding.rows <= _MANY:
            return recoding.query(source, AS_THEY_ARE)
        if not can_be_lines(self.release, recoding, source):
            rows = recoding.query(source, Dictionaries(scratch))
            if recoding.shown.aside is None or self.release.kind != "parquet":
                return rows
            # One thread writes dictionaries; several sort what has not been counted.
            self._sorted = scratch.table("sorted_rows", rows, "the rows of the release, sorted")
            return exp.select("*").from_(self._sorted)
        self._lines = CsvLines(self.release, recoding, source, scratch)
        return self._lines.query

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        self.place.sweep()
        self._usual = self._begin()
        files = self.workbench.files
        columns = self._lines.columns if self._lines else scratch.workbench.shape(query)
        if self._lines:
            files.write_lines(query, self.unfinished, self.release)
            if read := self._read_lines(self._lines):
                return read
        else:
            files.write(query, columns, self.unfinished, self.release, metadata_of(mark))
        name = scratch.adopt("VIEW", "written")
        files.define(name, self.unfinished, self.release, columns)
        if self._sorted is not None:
            scratch.drop(self._sorted)
        if self.release.kind == "parquet":
            return Relation((name.name,), "view")
        # A text is parsed once, however many questions are asked of it.
        parsed = scratch.table("read", exp.select("*").from_(name), "the release, read back")
        return Relation((parsed.name,), "table")

    def _read_lines(self, lines: CsvLines) -> Relation | None:
        with self._written():
            apart = self.place.begin_beside("lines")
        try:
            return lines.read(self.unfinished, apart)
        finally:
            remove(apart)

    def fingerprint(self, released: Relation, counts: RowCounts, counted: Engine) -> str:
        return files_fingerprint(self.unfinished)

    def _begin(self) -> int:
        with self._written():
            return self.place.begin(folder=bool(self.release.options.partition_by))

    @contextmanager
    def _written(self) -> Iterator[None]:
        """What the disk refuses is an error of the release's."""
        try:
            yield
        except OSError as error:
            raise ReleaseError(f"release.to: {self.path} cannot be written: {error.strerror or error}") from error

    def let_in(self, mark: str) -> None:
        """The disk has no part in the transaction."""

    def settle(self, mark: str) -> None:
        """Whoever came to this place since it was found free keeps it."""
        try:
            with self._written():
                self._must_fit()
                self._must_be_free()
                self._to_disk()
                pass_on(self.path, self.unfinished, self._usual)
                if not self._marked_inside:
                    self._say_whose(mark)
                self._swap_in()
                to_disk(self.path.parent)
        finally:
            self.abandon()

    def _to_disk(self) -> None:
        to_disk(self.unfinished)

    def _swap_in(self) -> None:
        os.replace(self.unfinished, self.path)

    def _say_whose(self, mark: str) -> None:
        """Before the release takes its place, so that it is ours at every moment: the old one and the new one. It names
        files of the release, so it is open to nobody to whom the release is not."""
        known = [self.unfinished, self.path] if self.path.exists() and self._ours() else [self.unfinished]
        states = [self._state(path) for path in known]
        how = how_written(self.release, self._columns)
        said = json.dumps({"files": states, "mark": mark, "written": how}, ensure_ascii=False)
        written = self.place.begin_beside("sidecar")
        try:
            written.write_text(said, encoding="utf-8")
            written.chmod(self.unfinished.stat().st_mode & 0o666)
            to_disk(written)
            os.replace(written, sidecar_of(self.path))
        except OSError:
            written.unlink(missing_ok=True)
            raise

    def abandon(self) -> None:
        """Leaves nothing beside the release: neither what did not become one, nor what it replaced, nor what a killed
        run has left."""
        remove(self.unfinished)
        self.place.let_go()
        self.place.sweep()


def how_written(release: Release, columns: tuple[str, ...]) -> dict[str, Any]:
    """What a reader of CSV files must know: its options and, where the files do not name their columns, these."""
    options = release.options
    told = {name: getattr(options, name) for name in ("delimiter", "header", "null", "compression", "escape_formulas")}
    return told | {"columns": [] if options.header else list(columns)}


def sidecar_of(path: Path) -> Path:
    """A CSV file or a folder cannot say whose it is; a hidden file beside it does."""
    return path.with_name(f".{path.name}.duckanon")


def read_json(path: Path) -> dict[str, Any]:
    """A small document of ours; empty when there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
