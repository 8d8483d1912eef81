"""A release in Spark whose run is killed, step by step."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from duckanon.cli.words import main
from tests.support.folder import Folder
from tests.support.people import PEOPLE, UNCOMPARED
from tests.support.spark import Lake

POLICY = PEOPLE.replace('database = "warehouse.duckdb"\n', "") + UNCOMPARED
# The process kills itself before or after the first statement that begins so, or while it is under way.
KILLED = """
import os, signal, sys, threading
from duckanon.cli.words import main
from duckanon.engine.spark.warehouse import Spark
statement, moment, *arguments = sys.argv[1:]
run = Spark._run
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def killed(self, text):
    hit = text.startswith(statement)
    if hit and moment == "before":
        die()
    if hit and moment == "while":
        threading.Timer(0.02, die).start()
    run(self, text)
    if hit:
        die()
Spark._run = killed
sys.exit(main(arguments))
"""
STEPS = ("CREATE TABLE", "INSERT INTO", "CREATE OR REPLACE VIEW")


def load(lake: Lake, day: int) -> None:
    """People of another disease every day."""
    lake.load(
        "people",
        "SELECT 'p' || i AS name, CAST(20 + i * 7 % 40 AS INTEGER) AS age, '021' || (30 + i % 12) AS zip, "
        f"['F', 'M'][1 + i % 2] AS sex, ['d{day}', 'flu', 'cough'][1 + i % 3] AS disease FROM range(200) AS r (i)",
    )


def run(policy: Path, lake: Lake, *killed: str) -> int:
    """In this process, unless it is to be killed."""
    told = ["run", str(policy), "--db", lake.address]
    if not killed:
        return main(told)
    script = policy.parent / "killed.py"  # the client takes a program without a file for a doctest of its own
    script.write_text(KILLED, encoding="utf-8")
    command = [sys.executable, str(script), *killed, *told]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode


def shown(lake: Lake) -> tuple[str | None, int]:
    """Of which day the release is, and how many rows it has."""
    ((day, rows),) = lake.sql("SELECT MAX(IF(disease LIKE 'd%', disease, NULL)), COUNT(*) FROM people_anonymous")
    return day, rows


def is_killed_and_mended(lake: Lake, folder: Folder, steps: list[tuple[str, str]]) -> None:
    policy = folder.policy(POLICY)
    load(lake, 0)
    assert run(policy, lake) == 0
    assert shown(lake) == ("d0", 200)
    for day, (statement, moment) in enumerate(steps, start=1):
        last = shown(lake)
        load(lake, day)
        assert run(policy, lake, statement, moment) == -signal.SIGKILL
        found, new = shown(lake), (f"d{day}", 200)
        if statement != STEPS[-1] or moment == "before":
            assert found == last
        else:
            assert found == new or (moment == "while" and found == last)
    assert run(policy, lake) == 0
    assert shown(lake) == (f"d{len(steps)}", 200)
    there = {name for name in lake.tables() if name.startswith("people")}  # Spark's own catalog is that of all tests
    builds = {name for name in there if name.startswith("people_anonymous__duckanon_")}
    assert there == {"people", "people_anonymous", *builds}
    assert len(builds) <= 2  # what is shown, and what was shown last
