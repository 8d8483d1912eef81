"""The rows lie in one database and are searched in another: only counts cross, and what is found is the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from duckanon.census import take_census
from duckanon.census.source import bind_source
from duckanon.engine import Warehouse, Workbench
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.engine.warehouse import Told
from duckanon.policy import Policy
from duckanon.query.dialects import WORKBENCH
from duckanon.recoding import find_recoding
from duckanon.recoding.rows import AS_THEY_ARE
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem

POLICY = """
name = "far"
[source]
{source}
[privacy]
k = 4
suppression = 0.1
{entity}
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year"] }}
[quasi_identifiers.city]
hierarchy = {{ table = "dim", columns = ["city", "region"] }}
[quasi_identifiers.job]
hierarchy = "job.csv"
[sensitive.ill]
l = 2
t = 0.6
[columns]
identifiers = ["name"]
keep = ["ward"]
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""


class Far(DuckDB):
    """A warehouse at the other end of a wire, with a workbench of its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection, "afar", persistent=True)
        self._bench = Workbench(duckdb.connect())
        self.came: list[tuple[str, int]] = []  # what came over the wire, and how many rows

    @property
    def workbench(self) -> Workbench:
        return self._bench

    @property
    def is_workbench(self) -> bool:
        return False

    def collect(
        self, name: exp.Table, query: exp.Query, note: str, told: Told | None = None, others: Sequence[exp.Query] = ()
    ) -> None:
        if told is not None:
            told(self.fetch(exp.select("COUNT(*)").from_(query.subquery("counted")))[0][0])
        self.came.append((note, _moved(name, query, self.connection, self._bench.connection)))

    def send(self, name: exp.Table, query: exp.Query, note: str) -> None:
        _moved(name, query, self._bench.connection, self.connection)


def _moved(name: exp.Table, query: exp.Query, there: duckdb.DuckDBPyConnection, here: duckdb.DuckDBPyConnection) -> int:
    rows = there.sql(query.sql(WORKBENCH, identify=True)).to_arrow_table()
    here.register("came", rows)
    here.execute(f"CREATE TEMP TABLE {name.sql(WORKBENCH, identify=True)} AS FROM came")
    here.unregister("came")
    return int(rows.num_rows)


@pytest.fixture
def source(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    (tmp_path / "job.csv").write_text("level_0,level_1,level_2\na,x,*\nb,x,*\nc,y,*\n")
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT 'n' || i // 2 AS name, 20 + i % 40 AS age, "
        "DATE '1980-01-01' + CAST(i % 400 AS INTEGER) AS born, ['ulm', 'ys', 'rom'][1 + i % 3] AS city, "
        "['a', 'b', 'c'][1 + i % 3] AS job, ['flu', 'cold', 'HIV', NULL][1 + i // 3 % 4] AS ill, 'w' AS ward "
        "FROM range(800) r(i)"
    )
    connection.execute("CREATE TABLE dim AS FROM (VALUES ('ulm', 'n'), ('ys', 'n'), ('rom', 's')) t(city, region)")
    return connection


def found(policy: Policy, warehouse: Warehouse) -> tuple[Any, ...]:
    """The levels, what is lost, and the rows that would be released."""
    scratch = Scratch(warehouse.workbench)
    source = bind_source(policy, warehouse, scratch)
    census = take_census(policy, source, scratch)
    recoding = find_recoding(Measurer(Problem.of(policy, census)), lambda *_: None, None).recoding
    assert recoding is not None
    rows = warehouse.workbench.fetch(recoding.query(source, AS_THEY_ARE))
    scratch.clear()
    return recoding.levels, rows, census.warnings


METHODS = ("greedy", "optimal", "datafly", "climb", "alpha_k_clustering")


@pytest.mark.parametrize(
    ("method", "table"),
    [
        *((method, 'table = "people"') for method in METHODS),
        ("greedy", 'query = "SELECT * FROM people WHERE age < 58"'),
    ],
)
def test_the_search_sees_only_its_workbench(
    source: duckdb.DuckDBPyConnection, tmp_path: Path, method: str, table: str
) -> None:
    policy = Policy.parse(POLICY.format(method=method, source=table, entity=""), tmp_path)
    near, far = DuckDB.wrap(source), Far(source)
    assert found(policy, far) == found(policy, near)
    assert [note for note, _ in far.came] == ["the source, counted in one scan", "hierarchy of city"]
    assert far.workbench.fetch("SELECT count(*) FROM duckdb_tables()") == [(0,)]
    temporary = "SELECT (SELECT count(*) FROM duckdb_tables() WHERE temporary), count(*) FROM duckdb_views() "
    assert source.execute(temporary + "WHERE temporary AND NOT internal").fetchall() == [(0, 0)]


@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_what_is_never_published_finer_is_not_counted_finer(
    source: duckdb.DuckDBPyConnection, tmp_path: Path, method: str
) -> None:
    text = POLICY.replace("[5, 10, 20] }}", "[5, 10, 20] }}\nat_least = 1\nat_most = 2")
    text = text.replace('["month", "year"] }}', '["month", "year"] }}\nat_least = 2')
    policy = Policy.parse(text.format(method=method, source='table = "people"', entity=""), tmp_path)
    near, far = DuckDB.wrap(source), Far(source)
    assert found(policy, far) == found(policy, near)
    came = {note: rows for note, rows in far.came if not note.startswith("hierarchy")}
    values = {"values of age": 40, "values of born": 400, "values of city": 3, "values of job": 3}
    # 8 ranges of five years, 2 years, and the jobs, cities and illnesses that come together: not a row more.
    (scan,) = source.execute(
        "SELECT count(*) FROM (SELECT DISTINCT age // 5, year(born), city, job, ill, ward FROM people)"
    ).fetchall()
    assert came == values | {"the source, counted in one scan": scan[0]}


def test_people_too(source: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = POLICY.replace('identifiers = ["name"]\n', "")
    policy = Policy.parse(text.format(method="greedy", source='table = "people"', entity='entity = "name"'), tmp_path)
    assert found(policy, Far(source)) == found(policy, DuckDB.wrap(source))


def test_nothing_is_remembered_of_what_was_traced(source: duckdb.DuckDBPyConnection) -> None:
    bench = Workbench(source)
    with suppress(ZeroDivisionError), bench.traced() as executed:
        bench.fetch("SELECT 1", "one")
        raise ZeroDivisionError
    for _ in range(3):
        bench.fetch("SELECT 2")
    assert [part.note for part in executed] == ["one"]
    assert bench._trace is None
