"""The same policy is proposed wherever the rows lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon.proposal import combinations, frequencies
from tests.support.command import Command
from tests.support.far import FarDatabase
from tests.support.folder import Folder

PEOPLE = """SELECT 'Person ' || i AS name, (18 + i * 7 % 60)::INTEGER AS age, '0' || (1000 + i * 13 % 90) AS zip,
    DATE '1950-01-01' + (i * 37 % 20000)::INTEGER AS born, TIMESTAMP '2024-01-01' + INTERVAL (i * 11) MINUTE AS seen,
    ['Bonn', 'Ulm', 'Bonn', 'Trier', 'Köln', 'Gera', 'Bonn', 'Hof', 'Suhl'][1 + (i // 3) % 9] AS city,
    CASE WHEN i % 50 = 0 THEN NULL ELSE (1.0 + i * i % 5000)::DOUBLE END AS fee, i % 2 = 0 AS insured,
    'p' || i || '@mail.example' AS contact, ['flu', 'cough', 'asthma'][1 + i % 3] AS diagnosis
    FROM range(900) AS r (i)"""


def told(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in column.items() if key != "type"} for column in columns]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_a_warehouse_afar_is_told_the_same(
    engine: str, many: bool, folder: Folder, duckanon: Command, request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder.path)
    folder.sql(f"CREATE TABLE people AS {PEOPLE}")
    near = duckanon("init", "people", "--db", "warehouse.duckdb", "--to", "near.toml", "--json").json
    address = loaded(engine, request)
    if many:  # as if these were so many rows that a part has to do
        for name, most in (("_FEW", 200), ("_EXACT", 100), ("_PART", 300), ("_SAMPLE", 300), ("_HASHES", 10)):
            monkeypatch.setattr(frequencies, name, most)
        monkeypatch.setattr(combinations, "_EXACT", 300)
    far = duckanon("init", "people", "--db", address, "--to", "far.toml", "--json")
    assert far.code == 0
    if many:
        assert [c["role"] for c in far.json["columns"]] == [c["role"] for c in near["columns"]]
        return
    assert told(far.json["columns"]) == told(near["columns"])
    assert far.json["riskiest"] == near["riskiest"]
    written = Path("far.toml").read_text("utf-8")
    Path("far.toml").write_text("".join(f"{line}\n" for line in written.splitlines() if "TODO" not in line), "utf-8")
    assert duckanon("run", "far.toml", "--db", address, "--dry-run", "--method", "greedy").code == 0


def loaded(engine: str, request: pytest.FixtureRequest) -> str:
    database: FarDatabase = request.getfixturevalue("lake" if engine == "spark" else "postgres_database")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS {PEOPLE}")
        database.copy(connection, "people")
    return database.address
