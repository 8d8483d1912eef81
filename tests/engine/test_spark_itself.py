"""Spark itself, which most tests leave to Sail: the same figures, types, kills and folders, in one server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pytest
from hypothesis import given

from duckanon.policy.load import METHODS
from tests.support.case_warehouse import warehouse
from tests.support.command import Command
from tests.support.examples import MORE, examples
from tests.support.folder import Folder
from tests.support.same_release import counted, released_alike
from tests.support.spark import Lake, SparkServer
from tests.support.spark_kills import STEPS, is_killed_and_mended
from tests.support.spark_people import CITIES, PEOPLE, policy
from tests.support.spark_types import are_released
from tests.support.variants import KEY, Variant, variants

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def far(spark_server: SparkServer) -> Iterator[Lake]:
    """Its catalog is that of all sessions: each test empties it."""
    with spark_server.lake() as lake:
        yield lake


@pytest.fixture
def lake(far: Lake) -> Lake:
    far.empty()
    return far


def released_by(method: str, far: Lake, folder: Folder) -> None:
    text = policy(folder, method).read_text(encoding="utf-8")
    with duckdb.connect() as near:
        for name, query in {"people": PEOPLE, "cities": CITIES}.items():
            near.execute(f"CREATE TABLE {name} AS {query}")
        said = released_alike(near, far, folder.path, text, ["people", "cities"], "table", "shown")
    assert (method, said["status"]) == (method, "released")


def test_it_releases_what_duckdb_does(far: Lake, folder: Folder) -> None:
    released_by("greedy", far, folder)
    shown = [row[0] for row in far.sql("SELECT CONCAT_WS(',', age, born, COALESCE(city, '')) FROM shown")]
    assert shown == sorted(shown)


@pytest.mark.parametrize("nth", range(len(METHODS) - 1) if MORE > 1 else [0])
def test_so_it_does_by_another_method(far: Lake, folder: Folder, nth: int) -> None:
    """Each costs seconds here, and Sail is asked for all of them: one a day."""
    others = [method for method in METHODS if method != "greedy"]
    released_by(others[(date.today().toordinal() + nth) % len(others)], far, folder)


@examples(1)
@given(variants())
def test_random_policies(far: Lake, variant: Variant) -> None:
    variant = replace(variant, kind="table")
    with pytest.MonkeyPatch.context() as patch, warehouse(variant.case) as (near, folder):
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        tables = ["people", *(part.table[0] for part in variant.case.hierarchies if part.table)]
        released_alike(near, far, folder, variant.toml(), tables, variant.kind, variant.to)


def test_types(lake: Lake, folder: Folder, duckanon: Command) -> None:
    are_released(duckanon, lake, folder)


def test_killed_at_the_steps_that_matter(lake: Lake, folder: Folder) -> None:
    is_killed_and_mended(lake, folder, [("INSERT INTO", "while"), (STEPS[-1], "after")])


def test_folders_and_a_source_that_reads_its_release(lake: Lake, folder: Folder, duckanon: Command) -> None:
    lake.load("people", "SELECT CAST(20 + i % 40 AS INTEGER) AS age, 'x' AS sex FROM range(200) AS r (i)")
    text = (
        'name = "p"\nsource.table = "{}"\nprivacy.k = 4\nquasi_identifiers = {{ age = {{}}, sex = {{}} }}\n'
        'release = {{ kind = "{}", to = "{}", difference = "ignore" }}\n'
    )
    out = Path(folder.path) / "out"
    for _ in range(2):  # nothing is there, and then our own
        told = duckanon("run", folder.policy(text.format("people", "parquet", f"file://{out}")), "--db", lake.address)
        assert (told.code, lake.tables()) == (0, {"people"}), told.err
    assert (out / "_SUCCESS").exists()
    assert duckanon("run", folder.policy(text.format("people", "table", "shown")), "--db", lake.address).code == 0
    files = [str(file) for file in out.glob("[!.]*.parquet")]
    assert counted(duckdb.read_parquet(files).fetchall()) == counted(lake.sql("SELECT * FROM shown"))
    lake.sql("CREATE VIEW again AS SELECT p.* FROM people AS p CROSS JOIN (SELECT MAX(sex) FROM shown) AS s")
    told = duckanon("run", folder.policy(text.format("again", "table", "shown")), "--db", lake.address)
    assert (told.code, "release.to: shown is read by the source; choose another name" in told.err) == (2, True), (
        told.err
    )
