"""What a run may take of the machine, and that its output is nothing but the result."""

from __future__ import annotations

import json
import subprocess
import sys

import duckdb
import pytest

from tests.conftest import PEOPLE, Command, Folder


def test_limits_are_set(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE), "--memory-limit", "300MB", "--threads", "1", "--json")
    assert told.code == 0, told.err
    assert told.json["status"] == "released"


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
