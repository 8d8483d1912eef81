"""The lattice walked in the warehouse: the same node, the same figures, the same release as on the workbench."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duckanon
from duckanon import Policy, PolicyError
from tests.support.case_warehouse import exists, warehouse
from tests.support.cases import RELEASE, Case, cases
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.figures import alike, lost
from tests.support.folder import Folder
from tests.support.local_people import METHODS, policy
from tests.support.people import PEOPLE

UNTOLD = ("seconds", "started", "policy_hash", "effort")


def outcome(case: Case, method: str, loss: str, where: str) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """All that a run tells, and what it releases. How a search went off its path depends on what a look costs."""
    text = case.toml().replace(f'"method" = "{case.policy.method}"', f'"method" = "{method}", "loss" = "{loss}"')
    text = text.replace('"method" =', f'"where" = "{where}", "method" =')
    with warehouse(case) as (db, folder):
        told = duckanon.run(Policy.parse(text, folder), db).as_json()
        rows = db.execute(f"FROM {RELEASE}").fetchall() if exists(db) else []
        assert not db.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    told["utility"] = lost(told["utility"])
    return {key: value for key, value in told.items() if key not in UNTOLD}, rows


LOSSES = [("greedy", "ncp"), ("datafly", "ncp"), ("optimal", "ncp"), ("optimal", "precision")]


@examples(6)
@given(cases(), st.sampled_from([*LOSSES, ("optimal", "discernibility")]))
def test_it_finds_what_the_workbench_finds(case: Case, how: tuple[str, str]) -> None:
    here, there = (outcome(case, *how, where) for where in ("workbench", "warehouse"))
    assert alike(here, there), (here, there)


@pytest.mark.parametrize("fate", ["suppress", "top"])
def test_so_it_does_with_values_that_no_hierarchy_knows(fate: str) -> None:
    listed = '[quasi_identifiers.sex]\nhierarchy = { table = "sexes", columns = ["sex", "whole"] }'
    text = PEOPLE.replace("k = 3", f'k = 3\nunmapped = "{fate}"').replace("[quasi_identifiers.sex]", listed)
    text = text.replace('database = "warehouse.duckdb"\n', "")
    found = []
    for where in ("workbench", "warehouse"):
        with duckdb.connect() as db:
            db.execute("CREATE TABLE sexes AS FROM (VALUES ('F', 'all'), ('M', 'all')) t(sex, whole)")
            db.execute(
                "CREATE TABLE people AS SELECT 'n' || i AS name, i % 40 AS age, '02' || (100 + i % 30) AS zip, "
                "['F', 'M', 'X', NULL][1 + i // 5 % 4] AS sex, ['flu', 'cold', 'HIV'][1 + i % 3] AS disease "
                "FROM range(300) r(i)"
            )
            policy_ = Policy.parse(text.replace("0.1", "0.4") + f'[search]\nwhere = "{where}"\n')
            result = duckanon.run(policy_, db)
            assert result.good
            rows = db.execute("FROM people_anonymous").fetchall()
            found.append((result.levels, result.rows, lost(result.utility), result.privacy, rows))
    assert alike(*found)


def test_views_increments_and_scripts_too(people: Folder, duckanon: Command) -> None:
    there = PEOPLE + 'difference = "ignore"\n[search]\nwhere = "warehouse"\n'
    path = people.policy(there)
    assert duckanon("run", path).code == 0
    people.sql("INSERT INTO people SELECT p.* FROM people p LIMIT 40")
    told = duckanon("run", path, "--incremental", "--json")
    assert told.code == 0, told.err
    assert told.json["rows"]["new"] > 0
    assert duckanon("check", path, "--release").code == 0
    assert duckanon("sql", path).code == 0
    view = there.replace('kind = "table"\nto = "people_anonymous"', 'kind = "view"\nto = "shown"')
    assert duckanon("run", people.policy(view)).code == 0
    assert people.sql("SELECT count(*) > 0 FROM shown") == [(True,)]


def test_a_mask_that_may_only_be_removed_is_one_star_there_too(people: Folder, duckanon: Command) -> None:
    """Nothing of it is counted, the level below the top neither."""
    removed = PEOPLE.replace("0] }", "0] }\nat_least = 3")
    told = duckanon("run", people.policy(removed + '[search]\nwhere = "warehouse"\n'))
    assert told.code == 0, told.err
    assert people.sql("SELECT DISTINCT zip FROM people_anonymous") == [("*",)]


def test_a_census_that_is_too_large_can_be_walked_there(people: Folder, duckanon: Command) -> None:
    """The counts of the node that is found are all that come."""
    limited = PEOPLE + "[search]\ncensus_limit = 160\n"
    told = duckanon("run", people.policy(limited))
    assert told.code == 2
    assert 'search.where = "warehouse"' in told.err
    told = duckanon("run", people.policy(limited + 'where = "warehouse"\n'), "--json")
    assert told.code == 0, told.err


@pytest.mark.parametrize("method", METHODS)
def test_local_methods_stay_on_the_workbench(method: str) -> None:
    with pytest.raises(PolicyError, match=r'search.where: "warehouse" does not go with'):
        Policy.parse(policy(method) + 'where = "warehouse"\n')


def test_people_are_told_apart_on_the_workbench() -> None:
    text = PEOPLE.replace("k = 3", 'k = 3\nentity = "name"').replace('identifiers = ["name"]', "")
    with pytest.raises(PolicyError, match=r"search.where.*privacy.entity"):
        Policy.parse(text + '[search]\nwhere = "warehouse"\n')
