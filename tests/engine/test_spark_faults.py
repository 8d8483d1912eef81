"""Whatever goes wrong with Spark: one clear message, no value in it, and what stood still stands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from duckanon.engine.spark.warehouse import Spark
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE, UNCOMPARED
from tests.support.small_disk import small_disk
from tests.support.spark import Lake, SparkServer
from tests.support.spark_interrupts import is_interrupted_and_goes_on

POLICY = PEOPLE.replace('database = "warehouse.duckdb"\n', "") + UNCOMPARED
THERE = """
    SELECT 'p' || i AS name, CAST(20 + i * 7 % 40 AS INTEGER) AS age, '021' || (30 + i % 12) AS zip,
        ['F', 'M'][1 + i % 2] AS sex, ['flu', 'HIV', 'cough'][1 + i % 3] AS disease FROM range({}) AS r (i)
"""
COUNT = "SELECT `q0`, `q1`, `q2`, `s0`, COUNT(*)"  # how the one scan begins

JustBefore = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def inhabited(lake: Lake) -> Lake:
    lake.load("people", THERE.format(200))
    return lake


@pytest.fixture
def just_before(monkeypatch: pytest.MonkeyPatch) -> JustBefore:
    """Do something before the first statement that begins so."""

    def arrange(beginning: str, act: Callable[[], object]) -> None:
        waiting = [act]

        def told(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(self: Spark, text: str) -> Any:
                if waiting and text.startswith(beginning):
                    waiting.pop()()
                return original(self, text)

            return wrapped

        for name in ("_run", "_stream"):
            monkeypatch.setattr(Spark, name, told(getattr(Spark, name)))

    return arrange


# -- a server that does not let us in -------------------------------------------------------------


@contextmanager
def answering(status: grpc.StatusCode) -> Iterator[int]:
    """The port of a server that answers every call so, and quotes the token."""

    def refuse(_: object, context: grpc.ServicerContext) -> None:
        context.abort(status, "who is secret-token?")

    class Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, _: object) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Refusing()])
    port = server.add_secure_port("localhost:0", grpc.local_server_credentials())
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "the server does not let this user in; is the token right?"),
        (grpc.StatusCode.PERMISSION_DENIED, "the user lacks a privilege"),
    ],
)
def test_a_wrong_token(folder: Folder, duckanon: Command, status: grpc.StatusCode, said: str) -> None:
    with answering(status) as port:
        told = duckanon("run", folder.policy(POLICY), "--db", f"sc://localhost:{port}/;token=secret-token")
    assert (told.code, told.err) == (2, f"duckanon: sc://localhost:{port}: cannot be opened: {said}\n")


# -- what the server cannot write -----------------------------------------------------------------


def test_a_schema_that_may_not_be_written(inhabited: Lake, folder: Folder, duckanon: Command) -> None:
    inhabited.sql("CREATE DATABASE closed LOCATION '/dev/null/closed'")  # nobody can, not even root
    told = duckanon("run", folder.policy(POLICY.replace("people_anonymous", "closed.shown")), "--db", inhabited.address)
    assert told.code == 2
    assert told.err == (
        "duckanon: the database refused; its message may hold a person's values, so only --debug shows it\n"
    )
    assert (inhabited.tables(), inhabited.tables("closed")) == ({"people"}, set())


@pytest.mark.root
def test_a_full_disk(lake: Lake, folder: Folder, duckanon: Command) -> None:
    """The old release stands, and what was begun is gone."""
    lake.load("people", THERE.format(200))
    with small_disk(folder.path / "small", kilobytes=512) as small:
        lake.sql(f"CREATE DATABASE small LOCATION '{small}'")
        policy = folder.policy(POLICY.replace("people_anonymous", "small.shown"))
        assert duckanon("run", policy, "--db", lake.address).code == 0
        before = lake.sql("SELECT COUNT(*) FROM small.shown")
        (small / "fill").write_bytes(b"x" * (small_room(small) - 4096))
        lake.load("people", THERE.format(20_000))
        told = duckanon("run", policy, "--db", lake.address)
        assert (told.code, told.err.count("\n")) == (2, 1)
        assert lake.sql("SELECT COUNT(*) FROM small.shown") == before
        assert len(lake.tables("small")) == 2  # the release, and what it shows
        (small / "fill").unlink()
        assert duckanon("run", policy, "--db", lake.address).code == 0
        lake.sql("DROP VIEW small.shown")


def small_room(disk: Path) -> int:
    status = os.statvfs(disk)
    return status.f_bavail * status.f_frsize


# -- what others do under way ---------------------------------------------------------------------

UNDER_WAY = {
    "dropped": (["DROP TABLE people"], "Table or view not found"),
    "a column less": (
        ["CREATE TABLE less AS SELECT name, age, sex, disease FROM people", "DROP TABLE people",
         "CREATE TABLE people AS SELECT * FROM less"],
        "zip",
    ),
    "another type": (
        ["CREATE TABLE other AS SELECT name, CAST(age AS STRING) AS age, zip, sex, disease FROM people",
         "DROP TABLE people", "CREATE TABLE people AS SELECT * FROM other"],
        "age: was changed under way — run again",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", UNDER_WAY)
def test_what_others_change_under_way_ends_the_run(
    inhabited: Lake, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """After the first look, and before the count."""
    statements, said = UNDER_WAY[change]
    transaction = Spark.transaction

    def changed(self: Spark) -> Any:
        inhabited.sql(*statements)
        return transaction(self)

    monkeypatch.setattr(Spark, "transaction", changed)
    told = duckanon("run", folder.policy(POLICY), "--db", inhabited.address)
    assert (told.code, said in told.err) == (2, True), told.err
    assert not [name for name in inhabited.tables() if name.startswith("people_anonymous")]


def test_a_table_that_goes_between_the_count_and_the_release(
    inhabited: Lake, folder: Folder, duckanon: Command, just_before: JustBefore
) -> None:
    """It was counted, and that is all that it takes."""
    just_before("CREATE TABLE", lambda: inhabited.sql("DROP TABLE people"))
    assert duckanon("run", folder.policy(POLICY), "--db", inhabited.address).code == 0
    assert "people" not in inhabited.tables()
    assert inhabited.sql("SELECT COUNT(*) > 190 FROM people_anonymous") == [(True,)]


def test_a_table_that_goes_before_the_release_is_made_of_it(
    inhabited: Lake, folder: Folder, duckanon: Command, just_before: JustBefore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spark, "most_sent", 0)
    just_before("CREATE TABLE", lambda: inhabited.sql("DROP TABLE people"))
    told = duckanon("run", folder.policy(POLICY), "--db", inhabited.address)
    assert told.code == 2
    assert "Table or view not found" in told.err
    assert inhabited.tables() == set()


MADE = {
    "a table": "CREATE TABLE people_anonymous AS SELECT 1 AS theirs",
    "a view": "CREATE VIEW people_anonymous AS SELECT 1 AS theirs",
}


@pytest.mark.parametrize("what", MADE)
def test_what_somebody_else_puts_into_the_place_under_way_stays(
    inhabited: Lake, folder: Folder, duckanon: Command, just_before: JustBefore, what: str
) -> None:
    just_before("INSERT INTO", lambda: inhabited.sql(MADE[what]))
    told = duckanon("run", folder.policy(POLICY), "--db", inhabited.address)
    assert told.code == 2
    assert '"people_anonymous" was made or replaced by somebody under way; run again' in told.err
    assert inhabited.sql("SELECT * FROM people_anonymous") == [(1,)]
    assert inhabited.tables() == {"people", "people_anonymous"}


def test_two_runs_at_once_from_two_machines(
    inhabited: Lake, folder: Folder, duckanon: Command, just_before: JustBefore, tmp_path: Path
) -> None:
    """Another machine has other locks. Who is overtaken has nothing any more to let in; what is shown is whole."""
    elsewhere = {**os.environ, "TMPDIR": str(tmp_path)}
    policy = folder.policy(POLICY)
    assert duckanon("run", policy, "--db", inhabited.address).code == 0
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--db", inhabited.address]
    ended: list[int] = []

    def run_there() -> None:
        inhabited.sql("INSERT INTO people SELECT * FROM people")
        ended.append(subprocess.run(command, env=elsewhere, check=False, timeout=100, capture_output=True).returncode)

    just_before("CREATE OR REPLACE VIEW", run_there)
    told = duckanon("run", policy, "--db", inhabited.address)
    assert (ended, told.code) == ([0], 2)
    assert "Table or view not found: people_anonymous__duckanon_" in told.err
    assert inhabited.sql("SELECT COUNT(*) FROM people_anonymous") == [(400,)]
    assert duckanon("run", policy, "--db", inhabited.address).code == 0
    assert len(inhabited.tables()) <= 4  # the people, the release, what it shows, and what it showed last


# -- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.linux
def test_an_interrupt_ends_the_statement_on_the_server(sail_server: SparkServer, lake: Lake, folder: Folder) -> None:
    is_interrupted_and_goes_on(sail_server, lake, folder)
