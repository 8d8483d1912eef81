"""The first message after the likeliest mistakes: it says what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE


@pytest.mark.parametrize(
    ("named", "meant"),
    [("peoples", "did you mean people?"), ("main.poeple", "did you mean people?"), ("Odd", 'did you mean "odd one"?')],
)
def test_a_table_that_is_not_there(people: Folder, duckanon: Command, named: str, meant: str) -> None:
    people.sql('CREATE TABLE "odd one" AS SELECT 1 AS x' if "odd" in meant else "SELECT 1")
    told = duckanon("run", people.policy(PEOPLE.replace('table = "people"', f'table = "{named}"')))
    assert told.code == 2
    assert meant in told.err
    assert meant in duckanon("metrics", named, "--db", people.database, "--qi", "x").err


def test_a_table_like_no_other(people: Folder, duckanon: Command) -> None:
    told = duckanon("metrics", "xyz", "--db", people.database, "--qi", "x")
    assert "with its schema; there is people" in told.err
    dimension = PEOPLE.replace("{ mask = [4, 3, 0] }", '{ table = "peple", columns = ["zip"] }')
    assert "did you mean people?" in duckanon("run", people.policy(dimension)).err


def test_a_database_that_is_not_there_is_named_whole(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE.replace("warehouse.duckdb", "../warehose.duckdb"))
    told = duckanon("run", policy)
    assert told.code == 2
    assert f"looked for {people.path.resolve().parent}/warehose.duckdb" in told.err


def test_columns_in_one_word(people: Folder, duckanon: Command) -> None:
    told = duckanon("metrics", "people", "--db", people.database, "--qi", "age,zip")
    assert told.code == 2
    assert "repeat it: --qi age --qi zip" in told.err


def test_releasing_onto_the_source_is_not_to_be_replaced(people: Folder, duckanon: Command) -> None:
    for to in ("people", "main.people", "PEOPLE"):
        for options in ([], ["--replace"]):
            told = duckanon("run", people.policy(PEOPLE.replace('"people_anonymous"', f'"{to}"')), *options)
            assert told.code == 2
            assert "is the source itself" in told.err
            assert "--replace" not in told.err


def test_who_has_waited_is_not_told_to_wait(people: Folder, duckanon: Command) -> None:
    from duckanon import Policy
    from duckanon.engine.lock import one_at_a_time
    from duckanon.ledger import ReleaseAddress

    policy = people.policy(PEOPLE)
    code = f"import duckdb; c = duckdb.connect({str(people.database)!r}); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert "--wait" in duckanon("run", policy).err
        told = duckanon("run", policy, "--wait", "0.3")
        holder.communicate(b"\n")
    assert "after 0.3 seconds" in told.err
    assert "--wait" not in told.err
    with one_at_a_time(ReleaseAddress.of(Policy.load(policy), people.database).key, 0):
        assert "--wait" in duckanon("run", policy).err
        told = duckanon("run", policy, "--wait", "0.3")
    assert "0.3 seconds" in told.err
    assert "--wait" not in told.err


def test_faults_that_need_no_data_come_together(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace('kind = "table"', 'kind = "view"').replace("k = 3", 'k = 0\nunmapped = "top"')
    text = text.replace('identifiers = ["name"]', 'pseudonyms = ["name"]')
    text += '[pseudonyms]\nkey_env = "KEY"\n[search]\nmethod = "climb"\n'
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    for where in ("privacy.k", "privacy.unmapped", "release.kind"):
        assert where in told.err
