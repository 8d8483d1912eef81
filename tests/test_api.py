"""The Python API as its users write it."""

from __future__ import annotations

import duckdb
import pytest

import duckanon
from tests.conftest import PEOPLE, Folder


def test_a_run_on_a_file(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with duckanon.connect(people.database) as db:
        result = duckanon.run(policy, db)
        again = duckanon.run(policy, db)
    assert result.levels == again.levels
    assert result.good
    assert result.constraints[0].constraint.name == "k"
    assert result.path
    assert result.privacy
    assert result.utility


def test_a_run_on_an_open_connection_leaves_it_as_it_was(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with duckdb.connect(str(people.database)) as connection:
        assert duckanon.run(policy, connection).status == "released"
        assert duckanon.check(policy, connection, release=True).status == "holds"
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        assert names == ["people", "people_anonymous", "release_constraints", "releases"]
        assert connection.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]
        with pytest.raises(duckanon.PolicyError):
            duckanon.run(duckanon.Policy.load(people.policy(PEOPLE.replace('"people"\nd', '"gone"\nd'))), connection)
        connection.execute("SELECT 1")


def test_a_policy_is_frozen(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with pytest.raises(AttributeError):
        policy.k = 1  # type: ignore[misc]


def test_the_budget_is_taken_as_written() -> None:

    def budget(written: str, rows: int) -> int:
        return duckanon.Policy.parse(PEOPLE.replace("suppression = 0.1", f"suppression = {written}")).budget(rows)

    assert budget("0.29", 100) == 29
    assert budget("0.02", 30162) == 603
    assert budget("7", 100) == 7
    assert budget("700", 100) == 100


def test_a_database_in_memory_is_refused_only_where_the_release_would_vanish(tmp_path: object) -> None:
    with duckanon.connect() as db, pytest.raises(duckanon.ReleaseError):
        duckanon.run(duckanon.Policy.parse(PEOPLE), db)


def test_a_policy_may_be_a_path(people: Folder) -> None:
    path = people.policy(PEOPLE)
    with duckanon.connect(people.database) as db:
        assert duckanon.run(path, db).good
        assert duckanon.check(str(path), db, release=True).good
        assert len(duckanon.metrics(db, "people", qi="age"))


def test_an_open_transaction_is_refused_and_left_alone(people: Folder) -> None:
    with duckdb.connect(str(people.database)) as connection:
        connection.begin()
        connection.execute("CREATE TABLE mine AS SELECT 1 AS x")
        with pytest.raises(duckanon.EngineError, match="open transaction"):
            duckanon.run(people.policy(PEOPLE), connection)
        connection.commit()
        assert connection.execute("FROM mine").fetchall() == [(1,)]
