"""The same policy on a Spark Connect server: what is found and released is what DuckDB finds and releases."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from duckanon.engine.spark.catalog import spelled_parts
from duckanon.engine.spark.types import type_of
from duckanon.engine.spark.warehouse import Spark
from duckanon.engine.types import Family
from tests.support.command import Command, Told
from tests.support.folder import Folder
from tests.support.spark import Lake
from tests.support.spark_people import CITIES, PEOPLE, policy
from tests.support.spark_types import are_released

METHODS = (
    "greedy", "optimal", "datafly", "climb", "alpha_k_clustering", "l_c_clustering", "alpha_l_diversification",
)  # fmt: skip


@pytest.fixture
def both(lake: Lake, folder: Folder) -> Lake:
    """The same tables in Spark and in a DuckDB file."""
    with duckdb.connect(str(folder.database)) as near:
        for name, query in {"people": PEOPLE, "cities": CITIES}.items():
            near.execute(f"CREATE TABLE {name} AS {query}")
            lake.load(name, f"FROM {name}", near)
    return lake


def figures(told: Told) -> Any:
    """All that a run tells, but for how long it took and what it was called."""
    assert told.code in (0, 1), told.err
    return {key: value for key, value in told.json.items() if key not in ("seconds", "started", "run", "effort")}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return other == pytest.approx(one, abs=1e-9)
    return bool(one == other)


def rows(found: list[tuple[Any, ...]]) -> list[str]:
    return sorted(map(str, found))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_releases_what_duckdb_does(duckanon: Command, both: Lake, folder: Folder, method: str) -> None:
    """What clusters, clusters here: of fewer rows, which it takes less long for."""
    fewer = 'query = "SELECT * FROM people WHERE pay < 3"'
    asked = policy(folder, method, source=fewer if "cluster" in method else 'table = "people"')
    near = duckanon("run", asked, "--db", folder.database, "--json")
    far = duckanon("run", asked, "--db", both.address, "--json")
    assert near.code == far.code == 0, far.err
    assert same(figures(near), figures(far)), (figures(near), figures(far))
    assert rows(both.sql("SELECT * FROM shown")) == rows(folder.sql("FROM shown"))


def test_people_are_counted_and_pseudonyms_made_here(
    duckanon: Command, both: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key goes nowhere: what is made with it goes up."""
    monkeypatch.setenv("DUCKANON_KEY", "0123456789abcdef")
    others = 'pseudonyms = ["name"]'
    asked = policy(folder, entity='entity = "name"', others=others)
    asked.write_text(asked.read_text(encoding="utf-8") + '[pseudonyms]\nkey_env = "DUCKANON_KEY"\n', encoding="utf-8")
    near = duckanon("run", asked, "--db", folder.database, "--json")
    far = duckanon("run", asked, "--db", both.address, "--json")
    assert near.code == far.code == 0, far.err
    assert same(figures(near), figures(far)), (figures(near), figures(far))
    assert rows(both.sql("SELECT * FROM shown")) == rows(folder.sql("FROM shown"))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_written_by_the_driver(duckanon: Command, both: Lake, folder: Folder, kind: str) -> None:
    asked = policy(folder, kind=kind, to=f"out.{kind}")
    assert duckanon("run", asked, "--db", folder.database).code == 0
    near = (folder.path / f"out.{kind}").read_bytes()
    (folder.path / f"out.{kind}").unlink()
    assert duckanon("run", asked, "--db", both.address).code == 0
    if kind == "csv":  # a Parquet file says when it was written
        assert (folder.path / "out.csv").read_bytes() == near
    assert both.tables() == {"people", "cities"}


def test_no_view_is_released(duckanon: Command, both: Lake, folder: Folder) -> None:
    told = duckanon("run", policy(folder, kind="view"), "--db", both.address)
    assert (told.code, both.tables()) == (2, {"people", "cities"})
    assert "before a view has hidden anything" in told.err


def test_runs_are_known_again_by_a_ledger_in_a_file(duckanon: Command, both: Lake, folder: Folder) -> None:
    asked = policy(folder)
    run = ("run", asked, "--db", both.address)
    told = duckanon(*run, "--if-changed")
    assert (told.code, told.err.count("ledger.duckdb")) == (2, 1)
    text = asked.read_text(encoding="utf-8").replace('difference = "ignore"', 'mode = "monotone"')
    asked.write_text(text + '[ledger]\ndatabase = "ledger.duckdb"\n', encoding="utf-8")
    assert [duckanon(*run).code, duckanon(*run, "--if-changed").code] == [0, 0]
    builds = both.tables()
    assert "unchanged" in duckanon(*run, "--if-changed", "--json").out
    assert both.tables() == builds
    both.sql("INSERT INTO people SELECT * FROM people WHERE age = 30")
    assert duckanon(*run, "--if-changed", "--json").json["status"] == "released"
    assert duckanon("status", asked, "--db", both.address).code == 0
    assert duckanon("check", asked, "--release", "--db", both.address).code == 0


@pytest.fixture
def made_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there are too many cells to be sent."""
    monkeypatch.setattr(Spark, "most_sent", 0)


@pytest.mark.usefixtures("made_of_the_source")
@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_a_release_that_is_made_of_the_source_is_the_same(
    duckanon: Command, both: Lake, folder: Folder, method: str
) -> None:
    asked = policy(folder, method)
    near = duckanon("run", asked, "--db", folder.database, "--json")
    far = duckanon("run", asked, "--db", both.address, "--json")
    assert near.code == far.code == 0, far.err
    assert same(figures(near), figures(far)), (figures(near), figures(far))
    assert rows(both.sql("SELECT * FROM shown")) == rows(folder.sql("FROM shown"))


@pytest.fixture
def growing(both: Lake, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Rows come between counting and releasing, in the first run."""
    collect, waiting = Spark.collect, ["INSERT INTO people SELECT * FROM people WHERE age = 30"]

    def collected(warehouse: Spark, name: exp.Table, query: exp.Query, note: str, *more: Any) -> None:
        collect(warehouse, name, query, note, *more)
        if waiting and note == "the source, counted in one scan":
            both.sql(waiting.pop())

    monkeypatch.setattr(Spark, "collect", collected)
    return both


def test_the_release_is_of_the_rows_that_were_counted(duckanon: Command, growing: Lake, folder: Folder) -> None:
    """Whatever becomes of the source meanwhile."""
    asked = policy(folder)
    assert duckanon("run", asked, "--db", folder.database).code == 0
    assert duckanon("run", asked, "--db", growing.address).code == 0
    assert growing.sql("SELECT COUNT(*) FROM people")[0][0] > folder.sql("SELECT COUNT(*) FROM people")[0][0]
    assert rows(growing.sql("SELECT * FROM shown")) == rows(folder.sql("FROM shown"))


@pytest.mark.usefixtures("made_of_the_source")
def test_a_class_that_is_not_as_it_was_counted_is_not_released(
    duckanon: Command, growing: Lake, folder: Folder
) -> None:
    """And a release that lacks one is none."""
    told = duckanon("run", policy(folder), "--db", growing.address)
    assert told.code == 1
    assert "the release does not hold the rows that the search chose" in told.out + told.err
    assert growing.tables() == {"people", "cities"}


def test_rows_that_come_after_the_count_are_a_change(duckanon: Command, growing: Lake, folder: Folder) -> None:
    """What the source was is remembered as it was before the count, or the next run would not see them."""
    asked = policy(folder)
    asked.write_text(asked.read_text(encoding="utf-8") + '[ledger]\ndatabase = "ledger.duckdb"\n', encoding="utf-8")
    run = ("run", asked, "--db", growing.address, "--json")
    assert duckanon(*run).code == 0
    assert duckanon(*run, "--if-changed").json["status"] == "released"
    assert duckanon(*run, "--if-changed").json["status"] == "unchanged"


def test_more_counts_than_may_come(duckanon: Command, both: Lake, folder: Folder) -> None:
    """They are told as they come; who refuses them hears how many there would have been."""
    limited = ("run", policy(folder), "--set", "search.census_limit=10", "--db")
    near, far = (duckanon(*limited, database) for database in (folder.database, both.address))
    assert (near.code, far.code, far.err) == (2, 2, near.err)
    assert "search.census_limit: there are 300 counts, more than 10" in far.err
    assert both.tables() == {"people", "cities"}


def test_the_rows_are_in_the_order_of_what_they_show(duckanon: Command, both: Lake, folder: Folder) -> None:
    """So nothing of the source's order is in the files of a table."""
    assert duckanon("run", policy(folder), "--db", both.address).code == 0
    shown = [row[0] for row in both.sql("SELECT CONCAT_WS(',', age, born, COALESCE(city, '')) FROM shown")]
    assert shown == sorted(shown)


def test_a_table_of_somebody_else_is_not_replaced(duckanon: Command, both: Lake, folder: Folder) -> None:
    both.sql("CREATE TABLE theirs AS SELECT 1 AS a", "CREATE VIEW seen AS SELECT * FROM theirs")
    assert duckanon("run", policy(folder, to="seen"), "--db", both.address).code == 2
    told = duckanon("run", policy(folder, to="seen"), "--db", both.address, "--replace")
    assert (told.code, both.sql("SELECT * FROM seen")) == (2, [(1,)])
    assert "is a view that no run has made, and that the source may read" in told.err
    told = duckanon("run", policy(folder, to="theirs"), "--db", both.address, "--replace")
    assert (told.code, both.sql("SELECT * FROM theirs")) == (2, [(1,)])
    assert "is a table, in whose place no view can be put in one step" in told.err


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("PEOPLE", "is the source itself"),
        ("no.where", "there is no schema 'no'"),
        ("people x", "release.to: people x has other signs than letters"),  # a view of `people x__…`, unquoted, is raw
        ("`odd one`.shown", "release.to: `odd one`.shown has other signs"),
    ],
)
def test_where_no_release_can_go(duckanon: Command, both: Lake, folder: Folder, to: str, said: str) -> None:
    told = duckanon("run", policy(folder, to=to), "--db", both.address)
    assert (told.code, said in told.err) == (2, True), told.err


OVER_RELEASE = "SELECT p.* FROM people AS p CROSS JOIN (SELECT COUNT(*) AS n FROM {}) AS s"


def test_a_source_that_reads_an_earlier_release(duckanon: Command, both: Lake, folder: Folder) -> None:
    """Through however many views: else every release would be made of the last one."""
    assert duckanon("run", policy(folder), "--db", both.address).code == 0
    both.sql(f"CREATE VIEW again AS {OVER_RELEASE.format('shown')}", "CREATE VIEW twice AS SELECT * FROM again")
    before = both.tables()
    for source in ('table = "twice"', f'query = "{OVER_RELEASE.format("shown")}"'):
        told = duckanon("run", policy(folder, source=source), "--db", both.address)
        assert (told.code, "release.to: shown is read by the source; choose" in told.err) == (2, True), told.err
        assert both.tables() == before
    assert duckanon("run", policy(folder, source='table = "twice"', to="other"), "--db", both.address).code == 0


def test_a_source_that_is_not_there(duckanon: Command, both: Lake, folder: Folder) -> None:
    told = duckanon("run", policy(folder, source='table = "peeple"'), "--db", both.address)
    assert told.code == 2
    assert "there is no table or view 'peeple' in sc://127.0.0.1" in told.err
    assert "did you mean people?" in told.err


def test_an_error_over_values_shows_none(duckanon: Command, both: Lake, folder: Folder) -> None:
    asked = policy(folder, source='query = "SELECT *, CAST(ill AS INT) AS broken FROM people"')
    told = duckanon("run", asked, "--db", both.address)
    assert told.code == 2
    assert not any(value in told.out + told.err for value in ("flu", "cold", "HIV"))


def test_no_server_and_no_client(duckanon: Command, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = policy(folder)
    told = duckanon("run", asked, "--db", "sc://127.0.0.1:9/;token=secret")
    assert told.code == 2
    assert "sc://127.0.0.1:9: cannot be opened: the server cannot be reached" in told.err
    assert "secret" not in told.err
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    told = duckanon("run", asked, "--db", "sc://127.0.0.1:9")
    assert (told.code, "pip install 'duckanon[spark]'" in told.err) == (2, True), told.err


TYPES = {
    "bigint": (Family.WHOLE, "bigint"),
    "decimal(10,2)": (Family.DECIMAL, "decimal(10,2)"),
    "float": (Family.FLOAT, "float"),
    "string": (Family.TEXT, "string"),
    "varchar(5)": (Family.TEXT, "string"),
    "boolean": (Family.BOOLEAN, "boolean"),
    "date": (Family.DATE, "date"),
    "timestamp": (Family.MOMENT, "timestamp"),
    "timestamp_ntz": (Family.MOMENT, "timestamp_ntz"),
    "time(6)": (Family.TIME_OF_DAY, "string"),
    "interval day to second": (Family.OTHER, "string"),
    "array<int>": (Family.LIST, "array<int>"),
    "struct<a:int,b:decimal(4,2)>": (Family.RECORD, "struct<a:int,b:decimal(4,2)>"),
}
REFUSED = (
    "binary", "variant", "map<string,int>", "interval", "void", "array<double>", "array<array<int>>",
    "struct<a:map<int,int>>", "struct<a b:int>", "string collate UTF8_LCASE",
)  # fmt: skip


@pytest.mark.unit
def test_types_are_ours_or_refused() -> None:
    found = {word: type_of(word) for word in (*TYPES, *REFUSED)}
    assert {word: (found[word].family, found[word].released.word) for word in TYPES} == TYPES
    assert {word for word, type_ in found.items() if not type_.comparable} == set(REFUSED)
    assert [word for word, type_ in found.items() if type_.zoned] == ["timestamp"]


def test_types_that_are_released(duckanon: Command, lake: Lake, folder: Folder) -> None:
    """Each as it is or as the text it is written as; what cannot be compared is refused by name."""
    are_released(duckanon, lake, folder)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("spelled", "parts"),
    [
        ("people", ("people",)),
        ("lake.people", ("lake", "people")),
        ('c.s."odd ""name"', ("c", "s", 'odd "name')),
        ("`a``b`.t", ("a`b", "t")),
        ("odd name", None),
    ],
)
def test_names_as_sql_spells_them(spelled: str, parts: tuple[str, ...] | None) -> None:
    assert spelled_parts(spelled) == parts


def test_a_program_that_is_no_file_connects(lake: Lake) -> None:
    """The client looks for a whole Spark there."""
    program = f"import duckanon; duckanon.connect({lake.address!r}).close(); print('connected')"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "connected\n"), said.stderr
