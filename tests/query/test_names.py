"""Hostile names and values: quotes, spaces, keywords, unicode, semicolons, newlines; all work end to end."""

from __future__ import annotations

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.hostile import HOSTILE


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


QUOTE = '"'


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
    path = str(hostile.path / to).replace("'", "''")
    place = f'"{to.replace(QUOTE, QUOTE * 2)}"' if kind == "view" else f"read_{kind}('{path}')"
    assert hostile.sql(f"SELECT count(*) FROM {place}") == [(told.json["rows"]["released"],)]
