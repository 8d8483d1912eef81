"""Every choice is what a run with it comes to."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
from hypothesis import given

import duckanon as api
from duckanon.comparison import Choice, Comparing, Grid
from duckanon.engine.opening import warehouse_of
from duckanon.policy import Policy
from tests.support.case_warehouse import warehouse
from tests.support.examples import examples
from tests.support.folder import Folder, opened
from tests.support.people import PEOPLE, UNCOMPARED
from tests.support.variants import KEY, Variant, variants


def must_be_as_run(choice: Choice, db: Any) -> None:
    run = api.run(choice.wanted.policy, db, dry_run=True)
    assert choice.status == run.status
    assert choice.levels == run.levels
    if not run.good:
        assert choice.reasons == run.reasons
        return
    assert run.utility is not None
    assert run.privacy is not None
    assert (choice.suppressed, choice.classes) == (run.rows["suppressed"], run.classes)
    assert choice.highest_risk == run.privacy["highest_risk"]
    assert choice.ncp is not None
    assert math.isclose(choice.ncp, run.utility["ncp"], abs_tol=1e-9)


def compared(policy: Policy, grid: Grid, db: Any) -> list[Choice]:
    with warehouse_of(db) as lent:
        return list(Comparing(policy, grid).run(lent).choices)


@examples(2)
@given(variants())
def test_random_policies_under_every_method(variant: Variant) -> None:
    with pytest.MonkeyPatch.context() as patch, warehouse(variant.case) as (db, folder):
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        policy = Policy.parse(variant.toml(), folder)
        try:
            choices = compared(policy, Grid(suppression=[5]), db)
        except api.DuckanonError:
            with pytest.raises(api.DuckanonError):
                api.run(policy, db, dry_run=True)
            return
        for choice in choices:
            must_be_as_run(choice, db)
        assert not db.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()


def test_several_k_and_budgets(people: Folder) -> None:
    policy = Policy.parse(PEOPLE + UNCOMPARED, people.path)
    before = people.dump()
    with duckdb.connect(people.database) as db:
        choices = compared(policy, Grid([2, 8], [0, 30], ["greedy", "optimal"]), db)
        assert len(choices) == 9  # the policy itself is none of the eight
        for choice in choices:
            must_be_as_run(choice, db)
    assert people.dump() == before


@pytest.mark.parametrize("mode", ["fixed", "monotone"])
def test_a_policy_that_follows_its_last_release(people: Folder, mode: str) -> None:
    text = PEOPLE + f'mode = "{mode}"\n'
    with api.connect(people.database) as db:
        assert api.run(Policy.parse(text.replace("k = 3", "k = 9"), people.path), db).good
        choices = compared(Policy.parse(text, people.path), Grid(method=["optimal", "greedy"], suppression=[0, 20]), db)
        assert {choice.wanted.policy.search.method for choice in choices} == {"greedy", "optimal"}
        for choice in choices:
            must_be_as_run(choice, db)
    with opened(people.database) as connection:
        assert connection.execute("SELECT count(*) FROM duckanon.releases").fetchall() == [(1,)]
