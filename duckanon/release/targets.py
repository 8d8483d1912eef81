"""Where a release goes, whether it may go there, and how it gets there whole or not at all."""

from __future__ import annotations

import fnmatch
import glob
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sqlglot import exp

from duckanon.engine import Engine, Relation
from duckanon.engine.names import quoted
from duckanon.errors import EngineError, ReleaseError
from duckanon.expressions import create, drop, sql, table
from duckanon.policy import MappingFile, MappingTable, Policy
from duckanon.release.view import Keeper
from duckanon.scratch import Scratch
from duckanon.source import BoundSource, define_source

SCHEMA = "duckanon"  # holds what a released view needs to stay true: its mapping tables, its source query


class Target(Protocol):
    """A place for a release. `build` makes it and returns what to verify; `settle` lets the world see it."""

    def must_not_be(self, source: BoundSource) -> None: ...
    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation: ...
    def settle(self, mark: str) -> None: ...
    def abandon(self) -> None: ...


def open_target(policy: Policy, engine: Engine, replace: bool, dry_run: bool) -> Target:
    """The policy's target, checked for ownership before any work is done."""
    if policy.release.kind in ("table", "view"):
        if not engine.persistent:
            raise ReleaseError(
                f"release.kind: a {policy.release.kind} needs a database to stand in: "
                "name one in source.database or with --db, or release to parquet or csv"
            )
        target: Target = RelationTarget(policy, engine, replace)
    else:
        target = FileTarget(policy, engine, replace)
    return DryTarget(target, policy) if dry_run else target


def mark_of(policy: Policy, version: str, levels: dict[str, int] | None) -> str:
    """What a release says of itself, so that the next run knows whose it is."""
    return json.dumps({"duckanon": version, "policy": policy.name, "k": policy.k, "levels": levels}, ensure_ascii=False)


def made_by(mark: str | None, policy: Policy) -> bool:
    try:
        found = json.loads(mark or "")
    except ValueError:
        return False
    return isinstance(found, dict) and "duckanon" in found and found.get("policy") == policy.name


class RelationTarget:
    """A table or view in the warehouse. It is made inside the run's transaction, so it appears whole or not at all."""

    def __init__(self, policy: Policy, engine: Engine, replace: bool) -> None:
        self.policy, self.engine, self.replace = policy, engine, replace
        found = engine.find(policy.release.to)
        self.existing = found if found is not None and len(found.parts) > 1 else None
        place = engine.target(policy.release.to)
        self.place = Relation(self.existing.parts if self.existing else place.parts, policy.release.kind)
        if self.existing and not replace and not made_by(self.existing.comment, policy):
            raise ReleaseError(
                f"release.to: {policy.release.to} exists and was not made by this policy; "
                "choose another name, or replace it with --replace"
            )

    def must_not_be(self, source: BoundSource) -> None:
        if source.relation.parts == self.place.parts:
            raise ReleaseError(f"release.to: {self.policy.release.to} is the source itself; choose another name")

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        if self.existing is not None:
            self.engine.execute(drop(self.existing.kind.upper(), self.existing.table))
            self._source_must_stand()
        if self.place.kind != "view":
            self.clear_kept()
        self.engine.execute(create(self.place.kind.upper(), self.place.table, query), "the release")
        self.engine.comment(self.place, mark)
        return self.place

    def _source_must_stand(self) -> None:
        """With the old release gone the source must still be readable: or it was a part of the source."""
        inputs = [self.policy.source.table] if self.policy.source.table else []
        inputs += [h.table for q in self.policy.quasi_identifiers if isinstance(h := q.hierarchy, MappingTable)]
        try:
            for name in inputs:
                relation = self.engine.find(name)
                if relation is None:
                    raise EngineError("gone")
                self.engine.columns(relation.table)
            if self.policy.source.query is not None:
                probe = Scratch(self.engine)
                define_source(self.policy, probe)
                probe.clear()
        except EngineError:
            raise ReleaseError(
                f"release.to: {self.policy.release.to} is read by the source; choose another name"
            ) from None

    def keeper(self, mark: str) -> Keeper:
        """Keeps the tables that a view needs beside it, in a schema of their own."""

        def keep(thing: str, rows: exp.Query) -> exp.Table:
            name = self.kept_name(thing)
            self.engine.execute(create("TABLE", name, rows), "kept for the view")
            self.engine.comment(Relation((SCHEMA, name.name), "table"), mark)
            return name

        return keep

    def kept_name(self, thing: str) -> exp.Table:
        """The name of an object kept for this view, free to be made."""
        self.engine.must_have_room_for_our_schema()
        self.engine.execute(sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        name = self._kept_prefix + thing
        if self.engine.find(quoted(SCHEMA, name)) is not None:
            raise ReleaseError(f"{SCHEMA}.{name} exists and was not made by this policy; rename the policy")
        return table(SCHEMA, name)

    @property
    def _kept_prefix(self) -> str:
        return f"{self.policy.name} for {'.'.join(self.place.parts)}: "

    def clear_kept(self) -> None:
        """Drops what an earlier view of this policy, in this place, needed."""
        for kept in self.engine.relations(SCHEMA):
            if kept.parts[-1].startswith(self._kept_prefix) and made_by(kept.comment, self.policy):
                self.engine.execute(drop(kept.kind.upper(), kept.table))

    def settle(self, mark: str) -> None:
        pass

    def abandon(self) -> None:
        pass


class FileTarget:
    """A Parquet or CSV file: written beside its place, read back, then renamed."""

    def __init__(self, policy: Policy, engine: Engine, replace: bool) -> None:
        self.policy, self.engine = policy, engine
        self.kind = policy.release.kind
        try:
            self.path = (policy.folder / policy.release.to).resolve()
        except (ValueError, OSError, RuntimeError):
            raise ReleaseError("release.to: is not a path") from None
        self.unfinished = (
            self.path.with_name(f".{self.path.name}.{os.getpid()}.unfinished") if self.path.name else self.path
        )
        if self.path.is_dir():
            raise ReleaseError(f"release.to: {self.path} is a folder")
        if not self.path.parent.is_dir():
            raise ReleaseError(f"release.to: there is no folder {self.path.parent}; make it first")
        if not os.access(self.path.parent, os.W_OK):
            raise ReleaseError(f"release.to: {self.path.parent} cannot be written")
        self._must_not_be_an_input()
        if self.path.exists() and not replace and not self._ours():
            raise ReleaseError(
                f"release.to: {self.path} exists and was not made by this policy; "
                "choose another name, or replace it with --replace"
            )

    def _must_not_be_an_input(self) -> None:
        """Not the database, the policy, a hierarchy or a source file: not even with --replace."""
        source = self.policy.source
        inputs = {
            "the database": [Path(self.engine.location), Path(self.engine.location + ".wal")],
            "the policy itself": [Path(self.policy.file)] if self.policy.file else [],
            "a hierarchy": [h.path for q in self.policy.quasi_identifiers if isinstance(h := q.hierarchy, MappingFile)],
            "the source itself": [Path(file) for file in glob.glob(source.file, recursive=True)] if source.file else [],
        }
        for what, files in inputs.items():
            if any(file.resolve() == self.path or _same_file(file, self.path) for file in files):
                raise ReleaseError(f"release.to: {self.path} is {what}; choose another name")
        if source.file and fnmatch.fnmatch(str(self.path), str(Path(source.file).absolute())):
            raise ReleaseError(
                f"release.to: {self.path} is where source.file looks for the source; choose another name"
            )
        if source.query and self.path.name in source.query:
            raise ReleaseError(f"release.to: source.query reads {self.path.name}; choose another name")

    @property
    def _sidecar(self) -> Path:
        """A CSV file cannot say whose it is; a hidden file beside it does."""
        return self.path.with_name(f".{self.path.name}.duckanon")

    def _ours(self) -> bool:
        if self.kind == "parquet":
            return made_by(self.engine.read_mark(self.path), self.policy)
        try:
            mark = json.loads(self._sidecar.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        known = isinstance(mark, dict) and _fingerprint(self.path) in mark.get("files", [])
        return known and made_by(mark.get("mark"), self.policy)

    def must_not_be(self, source: BoundSource) -> None:
        """A file is no table; that it is no input was checked at the start."""

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        self._sweep()
        self.engine.write_file(query, self.unfinished, self.kind, mark)
        shape = scratch.view("shape", query, "")
        name = scratch.adopt("VIEW", "written")
        self.engine.define_release(name, self.unfinished, self.kind, self.engine.columns(shape))
        if self.kind == "parquet":
            return Relation((name.name,), "view")
        # A text is parsed once, however many questions are asked of it.
        read = scratch.table("read", exp.select("*").from_(name), "the release, read back")
        return Relation((read.name,), "table")

    def _sweep(self) -> None:
        """Removes what a killed run left unfinished, not what another run is writing now."""
        for left in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.unfinished"):
            if not _alive(left.suffixes[-2].removeprefix(".")):
                with suppress(OSError):
                    left.unlink()

    def settle(self, mark: str) -> None:
        try:
            _to_disk(self.unfinished)
            if self.kind == "csv":
                self._say_whose(mark)
            os.replace(self.unfinished, self.path)
            _to_disk(self.path.parent)
        except OSError as error:
            self.abandon()
            raise ReleaseError(f"release.to: {self.path} cannot be written: {error.strerror or error}") from error

    def _say_whose(self, mark: str) -> None:
        """Before the file takes its place, so that it is ours at every moment: the old one and the new one."""
        files = [_fingerprint(file) for file in (self.unfinished, self.path) if file.exists()]
        if self.path.exists() and not self._ours():
            files = files[:1]
        written = self.unfinished.with_suffix(".sidecar")
        written.write_text(json.dumps({"files": files, "mark": mark}), encoding="utf-8")
        try:
            os.replace(written, self._sidecar)
        except OSError:
            written.unlink(missing_ok=True)
            raise

    def abandon(self) -> None:
        with suppress(OSError):
            self.unfinished.unlink(missing_ok=True)


class DryTarget:
    """Checks all that a real target checks, and shows the release to the verification only."""

    def __init__(self, target: Target, policy: Policy) -> None:
        self.target, self.policy = target, policy

    def must_not_be(self, source: BoundSource) -> None:
        self.target.must_not_be(source)

    def build(self, query: exp.Query, mark: str, scratch: Scratch) -> Relation:
        name = scratch.view("release", query, "the release")
        return Relation((name.name,), "view")

    def settle(self, mark: str) -> None:
        pass

    def abandon(self) -> None:
        pass


def _fingerprint(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


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


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
