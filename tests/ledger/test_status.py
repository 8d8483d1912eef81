"""What an operator is told in the morning: the ledger's last line is never an old success, and `status` reads it."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from duckanon.cli.words import parser
from duckanon.engine.lock import one_at_a_time
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.ledgers import outcomes, rows_of
from tests.support.people import EXPORT, NAMED, PEOPLE, UNCOMPARED


def later(database: Path, hours: float) -> None:
    """Let so much time go by."""
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"UPDATE duckanon.releases SET finished_at = finished_at - INTERVAL ({hours * 60}) MINUTE")


# -- every run leaves a line ----------------------------------------------------------------------


def test_a_first_run_that_fails_begins_no_ledger(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT.replace("k = 3", "k = 201") + NAMED)
    files = people.files()
    assert duckanon("run", policy).code == 1
    assert people.files() == files
    assert duckanon("run", people.policy(EXPORT + NAMED)).code == 0
    assert duckanon("run", people.policy(EXPORT.replace("k = 3", "k = 201") + NAMED)).code == 1
    assert outcomes(people.path / "ledger.duckdb") == ["released", "infeasible"]


def test_a_run_that_could_not_start_leaves_a_line(people: Folder, duckanon: Command) -> None:
    policy, ledger = people.policy(PEOPLE + NAMED), people.path / "ledger.duckdb"
    code = f"import duckdb; c = duckdb.connect({str(people.database)!r}); print(1, flush=True); input()"

    def locked_out() -> None:
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            assert duckanon("run", policy).code == 2
            assert duckanon("run", policy, "--dry-run").code == 2
            holder.communicate(b"\n")

    locked_out()
    assert not ledger.exists()
    assert duckanon("run", policy).code == 0
    locked_out()
    released, failed = rows_of(ledger)
    assert (released["outcome"], failed["outcome"]) == ("released", "error")
    assert "in use by another process" in failed["message"]
    assert failed["target_place"] == released["target_place"]
    told = duckanon("status", policy)
    assert told.code == 1
    assert "NOT WELL, failed: error" in told.out


def test_a_run_that_another_one_kept_out_leaves_a_line(people: Folder, duckanon: Command) -> None:
    from duckanon import Policy
    from duckanon.ledger import ReleaseAddress

    policy = people.policy(EXPORT + NAMED)
    assert duckanon("run", policy).code == 0
    with one_at_a_time(ReleaseAddress.of(Policy.load(policy), people.database).key, 0):
        assert duckanon("run", policy).code == 2
    *_, last = rows_of(people.path / "ledger.duckdb")
    assert last["outcome"] == "error"
    assert "another run" in last["message"]


@pytest.mark.parametrize("kind", ["table", "csv", "parquet", "parquet_folder"])
def test_a_release_that_somebody_edited_is_not_unchanged(people: Folder, duckanon: Command, kind: str) -> None:
    text = EXPORT.replace('"csv"', f'"{kind}"').replace("people.csv", f"out.{kind}") + UNCOMPARED + NAMED
    text = text.replace('"parquet_folder"', '"parquet"\npartition_by = ["sex"]')
    policy = people.policy(PEOPLE + UNCOMPARED + NAMED if kind == "table" else text)

    def status() -> str:
        told = duckanon("run", policy, "--if-changed", "--replace", "--json")
        assert told.code == 0, told.err
        return str(told.json["status"])

    assert [status(), status()] == ["released", "unchanged"]
    if kind == "table":
        people.sql("UPDATE people_anonymous SET disease = 'flu' WHERE rowid = 0 AND disease <> 'flu'")
        people.sql("UPDATE people_anonymous SET disease = 'HIV' WHERE rowid = 1")
    else:
        place = people.path / f"out.{kind}"
        file = next(place.rglob("*.parquet")) if place.is_dir() else place
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert [status(), status()] == ["released", "unchanged"]


# -- status ---------------------------------------------------------------------------------------


def test_status_of_policies_that_are_well(people: Folder, duckanon: Command) -> None:
    one, two = people.policy(EXPORT + NAMED), people.policy(
        EXPORT.replace('name = "people"', 'name = "other"').replace("people.csv", "other.csv") + NAMED, "other.toml"
    )  # fmt: skip
    for policy in (one, two, two):
        assert duckanon("run", policy, "--if-changed").code == 0
    told = duckanon("status", one, two, "--max-age", "26h", "--json")
    assert (told.code, told.json["well"]) == (0, True)
    assert [(p["policy"], p["outcome"], p["problem"]) for p in told.json["policies"]] == [
        ("people", "released", None),
        ("other", "unchanged", None),
    ]
    assert told.json["policies"][1]["rows"] == 190
    assert told.json["policies"][1]["levels"] == {"age": 2, "zip": 0, "sex": 0}
    lines = duckanon("status", one, two).out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(
        f"people → csv {people.path.resolve()}/people.csv: well; last good run 0 min ago; 190 rows"
    )
    everything = duckanon("status", "--db", people.path / "ledger.duckdb", "--json").json
    assert {p["policy"] for p in everything["policies"]} == {"people", "other"}


def test_status_of_what_is_not_well(people: Folder, duckanon: Command) -> None:
    policy, ledger = people.policy(EXPORT + NAMED), people.path / "ledger.duckdb"
    missing = duckanon("status", policy, "--json")
    assert (missing.code, missing.json["policies"][0]["problem"]) == (1, "missing: no run is recorded")
    assert duckanon("run", policy).code == 0
    later(ledger, 27)
    assert duckanon("status", policy).code == 0
    old = duckanon("status", policy, "--max-age", "26h")
    assert old.code == 1
    assert "NOT WELL, too old; last good run 27 h ago" in old.out
    assert duckanon("run", policy, "--if-changed").code == 0
    assert duckanon("status", policy, "--max-age", "26h").code == 0, "that nothing has changed was seen just now"
    assert duckanon("run", people.policy(EXPORT.replace("k = 3", "k = 201") + NAMED)).code == 1
    failed = duckanon("status", policy, "--json")
    assert failed.code == 1
    assert failed.json["policies"][0]["problem"] == "failed: infeasible"
    assert "201" in failed.json["policies"][0]["message"]
    moved = people.policy(EXPORT.replace("people.csv", "moved.csv") + NAMED)
    assert "missing" in duckanon("status", moved).out, "another place is another export"


def test_status_says_what_changed(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(PEOPLE.replace("k = 3", "k = 30"))).code == 0
    assert duckanon("run", people.policy(PEOPLE)).code == 0
    told = duckanon("status", people.policy(PEOPLE))
    assert told.code == 0
    assert re.search(r"levels changed: .*\d→\d", told.out)
    assert "policy changed" in told.out
    assert "asks for less than at the last release: privacy.k was 30, is 3" in told.out
    changed = duckanon("status", people.policy(PEOPLE), "--json").json["policies"][0]
    assert changed["policy_changed"]
    assert all(then != now for then, now in changed["levels_changed"].values())


def test_status_of_nothing(people: Folder, duckanon: Command) -> None:
    assert duckanon("status").code == 2
    told = duckanon("status", "--db", people.database, "--json")
    assert (told.code, told.json) == (1, {"well": False, "policies": []})
    assert duckanon("status", "--db", people.path / "gone.duckdb").code == 2
    assert duckanon("status", people.path / "gone.toml").code == 2


@pytest.mark.parametrize(
    ("text", "age"),
    [("26h", timedelta(hours=26)), ("90m", timedelta(minutes=90)), ("1.5d", timedelta(hours=36))],
)
def test_ages(text: str, age: timedelta) -> None:
    assert parser().parse_args(["status", "--max-age", text]).max_age == age


@pytest.mark.parametrize("text", ["26", "h", "-1h", "1w", "1e3h", "٣h", ""])
def test_what_is_no_age(duckanon: Command, text: str) -> None:
    assert duckanon("status", "--max-age", text).code == 2


def test_history_fits_a_screen(people: Folder, duckanon: Command) -> None:
    long = "a_policy_with_a_name_that_is_as_long_as_names_may_be_12345678"
    text = EXPORT.replace('name = "people"', f'name = "{long[:60]}"').replace("people.csv", f"{long}.csv") + NAMED
    assert duckanon("run", people.policy(text)).code == 0
    assert duckanon("run", people.policy(text.replace("k = 3", "k = 201"))).code == 1
    assert duckanon("run", people.policy(text.replace("k = 3", "k = 2"))).code == 0
    told = duckanon("history", "--db", people.path / "ledger.duckdb").out
    assert max(map(len, told.splitlines())) <= 100
    assert "warning: the policy asks for less" in told
    assert "privacy.k: 201 is above" in told


def test_a_clock_in_the_future_is_not_well(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT + NAMED)
    assert duckanon("run", policy).code == 0
    later(people.path / "ledger.duckdb", -48)
    told = duckanon("status", policy, "--max-age", "1h")
    assert told.code == 1
    assert "dated in the future" in told.out


def test_a_list_that_is_gone_is_a_change(people: Folder, duckanon: Command) -> None:
    """DuckDB's hash does not tell NULL from an empty list."""
    people.sql("ALTER TABLE people ADD COLUMN notes VARCHAR[]", "UPDATE people SET notes = [] WHERE age < 40")
    policy = people.policy(PEOPLE.replace('identifiers = ["name"]', 'identifiers = ["name"]\nkeep = ["notes"]') + NAMED)

    def status() -> str:
        return str(duckanon("run", policy, "--if-changed", "--json").json["status"])

    assert [status(), status()] == ["released", "unchanged"]
    people.sql("UPDATE people_anonymous SET notes = NULL WHERE notes = []")
    assert [status(), status()] == ["released", "unchanged"]
    people.sql("UPDATE people SET notes = NULL WHERE notes = []")
    assert [status(), status()] == ["released", "unchanged"]


def test_a_view_that_was_made_anew_by_somebody_is_not_unchanged(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE.replace('"table"', '"view"').replace("k = 3", "k = 2") + NAMED)
    assert duckanon("run", policy).code == 0
    assert duckanon("run", policy, "--if-changed", "--json").json["status"] == "unchanged"
    ((comment,),) = people.sql("SELECT comment FROM duckdb_views() WHERE view_name = 'people_anonymous'")
    people.sql(
        "CREATE TABLE shown AS FROM people_anonymous",
        "CREATE OR REPLACE VIEW people_anonymous AS FROM shown",
        f"COMMENT ON VIEW people_anonymous IS '{comment}'",
    )
    assert duckanon("run", policy, "--if-changed", "--json").json["status"] == "released"
