"""Ctrl-C and SIGTERM end a run on the server, too, and leave nothing there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.far_people import FAR, FAR_FILE
from tests.support.far_place import Place
from tests.support.folder import Folder

# A minute for all rows, and no time for a single one.
COUNT = "SELECT *, NULL AS slow FROM people WHERE age < 0 OR pg_sleep(0.3) IS NOT NULL"
BUSY = "state = 'active' AND application_name = 'duckanon' AND datname = '{}' AND query {}"


def started(policy: Path, place: Place) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "duckanon", "run", str(policy), "--db", place.url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(place: Place, condition: str) -> None:
    end = time.monotonic() + 30
    while not place.sql(f"SELECT 1 FROM pg_stat_activity WHERE {condition} AND pid <> pg_backend_pid()"):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


@pytest.mark.parametrize(("kind", "number"), [("table", signal.SIGTERM), ("csv", signal.SIGINT)])
def test_while_the_server_counts(inhabited: Place, folder: Folder, number: signal.Signals, kind: str) -> None:
    text = (
        (FAR if kind == "table" else FAR_FILE)
        .replace("[columns]", '[columns]\ndrop = ["slow"]')
        .replace('table = "people"', f'query = "{COUNT}"')
    )
    run = started(folder.policy(text), inhabited)
    wait_for(inhabited, BUSY.format(inhabited.database, "LIKE '%COUNT(%'"))
    _interrupted(run, number, inhabited)
    assert folder.files() == ["policy.toml"]


STEPS = [("CREATE TABLE", signal.SIGINT), ("DROP TABLE", signal.SIGTERM), ("LOCK TABLE", signal.SIGINT)]


@pytest.mark.parametrize(("step", "number"), STEPS)
def test_while_the_server_releases_or_waits_for_a_lock(
    inhabited: Place, folder: Folder, duckanon: Command, number: signal.Signals, step: str
) -> None:
    """A trigger of the database makes it wait there."""
    if step == "LOCK TABLE":
        assert duckanon("run", folder.policy(FAR), "--db", inhabited.url).code == 0
        before = inhabited.left()
        with inhabited.connect() as reader, reader.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT * FROM people_anonymous")
            cursor.fetchall()
            run = started(folder.policy(FAR), inhabited)
            wait_for(inhabited, BUSY.format(inhabited.database, "LIKE 'LOCK TABLE%'"))
            _interrupted(run, number, inhabited, before)
        return
    inhabited.sql(
        "CREATE FUNCTION slowly() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); END'",
        f"CREATE EVENT TRIGGER slowly ON ddl_command_start WHEN TAG IN ('{step}{' AS' * (step == 'CREATE TABLE')}') "
        "EXECUTE FUNCTION slowly()",
    )
    run = started(folder.policy(FAR), inhabited)
    wait_for(inhabited, BUSY.format(inhabited.database, f"LIKE '{step.replace(' ', '%')}%'"))
    _interrupted(run, number, inhabited)


def _interrupted(
    run: subprocess.Popen[str], number: signal.Signals, place: Place, left: list[tuple[str, str, str]] | None = None
) -> None:
    begun = time.monotonic()
    run.send_signal(number)
    out, err = run.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert (run.returncode, out, err) == (130, "", "duckanon: interrupted; nothing was written\n")
    assert place.running() == []
    assert place.left() == (left or [("public", "people", "r")])
    assert place.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]
