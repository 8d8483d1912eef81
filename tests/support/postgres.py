"""A PostgreSQL server of our own."""

from __future__ import annotations

import csv
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sqlglot import exp

from duckanon.analysts.portable import Metric
from duckanon.engine import Column
from duckanon.query.dialects.postgres import PostgresDialect
from tests.support.needs import missing, postgres_programs


@dataclass(frozen=True)
class Server:
    """A PostgreSQL of our own, asked through psql."""

    psql: str
    socket: Path

    def ask(self, statements: Sequence[str], metrics: Sequence[Metric]) -> list[list[dict[str, Any]]]:
        """Everything in one session and one transaction that is not kept."""
        between = "\n\\echo ----\n"
        queries = [metric.query.sql("postgres", identify=True) + ";" for metric in metrics]
        script = "".join(f"{statement};\n" for statement in ["BEGIN", *statements]) + between.join(queries)
        told = subprocess.run(
            [self.psql, "-X", "-q", "--csv", "-P", "null=NULL", "-v", "ON_ERROR_STOP=1",
             "-h", str(self.socket), "-U", "duckanon", "-d", "postgres"],
            input=script, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        return [list(csv.DictReader(part.splitlines())) for part in told.stdout.split("----\n")]


@contextmanager
def running() -> Iterator[Server]:
    """A server in a temporary folder, on a unix socket only, by a user that is not root; skipped where none starts."""
    programs, psql = postgres_programs(), shutil.which("psql")
    if programs is None or psql is None:
        missing("postgres", "PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="duckanon") as name:
        folder = Path(name)
        user = unprivileged(folder)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", str(folder / "data"), *arguments]
            subprocess.run(command, check=True, cwd=folder, timeout=60, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, **user)  # fmt: skip

        try:
            run("initdb", "-U", "duckanon", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
            options = f"-k {folder} -c listen_addresses= -c fsync=off"
            run("pg_ctl", "start", "-w", "-l", str(folder / "log"), "-o", options)
        except (subprocess.SubprocessError, OSError) as refused:
            missing("postgres", f"PostgreSQL does not start: {refused}")
        try:
            yield Server(psql, folder)
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")


def unprivileged(folder: Path) -> dict[str, Any]:
    """Who runs the server: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    users = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = users.get("postgres") or users.get("nobody")
    if user is None:
        missing("postgres", "only root is there to run PostgreSQL")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Session:
    """One session of a server, as an engine: psql is asked statement by statement."""

    dialect, temporary_tables = PostgresDialect, True

    def __init__(self, server: Server) -> None:
        command = [server.psql, "-X", "-q", "--csv", "-t", "-P", "null=NULL", "-v", "ON_ERROR_STOP=1",
                   "-h", str(server.socket), "-U", "duckanon", "-d", "postgres"]  # fmt: skip
        self._psql = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._psql.communicate(r"\q")

    def execute(self, statement: exp.Expr | str, note: str = "", bound: Mapping[str, bytes] | None = None) -> None:
        self.fetch(statement, note)

    def fetch(self, query: exp.Expr | str, note: str = "") -> list[tuple[Any, ...]]:
        text = query if isinstance(query, str) else query.sql(self.dialect, identify=True)
        pipe, told = self._psql.stdin, self._psql.stdout
        assert pipe is not None
        assert told is not None
        pipe.write(f"{text};\n\\echo ----\n")
        pipe.flush()
        lines = list[str]()
        while (line := told.readline()) != "----\n":
            assert line, f"{note}: {text}\n{''.join(lines)}"  # an error ends the session
            lines.append(line)
        return [tuple(map(_plain, row)) for row in csv.reader(lines)]

    def columns(self, relation: exp.Table) -> list[Column]:
        raise NotImplementedError


def _plain(text: str) -> Any:
    """A cell of psql's as the number that it says, or its text."""
    if text == "NULL":
        return None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
