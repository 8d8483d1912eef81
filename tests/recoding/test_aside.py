"""Kept columns that are set aside: the release is, row by row, the one that counts them, whatever the source holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import duckanon
from duckanon import Policy
from duckanon.census import aside, counting
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine.opening import warehouse_of
from duckanon.engine.scratch import Scratch
from duckanon.recoding import full_domain
from duckanon.recoding.aside import rows_with_kept

ROWS = """SELECT CASE WHEN i % 31 > 0 THEN 20 + i * 7 % 40 END AS age,
    CASE WHEN i % 19 = 0 THEN 'zz' ELSE ['ab', 'ac', 'b', NULL][1 + i % 4] END AS "class",
    ['f', 'm'][1 + i % 2] AS "sex of",
    CASE WHEN i % 11 > 0 THEN ['flu', 'HIV', 'cold', 'a"b'][1 + i // 7 % 4] END AS disease,
    CASE WHEN i % 13 > 0 THEN 'Straße ' || (i * 37 % 101) END AS street,
    CASE WHEN i % 17 > 0 THEN (i % 3 - 1) * 0.0::DOUBLE + i // 2 END AS "value", [i % 5, NULL] AS visits
    FROM range(300) r (i)"""
POLICY = """
name = "people"
[source]
{source}
[privacy]
k = 4
suppression = 0.2
{unmapped}
[quasi_identifiers.age]
hierarchy = {{ intervals = [10, 20] }}
[quasi_identifiers.class]
hierarchy = "classes.csv"
[quasi_identifiers."sex of"]
[sensitive.disease]
l = 2
[columns]
keep = ["street", "value", "visits"]
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "out{ending}"
difference = "ignore"
"""
# 'zz' is in no hierarchy.
CLASSES = "level_0,level_1,level_2\nab,a,*\nac,a,*\nb,b,*\n"


def released(folder: Path, **parts: str) -> tuple[list[Any], dict[str, Any]]:
    """The rows in their order, and what the result says."""
    (folder / "classes.csv").write_text(CLASSES, encoding="utf-8")
    ending = "" if parts["kind"] == "table" else f".{parts['kind']}"
    (folder / "policy.toml").write_text(POLICY.format(**parts, ending=ending), encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS {ROWS}")
        told = duckanon.run(Policy.load(folder / "policy.toml"), connection, replace=True).as_json()
        out = "out" if not ending else f"'{folder / f'out{ending}'}'"
        rows = connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {out}").fetchall()
    for timed in ("seconds", "started", "run"):
        told.pop(timed, None)
    return rows, told


TABLE, FILE = 'table = "people"', 'file = "people.parquet"'
SUPPRESS, TOP = 'unmapped = "suppress"', 'unmapped = "top"'


@pytest.mark.parametrize(
    ("source", "kind", "method", "unmapped"),
    [
        (TABLE, "table", "greedy", SUPPRESS),
        (TABLE, "parquet", "optimal", TOP),
        (FILE, "csv", "greedy", TOP),
        (FILE, "parquet", "climb", SUPPRESS),
        (TABLE, "csv", "alpha_k_clustering", SUPPRESS),
    ],
)
def test_the_release_is_the_same(
    source: str, kind: str, method: str, unmapped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb.sql(f"COPY ({ROWS}) TO '{tmp_path / 'people.parquet'}'")
    parts = {"source": source, "kind": kind, "method": method, "unmapped": unmapped}
    always_set_aside(monkeypatch, False)
    counted = released(tmp_path, **parts)
    always_set_aside(monkeypatch, True)
    made = taken(monkeypatch)
    assert released(tmp_path, **parts) == counted
    assert made == [True]


def always_set_aside(monkeypatch: pytest.MonkeyPatch, always: bool) -> None:
    monkeypatch.setattr(aside, "_FEWEST_ROWS", 0 if always else 10**9)
    monkeypatch.setattr(aside, "_READ_AGAIN", -1.0)


def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether kept columns were set aside, census by census."""
    made: list[bool] = []

    def watched(policy: Policy, source: BoundSource) -> aside.Aside | None:
        found = aside.set_aside(policy, source)
        made.append(found is not None)
        return found

    monkeypatch.setattr(counting, "set_aside", watched)
    return made


def test_a_query_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may draw lots: what is released must be what was counted."""
    always_set_aside(monkeypatch, True)
    made = taken(monkeypatch)
    lots = 'query = "FROM people WHERE random() < 0.9"'
    _, told = released(tmp_path, source=lots, kind="table", method="greedy", unmapped=TOP)
    assert told["status"] == "released"
    assert made == [False]


def test_rows_that_came_after_the_count_are_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be another one when it is read again: then nothing is released."""
    file = tmp_path / "people.parquet"
    duckdb.sql(f"COPY ({ROWS}) TO '{file}'")
    always_set_aside(monkeypatch, True)

    def exchanged(plan: Any, *rest: Any) -> exp.Select:
        duckdb.sql(f"COPY ({ROWS} WHERE i <> 5) TO '{file}'")
        return rows_with_kept(plan, *rest)

    monkeypatch.setattr(full_domain, "rows_with_kept", exchanged)
    with pytest.raises(duckdb.IOException):
        released(tmp_path, source=FILE, kind="csv", method="greedy", unmapped=TOP)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(("streets", "worth"), [(1_000, True), (2, False)])
def test_it_is_worth_it_where_kept_columns_make_rows_different(streets: int, worth: bool, tmp_path: Path) -> None:
    rows = f"CREATE TABLE people AS SELECT i % 50 AS age, i % 2 AS sex, hash(i) % {streets} AS street"
    with duckdb.connect() as connection:
        connection.execute(f"{rows} FROM range(120_000) r (i)")
        (tmp_path / "policy.toml").write_text(SMALL, encoding="utf-8")
        policy = Policy.load(tmp_path / "policy.toml")
        with warehouse_of(connection) as warehouse:
            source = bind_source(policy, warehouse, Scratch(warehouse.workbench))
            assert (aside.set_aside(policy, source) is not None) == worth


SMALL = """
name = "people"
[source]
table = "people"
[privacy]
k = 5
[quasi_identifiers.age]
[quasi_identifiers.sex]
[columns]
keep = ["street"]
[release]
kind = "table"
to = "out"
"""
