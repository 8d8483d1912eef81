"""A release that is a folder of files, one for each combination of its partition columns' values."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import replace as changed
from pathlib import Path
from urllib.parse import quote

from sqlglot import exp

from duckanon.engine import Relation
from duckanon.engine.names import folded
from duckanon.errors import Fault, PolicyError, ReleaseError
from duckanon.expressions import column, sql, text_of
from duckanon.policy import Policy, Release
from duckanon.release.file import FileTarget, read_json
from duckanon.release.mark import made_by
from duckanon.release.place import remove, to_disk
from duckanon.scratch import Scratch
from duckanon.source import BoundSource

MARK = ".duckanon"  # in the folder: whose it is, and which files are its own
_MOST_FOLDERS = 10_000
_LONGEST_NAME = 255  # bytes, on all common file systems
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


class FolderTarget(FileTarget):
    """Written beside its place, read back, then swapped with what is there."""

    def _must_fit(self) -> None:
        self.place.repair()
        if self.path.exists() and not self.path.is_dir():
            raise ReleaseError(f"release.to: {self.path} is a file; with partition_by it must be a folder")

    def _ours(self) -> bool:
        """A folder of this policy without strange files in it; an empty one is nobody's."""
        own = read_json(self.path / MARK)
        found = {name: size for name, size in _sizes(self.path).items() if name != MARK}
        if not found and not own:
            return True
        known = own.get("files")
        return isinstance(known, dict) and made_by(own.get("mark"), self.policy) and found.items() <= known.items()

    def must_not_be(self, source: BoundSource) -> None:
        self.release = bound_release(self.policy, source)

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        self._must_be_few(query)
        return super().build(self._by_folder(query, scratch), mark, scratch)

    def _must_be_few(self, query: exp.Query) -> None:
        """Every value becomes the name of a folder: there must not be too many, nor any that is too long."""
        parts = self.release.options.partition_by
        distinct = exp.select(*map(column, parts)).distinct().from_(query.subquery("released"))
        lengths = [sql("MAX(LENGTH(URL_ENCODE(:value)))", value=text_of(column(part))) for part in parts]
        counted = exp.select(sql("COUNT(*)"), *lengths).from_(distinct.subquery("folders"))
        ((folders, *longest),) = self.engine.fetch(counted)
        if folders > _MOST_FOLDERS:
            columns = ", ".join(parts)
            what = f"{columns}: {folders:,} folders would be written, at most {_MOST_FOLDERS:,} are possible"
            raise ReleaseError(f"release.partition_by: {what}; partition by columns with fewer values")
        for part, length in zip(parts, longest, strict=True):
            if len(quote(part, safe="")) + 1 + (length or 0) > _LONGEST_NAME:
                raise ReleaseError(
                    f"release.partition_by: {part}: has a value too long for the name of a folder; "
                    "partition by another column"
                )

    def _by_folder(self, query: exp.Query, scratch: Scratch) -> exp.Query:
        """The rows of one file after the other, each sorted by what it shows."""
        shape = scratch.view("columns", query, "")
        first = self.release.options.partition_by
        others = [c.name for c in self.engine.columns(shape) if c.name not in first]
        return exp.select("*").from_(query.subquery("released")).order_by(*map(column, (*first, *others)))

    def _swap_in(self, mark: str) -> None:
        files = _sizes(self.unfinished)
        own = json.dumps({"mark": mark, "files": files}, ensure_ascii=False)
        (self.unfinished / MARK).write_text(own, encoding="utf-8")
        for folder, _, names in os.walk(self.unfinished):
            for name in names:
                to_disk(Path(folder, name))
            to_disk(Path(folder))
        if not self.path.exists():
            os.rename(self.unfinished, self.path)
        elif not _exchanged(self.unfinished, self.path):
            self._replace_in_two_steps()

    def _replace_in_two_steps(self) -> None:
        """Where two folders cannot change places at once. Whoever dies in between is repaired by the next run."""
        os.rename(self.path, self.place.previous)
        try:
            os.rename(self.unfinished, self.path)
        except BaseException:
            if not self.path.exists():
                os.rename(self.place.previous, self.path)
            raise

    def abandon(self) -> None:
        super().abandon()
        if self.path.exists():
            remove(self.place.previous)


def bound_release(policy: Policy, source: BoundSource) -> Release:
    """The release with its partition columns as the source spells them."""
    spelled = {folded(name): name for name in source.released}
    options, released = policy.release.options, ", ".join(source.released[:20])
    faults = [
        Fault(f"release.partition_by: {name}", "is not a released column", f"these are: {released}")
        for name in options.partition_by
        if folded(name) not in spelled
    ]
    if not faults and options.partition_by and len(options.partition_by) == len(source.released):
        faults = [Fault("release.partition_by", "names every released column", "leave at least one for the files")]
    if faults:
        raise PolicyError(faults, policy.file)
    columns = tuple(spelled[folded(name)] for name in options.partition_by)
    return changed(policy.release, options=changed(options, partition_by=columns))


def _sizes(folder: Path) -> dict[str, int]:
    """Every file below the folder, and what else may lie there, with its size."""
    found = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return {path.relative_to(folder).as_posix(): path.lstat().st_size for path in found}


def _exchanged(one: Path, other: Path) -> bool:
    """Lets two paths change places in one step, so that no reader finds none; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
