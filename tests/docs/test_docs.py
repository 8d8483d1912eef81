"""The examples of the documentation are run, and print what the documentation says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon
from duckanon import Policy, resources
from duckanon.cli.demo import demo
from tests.support.paths import ROOT

ANALYSTS = ROOT / "docs" / "analysts.md"
_EXAMPLE = re.compile(r"```sql\n(?P<sql>.*?)\n```\n(?P<table>\n(?:\|[^\n]*\n)+)?", re.S)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("demo")
    demo(folder, lambda _: None)
    local = (folder / "patients.toml").read_text(encoding="utf-8").replace("patients_anonymous", "patients_local")
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        connection.execute(resources.macros())
        duckanon.run(Policy.parse(local + '[search]\nmethod = "climb"\n', folder), connection)
        connection.execute(
            "CREATE VIEW city_levels AS "
            "SELECT city AS level_0, region AS level_1, country AS level_2, '*' AS level_3 FROM dim_city"
        )
        yield connection


def cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    result = connection.execute(sql)
    names = [column[0] for column in result.description or []]
    lines = [names, ["---"] * len(names), *([cell(value) for value in row] for row in result.fetchall())]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_examples_for_analysts(warehouse: duckdb.DuckDBPyConnection) -> None:
    text = ANALYSTS.read_text(encoding="utf-8")

    def rendered(example: re.Match[str]) -> str:
        return f"```sql\n{example['sql']}\n```\n{answer(warehouse, example['sql'])}"

    fresh = _EXAMPLE.sub(rendered, text)
    if os.environ.get("DUCKANON_UPDATE_GOLDEN"):
        ANALYSTS.write_text(fresh, encoding="utf-8")
    assert fresh == text


def test_every_macro_has_an_example(warehouse: duckdb.DuckDBPyConnection) -> None:
    text = ANALYSTS.read_text(encoding="utf-8")
    names = warehouse.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE schema_name = 'duckanon'"
    ).fetchall()
    assert len(names) > 15
    for (name,) in names:
        assert f"duckanon.{name}(" in text, name


def test_the_policy_of_the_readme_is_one(tmp_path: Path) -> None:
    import duckanon

    (policy,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert duckanon.Policy.parse(policy, tmp_path).name == "patients"
