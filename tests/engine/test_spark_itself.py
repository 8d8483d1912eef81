"""Spark itself, which most tests leave to Sail: the same figures, types, kills and folders, in one server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest
from hypothesis import given

import duckanon
from duckanon.engine.spark.warehouse import Spark
from tests.support.case_warehouse import warehouse
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.figures import must_be_alike
from tests.support.folder import Folder
from tests.support.same_release import OF_THE_RUN, counted, released_alike, told
from tests.support.spark import Lake, SparkServer
from tests.support.spark_interrupts import is_interrupted_and_goes_on
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


def test_it_releases_what_duckdb_does(far: Lake, folder: Folder) -> None:
    text = policy(folder).read_text(encoding="utf-8")
    with duckdb.connect() as near:
        for name, query in {"people": PEOPLE, "cities": CITIES}.items():
            near.execute(f"CREATE TABLE {name} AS {query}")
        said = released_alike(near, far, folder.path, text, ["people", "cities"], "table", "shown")
    assert said["status"] == "released"
    shown = [row[0] for row in far.sql("SELECT CONCAT_WS(',', age, born, COALESCE(city, '')) FROM shown")]
    assert shown == sorted(shown)


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


@pytest.mark.linux
def test_an_interrupt_ends_the_statement_on_the_server(spark_server: SparkServer, lake: Lake, folder: Folder) -> None:
    is_interrupted_and_goes_on(spark_server, lake, folder, planning=4)


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


# -- a few people, for all that can be asked: each statement costs its planning, whatever it reads ------------------

FEW = """
    SELECT CAST(20 + i * 7 % 20 AS INTEGER) AS age, ['F', 'M'][1 + i % 2] AS sex,
        ['flu', 'cold', 'HIV'][1 + i // 2 % 3] AS ill FROM range(40) AS r (i)
"""
OF_FEW = """
name = "few"
source.table = "few"
privacy = { k = 3, suppression = 0.2 }
quasi_identifiers = { age = { hierarchy = { intervals = [5, 10] } }, sex = {} }
search.method = "METHOD"
[sensitive.ill]
l = 2
alpha = 0.9
levels = { 1 = ["HIV"], 2 = ["flu", "cold"] }
level_alpha = { 1 = 0.9 }
[release]
kind = "table"
to = "shown_few"
"""
IN_A_LEDGER = '[ledger]\ndatabase = "ledger.duckdb"\n'


@pytest.fixture
def few(lake: Lake, folder: Folder) -> Lake:
    with duckdb.connect(str(folder.database)) as near:
        near.execute(f"CREATE TABLE few AS {FEW}")
        lake.load("few", "FROM few", near)
    return lake


def test_a_method_of_every_kind(few: Lake, folder: Folder) -> None:
    """Sail is asked for all methods."""
    with duckanon.connect(few.address) as far, duckanon.connect(folder.database) as near:
        for method in ("greedy", "climb", "l_c_clustering"):
            text = OF_FEW.replace("METHOD", method)
            compared = text if method == "greedy" else f'{text}difference = "ignore"\n'
            asked = duckanon.Policy.parse(compared, folder.path)
            theirs = told(partial(duckanon.run, asked, far))
            must_be_alike(theirs, told(partial(duckanon.run, asked, near)))
            assert (method, theirs.get("status")) == (method, "released")
            assert counted(few.sql("SELECT * FROM shown_few")) == counted(folder.sql("FROM shown_few")), method


def test_the_lattice_is_walked_there(few: Lake, folder: Folder) -> None:
    """By the method that asks for the most; Sail is asked for the others."""
    text = f"""{OF_FEW[: OF_FEW.index("search.method")]}
        search = {{ method = "optimal", where = "WHERE" }}
        sensitive.ill = {{ l = 2 }}
        release = {{ kind = "table", to = "shown_few", difference = "ignore" }}"""
    with duckanon.connect(few.address) as far, duckanon.connect(folder.database) as near:
        there = told(partial(duckanon.run, duckanon.Policy.parse(text.replace("WHERE", "warehouse")), far))
        here = told(partial(duckanon.run, duckanon.Policy.parse(text.replace("WHERE", "workbench")), near))
    assert (there["status"], there["levels"]) == ("released", here["levels"])
    assert counted(few.sql("SELECT * FROM shown_few")) == counted(folder.sql("FROM shown_few"))


def test_every_command(few: Lake, folder: Folder, duckanon: Command) -> None:
    asked = folder.policy(OF_FEW.replace("METHOD", "greedy") + IN_A_LEDGER)
    there = ("--db", few.address)
    measured = ("metrics", "few", "--qi", "age", "--qi", "sex", "--sensitive", "ill", "--json")
    for command in (("check", asked, "--json"), measured):
        near, far = duckanon(*command, "--db", folder.database), duckanon(*command, *there)
        assert far.code == near.code, far.err
        must_be_alike(*({k: v for k, v in told.json.items() if k not in OF_THE_RUN} for told in (far, near)))
    levels = ("hierarchy", asked, "--db")
    assert duckanon(*levels, few.address).out == duckanon(*levels, folder.database).out
    assert "GROUP BY" in duckanon("sql", asked, *there).out
    run = ("run", asked, *there, "--json")
    found = [duckanon(*run).json["status"], duckanon(*run, "--if-changed").json["status"]]
    few.sql("INSERT INTO few SELECT * FROM few WHERE age = 27")
    found += [duckanon(*run, "--if-changed").json["status"]]
    assert found == ["released", "unchanged", "released"]


def test_what_others_do_under_way(
    few: Lake, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they put into the place stays; what they drop once it was counted is not missed; before, it is."""
    waiting = [("INSERT INTO", "CREATE VIEW shown_few AS SELECT 1 AS theirs"), ("CREATE TABLE", "DROP TABLE few")]
    run = Spark._run

    def disturbed(self: Spark, text: str) -> None:
        if waiting and text.startswith(waiting[0][0]):
            few.sql(waiting.pop(0)[1])
        run(self, text)

    monkeypatch.setattr(Spark, "_run", disturbed)
    asked = folder.policy(OF_FEW.replace("METHOD", "greedy"))
    told = duckanon("run", asked, "--db", few.address)
    assert (told.code, "was made or replaced by somebody under way" in told.err) == (2, True), told.err
    assert (few.sql("SELECT * FROM shown_few"), few.tables()) == ([(1,)], {"few", "shown_few"})
    few.sql("DROP VIEW shown_few")
    assert duckanon("run", asked, "--db", few.address).code == 0
    assert ("few" in few.tables(), few.sql("SELECT COUNT(*) > 30 FROM shown_few")) == (False, [(True,)])
    told = duckanon("run", asked, "--db", few.address)
    assert (told.code, "there is no table or view 'few'" in told.err) == (2, True), told.err


def test_the_demo(lake: Lake, duckanon: Command) -> None:
    told = duckanon("demo", "--db", lake.address)
    assert (told.code, "verified" in told.out) == (0, True), told.err
    lake.sql("DROP DATABASE duckanon_demo CASCADE")
