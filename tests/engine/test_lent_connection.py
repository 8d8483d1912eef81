"""A connection that the caller lends is left as it was, however a run ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon

POLICY = """
name = "lent"
[source]
{source}
[privacy]
k = {k}
suppression = 0.3
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [2, 0] }}
[sensitive.ill]
l = 2
[columns]
identifiers = ["name"]
[release]
{release}
"""
TABLE = 'table = "people"'
# What a session can change, but for what the run was asked to make: ours lies in main and duckanon.
LOOKED_AT = (
    "SELECT name, value FROM duckdb_settings() ORDER BY name, value",
    "SELECT database_name, path, type, readonly FROM duckdb_databases() ORDER BY ALL",
    "SELECT table_name FROM duckdb_tables() WHERE temporary ORDER BY ALL",
    "SELECT view_name FROM duckdb_views() WHERE temporary ORDER BY ALL",
    "SELECT type_name FROM duckdb_types() WHERE database_name = 'temp' ORDER BY ALL",
    "SELECT function_name FROM duckdb_functions() WHERE database_name NOT IN ('system', 'db') ORDER BY ALL",
    "SELECT name FROM duckdb_variables() ORDER BY ALL",
    "SELECT name FROM duckdb_prepared_statements() ORDER BY ALL",
    "SELECT current_database(), current_schema(), current_schemas(true)",
)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute("ATTACH ':memory:' AS other; CREATE SCHEMA aside; CREATE TABLE aside.t AS SELECT 1 AS x")
        connection.execute("SET threads = 3; SET search_path = 'main,aside'; SET VARIABLE mine = 1")
        connection.execute(
            "CREATE TABLE people AS SELECT 'n' || i AS name, 20 + i % 40 AS age, '02' || i % 30 AS zip, "
            "['flu', 'cold', 'HIV'][1 + i % 3] AS ill FROM range(300) r(i)"
        )
        connection.execute("CREATE TEMP TABLE kept_by_me AS SELECT 1 AS x; CREATE TEMP MACRO mine(x) AS x + 1")
        yield connection


def state(connection: duckdb.DuckDBPyConnection) -> list[list[tuple[Any, ...]]]:
    first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
    assert first != second  # no transaction is open
    return [connection.execute(query).fetchall() for query in LOOKED_AT]


def policy(folder: Path, release: str, source: str = TABLE, k: int = 4) -> duckanon.Policy:
    return duckanon.Policy.parse(POLICY.format(release=release, source=source, k=k), folder)


RELEASES = {
    "table": 'kind = "table"\nto = "shown"',
    "view": 'kind = "view"\nto = "shown"',
    "parquet": 'kind = "parquet"\nto = "shown.parquet"',
    "csv": 'kind = "csv"\nto = "shown.csv"\nescape_formulas = true',
    "partitions": 'kind = "parquet"\nto = "shown"\npartition_by = ["ill"]',
}


# Every kind of release from a table, and every other kind of source to one.
RELEASED = [(TABLE, kind) for kind in RELEASES]
RELEASED += [('query = "SELECT * FROM people"', "view"), ('file = "people.csv"', "partitions")]


@pytest.mark.parametrize(("source", "kind"), RELEASED)
def test_after_a_release(connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str, source: str) -> None:
    connection.execute(f"COPY people TO '{tmp_path / 'people.csv'}'")
    before, wanted = state(connection), policy(tmp_path, RELEASES[kind], source)
    assert duckanon.run(wanted, connection).status == "released"
    assert state(connection) == before
    assert duckanon.run(wanted, connection).status == "released"  # over the one that stands
    assert duckanon.check(wanted, connection, release=True).status == "holds"
    assert duckanon.check(wanted, connection).status == "violated"
    assert state(connection) == before


@pytest.mark.parametrize("kind", ["table", "partitions"])
def test_where_nothing_is_feasible(connection: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str) -> None:
    before = state(connection)
    assert duckanon.run(policy(tmp_path, RELEASES[kind], k=1000), connection).status == "infeasible"
    assert state(connection) == before


FAULTS = {
    "a table that is not there": {"source": 'table = "gone"'},
    "a query that fails over a row": {"source": 'query = "SELECT * REPLACE (name::INT AS age) FROM people"'},
    "a query that is none": {"source": 'query = "SELECT FROM WHERE"'},
    "a file that is not there": {"source": 'file = "gone.csv"'},
    "a file that is no table": {"source": 'file = "bad.csv"'},
    "a place that is taken": {"release": 'kind = "table"\nto = "aside.t"'},
    "a folder that is not there": {"release": 'kind = "csv"\nto = "gone/shown.csv"'},
    "a column too many to partition by": {"release": 'kind = "csv"\nto = "shown"\npartition_by = ["name"]'},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_after_an_error(connection: duckdb.DuckDBPyConnection, tmp_path: Path, fault: str) -> None:
    (tmp_path / "bad.csv").write_text("name,age,zip,ill\na,1,02,flu\nb,2\n")
    given = FAULTS[fault]
    before = state(connection)
    wanted = policy(tmp_path, given.get("release", RELEASES["table"]), given.get("source", TABLE))
    for asked in (duckanon.run, duckanon.check) if "source" in given else (duckanon.run,):
        with pytest.raises(duckanon.DuckanonError):
            asked(wanted, connection)
    assert state(connection) == before


def test_when_the_files_cannot_be_written(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the one thread that writes partitions and the end of its statement."""
    from duckanon.engine.duckdb import release_files

    monkeypatch.setattr(release_files, "copy_options", lambda *_: "FORMAT nonsense")
    before = state(connection)
    with pytest.raises(duckanon.EngineError):
        duckanon.run(policy(tmp_path, RELEASES["partitions"]), connection)
    assert state(connection) == before


def test_when_it_is_interrupted(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.search.measure import Measurer

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Measurer, "measure", interrupted)
    before = state(connection)
    with pytest.raises(KeyboardInterrupt):
        duckanon.run(policy(tmp_path, RELEASES["table"]), connection)
    assert state(connection) == before


def test_metrics_and_history(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    before = state(connection)
    duckanon.metrics(connection, "people", qi=["age", "zip"], sensitive="ill", entity="name")
    duckanon.history(connection)
    with pytest.raises(duckanon.DuckanonError):
        duckanon.metrics(connection, "people", qi=["gone"])
    assert state(connection) == before


def test_an_open_transaction_is_refused_and_stays(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE mine_alone AS SELECT 1 AS x")
    with pytest.raises(duckanon.EngineError, match="open transaction"):
        duckanon.run(policy(tmp_path, RELEASES["table"]), connection)
    assert connection.execute("FROM mine_alone").fetchall() == [(1,)]
    connection.execute("ROLLBACK")
    state(connection)
