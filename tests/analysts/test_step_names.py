"""The steps of printed SQL have names that a reader can follow, and that no name of a user is mistaken for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

POLICY = """
name = "named"
[source]
table = "{table}"
database = "warehouse.duckdb"
[privacy]
k = 2
suppression = 0.5
{entity}
[quasi_identifiers."{age}"]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [3, 2, 0] }}
[sensitive."{ill}"]
l = 2
entropy_l = 1.1
t = 0.9
alp = 0.95
levels = {{ 1 = ["flu"], 2 = ["cold", "HIV"] }}
level_l = 1
[sensitive.pay]
alpha = 0.9
t = 0.9
[columns]
identifiers = ["who"]
[release]
kind = "table"
to = "shown"
"""

USUAL = {"table": "people", "age": "age", "ill": "ill", "entity": ""}
STEPS = r'(?:WITH|\),) "(\w+)" AS (?:MATERIALIZED )?\('
# Words, and the number of a column where there are several.
WORDS = re.compile(r"[a-z]{2,}(_[a-z]+)*(_\d+)?")


def printed(folder: Path, duckanon: Any, **names: str) -> str:
    """What `duckanon sql` prints, which is executed to its end on the way."""
    said = USUAL | names
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        connection.execute(
            f'CREATE TABLE "{said["table"]}" AS SELECT \'n\' || i // 2 AS who, 20 + i * 7 % 40 AS "{said["age"]}", '
            f"CAST(1000 + i * 13 % 50 AS VARCHAR) AS zip, ['flu', 'cold', 'HIV'][1 + i % 3] AS \"{said['ill']}\", "
            "i % 5 AS pay FROM range(200) r(i)"
        )
    (folder / "policy.toml").write_text(POLICY.format(**said))
    told = duckanon("sql", folder / "policy.toml")
    assert told.code == 0, told.err
    text = str(told.out)
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        shown = connection.execute(text).fetchall()  # of the view, which comes last
    assert duckanon("run", folder / "policy.toml").code == 0
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        assert sorted(map(str, shown)) == sorted(map(str, connection.execute("FROM shown").fetchall()))
    return text


@pytest.mark.parametrize("entity", ["", 'entity = "who"'])
def test_they_are_words(tmp_path: Path, duckanon: Any, entity: str) -> None:
    text = printed(tmp_path, duckanon, entity=entity)
    steps = re.findall(STEPS, text)
    assert {"value_counts_0", "value_counts_1", "classes", "released_cells", "labelled_cells", "shown"} <= set(steps)
    assert [step for step in steps if not WORDS.fullmatch(step)] == []
    aliases = re.findall(r'(?:FROM|JOIN) "[^"]+" AS "(\w+)"|^\s*\) AS "(\w+)"$', text, re.MULTILINE)
    assert [alias for alias in {one or other for one, other in aliases} if len(alias) < 2 or alias[1].isdigit()] == []


def test_one_column_needs_no_number(tmp_path: Path, duckanon: Any) -> None:
    """The same statement always has the same names."""
    text = printed(tmp_path, duckanon)
    (tmp_path / "policy.toml").write_text((tmp_path / "policy.toml").read_text().replace("alpha = 0.9\nt = 0.9\n", ""))
    alone = duckanon("sql", tmp_path / "policy.toml").out
    assert '"value_counts" AS (' in alone
    assert '"value_counts_0" AS (' in text
    assert duckanon("sql", tmp_path / "policy.toml").out == alone


@pytest.mark.parametrize("name", ["source", "classes", "value_counts_0", "released_cells", "select"])
def test_no_name_of_a_user_is_hidden(tmp_path: Path, duckanon: Any, name: str) -> None:
    printed(tmp_path, duckanon, table=name, age="classes", ill=f"{name} of")


def test_the_short_names_are_explained(tmp_path: Path, duckanon: Any) -> None:
    text = printed(tmp_path, duckanon, ill="ill\tand tired")
    assert "-- columns: q0 age, q1 zip, s0 ill and tired, s1 pay\n" in text
    assert "distinct_l_0_0 of ill and tired" in text
