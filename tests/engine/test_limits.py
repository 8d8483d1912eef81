"""What a run may take of the machine, and that its output is nothing but the result."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

from duckanon import connect
from duckanon.models.classes import judged_classes
from duckanon.models.column_steps import SensitiveRules
from duckanon.models.registry import class_rules
from duckanon.policy import Sensitive, ValueThresholds
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE, UNCOMPARED


def test_limits_are_set(people: Folder, duckanon: Command) -> None:
    """The release shows what the settings were while it was made."""
    settings = "current_setting('threads')::VARCHAR AS threads, current_setting('memory_limit') AS memory"
    text = PEOPLE.replace('table = "people"', f'query = "SELECT *, {settings} FROM people"')
    text = text.replace('identifiers = ["name"]', 'identifiers = ["name"]\nkeep = ["threads", "memory"]')

    def shown(*options: str) -> tuple[str, str]:
        told = duckanon("run", people.policy(text + UNCOMPARED), *options)
        assert told.code == 0, told.err
        (row,) = people.sql("SELECT DISTINCT threads, memory FROM people_anonymous")
        return row[0], row[1]

    usual = shown()
    assert shown("--memory-limit", "300MB") == (usual[0], "286.1 MiB")
    more = int(usual[0]) + 3  # so that no machine has as many by itself
    assert shown("--threads", str(more)) == (str(more), usual[1])


@pytest.mark.parametrize(("option", "value"), [("--memory-limit", "much"), ("--threads", "0")])
def test_a_limit_that_is_none_is_refused(people: Folder, duckanon: Command, option: str, value: str) -> None:
    before = people.dump()
    told = duckanon("run", people.policy(PEOPLE), option, value)
    assert told.code == 2
    assert option in told.err
    assert people.dump() == before


def test_what_does_not_fit_is_spilled(folder: Folder) -> None:
    """Half a million tuples of eight columns in 100 MB; a long statement prints no progress bar into the JSON."""
    source = folder.path / "people.parquet"
    columns = ", ".join(f"(hash(i * {p}) % 40)::INTEGER AS q{p}" for p in range(1, 8))
    duckdb.execute(
        f"COPY (SELECT i::VARCHAR AS name, {columns}, i % 5 AS s FROM range(500_000) AS r (i)) TO '{source}'"
    )
    sections = "".join(f"[quasi_identifiers.q{p}]\nhierarchy = {{ intervals = [10, 20] }}\n" for p in range(1, 8))
    policy = folder.policy(
        f'name = "people"\n[source]\nfile = "people.parquet"\n[privacy]\nk = 5\nsuppression = 0.1\n{sections}'
        '[sensitive.s]\n[columns]\nidentifiers = ["name"]\n[release]\nkind = "parquet"\nto = "out.parquet"\n'
    )
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--memory-limit", "100MB", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["privacy"]["k"] >= 5
    assert folder.files() == ["out.parquet", "people.parquet", "policy.toml"]


# -- what is spilled ------------------------------------------------------------------------------

OPEN = """
import time
from duckanon import connect
print(connect().fetch("SELECT current_setting('temp_directory')")[0][0], flush=True)
time.sleep(60)
"""


def make_old(path: Path) -> None:
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def test_nobody_else_reads_what_is_spilled() -> None:
    with connect() as db:
        ((path,),) = db.fetch("SELECT current_setting('temp_directory')")
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o700
    assert not Path(path).exists()


def test_what_the_killed_have_spilled_is_swept() -> None:
    with subprocess.Popen([sys.executable, "-c", OPEN], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        (path / "left").write_text("values")
        make_old(path)
        with connect():
            assert path.exists(), "it is in use"
        process.kill()
    with connect():
        assert not path.exists()


def test_without_room_for_temporary_files(people: Folder, tmp_path: Path) -> None:
    """What needs no spilling goes on."""
    nowhere, database, policy = str(tmp_path / "nowhere"), str(people.database), str(people.policy(PEOPLE))
    code = (
        f"import tempfile\ntempfile.tempdir = {nowhere!r}\nfrom duckanon import check, connect\n"
        f"with connect({database!r}, read_only=True) as db:\n    print(check({policy!r}, db).status)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "violated", ended.stderr


def test_building_the_classes_takes_time_by_the_number_of_thresholds() -> None:
    """Four times as many values with thresholds of their own: about four times the work, not sixteen times."""

    def calls(values: int) -> int:
        own = {f"v{place}": ValueThresholds({"alpha": 0.5, "l": 2}) for place in range(values)}
        rules = class_rules(Sensitive("s", values=own), numeric=False)
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            judged_classes(
                exp.to_table("cells"), ["g0"], 2, [SensitiveRules(0, exp.to_table("d0"), "value", rules)], nulls=True
            )
        finally:
            sys.setprofile(None)
        return counted

    few, many = calls(10), calls(40)
    assert many < 6 * few


def test_a_commit_does_not_compress_what_is_in_memory(people: Folder) -> None:
    """Which took longer than the run before it: a checkpoint in memory writes nothing, and packs all tables. Those of a
    file are packed as ever."""
    asked = "SELECT current_setting('checkpoint_threshold')"
    with connect() as bench, connect(people.database) as lasting:
        ((in_memory,),), ((in_file,),) = bench.fetch(asked), lasting.fetch(asked)
    assert duckdb.execute(asked).fetchall() == [(in_file,)]
    assert in_memory == "931.3 GiB"
