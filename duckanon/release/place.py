"""The place of a release on disk: what stands there, what must not, and what is being written beside it."""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
from contextlib import suppress
from pathlib import Path

from duckanon.engine import Engine
from duckanon.errors import EngineError, ReleaseError
from duckanon.policy import MappingFile, Policy


class Place:
    """A path, and a hidden one beside it for what is not finished; that one is named after the process."""

    def __init__(self, policy: Policy, engine: Engine) -> None:
        self.policy, self.engine = policy, engine
        try:
            self.path = (policy.folder / policy.release.to).resolve()
            self.path.exists()
        except (ValueError, OSError, RuntimeError):
            raise ReleaseError("release.to: is not a path") from None
        if not self.path.name:
            raise ReleaseError(f"release.to: {self.path} is a folder that nothing can replace")
        self.unfinished = self._beside("unfinished")
        self.previous = self._beside("previous")

    def _beside(self, what: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{os.getpid()}.{what}")

    def must_be_writable(self) -> None:
        if not self.path.parent.is_dir():
            raise ReleaseError(f"release.to: there is no folder {self.path.parent}; make it first")
        if not os.access(self.path.parent, os.W_OK):
            raise ReleaseError(f"release.to: {self.path.parent} cannot be written")

    def must_hold_no_input(self) -> None:
        """Not the database, the policy, a hierarchy, a source file or where the user is: not even with --replace."""
        for what, files in self._inputs().items():
            if any(self._holds(file) for file in files):
                raise ReleaseError(f"release.to: {self.path} is {what}, or holds it; choose another name")
        source = self.policy.source
        patterns = self.engine.source_patterns(source.file) if source.file else []
        if any(_reached(self._first_file().parts, Path(pattern).parts) for pattern in patterns):
            what = "is where source.file looks for the source"
            raise ReleaseError(f"release.to: {self.path} {what}; choose another name")
        if source.query and self.path.name in source.query:
            raise ReleaseError(f"release.to: source.query reads {self.path.name}; choose another name")

    def _first_file(self) -> Path:
        """The release itself, or what the first file of its partitions may be called."""
        columns = self.policy.release.options.partition_by
        folders = self.path.joinpath(*(f"{column}=x" for column in columns))
        return folders / f"data_0.{self.policy.release.kind}" if columns else self.path

    def _inputs(self) -> dict[str, list[Path]]:
        policy = self.policy
        hierarchies = [h.path for q in policy.quasi_identifiers if isinstance(h := q.hierarchy, MappingFile)]
        return {
            "the database": self.engine.database_files(),
            "the policy itself": [Path(policy.file)] if policy.file else [],
            "a hierarchy": hierarchies,
            "the ledger": [policy.ledger] if policy.ledger else [],
            "the source itself": self._source_files(),
            "the folder that you are in": [Path.cwd()],
        }

    def _source_files(self) -> list[Path]:
        if self.policy.source.file is None:
            return []
        try:
            return self.engine.source_files(self.policy.source.file)
        except EngineError:
            return []  # what is wrong with the source is said when it is read

    def _holds(self, file: Path) -> bool:
        return file.exists() and (file.resolve().is_relative_to(self.path) or _same_file(file, self.path))

    def sweep(self) -> None:
        """Removes what a killed run left unfinished, not what another run is writing now."""
        for left in (*self._left("unfinished"), *self._left("sidecar")):
            remove(left)

    def _left(self, what: str) -> list[Path]:
        """What the dead have left beside the path."""
        beside = self.path.parent.glob(f".{glob.escape(self.path.name)}.*.{what}")
        return [left for left in beside if not _alive(left.suffixes[-2].removeprefix("."))]

    def repair(self) -> None:
        """A run that died between two renames had moved the release aside: back with it, or away if it is replaced."""
        for left in self._left("previous"):
            if self.path.exists():
                remove(left)
            else:
                os.rename(left, self.path)


def remove(path: Path) -> None:
    """A file or a whole folder; what cannot be removed stays, hidden, for the next run."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        path.unlink(missing_ok=True)


def to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reached(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a glob pattern finds a path, part by part: only ** crosses folders."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_reached(path[start:], pattern[1:]) for start in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _reached(path[1:], pattern[1:])


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return int(process) != os.getpid()
