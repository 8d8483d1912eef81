"""Hostile names and values: quotes, spaces, keywords, unicode, semicolons, newlines; all work end to end."""

from __future__ import annotations

import pytest

from tests.conftest import Command, Folder

HOSTILE = """
name = "hostile"
[source]
table = '{table}'
database = "warehouse.duckdb"
[privacy]
k = 2
suppression = 0.2
[quasi_identifiers.select]
hierarchy = {{ intervals = [10, 20] }}
[quasi_identifiers."a b"]
hierarchy = {{ mask = [3, 2, 1, 0] }}
[quasi_identifiers."ünï"]
hierarchy = {{ table = 'dim "odd"; table', columns = ["from", "to where"] }}
[sensitive."it's"]
l = 2
[sensitive."it's".values."O'Brien's; DROP TABLE x"]
alpha = 0.9
alp = 0.9
dif = 0.9
l = 2
[columns]
identifiers = ["value"]
keep = ["n"]
[release]
kind = "{kind}"
to = '{to}'
"""


@pytest.fixture
def hostile(folder: Folder) -> Folder:
    folder.sql(
        """CREATE TABLE "dim ""odd""; table" AS SELECT * FROM (VALUES
            ('a''a', 'x "1"'), ('b\nb', 'x "1"'), ('ç;--', 'ÿ'), ('', 'ÿ')) AS t ("from", "to where")""",
        """CREATE TABLE "we""ird; drop" AS SELECT i AS "value", (i % 30)::INTEGER AS "select",
            ['ab''c', 'a"bd', 'ab;e', 'ünïc'][1 + i % 4] AS "a b",
            ['a''a', 'b\nb', 'ç;--', '', NULL][1 + i % 5] AS "ünï",
            ['O''Brien''s; DROP TABLE x', 'line\nbreak', '"', 'ß'][1 + (i // 3) % 4] AS "it's",
            i % 2 AS n
        FROM range(120) AS r (i)""",
    )
    return folder


@pytest.mark.parametrize("table", ['we"ird; drop', '"we""ird; drop"', 'main."we""ird; drop"'])
def test_hostile_names(hostile: Folder, duckanon: Command, table: str) -> None:
    policy = hostile.policy(HOSTILE.format(table=table, kind="table", to='"out; ""put"'))
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    sizes = 'SELECT count(*) AS x FROM "out; ""put" GROUP BY "select", "a b", "ünï"'
    assert hostile.sql(f"SELECT min(x) >= 2, sum(x) > 90 FROM ({sizes})") == [(True, True)]
    rows = hostile.sql('DESCRIBE "out; ""put"')
    assert [row[0] for row in rows] == ["select", "a b", "ünï", "it's", "n"]
    assert told.json["privacy"]["sensitive"]["it's"]["values"]["O'Brien's; DROP TABLE x"]["rows"] > 0
    assert duckanon("check", policy, "--release").code == 0
    assert duckanon("hierarchy", policy, "ünï").code == 0


@pytest.mark.parametrize("kind", ["view", "parquet", "csv"])
def test_hostile_names_of_other_kinds(hostile: Folder, duckanon: Command, kind: str) -> None:
    to = {"view": 'select; "view', "parquet": "o'ut \" ü.parquet", "csv": "o'ut; ü.csv"}[kind]
    policy = hostile.policy(HOSTILE.format(table='we"ird; drop', kind=kind, to=to).replace(f"'{to}'", f"'''{to}'''"))
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    again = duckanon("run", policy, "--json")
    assert again.code == 0, again.err
    assert again.json["levels"] == told.json["levels"]
    assert duckanon("check", policy, "--release").code == 0
