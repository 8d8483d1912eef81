"""The command line to the letter of its promises: JSON, exit codes, help, quiet pipes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.command import Command
from tests.support.figures import alike, lost
from tests.support.folder import Folder
from tests.support.paths import ROOT
from tests.support.people import PEOPLE

COMMANDS = ["demo", "run", "check", "sql", "hierarchy", "metrics", "install", "history"]


def test_the_json_of_a_run(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE), "--json")
    assert told.code == 0
    assert told.err == ""
    found = told.json
    assert found["status"] == "released"
    assert found["name"] == "people"
    assert found["method"] == "greedy"
    assert found["heights"] == {"age": 4, "zip": 3, "sex": 1}
    assert set(found["levels"]) == {"age", "zip", "sex"}
    assert found["rows"]["released"] + found["rows"]["suppressed"] == found["rows"]["source"] == 200
    names = {"name", "column", "value", "threshold", "measured", "holds"}
    assert all(set(constraint) == names for constraint in found["constraints"])
    assert [c["name"] for c in found["constraints"]] == ["k", "distinct_l"]
    assert found["privacy"]["k"] >= 3
    assert {"distinct_l", "entropy_l", "homogeneous_rows", "t", "values"} <= set(
        found["privacy"]["sensitive"]["disease"]
    )
    assert {"rows", "alpha", "alp", "dif"} == set(found["privacy"]["sensitive"]["disease"]["values"]["HIV"])
    assert {"precision", "ncp", "discernibility", "average_class_size", "loss"} <= set(found["utility"])
    assert found["path"][0]["levels"] == {"age": 0, "zip": 0, "sex": 0}
    assert [step["holds"] for step in found["path"]] == [False] * (len(found["path"]) - 1) + [True]
    assert found["release"] == {"kind": "table", "to": "people_anonymous"}
    assert set(found["seconds"]) == {"source", "census", "search", "release", "verify"}


def test_the_json_of_a_check_has_no_path_and_no_release(people: Folder, duckanon: Command) -> None:
    told = duckanon("check", people.policy(PEOPLE), "--json")
    assert told.code == 1
    assert told.json["status"] == "violated"
    assert not {"path", "release"} & set(told.json)
    assert told.json["levels"] == {"age": 0, "zip": 0, "sex": 0}


def test_check_of_a_release(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    assert duckanon("check", policy, "--release").code == 2
    released = duckanon("run", policy, "--json").json
    checked = duckanon("check", policy, "--release", "--json")
    assert checked.code == 0
    for key in ("levels", "rows", "classes", "constraints", "privacy"):
        assert checked.json[key] == released[key]
    assert alike(checked.json["utility"], lost(released["utility"]))
    people.sql("DELETE FROM people_anonymous WHERE disease <> 'HIV'")
    assert duckanon("check", policy, "--release").code == 1


def test_a_release_that_has_more_rows_than_the_source(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    released = duckanon("run", policy, "--json").json["rows"]["released"]
    people.sql("DELETE FROM people WHERE rowid % 3 = 0")
    checked = duckanon("check", policy, "--release", "--json").json
    ((source,),) = people.sql("SELECT count(*) FROM people")
    assert checked["rows"] == {"source": source, "released": released, "suppressed": 0}
    assert [w for w in checked["warnings"] if f"the release has {released} rows, the source only {source}" in w]


def test_an_impossible_policy_is_said_before_the_search(people: Folder, duckanon: Command) -> None:
    asked = {
        "k = 3": ("k = 201", ["privacy.k", "201", "200 rows"]),
        "l = 2": ("l = 6", ["sensitive.disease.l", "5 distinct values"]),
        "l = 2\n": ("alpha = 0.3\n", ["alpha 0.3", "'flu'", "42.", "feasible"]),
    }
    for old, (new, words) in asked.items():
        before = people.dump()
        told = duckanon("run", people.policy(PEOPLE.replace(old, new)), "--json")
        assert told.code == 1
        assert told.json["status"] == "infeasible"
        assert told.json["path"] == []
        for word in words:
            assert word in " ".join(told.json["reasons"])
            assert word in told.err
        assert people.dump() == before


def test_a_policy_that_fails_at_the_top_says_by_how_much(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE.replace("l = 2", "entropy_l = 4.9")), "--json")
    assert told.code == 1
    assert told.json["status"] == "infeasible"
    assert "entropy_l" in told.err
    assert [c["holds"] for c in told.json["constraints"] if c["name"] == "entropy_l"] == [False]


def test_named_values_that_the_data_does_not_have_are_a_warning(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace("l = 2\n", "l = 2\n[sensitive.disease.values.plague]\nalpha = 0.1\nalp = 0.1\nl = 9\n")
    told = duckanon("run", people.policy(text), "--json")
    assert told.code == 0
    assert "plague" in told.json["warnings"][0]


def test_a_kept_column_that_identifies_people_is_a_warning(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace('identifiers = ["name"]', 'keep = ["name"]')
    told = duckanon("run", people.policy(text), "--json")
    assert told.code == 0
    (warning,) = told.json["warnings"]
    assert warning.startswith("columns.keep: name (100%): so many of the rows are alone with their value")


def test_the_database_can_be_given(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE.replace('database = "warehouse.duckdb"', 'database = "gone.duckdb"'))
    assert duckanon("run", policy).code == 2
    assert duckanon("run", policy, "--db", people.database).code == 0


def test_the_sql_of_a_run(people: Folder, duckanon: Command) -> None:
    told = duckanon("sql", people.policy(PEOPLE), "--levels", "age=2,zip=1")
    assert told.code == 0
    assert "levels age=2, zip=1, sex=0" in told.out
    for part in ("mapping table of age", "the census", "the level view over the census", "check:", "guarding itself"):
        assert part in told.out
    view = told.out.split("guarding itself\n")[1].rstrip().rstrip(";")
    first = people.sql(f"SELECT count(*) FROM ({view})")
    assert first[0][0] > 0


def test_a_summary_is_readable(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE))
    for words in ("released to table people_anonymous", "ranges of", "suppressed", "holds", "before", "NCP"):
        assert words in told.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(duckanon: Command, command: str) -> None:
    told = duckanon(command, "--help")
    assert told.code == 0
    assert f"Example:  duckanon {command}" in told.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"duckanon {command}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_pipe_stays_quiet_and_may_close_early(people: Folder) -> None:
    policy = people.policy(PEOPLE)
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    assert json.loads(ended.stdout)["status"] == "released"
    shell = f"{sys.executable} -m duckanon sql {policy} | head -1"
    closed = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert closed.stderr == ""


def test_starting_does_not_import_pandas() -> None:
    code = "import sys, duckanon.cli; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
