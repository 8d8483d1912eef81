"""Folders that a cluster writes itself, at an address that it sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon.engine.spark.folders import SparkFolders
from duckanon.errors import EngineError
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.spark import Lake

PEOPLE = """
    SELECT 'n' || i AS name, CAST(20 + i % 40 AS INTEGER) AS age, ['ulm', 'ys', ' r"o;m '][1 + i % 3] AS city,
        CASE WHEN i % 5 > 0 THEN TIMESTAMP '2026-01-01 10:00:00.123456' END AS seen
    FROM range(600) AS r (i)
"""
POLICY = """
name = "{name}"
[source]
{source}
[privacy]
k = {k}
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.city]
[columns]
identifiers = ["name"]
keep = ["seen"]
[release]
kind = "{kind}"
to = "{to}"
{more}
[ledger]
database = "ledger.duckdb"
"""
QUERY = "SELECT name, age, city AS `a city`, seen FROM people"


@pytest.fixture
def people(lake: Lake) -> Lake:
    lake.load("people", PEOPLE)
    return lake


def policy(folder: Folder, **given: object) -> Path:
    usual: dict[str, object] = {"name": "far", "source": 'table = "people"', "k": 4, "kind": "parquet", "more": ""}
    usual["to"] = f"file://{folder.path}/out"
    return folder.policy(POLICY.format(**(usual | given)))


def released(path: Path) -> list[tuple[Any, ...]]:
    """Spark keeps a checksum of each file in a hidden one."""
    files = [str(file) for file in path.glob("[!.]*.parquet")]
    return sorted(duckdb.read_parquet(files).fetchall(), key=str)


def as_a_table(duckanon: Command, lake: Lake, folder: Folder) -> list[tuple[Any, ...]]:
    assert duckanon("run", policy(folder, kind="table", to="shown"), "--db", lake.address).code == 0
    return sorted(lake.sql("SELECT * FROM shown"), key=str)


def mark_of(path: Path) -> dict[str, Any]:
    (file,) = path.with_name(path.name + ".duckanon").glob("*.txt")
    (line,) = file.read_text(encoding="utf-8").splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_the_cluster_writes_what_a_table_would_be(duckanon: Command, people: Lake, folder: Folder) -> None:
    told = duckanon("run", policy(folder), "--db", people.address, "--json")
    assert (told.code, told.json["status"]) == (0, "released"), told.err
    assert people.tables() == {"people"}
    assert mark_of(folder.path / "out")["policy"] == "far"
    found = released(folder.path / "out")
    assert len(found) == told.json["rows"]["released"]
    assert found == as_a_table(duckanon, people, folder)


def test_the_next_release_replaces_the_last(duckanon: Command, people: Lake, folder: Folder) -> None:
    assert duckanon("run", policy(folder), "--db", people.address).code == 0
    first = released(folder.path / "out")
    told = duckanon("run", policy(folder, k=30, to=f"file://{folder.path}/out/"), "--db", people.address)
    assert told.code == 0
    assert "is a folder of the cluster's, which is not read back" in told.out
    assert released(folder.path / "out") != first
    assert mark_of(folder.path / "out")["k"] == 30
    assert people.tables() == {"people"}


def test_a_folder_of_somebody_else_stays(duckanon: Command, people: Lake, folder: Folder) -> None:
    (folder.path / "out" / "deep").mkdir(parents=True)
    (folder.path / "out" / "deep" / "mine").write_text("mine", encoding="utf-8")
    for asked in ((), ("--replace",)):
        told = duckanon("run", policy(folder), "--db", people.address, *asked)
        assert told.code == 2
        assert "is no release of any policy; remove it yourself" in told.err
    assert [path.name for path in (folder.path / "out").rglob("*")] == ["deep", "mine"]
    assert not (folder.path / "out.duckanon").exists()


def test_what_only_looks_like_a_mark_stays(duckanon: Command, people: Lake, folder: Folder) -> None:
    (folder.path / "out.duckanon").mkdir()
    (folder.path / "out.duckanon" / "mine.txt").write_text("mine", encoding="utf-8")
    assert duckanon("run", policy(folder), "--db", people.address, "--replace").code == 2
    assert (folder.path / "out.duckanon" / "mine.txt").read_text(encoding="utf-8") == "mine"


def test_another_policys_folder_is_replaced_if_asked_for(duckanon: Command, people: Lake, folder: Folder) -> None:
    assert duckanon("run", policy(folder, name="other"), "--db", people.address).code == 0
    told = duckanon("run", policy(folder), "--db", people.address)
    assert told.code == 2
    assert "was not made by this policy" in told.err
    assert mark_of(folder.path / "out")["policy"] == "other"
    assert duckanon("run", policy(folder), "--db", people.address, "--replace").code == 0
    assert mark_of(folder.path / "out")["policy"] == "far"


def test_a_release_that_fails_leaves_nothing(
    duckanon: Command, people: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.engine.spark.warehouse import Spark

    publish = Spark.publish

    def with_one_more(self: Spark, *given: Any) -> Any:
        build = publish(self, *given)
        name = ".".join(build.parts)
        self._run(f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1")
        return build

    monkeypatch.setattr(Spark, "publish", with_one_more)
    assert duckanon("run", policy(folder), "--db", people.address).code == 1
    assert people.tables() == {"people"}
    assert not list(folder.path.glob("out*"))


def test_who_comes_under_way_stays(
    duckanon: Command, people: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.engine.spark.warehouse import Spark

    publish = Spark.publish

    def while_somebody_writes(self: Spark, *given: Any) -> Any:
        (folder.path / "out").mkdir()
        (folder.path / "out" / "mine").write_text("mine", encoding="utf-8")
        return publish(self, *given)

    monkeypatch.setattr(Spark, "publish", while_somebody_writes)
    assert duckanon("run", policy(folder), "--db", people.address).code == 2
    assert people.tables() == {"people"}
    assert [path.name for path in folder.path.rglob("out*/*")] == ["mine"]


def test_a_server_that_cannot_write_is_told_of(
    duckanon: Command, people: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise EngineError("the server is out of memory or disk")

    monkeypatch.setattr(SparkFolders, "write", full)
    told = duckanon("run", policy(folder), "--db", people.address)
    assert told.code == 2
    assert "cannot be written: the server is out of memory or disk; it may hold a part" in told.err
    assert people.tables() == {"people"}
    monkeypatch.undo()
    assert duckanon("run", policy(folder), "--db", people.address).code == 0


def test_a_killed_run_is_swept_by_the_next(
    duckanon: Command, people: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.release.cluster_folder import ClusterFolderTarget

    monkeypatch.setattr(ClusterFolderTarget, "abandon", lambda _: None)
    assert duckanon("run", policy(folder), "--db", people.address).code == 0
    assert len(people.tables()) == 2
    monkeypatch.undo()
    assert duckanon("run", policy(folder), "--db", people.address).code == 0
    assert people.tables() == {"people"}


def test_a_dry_run_writes_nothing(duckanon: Command, people: Lake, folder: Folder) -> None:
    assert duckanon("run", policy(folder), "--db", people.address, "--dry-run").code == 0
    assert not list(folder.path.glob("out*"))


def test_csv_is_written_as_the_policy_says(duckanon: Command, people: Lake, folder: Folder) -> None:
    more = 'delimiter = ";"\nnull = "NA"\ncompression = "gzip"'
    asked = policy(folder, kind="csv", more=more, k=2)
    assert duckanon("run", asked, "--db", people.address).code == 0
    read = f"read_csv('{folder.path}/out/*.csv.gz', delim=';', nullstr='NA', quote='\"', escape='\"', all_varchar=true)"
    found = duckdb.execute(f"SELECT age, city, seen FROM {read}").fetchall()
    assert {seen for _, _, seen in found} == {None, "2026-01-01 10:00:00.123456"}
    assert {city for _, city, _ in found} == {"ulm", "ys", ' r"o;m '}


def test_csv_without_a_header(duckanon: Command, people: Lake, folder: Folder) -> None:
    assert duckanon("run", policy(folder, kind="csv", more="header = false"), "--db", people.address).code == 0
    assert all("city" not in file.read_text(encoding="utf-8") for file in (folder.path / "out").glob("*.csv"))


def test_a_text_that_looks_like_null_is_refused(duckanon: Command, people: Lake, folder: Folder) -> None:
    told = duckanon("run", policy(folder, kind="csv", more='null = "ulm"', k=2), "--db", people.address)
    assert told.code == 2
    assert "release.null: city has a text that looks the same" in told.err
    assert people.tables() == {"people"}
    assert not list(folder.path.glob("out*"))


def test_names_with_spaces(duckanon: Command, people: Lake, folder: Folder) -> None:
    asked = policy(folder, to=f"file://{folder.path}/my folder/it's out", source=f'query = "{QUERY}"')
    asked.write_text(asked.read_text(encoding="utf-8").replace("identifiers.city", 'identifiers."a city"'), "utf-8")
    told = duckanon("run", asked, "--db", people.address)
    assert told.code == 0, told.err
    files = list((folder.path / "my folder" / "it's out").glob("*.parquet"))
    assert duckdb.read_parquet(str(files[0])).columns == ["age", "a city", "seen"]


@pytest.mark.parametrize("command", [("check", "--release"), ("run", "--if-changed"), ("run", "--incremental")])
def test_what_would_read_it_back_is_refused(
    duckanon: Command, people: Lake, folder: Folder, command: tuple[str, str]
) -> None:
    asked = policy(folder)
    assert duckanon("run", asked, "--db", people.address).code == 0
    told = duckanon(command[0], asked, command[1], "--db", people.address)
    assert told.code == 2
    assert "not read back" in told.err


def test_its_levels_are_followed_by_the_ledger(duckanon: Command, people: Lake, folder: Folder) -> None:
    first = duckanon("run", policy(folder, k=30), "--db", people.address, "--json")
    told = duckanon("run", policy(folder, more='mode = "fixed"'), "--db", people.address, "--json")
    assert (told.code, told.json["levels"]) == (0, first.json["levels"]), told.err
    with duckdb.connect(str(folder.path / "ledger.duckdb"), read_only=True) as ledger:
        places = ledger.execute("SELECT DISTINCT target_place FROM duckanon.releases").fetchall()
    assert places == [(f"file://{folder.path}/out",)]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("parquet", 'partition_by = ["city"]'),
        ("parquet", "row_group_size = 4096"),
        ("csv", "escape_formulas = true"),
        ("csv", 'compression = "zstd"'),
    ],
)
def test_options_that_a_cluster_has_not_are_refused(duckanon: Command, folder: Folder, kind: str, more: str) -> None:
    told = duckanon("run", policy(folder, kind=kind, more=more), "--db", "sc://127.0.0.1:1")
    assert told.code == 2
    assert f"release.{more.split()[0]}: is not for folders that a cluster writes" in told.err


@pytest.mark.parametrize(
    "to",
    [
        "https://user:hidden@host/x", "s3://key:hid/hidden@bucket/x", "https://host/x?sig=hidden", "s3://hidden@bucket/x",
        "abfss://c:hidden@account/x", "s3://bucket/hidden*", "s3://bucket", "file:///", "file:///a/../hidden",
        "s3://bucket/x%3Fhidden", "s3://bucket/x#hidden", "s3://bucket/_hidden",
    ],
)  # fmt: skip
def test_an_address_is_a_folder_alone(duckanon: Command, folder: Folder, to: str) -> None:
    told = duckanon("run", policy(folder, to=to), "--db", "sc://127.0.0.1:1")
    assert told.code == 2
    assert "release.to: is an address with more than a folder in it" in told.err
    assert "hidden" not in told.out + told.err


@pytest.mark.parametrize(
    "to", ["s3://bucket/a/b", "abfss://box@account.dfs.core.windows.net/a", "hdfs://host:8020/a b"]
)
def test_only_a_cluster_writes_to_an_address(duckanon: Command, folder: Folder, to: str) -> None:
    folder.sql(f"CREATE TABLE people AS {PEOPLE}")
    for command in (("run",), ("check", "--release")):
        told = duckanon(command[0], policy(folder, to=to), *command[1:], "--db", folder.database)
        assert told.code == 2
        assert "release.to: is an address, and files are written where duckanon runs" in told.err
