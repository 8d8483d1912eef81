"""What `duckanon sql` prints is executed as it is, on a copy of the warehouse, and gives exactly the released rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.conftest import PEOPLE, Command, Folder
from tests.test_local import METHODS
from tests.test_local import policy as local_policy
from tests.test_names import HOSTILE, hostile

__all__ = ["hostile"]

ROWS, VIEW = "-- the released rows, from the census\n", "-- the view over the source, guarding itself\n"
Row = tuple[Any, ...]


def executed(script: str, database: Path, folder: Path) -> tuple[list[Row], list[Row]]:
    """The released rows and those of the view, as a plain DuckDB gives them on a copy of the warehouse."""
    copy = folder / "copy.duckdb"
    shutil.copy(database, copy)
    before, after = script.split(ROWS)
    rows, after = after.split(";\n\n", 1) if ";\n\n-- kept" in after or f";\n\n{VIEW}" in after else (after, "")
    kept, view = after.split(VIEW)
    with duckdb.connect(str(copy)) as connection:
        connection.execute(before)
        found = connection.execute(rows).fetchall()
        if kept.strip():
            connection.execute(kept)
        return found, connection.execute(view).fetchall()


def must_agree(folder: Folder, duckanon: Command, text: str, table: str) -> None:
    policy = folder.policy(text)
    script = duckanon("sql", policy)
    assert script.code == 0, script.err
    assert duckanon("run", policy).code == 0
    released = folder.sql(f"FROM {table}")
    rows, shown = executed(script.out, folder.database, folder.path)
    assert rows == released  # in their order
    assert sorted(map(str, shown)) == sorted(map(str, released))


@pytest.mark.parametrize("method", ["greedy", "optimal", "datafly"])
def test_full_domain(people: Folder, duckanon: Command, method: str) -> None:
    must_agree(people, duckanon, PEOPLE + f'[search]\nmethod = "{method}"\n', "people_anonymous")


@pytest.mark.parametrize("method", METHODS)
def test_every_class_at_its_own_levels(people: Folder, duckanon: Command, method: str) -> None:
    must_agree(people, duckanon, local_policy(method), "out")


def test_odd_names_and_a_dimension_table(hostile: Folder, duckanon: Command) -> None:
    text = HOSTILE.format(table='we"ird; drop', kind="table", to='"out; ""put"')
    must_agree(hostile, duckanon, text, '"out; ""put"')


MIXED = """
name = "mixed"
[source]
{source}
database = "warehouse.duckdb"
[privacy]
k = 3
suppression = 0.4
unmapped = "{unmapped}"
{entity}
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year", "decade"] }}
[quasi_identifiers.paid]
hierarchy = {{ intervals = [0.5, 10, 100] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [3, 1, 0] }}
[quasi_identifiers.city]
hierarchy = "city's.csv"
[sensitive.ill]
l = 2
[columns]
identifiers = ["person"]
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""

CASES = {
    "as it is": {},
    "by people": {"entity": 'entity = "person"'},
    "a query": {"source": "query = \"SELECT * FROM visits WHERE zip <> '0000' OR zip IS NULL\""},
    "what is unknown goes": {"unmapped": "suppress"},
    "what is unknown is the top": {"unmapped": "top"},
    "what is unknown goes, placed": {"unmapped": "suppress", "method": "climb"},
    "placed": {"method": "climb"},
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_hierarchy(tmp_path: Path, duckanon: Command, case: str) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "city's.csv").write_text('level_0,level_1,level_2\na,north,*\nb,north,*\n"c""c",south,*\n')
    unknown = "'Ys'" if "unknown" in case else "NULL"
    folder.sql(
        "CREATE TABLE visits AS SELECT 'p' || i // 2 AS person, DATE '1980-01-01' + CAST(i % 90 AS INTEGER) AS born, "
        "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 * 0.25 END::DOUBLE AS paid, "
        "['0213', '0214', '1000', NULL][1 + i % 4] AS zip, "
        f"['a', 'b', 'c\"c', CASE WHEN i % 9 = 0 THEN {unknown} END][1 + i % 4] AS city, "
        "['flu', 'HIV', 'cold', NULL][1 + i // 3 % 4] AS ill FROM range(300) r(i)"
    )
    usual = {"source": 'table = "visits"', "unmapped": "error", "entity": "", "method": "greedy"}
    must_agree(folder, duckanon, MIXED.format(**usual | CASES[case]), "shown")


def test_levels_that_are_given(people: Folder, duckanon: Command) -> None:
    told = duckanon("sql", people.policy(PEOPLE), "--levels", "age=2,zip=1")
    rows, shown = executed(told.out, people.database, people.path)
    assert rows
    assert sorted(map(str, rows)) == sorted(map(str, shown))
