"""A release that is a folder of files, one for each combination of its partition columns' values."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace as changed
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, PolicyError, ReleaseError
from duckanon.policy import Policy, Release
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.functions import url_encoded
from duckanon.query.names import folded
from duckanon.release.disk_place import remove, to_disk
from duckanon.release.file import FileTarget, read_json, sidecar_of
from duckanon.release.mark import made_by

_MARK_INSIDE = ".duckanon"  # in folders that earlier versions made: whose it is, and which files are its own
_MOST_FOLDERS = 10_000
_LONGEST_NAME = 255  # bytes, on all common file systems
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


class FolderTarget(FileTarget):
    """Written beside its place, read back, then swapped with what is there."""

    def _must_fit(self) -> None:
        self.place.repair()
        if self.path.exists() and not self.path.is_dir():
            raise ReleaseError(f"release.to: {self.path} is a file; with partition_by it must be a folder")

    def _must_be_free(self) -> None:
        """Not even with --replace anything is removed that no release has written; so that is said first."""
        found = self._state(self.path) if self.path.exists() else {}
        strange = [name for name in found if not _may_go(name)] if not mark_of_folder(self.path) else []
        if strange:
            what = f"holds {len(strange):,} file{'s' if len(strange) > 1 else ''} and is no release of any policy"
            raise ReleaseError(f"release.to: {self.path} {what}; remove it yourself, or choose another name")
        super()._must_be_free()

    def _ours(self) -> bool:
        """A folder of this policy without strange files in it; an empty one is nobody's."""
        found = self._state(self.path)
        return not found or super()._ours() or self._ours_by_mark_inside(found)

    def _ours_by_mark_inside(self, found: dict[str, int]) -> bool:
        own = read_json(self.path / _MARK_INSIDE)
        known = own.get("files")
        if not isinstance(known, dict) or not made_by(own.get("mark"), self.policy):
            return False
        return all(known.get(name) == size for name, size in found.items() if name != _MARK_INSIDE)

    @property
    def _marked_inside(self) -> bool:
        return False

    def _state(self, path: Path) -> dict[str, int]:
        """Every file below the folder, and what else may lie there, with its size."""
        found = [file for file in path.rglob("*") if file.is_symlink() or not file.is_dir()]
        return {file.relative_to(path).as_posix(): file.lstat().st_size for file in found}

    def _is_now(self, state: Any) -> bool:
        """Of its own files some may be gone."""
        return isinstance(state, dict) and self._state(self.path).items() <= state.items()

    def must_not_be(self, source: BoundSource) -> None:
        super().must_not_be(source)
        self.release = bound_release(self.policy, source)

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        self._must_be_few(query, scratch)
        return super().build(self._by_folder(query, scratch), mark, scratch)

    def _must_be_few(self, query: exp.Query, scratch: Scratch) -> None:
        """Every value becomes the name of a folder: there must not be too many, nor any that is too long."""
        parts = self.release.options.partition_by
        distinct = exp.select(*map(column, parts)).distinct().from_(query.subquery("released"))
        lengths = [sql("MAX(LENGTH(:name))", name=url_encoded(text_of(column(part)))) for part in parts]
        counted = exp.select(sql("COUNT(*)"), *lengths).from_(distinct.subquery("folders"))
        ((folders, *longest),) = scratch.workbench.fetch(counted)
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
        """The rows of one file after the other, each sorted by what it shows. In Parquet, labels are plain texts:
        every file would hold the dictionaries of all."""
        columns = scratch.workbench.shape(query)
        first = self.release.options.partition_by
        others = [c.name for c in columns if c.name not in first]
        ordered = exp.select("*").from_(query.subquery("released")).order_by(*map(column, (*first, *others)))
        if self.release.kind != "parquet":
            return ordered
        texts = [text_of(column(c.name)) if c.type.is_enumeration else column(c.name) for c in columns]
        named = (text.as_(c.name, quoted=True) for text, c in zip(texts, columns, strict=True))
        return exp.select(*named).from_(ordered.subquery("ordered"))

    def _to_disk(self) -> None:
        for folder, _, names in os.walk(self.unfinished):
            for name in names:
                to_disk(Path(folder, name))
            to_disk(Path(folder))

    def _swap_in(self) -> None:
        if not self.path.exists():
            os.rename(self.unfinished, self.path)
        elif not _exchanged(self.unfinished, self.path):
            self._replace_in_two_steps()

    def _replace_in_two_steps(self) -> None:
        """Where two folders cannot change places at once. Whoever dies in between is repaired by the next run."""
        self.place.keep(self.path)
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


def _may_go(name: str) -> bool:
    """What those who write such folders leave in them: _SUCCESS, .crc files; never data."""
    return Path(name).name.startswith(("_", "."))


def mark_of_folder(path: Path) -> str | None:
    """What a folder is said to be, beside it or inside."""
    mark: str | None = read_json(sidecar_of(path)).get("mark") or read_json(path / _MARK_INSIDE).get("mark")
    return mark


def _exchanged(one: Path, other: Path) -> bool:
    """Lets two paths change places in one step, so that no reader finds none; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
