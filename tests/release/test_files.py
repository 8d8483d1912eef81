"""Releases in files and folders, and sources of them: whole or not at all, and read back as they were."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon.engine import Reading
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.errors import EngineError
from duckanon.query.expressions import table
from duckanon.release import folder as folders
from tests.support.command import Command, run_on_a_full_disk
from tests.support.folder import Folder, query, rows
from tests.support.people import PEOPLE, UNCOMPARED, partitioned, released_to

ODD = ["a/b", "a=b", "x y", "é", "", "%41", "..", "*", "[20, 30)", "__HIVE_DEFAULT_PARTITION__", "01", "NULL", None]


def odd_people(folder: Folder) -> str:
    """Twelve people for each of the odd values, which are released as they are, in a column of an odd name."""
    folder.sql('CREATE TABLE t ("p/q é" VARCHAR, d DATE, n DOUBLE, s VARCHAR)')
    with duckdb.connect(str(folder.database)) as connection:
        for value in ODD:
            insert = (
                "INSERT INTO t SELECT ?, DATE '2024-01-01' + (i % 2)::INTEGER, 0.1, 's' || i % 3 FROM range(12) r (i)"
            )
            connection.execute(insert, [value])
    return (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 3\n'
        '[quasi_identifiers."p/q é"]\n[quasi_identifiers.d]\n[sensitive.s]\n[columns]\nkeep = ["n"]\n'
        '[release]\nkind = "parquet"\nto = "out"\npartition_by = ["P/Q é", "d", "n"]\n'
    )


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_any_value_can_be_a_partition(folder: Folder, duckanon: Command, kind: str) -> None:
    policy = folder.policy(odd_people(folder).replace("parquet", kind))
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    assert told.json["levels"] == {"p/q é": 0, "d": 0}
    reader = f"read_{kind}('{folder.path}/out/**/*.{kind}', hive_partitioning = true, hive_types_autocast = false)"
    found = query(f'SELECT "p%2Fq%20%C3%A9", d, n, count(*) FROM {reader} GROUP BY ALL')
    assert {(value, day, n, 6) for value in ODD for day in ("2024-01-01", "2024-01-02") for n in ("0.1",)} == set(found)
    told = duckanon("check", policy, "--release", "--json")
    assert (told.code, told.json["rows"]["released"], told.json["classes"]) == (0, 156, 26)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_partition_is_read_back_as_it_is_written(folder: Folder, duckanon: Command, kind: str) -> None:
    """Taken for numbers, these would be one class."""
    folder.sql("CREATE TABLE t AS SELECT ['1', '01', '001'][1 + i % 3] AS p, i // 3 AS s FROM range(12) r (i)")
    text = (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 2\n[quasi_identifiers.p]\n'
        f'[sensitive.s]\n[release]\nkind = "{kind}"\nto = "out"\npartition_by = ["p"]\n'
    )
    told = duckanon("run", folder.policy(text), "--json")
    assert (told.code, told.json["classes"]) == (0, 3)


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "uncompressed"])
def test_options_of_parquet(people: Folder, duckanon: Command, compression: str) -> None:
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(29)")
    more = f'compression = "{compression}"\nrow_group_size = 2048\n'
    assert duckanon("run", people.policy(released_to("parquet", "p.parquet") + more)).code == 0
    file = people.path / "p.parquet"
    groups = query(f"SELECT DISTINCT compression, row_group_num_rows <= 2048 FROM parquet_metadata('{file}')")
    assert groups == [(compression.upper(), True)]
    assert query(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{file}')") == [(3,)]


@pytest.mark.parametrize(("kind", "by"), [("parquet", '["sex"]'), ("csv", "[]")])
def test_a_path_is_not_a_pattern(people: Folder, duckanon: Command, kind: str, by: str) -> None:
    """What else the path would find, were it one, is not taken for the release."""
    policy = people.policy(partitioned(kind, "o[1]*", by))
    (people.path / "o1x").mkdir() if by != "[]" else (people.path / "o1x").write_text("a,b\n1,2\n")
    for command in (("run",), ("run",), ("check", "--release")):
        told = duckanon(command[0], policy, *command[1:])
        assert told.code == 0, told.err
    assert (people.path / "o[1]*").exists()


def test_every_file_says_what_it_is(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(partitioned()), "--json")
    assert told.code == 0, told.err
    found = query(
        "SELECT file_name, decode(key), decode(value) "
        f"FROM parquet_kv_metadata('{people.path}/out/**/*.parquet') ORDER BY ALL"
    )
    files = {file for file, _, _ in found}
    assert len(files) == 2
    for file in files:
        said = {key: value for name, key, value in found if name == file}
        mark = json.loads(said["duckanon"])
        assert (mark["policy"], said["duckanon_policy"]) == ("people", "people")
        assert (mark["k"], said["duckanon_k"]) == (3, "3")
        assert mark["levels"] == json.loads(said["duckanon_levels"]) == told.json["levels"]
        assert said["duckanon_time"] == mark["time"]
        assert mark["time"].endswith("+00:00")
        assert len(said["duckanon_policy_hash"]) >= 32


@pytest.mark.parametrize(
    ("to", "more", "unpack"),
    [
        ("p.csv", 'delimiter = ";"\nheader = false\nnull = "NA"', bytes),
        ("p.csv", 'delimiter = "\\t"\ncompression = "gzip"', gzip.decompress),
        ("p.csv.gz", 'null = "-"', gzip.decompress),
        ("p.csv.zst", "header = false", None),
    ],
)
def test_options_of_csv(people: Folder, duckanon: Command, to: str, more: str, unpack: Any) -> None:
    people.sql("UPDATE people SET sex = NULL WHERE sex = 'F'", "UPDATE people SET disease = 'NA' WHERE disease = 'flu'")
    policy = people.policy(released_to("csv", to) + more)
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    checked = duckanon("check", policy, "--release", "--json")
    assert checked.code == 0, checked.err
    assert checked.json["privacy"] == told.json["privacy"]
    assert checked.json["levels"] == told.json["levels"]
    if unpack is not None:
        delimiter = ";" if '";"' in more else "\t" if "\\t" in more else ","
        first, *lines = csv.reader(unpack((people.path / to).read_bytes()).decode().splitlines(), delimiter=delimiter)
        assert (first == ["age", "zip", "sex", "disease"]) == ("header = false" not in more)
        null = "NA" if '"NA"' in more else "-" if '"-"' in more else ""
        assert {line[2] for line in lines} == {null, "M"}


def test_a_headerless_file_of_another_width_is_no_release(people: Folder, duckanon: Command) -> None:
    policy = people.policy(released_to("csv", "p.csv") + "header = false\n")
    assert duckanon("run", policy).code == 0
    (people.path / "p.csv").write_text("1,2\n3,4\n")
    told = duckanon("check", policy, "--release")
    assert told.code == 2
    assert "2 columns, the policy releases 4" in told.err


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_partition_is_sorted_and_the_same_whatever_the_threads(people: Folder, duckanon: Command, kind: str) -> None:
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(500)")
    policy = people.policy(partitioned(kind, by='["disease", "sex"]'))
    found = []
    for threads in (1, 4):
        assert duckanon("run", policy, "--threads", threads).code == 0
        listed = sorted((people.path / "out").rglob(f"*.{kind}"))
        option = "file_row_number = true, " if kind == "parquet" else "parallel = false, "
        contents = [
            query(f"SELECT age, zip FROM read_{kind}('{file}', {option}hive_partitioning = false)") for file in listed
        ]
        assert all(content == sorted(content) for content in contents)
        found.append([(str(file), content) for file, content in zip(listed, contents, strict=True)])
    assert found[0] == found[1]
    assert len(found[0]) == 10


def test_many_partitions(folder: Folder, duckanon: Command) -> None:
    """More than the engine keeps open at once, and more rows than it holds back: still one file each, sorted."""
    folder.sql("CREATE TABLE t AS SELECT i // 60000 AS a, i % 150 AS p, i % 7 AS s FROM range(1200000) r (i)")
    text = (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 2\n[quasi_identifiers.a]\n'
        '[quasi_identifiers.p]\n[sensitive.s]\n[release]\nkind = "parquet"\nto = "out"\npartition_by = ["p"]\n'
    )
    told = duckanon("run", folder.policy(text))
    assert told.code == 0, told.err
    files = sorted((folder.path / "out").rglob("*.parquet"))
    assert len(files) == 150
    for file in files[::10]:
        content = query(f"SELECT a, s FROM read_parquet('{file}', hive_partitioning = false)")
        assert content == sorted(content)


WRONG = {
    "no such column": (partitioned(by='["gone"]'), ["release.partition_by", "gone", "not a released column"]),
    "an identifier": (partitioned(by='["name"]'), ["release.partition_by", "not a released column"]),
    "all columns": (partitioned(by='["age", "zip", "sex", "disease"]'), ["release.partition_by", "every released"]),
    "a column twice": (partitioned(by='["sex", "SEX"]'), ["release.partition_by", "twice"]),
    "partitions of a table": (PEOPLE + 'partition_by = ["sex"]\n', ["release.partition_by", "kind table"]),
    "row groups of csv": (released_to("csv", "p.csv") + "row_group_size = 5000\n", ["row_group_size", "kind csv"]),
    "zip": (released_to("parquet", "p.parquet") + 'compression = "zip"\n', ["release.compression", "zstd"]),
    "two compressions": (released_to("csv", "p.csv.gz") + 'compression = "zstd"\n', ["release.compression", "gzip"]),
    "a letter between": (released_to("csv", "p.csv") + 'delimiter = "a"\n', ["release.delimiter"]),
    "formulas of Parquet": (
        released_to("parquet", "p") + "escape_formulas = true\n",
        ["escape_formulas", "kind parquet"],
    ),
    "a formula for null": (
        released_to("csv", "p") + 'escape_formulas = true\nnull = "=1"\n',
        ["release.null", "formula"],
    ),
    "a delimiter in null": (released_to("csv", "p.csv") + 'null = "a,b"\n', ["release.null", "delimiter"]),
    "a folder that holds the policy": (partitioned(to="."), ["release.to", "holds"]),
    "the root of all": (partitioned(to="/"), ["release.to", "nothing can replace"]),
    "a file in the way": (partitioned(to="warehouse.duckdb"), ["release.to", "file"]),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_options(people: Folder, duckanon: Command, fault: str) -> None:
    text, words = WRONG[fault]
    policy = people.policy(text)
    files = people.files()
    told = duckanon("run", policy, "--replace")
    assert told.code == 2, told.out
    for word in words:
        assert word in told.err
    assert people.files() == files


def test_too_many_and_too_long_partitions(people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = people.policy(partitioned(by='["disease", "sex"]'))
    monkeypatch.setattr(folders, "_MOST_FOLDERS", 9)
    told = duckanon("run", policy)
    assert (told.code, "10 folders" in told.err, (people.path / "out").exists()) == (2, True, False)
    monkeypatch.undo()
    people.sql("UPDATE people SET disease = repeat('é', 45) WHERE disease = 'flu'")
    told = duckanon("run", policy)
    assert (told.code, "too long" in told.err, (people.path / "out").exists()) == (2, True, False)
    assert "éé" not in told.err


def test_whose_folder_it_is(people: Folder, duckanon: Command) -> None:
    policy = people.policy(partitioned())
    out = people.path / "out"
    out.mkdir()
    assert duckanon("run", policy).code == 0  # an empty folder is nobody's
    assert duckanon("run", policy).code == 0
    other = people.policy(partitioned().replace('name = "people"', 'name = "other"'), "other.toml")
    assert duckanon("run", other).code == 2
    (out / "sex=F" / "notes.txt").write_text("precious")
    told = duckanon("run", policy)
    assert (told.code, "--replace" in told.err) == (2, True)
    assert (out / "sex=F" / "notes.txt").read_text() == "precious"
    assert duckanon("run", policy, "--replace").code == 0
    assert not (out / "sex=F" / "notes.txt").exists()
    data = next(out.rglob("*.parquet"))
    data.write_bytes(data.read_bytes() + b"more")
    assert duckanon("run", policy).code == 2
    data.unlink()
    assert duckanon("run", policy).code == 0


@pytest.mark.parametrize("what", ["database", "hierarchy", "source"])
def test_a_folder_with_an_input_is_never_replaced(people: Folder, duckanon: Command, what: str) -> None:
    out = people.path / "out"
    out.mkdir()
    text = partitioned()
    if what == "database":
        people.database.rename(out / "w.duckdb")
        text = text.replace('"warehouse.duckdb"', '"out/w.duckdb"')
    elif what == "hierarchy":
        (out / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")
        text = text.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "out/sex.csv"')
    else:
        people.sql(f"COPY people TO '{out}/p.parquet'")
        text = text.replace('table = "people"\ndatabase = "warehouse.duckdb"', 'file = "out/*.parquet"')
    before = sorted(out.iterdir())
    told = duckanon("run", people.policy(text), "--replace")
    assert told.code == 2
    assert f"the {what}" in told.err or f"a {what}" in told.err
    assert sorted(out.iterdir()) == before


def test_where_the_user_is_stays(people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (people.path / "out" / "here").mkdir(parents=True)
    monkeypatch.chdir(people.path / "out" / "here")
    told = duckanon("run", people.policy(partitioned()), "--replace")
    assert (told.code, "that you are in" in told.err) == (2, True)


def test_a_release_is_not_put_where_the_source_is_looked_for(people: Folder, duckanon: Command) -> None:
    people.sql(f"COPY people TO '{people.path}/p.parquet'")
    text = PEOPLE.replace('table = "people"\ndatabase = "warehouse.duckdb"', 'file = "{}"')
    for pattern, code in (("**/*.parquet", 2), ("*.parquet", 0)):
        told = duckanon("run", people.policy(partitioned(text=text.replace("{}", pattern))))
        assert told.code == code, told.err


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_swapped_whole(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    policy = people.policy(partitioned())
    assert duckanon("run", policy).code == 0
    before = rows(people.path / "out")
    people.sql("DELETE FROM people WHERE age < 30")
    files = people.files()
    assert duckanon("run", policy).code == 0
    assert rows(people.path / "out") != before
    assert people.files() == files
    assert duckanon("check", policy, "--release").code == 0


def test_a_swap_that_fails_leaves_the_old_release(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = people.policy(partitioned())
    assert duckanon("run", policy).code == 0
    before, files = rows(people.path / "out"), people.files()
    people.sql("DELETE FROM people WHERE age < 30")
    rename = os.rename

    def refuse(one: Path, other: Path) -> None:
        if "unfinished" in str(one):
            raise OSError(5, "Input/output error")
        rename(one, other)

    monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    monkeypatch.setattr(os, "rename", refuse)
    told = duckanon("run", policy)
    assert (told.code, "cannot be written" in told.err) == (2, True)
    assert (rows(people.path / "out"), people.files()) == (before, files)


def test_a_run_that_died_between_two_renames_is_repaired(people: Folder, duckanon: Command) -> None:
    policy = people.policy(partitioned())
    assert duckanon("run", policy).code == 0
    before = rows(people.path / "out")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (people.path / "out").rename(people.path / f".out.{dead.pid}.previous")
    (people.path / f".out.{dead.pid}.unfinished").mkdir()
    people.sql("DELETE FROM people WHERE name <> 'person 1'")
    assert duckanon("run", policy).code == 2  # not even a run with nothing to release leaves no release
    assert rows(people.path / "out") == before


def test_a_folder_that_does_not_fit_on_the_disk_leaves_nothing(people: Folder) -> None:
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(2000)")
    policy = people.policy(partitioned("csv"))
    files = people.files()
    ended = run_on_a_full_disk(policy)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert people.files() == files


@pytest.mark.parametrize(
    ("left", "outcome"), [("unfinished", "released"), ("sidecar", "unchanged"), ("unfinished", "infeasible")]
)
def test_the_next_run_sweeps_whatever_becomes_of_it(people: Folder, duckanon: Command, left: str, outcome: str) -> None:
    text = released_to("csv", "out.csv") + '[ledger]\ndatabase = "ledger.duckdb"\n'
    assert duckanon("run", people.policy(text)).code == 0
    files = people.files()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (people.path / f".out.csv.{dead.pid}.{left}").write_text("half a file")
    policy = people.policy(text.replace("k = 3", "k = 3000") if outcome == "infeasible" else text)
    told = duckanon("run", policy, "--json", *(["--if-changed"] if outcome == "unchanged" else []))
    assert told.json["status"] == outcome
    assert people.files() == files


MOMENTS = {
    "before the swap": "folder._exchanged = die",
    "right after it": "disk_place.shutil.rmtree = die",
    "while the old one is removed": """
disk_place.shutil.rmtree = lambda old, **_: (next(old.rglob('*.parquet')).unlink(), die())
""",
    "between two renames": """
folder._exchanged = lambda *_: False
rename = os.rename
os.rename = lambda one, other: die() if 'unfinished' in str(one) else rename(one, other)
""",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_around_the_swap(people: Folder, duckanon: Command, moment: str) -> None:
    policy = people.policy(partitioned(more=UNCOMPARED))
    assert duckanon("run", policy).code == 0
    old = rows(people.path / "out")
    people.sql("INSERT INTO people SELECT * FROM people")
    script = (
        "import os, signal, sys\nfrom duckanon.cli.words import main\nfrom duckanon.release import disk_place, folder\n"
        "die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{MOMENTS[moment]}\nmain(['run', {str(policy)!r}])"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ended.returncode == -9
    if moment == "between two renames":
        assert duckanon("run", policy, "--dry-run").code == 0  # the next run, whichever, repairs it
    swapped = moment in ("right after it", "while the old one is removed")
    found = rows(people.path / "out")
    assert (len(found) > 300) if swapped else (found == old)
    assert duckanon("check", policy, "--release").code == 0
    assert duckanon("run", policy).code == 0
    assert len(rows(people.path / "out")) > 300
    assert [name for name in people.files() if name.startswith(".out")] == [".out.duckanon"]


@pytest.mark.linux  # elsewhere folders change places in two steps
def test_no_moment_is_without_a_release(people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(folders.FolderTarget, "_replace_in_two_steps")
    policy = people.policy(partitioned())
    assert duckanon("run", policy).code == 0
    assert duckanon("run", policy).code == 0


# -- sources --------------------------------------------------------------------------------------


def from_files(file: str) -> str:
    return released_to("csv", "o.csv").replace('table = "people"\ndatabase = "warehouse.duckdb"', f'file = "{file}"')


PARTITIONED = [
    ("FORMAT parquet, PARTITION_BY (sex, zip)", "/"),
    ("FORMAT parquet, PARTITION_BY (sex, age)", "/**/*.parquet"),
    ("FORMAT csv, PARTITION_BY (zip), COMPRESSION gzip, FILE_EXTENSION 'csv.gz'", ""),
    ("FORMAT csv, PARTITION_BY (disease)", "/*/*.csv"),
    ("FORMAT parquet, PER_THREAD_OUTPUT", ""),
]


def test_partitioned_folders_are_sources(people: Folder, duckanon: Command) -> None:
    people.sql("UPDATE people SET zip = '0' || zip")
    expected = duckanon("run", people.policy(released_to("csv", "expected.csv")), "--json")
    for number, (written, files) in enumerate(PARTITIONED):
        people.sql(f"COPY people TO '{people.path}/in{number}' ({written})")
        told = duckanon("run", people.policy(from_files(f"in{number}{files}") + UNCOMPARED), "--json")
        assert told.code == 0, told.err
        for part in ("levels", "rows", "classes", "privacy"):
            assert told.json[part] == expected.json[part], written


def test_partition_columns_are_the_folders_right_above_the_files(folder: Folder) -> None:
    place = folder.path / "run=3" / "in"
    place.mkdir(parents=True)
    folder.sql(
        "CREATE TABLE t AS SELECT i AS v, i AS \"a b\", '0' || i AS zip, DATE '2024-02-01' + i::INTEGER AS day "
        "FROM range(3) r (i)",
        f"COPY t TO '{place}' (FORMAT parquet, PARTITION_BY (\"a b\", zip, day), OVERWRITE_OR_IGNORE)",
    )
    with DuckDB.open(None, writable=False) as engine:
        engine.define_file(table("s"), str(place), Reading(), table("rows"))
        assert {c.name: c.type.word for c in engine.columns(table("s"))} == {
            "v": "BIGINT",
            "a b": "BIGINT",
            "zip": "VARCHAR",
            "day": "DATE",
        }
        engine.define_file(table("s"), str(place), Reading(texts=("A B",)), table("rows"))
        assert {c.type.word for c in engine.columns(table("s")) if c.name == "a b"} == {"VARCHAR"}
        assert engine.fetch('SELECT "a b", zip, v FROM s ORDER BY v') == [
            ("0", "00", 0),
            ("1", "01", 1),
            ("2", "02", 2),
        ]


SOURCES = {
    "an empty folder": ([], "in", "without CSV, Parquet or JSON"),
    "mixed kinds": (["COPY people TO '{}/a.csv'", "COPY people TO '{}/b.parquet'"], "in", "different kinds"),
    "mixed kinds by glob": (["COPY people TO '{}/a.csv'", "COPY people TO '{}/b.parquet'"], "in/*", "different kinds"),
    "another column": (
        ["COPY people TO '{}/a.parquet'", "COPY (SELECT *, 1 AS ssn FROM people) TO '{}/b.parquet'"],
        "in",
        "b.parquet has a column ssn",
    ),
    "a column less": (
        ["COPY people TO '{}/a.csv'", "COPY (SELECT name, age, zip, sex FROM people) TO '{}/b.csv'"],
        "in/*.csv",
        "a.csv has a column disease",
    ),
    "other partitions": (
        [
            "COPY people TO '{}/a' (FORMAT parquet, PARTITION_BY (sex))",
            "COPY people TO '{}/b' (FORMAT parquet, PARTITION_BY (zip))",
        ],
        "in",
        "different partition columns",
    ),
    "hidden files": (["COPY people TO '{}/a.csv'", "COPY people TO '{}/.a.csv'"], "in", "hidden"),
    "no such file": ([], "in/*.parquet", "no such file"),
    "not what it says": (["COPY people TO '{}/a.parquet' (FORMAT csv)"], "in", "source.file"),
}


@pytest.mark.parametrize("fault", SOURCES)
def test_wrong_sources(people: Folder, duckanon: Command, fault: str) -> None:
    statements, file, words = SOURCES[fault]
    (people.path / "in").mkdir()
    people.sql(*(statement.format(people.path / "in") for statement in statements), "SELECT 1")
    told = duckanon("run", people.policy(from_files(file)))
    assert told.code == 2
    assert words in told.err
    assert not (people.path / "o.csv").exists()


def test_files_may_spell_their_types_differently(people: Folder, duckanon: Command) -> None:
    (people.path / "in").mkdir()
    people.sql(
        f"COPY (SELECT * REPLACE (zip::INTEGER AS zip) FROM people LIMIT 100) TO '{people.path}/in/a.parquet'",
        f"COPY (SELECT disease, name, sex, 'A' || zip AS zip, age::BIGINT AS age FROM people OFFSET 100) "
        f"TO '{people.path}/in/b.parquet'",
    )
    told = duckanon("run", people.policy(from_files("in")), "--json")
    assert (told.code, told.json["rows"]["source"]) == (0, 200)


# -- databases that others use --------------------------------------------------------------------


def test_an_export_writes_nothing_to_the_database(people: Folder, duckanon: Command) -> None:
    """Nor to what its last writer, who was killed, left in the log beside it."""
    script = (
        f"import duckdb, os, signal; c = duckdb.connect({str(people.database)!r}); "
        "c.execute(\"SET wal_autocheckpoint = '1TB'\"); "
        "c.execute('INSERT INTO people SELECT * FROM people'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    beside = people.path / "warehouse.duckdb.wal"
    policy = people.policy(partitioned())
    files, before = people.files(), [file.read_bytes() for file in (people.database, beside)]
    people.database.chmod(0o444)
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    assert told.json["rows"]["source"] == 400
    assert [file.read_bytes() for file in (people.database, beside)] == before
    assert people.files() == sorted([*files, "out", ".out.duckanon"])


def holder(database: Path, seconds: float) -> subprocess.Popen[bytes]:
    script = f"import duckdb, time; c = duckdb.connect({str(database)!r}); print(1, flush=True); time.sleep({seconds})"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_database_that_a_writer_holds_is_waited_for(people: Folder) -> None:
    process = holder(people.database, 1)
    try:
        with pytest.raises(EngineError, match=rf"in use by another process \({process.pid}\).*--wait"):
            DuckDB.open(people.database, writable=False, wait=0)
        with pytest.raises(EngineError, match=r"still in use .* after 0.1 seconds"):
            DuckDB.open(people.database, writable=False, wait=0.1)
        with DuckDB.open(people.database, writable=False, wait=20) as engine:
            assert engine.fetch("SELECT count(*) FROM people") == [(200,)]
    finally:
        process.communicate()
