"""The place of a release on disk: what stands there, what must not, and what is being written beside it."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from duckanon.engine import Warehouse
from duckanon.engine.lock import hold
from duckanon.errors import EngineError, ReleaseError
from duckanon.policy import MappingFile, Policy, Population, Source


class DiskPlace:
    """A path, and hidden ones beside it for what is not finished. Those are ours as long as we hold their locks, which
    the kernel lets go of however a process ends, on whatever machine of this volume: what nobody holds is left over."""

    def __init__(self, policy: Policy, warehouse: Warehouse) -> None:
        self.policy, self.warehouse = policy, warehouse
        named = policy.folder / policy.release.to
        try:
            self.path = named.resolve()
            strange = any(path.exists() and not path.is_file() and not path.is_dir() for path in (named, self.path))
        except (ValueError, OSError, RuntimeError):
            raise ReleaseError("release.to: is not a path") from None
        if strange:
            raise ReleaseError(f"release.to: {named} is a pipe, a socket or a device, not a file; choose another name")
        if not self.path.name:
            raise ReleaseError(f"release.to: {self.path} is a folder that nothing can replace")
        self._held: list[int] = []
        self.unfinished, self.previous = self._beside("unfinished"), self._beside("previous")

    def _beside(self, what: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.{what}")

    def begin(self, folder: bool) -> int:
        """Make what is to be written, for our own eyes until it is finished, and hold it. Says which mode the umask
        gives it."""
        usual = self._make(folder)
        if not self.keep(self.unfinished):  # somebody sweeps just now; or nobody can, where there are no locks
            remove(self.unfinished)
            self.unfinished = self._beside("unfinished")
            usual = self._make(folder)
            self.keep(self.unfinished)
        return usual

    def _make(self, folder: bool) -> int:
        if folder:
            self.unfinished.mkdir()
        else:
            os.close(os.open(self.unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        usual = stat.S_IMODE(self.unfinished.stat().st_mode)
        self.unfinished.chmod(0o700 if folder else 0o600)
        return usual

    def begin_beside(self, what: str) -> Path:
        """A file for our own eyes beside what is unfinished, held likewise. Who made it removes it; what it may be is
        swept."""
        path = self.unfinished.with_suffix(f".{what}")
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self.keep(path)
        return path

    def keep(self, path: Path) -> bool:
        """Hold what is at a path until `let_go`, wherever it is moved; False: that is not possible."""
        handle = hold(path)
        self._held += [] if handle is None else [handle]
        return handle is not None

    def let_go(self) -> None:
        while self._held:
            os.close(self._held.pop())

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
        named = rf"(?<![\w.-]){re.escape(self.path.name)}(?![\w.-])"
        for what, read in self._read().items():
            patterns = self.warehouse.source_patterns(read.file) if read.file else []
            if any(_reached(self._first_file().parts, Path(pattern).parts) for pattern in patterns):
                where = f"is where {what}.file looks for the {what}"
                raise ReleaseError(f"release.to: {self.path} {where}; choose another name")
            if read.query and re.search(named, read.query):
                raise ReleaseError(f"release.to: {what}.query reads {self.path.name}; choose another name")

    def _read(self) -> dict[str, Source | Population]:
        """What the policy reads people from."""
        population = self.policy.population
        return {"source": self.policy.source, **({"population": population} if population else {})}

    def _first_file(self) -> Path:
        """The release itself, or what the first file of its partitions may be called."""
        columns = self.policy.release.options.partition_by
        folders = self.path.joinpath(*(f"{column}=x" for column in columns))
        return folders / f"data_0.{self.policy.release.kind}" if columns else self.path

    def _inputs(self) -> dict[str, list[Path]]:
        policy = self.policy
        hierarchies = [h.path for q in policy.quasi_identifiers if isinstance(h := q.hierarchy, MappingFile)]
        return {
            "the database": self.warehouse.database_files(),
            "the policy itself": [Path(policy.file)] if policy.file else [],
            "a hierarchy": hierarchies,
            "the ledger": [policy.ledger] if policy.ledger else [],
            **{f"the {what} itself": self._files_of(read) for what, read in self._read().items()},
            "the folder that you are in": [Path.cwd()],
        }

    def _files_of(self, read: Source | Population) -> list[Path]:
        if read.file is None:
            return []
        try:
            return self.warehouse.source_files(read.file)
        except EngineError:
            return []  # what is wrong with it is said when it is read

    def _holds(self, file: Path) -> bool:
        return file.exists() and (file.resolve().is_relative_to(self.path) or _same_file(file, self.path))

    def sweep(self) -> None:
        """Removes what a killed run left unfinished, not what another run is writing now."""
        for what in ("unfinished", "sidecar", "lines"):
            for left in self._left(what):
                remove(left)

    def _left(self, what: str) -> Iterator[Path]:
        """What the dead have left beside the path; nobody can take it while it is looked at."""
        for left in list(self.path.parent.glob(f".{glob.escape(self.path.name)}.*.{what}")):
            token = left.name.removeprefix(f".{self.path.name}.").removesuffix(f".{what}")
            handle = hold(left) if "." not in token else None  # else it is of a longer name
            if handle is not None:
                try:
                    yield left
                finally:
                    os.close(handle)

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
