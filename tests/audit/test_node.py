"""`check --levels`: what a release at these levels would be, though none is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import given

import duckanon as api
from duckanon.policy.schema import FULL_DOMAIN
from tests.support.case_warehouse import warehouse
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.figures import must_be_alike
from tests.support.folder import Folder
from tests.support.people import PEOPLE
from tests.support.same_release import told
from tests.support.variants import KEY, Variant, variants

SAME = ("levels", "heights", "rows", "people", "classes", "constraints", "privacy", "utility")
LOCAL = PEOPLE + '[search]\nmethod = "climb"\n'
PRIVATE = PEOPLE.replace('identifiers = ["name"]', 'pseudonyms = ["name"]\n[pseudonyms]\nkey_env = "UNSET"')


def figures(document: dict[str, Any]) -> dict[str, Any]:
    return {part: document[part] for part in SAME if part in document}


@examples(3)
@given(variants())
def test_the_figures_are_those_of_a_run_that_comes_there(variant: Variant) -> None:
    variant = replace(variant, method=variant.method if variant.method in FULL_DOMAIN else "greedy")
    with pytest.MonkeyPatch.context() as patch, warehouse(variant.case) as (db, folder):
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        policy = api.Policy.parse(variant.toml(), folder)
        released = told(lambda: api.run(policy, db, dry_run=True))
        if released.get("status") != "holds":
            return
        checked = told(lambda: api.check(policy, db, levels=released["levels"]))
        assert checked["status"] == "holds"
        must_be_alike(figures(checked), figures(released))
        assert not db.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()


def test_a_node_that_breaks_the_budget_says_by_what(people: Folder, duckanon: Command) -> None:
    before = people.dump()
    told = duckanon("check", people.policy(PEOPLE), "--levels", "age=1, sex=1", "--json")
    assert told.code == 1
    found = told.json
    assert (found["status"], found["levels"]) == ("violated", {"age": 1, "zip": 0, "sex": 1})
    classes = people.sql("SELECT count(*) FROM people GROUP BY age // 5, zip")
    small = sum(size for (size,) in classes if size < 3)
    assert found["rows"]["suppressed"] >= small > 20
    assert found["reasons"] == [f"{found['rows']['suppressed']} rows fail, the budget is 20"]
    k, *_ = found["constraints"]
    assert (k["measured"], k["threshold"], k["holds"]) == (min(classes)[0], 3, False)
    assert found["privacy"]["k"] >= 3  # of those that would be released
    assert "path" not in found
    assert "release" not in found
    assert people.dump() == before


def test_a_node_at_which_every_row_fails(people: Folder, duckanon: Command) -> None:
    told = duckanon("check", people.policy(PEOPLE.replace("k = 3", "k = 50")), "--levels", "age=0", "--json")
    assert (told.code, told.json["rows"]["released"], told.json["classes"]) == (1, 0, 0)
    assert told.json["reasons"] == ["200 rows fail, the budget is 20"]
    assert told.json["utility"]["ncp"] == 1
    assert [c["holds"] for c in told.json["constraints"]] == [False, False]


def test_a_local_method_is_asked_for_one_node_too(people: Folder, duckanon: Command) -> None:
    one, other = (
        duckanon("check", people.policy(text), "--levels", "age=4,zip=3,sex=1", "--json").json
        for text in (PEOPLE, LOCAL)
    )
    assert (one["status"], one["classes"]) == ("holds", 1)
    assert figures(one) == figures(other)


def test_pseudonyms_take_no_key(people: Folder, duckanon: Command) -> None:
    told = duckanon("check", people.policy(PRIVATE), "--levels", "age=4,zip=3")
    assert (told.code, told.err) == (0, "")
    assert "level 4 of 4  removed (*)" in told.out


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("age=5", "'age=5' must be a level from 0 to 4"),
        ("zip=0", "'zip=0' must be a level from 1 to 2"),
        ("zip=3", "'zip=3' must be a level from 1 to 2"),
        ("disease=1", "'disease=1' names no quasi-identifier — quasi-identifiers: age, zip, sex"),
        ("age", "'age' names no level"),
        ("", "'' names no level"),
        ("age=1,AGE=2", "'AGE=2' names a column for the second time"),
        ("age=" + "9" * 5000, "must be a level from 0 to 4"),
    ],
)
def test_levels_that_there_are_not(people: Folder, duckanon: Command, levels: str, said: str) -> None:
    bounded = PEOPLE.replace("mask = [4, 3, 0] }", "mask = [4, 3, 0] }\nat_least = 1\nat_most = 2")
    told = duckanon("check", people.policy(bounded), "--levels", levels)
    assert told.code == 2
    assert said in told.err


def test_a_release_is_at_the_levels_that_it_is_at(people: Folder, duckanon: Command) -> None:
    told = duckanon("check", people.policy(PEOPLE), "--levels", "age=1", "--release")
    assert (told.code, told.out) == (2, "")
    assert "--levels: has no meaning with --release" in told.err
    with duckdb.connect(people.database) as db, pytest.raises(api.UsageError, match="no meaning"):
        api.check(people.path / "policy.toml", db, release=True, levels={"age": 1})


def test_odd_names(hostile: Folder) -> None:
    hostile.sql('CREATE TABLE odd AS SELECT i % 2 AS "a, b=c", i % 3 AS ill FROM range(12) r (i)')
    text = 'name = "o"\nsource.table = "odd"\nprivacy.k = 6\nquasi_identifiers."a, b=c" = {}\nsensitive.ill.l = 3\n'
    policy = api.Policy.parse(text + 'release = { kind = "table", to = "shown" }')
    with api.connect(hostile.database) as db:
        for levels in ('"a, b=c"=0', {"a, b=c": 0}):
            assert api.check(policy, db, levels=levels).constraints[0].measured == 6
