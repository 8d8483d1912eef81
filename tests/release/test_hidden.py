"""What is not released leaves no trace: a file is, byte for byte, that of a source which never had the hidden rows."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from duckanon.release import mark as marks
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import NAMED

# Twelve kinds of people, and a few of the last who have values of their own in every column.
PEOPLE = """
CREATE TYPE mood AS ENUM ('bad', 'fair', 'good', 'hidden mood');
CREATE TABLE people AS
SELECT i AS id, i >= {rows} - 4 AS rare, i % 12 AS kind,
    CASE WHEN rare THEN 90 + i % 3 ELSE 20 + kind END AS age,
    CASE WHEN rare THEN 'LONG-CODE-' || i WHEN kind = 4 THEN NULL ELSE chr((65 + i % 20)::INTEGER) || i % 100 END
        AS code,
    CASE WHEN rare THEN 'Hidden ' || i WHEN kind = 3 THEN NULL ELSE ['Bonn', 'Ulm', 'Hof'][1 + kind % 3] END AS city,
    make_date(CASE WHEN rare THEN i ELSE 1950 + kind END, 1 + i % 12, 1 + i % 28) AS born,
    (CASE WHEN rare THEN 'hidden mood' ELSE ['bad', 'good'][1 + kind % 2] END)::mood AS mood,
    CASE WHEN rare THEN 'C52.' || i WHEN i % 31 = 0 THEN NULL ELSE ['C50', 'C51', 'C53', 'C54', 'flu'][1 + i % 5] END
        AS disease,
    CASE WHEN rare THEN 1e9 + i ELSE 100 * (i % 13) END::DECIMAL(18, 2) AS cost,
    (CASE WHEN rare THEN 'hidden mood' ELSE ['bad', 'fair'][1 + i % 2] END)::mood AS ward,
    [struct_pack(m := (CASE WHEN rare THEN 'hidden mood' ELSE 'good' END)::mood)] AS stay
FROM range({rows}) r (i);
ALTER TABLE people DROP kind;
"""

POLICY = """
name = "people"
[source]
query = "SELECT * EXCLUDE (rare) FROM people"
database = "warehouse.duckdb"
[privacy]
k = 5
suppression = 40
[quasi_identifiers.age]
hierarchy = { intervals = [5, 10, 20] }
[quasi_identifiers.code]
hierarchy = { mask = [2, 1, 0] }
importance = 0.01
[quasi_identifiers.city]
[quasi_identifiers.born]
hierarchy = { dates = ["year", "decade"] }
importance = 0.02
[quasi_identifiers.mood]
[sensitive.disease]
l = 2
[sensitive.cost]
[columns]
identifiers = ["id"]
keep = ["ward", "stay"]
[release]
kind = "parquet"
to = "out"
"""


class Midnight(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Midnight:
        return cls(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release says when it was made; these are all of one moment."""
    monkeypatch.setattr(marks, "datetime", Midnight)


@pytest.fixture
def twins(tmp_path: Path) -> tuple[Folder, Folder]:
    """Two warehouses: one with the rows that will be hidden, one that never had them."""
    folders = []
    for name in ("all", "shown"):
        (tmp_path / name).mkdir()
        folders.append(Folder(tmp_path / name))
    return folders[0], folders[1]


def filled(twins: tuple[Folder, Folder], rows: int = 2000) -> None:
    for folder, shown in zip(twins, ("true", "NOT rare"), strict=True):
        folder.sql(*PEOPLE.format(rows=rows).split(";\n")[:-1], f"DELETE FROM people WHERE NOT ({shown})")


def released(folder: Folder, duckanon: Command, text: str, *options: str) -> dict[str, Any]:
    # Several threads pack equal rows into runs of whatever length they come by.
    told = duckanon("run", folder.policy(text), "--json", "--threads", 1, *options)
    assert told.code == 0, told.err
    found: dict[str, Any] = told.json
    return found


def contents(folder: Folder) -> dict[str, bytes]:
    out = folder.path / "out"
    files = [out] if out.is_file() else [file for file in out.rglob("*") if file.is_file()]
    return {file.relative_to(folder.path).as_posix(): file.read_bytes() for file in files}


def must_be_twins(twins: tuple[Folder, Folder], duckanon: Command, text: str, *options: str) -> dict[str, Any]:
    one, other = (released(folder, duckanon, text, *options) for folder in twins)
    assert one["rows"]["released"] == other["rows"]["released"]
    assert one["rows"]["suppressed"] > other["rows"]["suppressed"] == 0
    assert [one[key] for key in ("levels", "classes")] == [other[key] for key in ("levels", "classes")]
    assert one.get("classes_by_levels") == other.get("classes_by_levels")
    assert contents(twins[0]) == contents(twins[1])
    return one


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("parquet", "greedy"),
        ("parquet", "climb"),
        ("csv", "optimal"),
        ("csv", "climb"),
    ],
)
def test_rows_of_failing_classes_leave_no_trace(
    twins: tuple[Folder, Folder], duckanon: Command, kind: str, method: str
) -> None:
    filled(twins)
    text = POLICY.replace('"parquet"', f'"{kind}"') + f'[search]\nmethod = "{method}"\n'
    must_be_twins(twins, duckanon, text)


@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_rows_that_a_hierarchy_does_not_know_leave_no_trace(
    twins: tuple[Folder, Folder], duckanon: Command, method: str
) -> None:
    filled(twins)
    text = POLICY.replace("k = 5", 'k = 5\nunmapped = "suppress"') + f'[search]\nmethod = "{method}"\n'
    text = text.replace("[quasi_identifiers.city]", '[quasi_identifiers.city]\nhierarchy = "city.csv"')
    for folder in twins:
        (folder.path / "city.csv").write_text("Bonn,*\nUlm,*\nHof,*\n")
    must_be_twins(twins, duckanon, text)


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ("row_group_size = 2048", 30_000),
        ('partition_by = ["city"]', 2000),
        ('partition_by = ["mood", "disease"]\nkind = "csv"', 2000),
    ],
)
def test_nor_in_row_groups_and_partitions(
    twins: tuple[Folder, Folder], duckanon: Command, more: str, rows: int
) -> None:
    filled(twins, rows)
    text = POLICY.replace('kind = "parquet"\n', "") if "kind" in more else POLICY
    must_be_twins(twins, duckanon, text + more + "\n")


def test_nor_among_pseudonyms(twins: tuple[Folder, Folder], duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(twins)
    monkeypatch.setenv("SOME_KEY", "k" * 32)
    text = POLICY.replace('identifiers = ["id"]', 'pseudonyms = ["id"]') + '[pseudonyms]\nkey_env = "SOME_KEY"\n'
    must_be_twins(twins, duckanon, text)


def test_nor_where_people_are_counted(twins: tuple[Folder, Folder], duckanon: Command) -> None:
    filled(twins)
    text = POLICY.replace("k = 5", 'k = 5\nentity = "id"').replace('identifiers = ["id"]', "identifiers = []")
    must_be_twins(twins, duckanon, text)


@pytest.mark.parametrize(
    ("hierarchy", "texts", "hidden", "method", "kind"),
    [
        ("{ intervals = [10] }", ("30", "31"), "99.5", "greedy", "csv"),
        ("{ intervals = [10] }", ("30", "31"), "99.5", "climb", "parquet"),
        ("{ intervals = [10] }", ("1.50", "007"), "12345678901234567", "climb", "csv"),
        ("{ intervals = [10] }", ("2024-01-01", "2024-02-01"), "2024-07-01T10:00:00", "greedy", "csv"),
        ('{ dates = ["month"] }', ("2024-01-01", "2024-02-01"), "2024-07-01T10:00:00", "greedy", "csv"),
        ('{ dates = ["month"] }', ("2024-01-01", "2024-02-01"), "2024-07-01T10:00:00", "greedy", "parquet"),
    ],
)
def test_nor_in_how_the_fields_of_a_csv_file_are_read(
    twins: tuple[Folder, Folder], duckanon: Command, kind: str, method: str, hierarchy: str, texts: Any, hidden: str
) -> None:
    lines = [f"{text},{i},x\n" for i, text in enumerate(texts * 6)]
    for folder, more in zip(twins, ([f"{hidden},99,x\n"], []), strict=True):
        (folder.path / "in.csv").write_text("a,id,s\n" + "".join(lines + more))
    text = (
        'name = "p"\n[source]\nfile = "in.csv"\n[privacy]\nk = 5\nsuppression = 2\n'
        f"[quasi_identifiers.a]\nhierarchy = {hierarchy}\n"
        '[columns]\nidentifiers = ["id"]\nkeep = ["s"]\n'
        f'[search]\nmethod = "{method}"\n[release]\nkind = "{kind}"\nto = "out"\n'
    )
    must_be_twins(twins, duckanon, text)
    if kind == "csv":
        released_texts = {line.split(",")[0] for line in contents(twins[0])["out"].decode().splitlines()[1:]}
        assert released_texts == set(texts)


def test_nor_in_what_is_added(twins: tuple[Folder, Folder], duckanon: Command) -> None:
    """Rows that are held back, with a code longer than all others, beside rows that join their classes."""
    filled(twins)
    for folder in twins:
        released(folder, duckanon, POLICY + NAMED, "--incremental")
        folder.sql("INSERT INTO people SELECT * FROM people WHERE id < 1000")
    twins[0].sql("INSERT INTO people SELECT * REPLACE (code || '-AND-MORE' AS code, 93 AS age) FROM people WHERE rare")
    told = must_be_twins(twins, duckanon, POLICY + NAMED, "--incremental")
    assert told["rows"]["new"] == 1000


def must_list_its_own(file: Path) -> set[str]:
    """The columns that have a dictionary: it lists what is in the file, and nothing else."""
    texts = [c.name for c in parquet.ParquetFile(file).schema if c.physical_type == "BYTE_ARRAY" and c.name != "m"]
    table = parquet.ParquetFile(file, read_dictionary=texts).read()
    held = {name: table.column(name).combine_chunks() for name in texts}
    held = {name: column for name, column in held.items() if hasattr(column, "dictionary")}
    for column in held.values():
        assert set(column.dictionary.to_pylist()) == set(column.to_pylist()) - {None}
    return set(held)


def test_a_partition_tells_nothing_of_the_others(twins: tuple[Folder, Folder], duckanon: Command) -> None:
    """Whoever gets one of them does not learn from its dictionaries what the others hold."""
    filled(twins)
    released(twins[0], duckanon, POLICY + 'partition_by = ["city"]\n')
    files = [file for file in (twins[0].path / "out").rglob("*.parquet") if must_list_its_own(file)]
    assert len(files) == 4


def test_a_dictionary_lists_what_is_released(twins: tuple[Folder, Folder], duckanon: Command) -> None:
    filled(twins)
    released(twins[0], duckanon, POLICY)
    assert must_list_its_own(twins[0].path / "out") == {"code", "city", "born", "mood", "disease", "ward"}
    assert "hidden" not in (twins[0].path / "out").read_bytes().decode("latin-1").lower()


@pytest.mark.parametrize(("method", "kind"), [("greedy", "view"), ("climb", "table"), ("climb", "parquet")])
def test_as_many_stars_as_the_longest_released_value_has_characters(
    folder: Folder, duckanon: Command, method: str, kind: str
) -> None:
    """The lonely one's code is longer: neither the release nor what is measured of it later shows that."""
    folder.sql(
        "CREATE TABLE t AS SELECT CASE WHEN i < 60 THEN '0213' || i % 10 ELSE '123456789' END AS zip, "
        "CASE WHEN i < 60 THEN i % 2 ELSE 7 END AS b, i % 3 AS s FROM range(61) r (i)"
    )
    text = (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 13\nsuppression = 1\n'
        "[quasi_identifiers.zip]\nimportance = 0.1\nhierarchy = { mask = [5, 0] }\n[quasi_identifiers.b]\n"
        f'[sensitive.s]\n[search]\nmethod = "{method}"\n[release]\nkind = "{kind}"\nto = "out"\n'
    )
    policy = folder.policy(text)
    told = duckanon("run", policy, "--json")
    assert (told.code, told.json["rows"]["suppressed"]) == (0, 1), told.err
    out = "out" if kind != "parquet" else f"read_parquet('{folder.path}/out')"
    assert folder.sql(f"SELECT DISTINCT zip FROM {out}") == [("*****",)]
    assert "******" not in str(told.json)
    checked = duckanon("check", policy, "--release", "--json")
    assert (checked.code, checked.json["utility"]["ncp"]) == (0, told.json["utility"]["ncp"])
    assert checked.json["levels"] == {"zip": 2, "b": 0}


def test_what_is_added_keeps_the_stars_that_stand(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE t AS SELECT '0213' || i % 10 AS zip, i % 2 AS b, i % 3 AS s FROM range(60) r (i)")
    text = (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 20\n'
        "[quasi_identifiers.zip]\nimportance = 0.1\nhierarchy = { mask = [5, 0] }\n[quasi_identifiers.b]\n"
        '[sensitive.s]\n[release]\nkind = "csv"\nto = "out"\n'
    )
    assert duckanon("run", folder.policy(text + NAMED)).code == 0
    folder.sql("INSERT INTO t VALUES ('123456789', 1, 1)")
    told = duckanon("run", folder.policy(text + NAMED), "--incremental", "--json")
    assert (told.code, told.json["rows"]["new"]) == (0, 1), told.err
    assert folder.sql(f"SELECT DISTINCT zip, count(*) FROM read_csv('{folder.path}/out') GROUP BY ALL") == [
        ("*****", 61)
    ]
