"""The same policy on a Spark Connect server: what is found and released is what DuckDB finds and releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.command import Command, Told
from tests.support.folder import Folder
from tests.support.spark import Lake

# Types that are written alike, NULLs, a NaN, a -0.0 and an empty text; a table of labels, and a file.
PEOPLE = """
    SELECT 'n' || i AS name, CAST(20 + i % 40 AS INTEGER) AS age,
        DATE '1980-01-01' + CAST(i * 7 % 400 AS INTEGER) AS born,
        CASE WHEN i % 17 > 0 THEN ['ulm', 'ys', '', 'rom'][1 + i % 4] END AS city,
        ['a', 'b''c', 'c"\\'][1 + i % 3] AS job,
        ['flu', 'cold', 'HIV', NULL, 'it''s'][1 + i // 3 % 5] AS ill,
        CAST(['0.0', '-0.0', '1.5', 'nan', NULL][1 + i % 5] AS DOUBLE) AS dose,
        CAST(i % 9 * 1.25 AS DECIMAL(8, 2)) AS pay
    FROM range(600) AS r (i)
"""
CITIES = "SELECT * FROM (VALUES ('ulm', 'n'), ('ys', 'n'), ('rom', 's'), ('', 's')) AS t (city, region)"
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
hierarchy = {{ table = "cities", columns = ["city", "region"] }}
[quasi_identifiers.job]
hierarchy = "job.csv"
[sensitive.ill]
l = 2
t = 0.6
alpha = 0.9
levels = {{ 1 = ["HIV", "it's"], 2 = ["flu", "cold"] }}
level_alpha = {{ 1 = 0.9 }}
[sensitive.pay]
t = 0.8
[columns]
{others}
keep = ["dose"]
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "{to}"
difference = "ignore"
"""
JOBS = """level_0,level_1,level_2
a,x,*
b'c,x,*
"c""\\",y,*
"""
OTHERS = 'identifiers = ["name"]'
METHODS = (
    "greedy", "optimal", "datafly", "climb", "alpha_k_clustering", "l_c_clustering", "alpha_l_diversification",
)  # fmt: skip


def policy(
    folder: Folder, method: str = "greedy", source: str = 'table = "people"', to: str = "shown", **more: str
) -> Path:
    (folder.path / "job.csv").write_text(JOBS, encoding="utf-8")
    given = {"entity": "", "others": OTHERS, "kind": "table"} | more
    return folder.policy(POLICY.format(method=method, source=source, to=to, **given))


@pytest.fixture
def both(lake: Lake, folder: Folder) -> Lake:
    """The same tables in Spark and in a DuckDB file."""
    with duckdb.connect(str(folder.database)) as near:
        for name, query in {"people": PEOPLE, "cities": CITIES}.items():
            near.execute(f"CREATE TABLE {name} AS {query}")
            lake.load(name, f"FROM {name}", near)
    return lake


def figures(told: Told) -> Any:
    """All that a run tells, but for how long it took and what it was called."""
    assert told.code in (0, 1), told.err
    return {key: value for key, value in told.json.items() if key not in ("seconds", "started", "run", "effort")}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return other == pytest.approx(one, abs=1e-9)
    return bool(one == other)


def rows(found: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(str, found))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_releases_what_duckdb_does(duckanon: Command, both: Lake, folder: Folder, method: str) -> None:
    asked = policy(folder, method)
    near = duckanon("run", asked, "--db", folder.database, "--json")
    far = duckanon("run", asked, "--db", both.address, "--json")
    assert near.code == far.code == 0, far.err
    assert same(figures(near), figures(far)), (figures(near), figures(far))
    assert rows(both.sql("SELECT * FROM shown")) == rows(folder.sql("FROM shown"))
