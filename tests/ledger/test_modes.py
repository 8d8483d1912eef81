"""A policy released again over data that has changed: modes, and what two releases tell together."""

from __future__ import annotations

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.repeats import policy, released


@pytest.mark.parametrize(("method", "kind"), [("greedy", "table"), ("optimal", "parquet")])
def test_monotone_is_never_finer_than_the_last(people: Folder, duckanon: Command, kind: str, method: str) -> None:
    first = released(duckanon, people, policy("monotone", kind=kind, method=method))["levels"]
    # Many more people like them, with all diseases: the search alone would now find finer levels.
    people.sql(
        "INSERT INTO people SELECT p.* REPLACE (d AS disease) FROM people p, (SELECT DISTINCT disease d FROM people)"
    )
    dry = released(duckanon, people, policy("monotone", kind=kind, method=method), "--dry-run")["levels"]
    second = released(duckanon, people, policy("monotone", kind=kind, method=method))["levels"]
    anew = released(duckanon, people, policy("search", kind=kind, method=method), "--dry-run")["levels"]
    assert second == dry == first
    assert any(anew[name] < level for name, level in second.items())
    # And fewer: the levels rise.
    people.sql("DELETE FROM people WHERE rowid >= 12")
    third = released(duckanon, people, policy("monotone", kind=kind, method=method))["levels"]
    assert third != second
    assert all(third[name] >= level for name, level in second.items())


def test_fixed_keeps_the_levels_or_fails(people: Folder, duckanon: Command) -> None:
    first = released(duckanon, people, policy("fixed"))
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(40)")
    second = released(duckanon, people, policy("fixed"))
    assert second["levels"] == first["levels"]
    assert [step["levels"] for step in second["path"]] == [first["levels"]]
    before = people.sql("SELECT count(*) FROM people_anonymous")
    people.sql("DELETE FROM people WHERE rowid >= 12")
    told = duckanon("run", people.policy(policy("fixed")), "--json")
    assert (told.code, told.json["status"]) == (1, "infeasible")
    assert "at the levels of the last release" in " ".join(told.json["reasons"])
    assert people.sql("SELECT count(*) FROM people_anonymous") == before
    assert released(duckanon, people, policy("search"))["status"] == "released"


def test_modes_need_a_ledger_and_levels(people: Folder, duckanon: Command) -> None:
    without = policy("fixed", kind="csv").replace('[ledger]\ndatabase = "ledger.duckdb"\n', "")
    told = duckanon("run", people.policy(without))
    assert told.code == 2
    assert "needs a ledger" in told.err
    told = duckanon("run", people.policy(policy("monotone", method="climb")))
    assert told.code == 2
    assert "release.mode" in told.err
    released(duckanon, people, policy("search", method="climb"))
    told = duckanon("run", people.policy(policy("fixed")))
    assert told.code == 2
    assert "has no levels" in told.err
    released(duckanon, people, policy("search"))
    told = duckanon("run", people.policy(policy("fixed").replace("[quasi_identifiers.sex]\n", "").replace(
        'identifiers = ["name"]', 'identifiers = ["name", "sex"]')))  # fmt: skip
    assert told.code == 2
    assert "had other quasi-identifiers" in told.err


@pytest.mark.parametrize("kind", ["table", "csv"])
def test_rows_that_two_releases_tell_apart_are_counted(people: Folder, duckanon: Command, kind: str) -> None:
    assert released(duckanon, people, policy("fixed", kind=kind))["warnings"] == []
    assert released(duckanon, people, policy("fixed", kind=kind))["warnings"] == []
    people.sql("INSERT INTO people SELECT 'new', age, zip, sex, 'flu' FROM people WHERE name = 'person 7'")
    refused = duckanon("run", people.policy(policy("fixed", kind=kind, difference="refuse")), "--json")
    assert (refused.code, refused.json["status"]) == (1, "violated")
    (reason,) = refused.json["reasons"]
    assert reason.startswith("release.difference: 1 classes grew or shrank by fewer than k = 3 rows")
    assert "1 rows in all" in reason
    assert released(duckanon, people, policy("fixed", kind=kind, difference="ignore"), "--dry-run")["warnings"] == []
    (warning,) = released(duckanon, people, policy("fixed", kind=kind))["warnings"]
    assert reason == warning + '; if that is what you want, release once with difference = "warn"'


def test_a_class_that_grew_by_k_is_not_told_apart(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, policy("fixed"))
    new = "SELECT 'new ' || i, age, zip, sex, 'flu' FROM people, range(3) AS r (i) WHERE name = 'person 7'"
    people.sql(f"INSERT INTO people {new}")
    assert released(duckanon, people, policy("fixed", difference="refuse"))["warnings"] == []
