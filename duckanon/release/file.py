"""A release that is a Parquet or CSV file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sqlglot import exp

from duckanon.engine import Engine, Relation
from duckanon.errors import ReleaseError
from duckanon.ledger.fingerprints import files_fingerprint
from duckanon.policy import Policy
from duckanon.release.mark import made_by, metadata_of
from duckanon.release.place import Place, remove, to_disk
from duckanon.scratch import Scratch
from duckanon.source import BoundSource


class FileTarget:
    """Written beside its place, read back, then renamed."""

    def __init__(self, policy: Policy, engine: Engine, replace: bool) -> None:
        self.policy, self.engine = policy, engine
        self.release = policy.release
        self.place = Place(policy, engine)
        self.path, self.unfinished = self.place.path, self.place.unfinished
        self._must_fit()
        self.place.must_be_writable()
        self.place.must_hold_no_input()
        if self.path.exists() and not replace and not self._ours():
            raise ReleaseError(
                f"release.to: {self.path} exists and was not made by this policy; "
                "choose another name, or replace it with --replace"
            )

    def _must_fit(self) -> None:
        if self.path.is_dir():
            raise ReleaseError(f"release.to: {self.path} is a folder; name a file, or see partition_by")

    @property
    def _sidecar(self) -> Path:
        return sidecar_of(self.path)

    def _ours(self) -> bool:
        if self.release.kind == "parquet":
            return made_by(self.engine.read_mark(self.path), self.policy)
        known = read_json(self._sidecar)
        return _fingerprint(self.path) in known.get("files", []) and made_by(known.get("mark"), self.policy)

    def must_not_be(self, source: BoundSource) -> None:
        """A file is no table; that it is no input was checked at the start."""

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        self.place.sweep()
        self.engine.write_file(query, self.unfinished, self.release, metadata_of(mark))
        shape = scratch.view("shape", query, "")
        name = scratch.adopt("VIEW", "written")
        self.engine.define_release(name, self.unfinished, self.release, self.engine.columns(shape))
        if self.release.kind == "parquet":
            return Relation((name.name,), "view")
        # A text is parsed once, however many questions are asked of it.
        read = scratch.table("read", exp.select("*").from_(name), "the release, read back")
        return Relation((read.name,), "table")

    def fingerprint(self, released: Relation) -> str:
        return files_fingerprint(self.unfinished)

    def standing(self) -> str | None:
        try:
            return files_fingerprint(self.path)
        except OSError:
            return None

    def settle(self, mark: str) -> None:
        try:
            self._swap_in(mark)
            to_disk(self.path.parent)
        except OSError as error:
            raise ReleaseError(f"release.to: {self.path} cannot be written: {error.strerror or error}") from error
        finally:
            self.abandon()

    def _swap_in(self, mark: str) -> None:
        to_disk(self.unfinished)
        if self.release.kind == "csv":
            self._say_whose(mark)
        os.replace(self.unfinished, self.path)

    def _say_whose(self, mark: str) -> None:
        """Before the file takes its place, so that it is ours at every moment: the old one and the new one."""
        files = [_fingerprint(file) for file in (self.unfinished, self.path) if file.exists()]
        if self.path.exists() and not self._ours():
            files = files[:1]
        written = self.unfinished.with_suffix(".sidecar")
        try:
            written.write_text(json.dumps({"files": files, "mark": mark}), encoding="utf-8")
            os.replace(written, self._sidecar)
        except OSError:
            written.unlink(missing_ok=True)
            raise

    def abandon(self) -> None:
        """Leaves nothing beside the release: neither what did not become one, nor what it replaced, nor what a killed
        run has left."""
        remove(self.unfinished)
        self.place.sweep()


def sidecar_of(path: Path) -> Path:
    """A CSV file cannot say whose it is; a hidden file beside it does."""
    return path.with_name(f".{path.name}.duckanon")


def read_json(path: Path) -> dict[str, Any]:
    """A small document of ours; empty when there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _fingerprint(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
