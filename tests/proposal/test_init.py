"""A first policy: proposed from a table, decided by a person, run."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from duckanon.engine.opening import open_warehouse
from duckanon.policy import Policy, Source
from duckanon.proposal import frequencies
from duckanon.proposal.proposal import propose
from tests.support.command import Command
from tests.support.folder import Folder


def decided(policy: Path) -> Path:
    """The least edit: every line that says TODO is gone."""
    text = "".join(line for line in policy.read_text("utf-8").splitlines(keepends=True) if "TODO" not in line)
    policy.write_text(text, encoding="utf-8")
    return policy


@pytest.fixture
def here(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder.path)
    return folder.path


def test_a_table_gets_a_policy_that_runs_once_the_todos_are_answered(
    people: Folder, here: Path, duckanon: Command
) -> None:
    told = duckanon("init", "people", "--db", "warehouse.duckdb")
    assert told.code == 0
    for column in ("name", "age", "zip", "sex", "disease"):
        assert re.search(rf"^  {column} ", told.out, re.M)
    assert "wrote people.toml" in told.out
    refused = duckanon("run", "people.toml")
    assert refused.code == 2
    assert "sensitive.disease.l: is not decided yet (TODO)" in refused.err
    assert duckanon("check", "people.toml").code == 2
    assert duckanon("run", "people.toml", "--set", "sensitive.disease.l=2", "--dry-run").code == 0
    assert duckanon("run", decided(here / "people.toml")).code == 0
    assert people.sql("SELECT count(*) FROM people_anonymous")[0][0] > 190


def test_the_json_has_every_column_with_its_figures(people: Folder, here: Path, duckanon: Command) -> None:
    told = duckanon("init", "people", "--db", "warehouse.duckdb", "--json").json
    assert told["rows"] == 200
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["name"] | {"why": ""} == {
        "name": "name",
        "type": "VARCHAR",
        "distinct": 200,
        "alone_share": 1.0,
        "role": "identifier",
        "hierarchy": None,
        "why": "",
        "todo": False,
    }
    assert columns["age"]["hierarchy"] == {"intervals": [2, 10]}
    assert columns["zip"]["hierarchy"] == {"mask": [4, 3, 2, 1]}
    assert columns["disease"]["todo"]
    assert told["wrote"] == ["people.toml"]
    query = "SELECT count(*) FROM (SELECT count(*) AS n FROM people GROUP BY age, zip, sex) WHERE n = 1"
    alone = {tuple(found["columns"]): found["alone"] for found in told["riskiest"]}
    assert alone[("age", "zip")] == people.sql(query.replace(", sex", ""))[0][0]


def test_roles_that_are_given_are_taken_and_nothing_is_left_to_decide(
    people: Folder, here: Path, duckanon: Command
) -> None:
    given = ("--sensitive", "zip", "--qi", "name", "--identifier", "SEX")
    told = duckanon("init", "people", "--db", "warehouse.duckdb", *given, "--json").json
    roles = {column["name"]: column["role"] for column in told["columns"]}
    assert roles["zip"] == "sensitive"
    assert roles["name"] == "quasi_identifier"
    assert roles["sex"] == "identifier"
    assert roles["disease"] == "quasi_identifier"
    assert "TODO" not in (here / "people.toml").read_text("utf-8").replace("decide each TODO", "")
    assert Policy.load(here / "people.toml").sensitive[0].threshold("l") == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--qi", "nobody"], "qi: there is no column 'nobody'"),
        (["--qi", "age", "--sensitive", "AGE"], "'age' has another role, too"),
        (["--k", "1"], "must be at least 2"),
        (["--to", "nowhere/p.toml"], "there is no folder nowhere"),
    ],
)
def test_wrong_words_write_nothing(people: Folder, here: Path, duckanon: Command, words: list[str], said: str) -> None:
    before = people.files()
    told = duckanon("init", "people", "--db", "warehouse.duckdb", *words)
    assert told.code == 2
    assert said in told.err
    assert people.files() == before


def test_a_source_that_is_not_there_or_has_no_rows_or_no_column_that_others_know(
    people: Folder, here: Path, duckanon: Command
) -> None:
    people.sql("CREATE TABLE nothing (a INTEGER)", "CREATE TABLE ids AS SELECT uuid() AS id FROM range(30)")
    assert "is a table of no database" in duckanon("init", "people").err
    assert "there is no table or view 'peple'" in duckanon("init", "peple", "--db", "warehouse.duckdb").err
    assert "has no rows" in duckanon("init", "nothing", "--db", "warehouse.duckdb").err
    assert "no column is left" in duckanon("init", "ids", "--db", "warehouse.duckdb").err
    assert people.files() == ["warehouse.duckdb"]


def cities(folder: Folder) -> None:
    """Some cities that many have, and others that one person has."""
    folder.sql(
        """CREATE TABLE people AS SELECT CASE WHEN i < 300 THEN ['Bonn', 'Ulm', 'Köln', 'Trier'][1 + i % 4]
            WHEN i < 340 THEN ['Jena', 'Hof', 'Gera', 'Suhl'][1 + i % 4] WHEN i < 344 THEN 'Atlantis' END AS city,
            CASE WHEN i = 7 THEN 987654 ELSE 1000 + (i * i) % 4000 END AS points,
            CASE WHEN i = 8 THEN DATE '1871-01-18' ELSE DATE '1960-01-01' + ((i * 37) % 9000)::INTEGER END AS born,
            CASE WHEN i = 11 THEN 'Tuvalu'
                ELSE ['germany', 'France ', 'Spain', 'KENYA', 'peru', 'Nowhere'][1 + i % 6] END AS land
        FROM range(350) AS r (i)"""
    )


def test_no_value_is_told_that_fewer_than_k_share(folder: Folder, here: Path, duckanon: Command) -> None:
    cities(folder)
    told = duckanon("init", "people", "--db", "warehouse.duckdb")
    assert told.code == 0
    written = {path.name: path.read_text("utf-8") for path in here.iterdir() if path.suffix != ".duckdb"}
    assert set(written) == {"people.toml", "people_city.csv", "people_land.csv"}
    everything = told.out + "".join(text for name, text in written.items() if name != "people_land.csv")
    for value in ("Atlantis", "987654", "1871", "Tuvalu"):
        assert value not in everything
    assert "Jena,other,*" in written["people_city.csv"]
    assert "Bonn,Bonn,*" in written["people_city.csv"]


def test_a_ready_made_hierarchy_has_rows_left_to_fill_in_and_a_run_says_how_many(
    folder: Folder, here: Path, duckanon: Command
) -> None:
    cities(folder)
    duckanon("init", "people", "--db", "warehouse.duckdb", "--sensitive", "points")
    lands = (here / "people_land.csv").read_text("utf-8").splitlines()
    assert "germany,Western Europe,Europe,*" in lands
    assert "France ,Western Europe,Europe,*" in lands
    assert "KENYA,Eastern Africa,Africa,*" in lands
    assert "Nowhere,,,*" in lands
    # Which rare ones there are is not told: all that are ready-made stand there.
    assert "Tuvalu,Polynesia,Oceania,*" in lands
    assert "Tonga,Polynesia,Oceania,*" in lands
    told = duckanon("run", "people.toml", "--dry-run", "--json")
    assert told.code == 0
    (missing,) = folder.sql("SELECT count(*) FROM people WHERE land = 'Nowhere'")
    assert f"does not know 1 value ({missing[0]} rows): they are shown as the top" in " ".join(told.json["warnings"])


def test_what_is_there_is_never_overwritten_and_then_nothing_is_written(
    folder: Folder, here: Path, duckanon: Command
) -> None:
    cities(folder)
    (here / "people_city.csv").write_text("mine")
    told = duckanon("init", "people", "--db", "warehouse.duckdb")
    assert told.code == 2
    assert "people_city.csv: is there already, and is not overwritten" in told.err
    assert folder.files() == ["people_city.csv", "warehouse.duckdb"]
    assert (here / "people_city.csv").read_text() == "mine"
    (here / "p.toml").symlink_to("nowhere")
    assert duckanon("init", "people", "--db", "warehouse.duckdb", "--to", "p.toml").code == 2
    assert not (here / "nowhere").exists()


def test_odd_names_and_values(hostile: Folder, here: Path, duckanon: Command) -> None:
    told = duckanon("init", '"we""ird; drop"', "--db", "warehouse.duckdb", "--k", "3")
    assert told.code == 0
    (policy,) = here.glob("*.toml")
    assert duckanon("run", decided(policy), "--dry-run").code == 0


def test_a_query_of_several_types(folder: Folder, here: Path, duckanon: Command) -> None:
    folder.sql("CREATE TABLE t AS SELECT i FROM range(400) AS r (i)")
    query = """SELECT i, 'x' AS one, NULL::INTEGER AS none, [i] AS list, (i % 50)::FLOAT AS f,
        (i % 7)::DECIMAL(8, 2) AS d, TIMESTAMP '2020-01-01' + INTERVAL (i) HOUR AS at, i % 2 = 0 AS b, uuid() AS u,
        TIME '08:00:00' + INTERVAL (i % 9) HOUR AS "time", ('a' || i % 3)::ENUM ('a0', 'a1', 'a2') AS e,
        CASE WHEN i % 40 = 0 THEN 'NaN'::DOUBLE ELSE i % 30 END AS nan, (i % 6)::UTINYINT AS "Diagnose" FROM t"""
    told = duckanon("init", query, "--db", "warehouse.duckdb", "--json")
    assert told.code == 0
    columns = {column["name"]: column for column in told.json["columns"]}
    assert columns["i"]["role"] == columns["u"]["role"] == "identifier"
    assert columns["none"]["role"] == columns["list"]["role"] == "drop"
    assert columns["list"]["distinct"] is None
    assert columns["at"]["hierarchy"] == {"dates": ["day", "week"]}
    assert columns["Diagnose"]["todo"]
    assert duckanon("run", decided(here / "query.toml"), "--dry-run").code == 0


def test_a_csv_file_as_people_write_them(here: Path, duckanon: Command) -> None:
    chosen = random.Random(3)
    lines = ["Lfd-Nr;Vorname;Größe;Besuch;PLZ;Note;Gehalt"]
    for i in range(300):
        height = "NA" if i % 20 == 0 else chosen.randrange(150, 200)
        day = f"{chosen.randrange(1, 28)}.{chosen.randrange(1, 13)}.2023"
        cells = (
            i,
            chosen.choice(["Änne", "Bert", "Cem"]),
            height,
            day,
            f"0{chosen.randrange(1000, 1050)}",
            i % 6,
            i * 91,
        )
        lines.append(";".join(map(str, cells)))
    (here / "Umfrage 1.csv").write_bytes("\n".join(lines).encode("latin-1"))
    told = duckanon("init", "Umfrage 1.csv", "--json")
    assert told.code == 0
    columns = {column["name"]: column for column in told.json["columns"]}
    assert {name for name, column in columns.items() if column["role"] == "identifier"} == {"Lfd-Nr", "Vorname"}
    assert columns["Größe"]["hierarchy"] == {"intervals": [5, 10, 20]}
    assert columns["PLZ"]["hierarchy"] == {"mask": [4, 3, 2, 1]}
    assert columns["Besuch"]["hierarchy"] == {"dates": ["month", "quarter", "year"]}
    assert columns["Gehalt"]["todo"]
    options = Policy.load(decided(here / "Umfrage_1.toml")).source.csv
    assert (options.encoding, options.dateformat, options.null) == ("latin-1", "%d.%m.%Y", ("", "NA"))
    assert duckanon("run", "Umfrage_1.toml").code == 0
    assert (here / "Umfrage_1_anonymous.csv").exists()


def test_the_first_line_of_a_file_without_a_header_names_no_column(here: Path, duckanon: Command) -> None:
    (here / "a.csv").write_text("".join(f"{20 + i % 30},021{30 + i % 9},ann{i}@mail.example\n" for i in range(200)))
    told = duckanon("init", "a.csv")
    assert told.code == 0
    assert "ann0" not in told.out + (here / "a.toml").read_text("utf-8")
    assert "header = false" in (here / "a.toml").read_text("utf-8")


def test_a_draft_elsewhere_finds_its_source(people: Folder, here: Path, duckanon: Command) -> None:
    (here / "policies").mkdir()
    told = duckanon("init", "people", "--db", "warehouse.duckdb", "--to", "policies/first.toml")
    assert told.code == 0
    assert 'database = "../warehouse.duckdb"' in (here / "policies" / "first.toml").read_text("utf-8")
    assert duckanon("run", decided(here / "policies" / "first.toml"), "--dry-run").code == 0


def test_the_number_of_statements_does_not_depend_on_the_columns(folder: Folder) -> None:
    wide = ", ".join(f"(hash(i + {n}) % {3 + n * 7})::INTEGER AS c{n}" for n in range(20))
    folder.sql(
        f"CREATE TABLE wide AS SELECT {wide} FROM range(300) AS r (i)", "CREATE TABLE thin AS SELECT c9 FROM wide"
    )
    scans = {}
    for name in ("wide", "thin"):
        with open_warehouse(folder.database, writable=False) as warehouse, warehouse.workbench.traced() as executed:
            propose(Source(table=name, database=folder.database), warehouse, to=folder.path / f"{name}.toml")
            texts = [e.statement if isinstance(e.statement, str) else e.statement.sql() for e in executed]
        scans[name] = sum(f'"{name}"' in text and "DESCRIBE" not in text for text in texts)
    assert scans["wide"] == scans["thin"] == 4


def test_of_a_large_table_a_part_of_the_values_is_counted(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 30,000 rows were many."""
    folder.sql(
        """CREATE TABLE big AS SELECT i AS id, 'k' || hash(i) % 20000 AS code, (hash(i + 1) % 90)::INTEGER AS age,
            DATE '1950-01-01' + (hash(i + 2) % 15000)::INTEGER AS born,
            ['a', 'b', 'c'][1 + (hash(i + 3) % 3)::INTEGER] AS sex
        FROM range(30000) AS r (i)"""
    )
    exactly = folder.sql(
        """SELECT count(*), count(*) FILTER (n = 1) FROM (SELECT count(*) AS n FROM big GROUP BY code)
        UNION ALL SELECT count(*), count(*) FILTER (n = 1) FROM (SELECT count(*) AS n FROM big GROUP BY born)"""
    )
    for name, most in (("_FEW", 3_000), ("_EXACT", 10_000), ("_PART", 3_000), ("_SAMPLE", 3_000)):
        monkeypatch.setattr(frequencies, name, most)
    for source in (Source(table="big"), Source(query="SELECT * FROM big")):
        with open_warehouse(folder.database, writable=False) as warehouse:
            proposal = propose(source, warehouse, to=folder.path / "big.toml")
        columns = {column.name: column for column in proposal.columns}
        assert not columns["code"].exact
        for name, (distinct, alone) in zip(("code", "born"), exactly, strict=True):
            assert columns[name].distinct == pytest.approx(distinct, rel=0.1)
            assert columns[name].alone_share == pytest.approx(alone / 30_000, abs=0.03)
        assert columns["sex"].distinct == 3
        assert columns["sex"].exact
        assert columns["age"].distinct == 90
        assert columns["age"].as_json()["hierarchy"] == {"intervals": [5, 10, 20]}
        assert columns["id"].role == "identifier"


def test_a_hierarchy_is_proposed_for_a_column_whose_own_does_not_fit(
    folder: Folder, here: Path, duckanon: Command
) -> None:
    cities(folder)
    folder.policy(
        """name = "p"
[source]
table = "people"
database = "warehouse.duckdb"
[privacy]
k = 5
unmapped = "suppress"
suppression = 0.9
[quasi_identifiers.city]
hierarchy = { builtin = "sex" }
[quasi_identifiers.points]
[quasi_identifiers.born]
[quasi_identifiers.land]
[release]
kind = "csv"
to = "out.csv"
""",
        "p.toml",
    )
    assert duckanon("hierarchy", "p.toml", "city").code == 2
    told = duckanon("hierarchy", "p.toml", "city", "--propose")
    assert told.code == 0
    assert told.out.startswith("level_0,level_1,level_2\nBonn,Bonn,*\n")
    assert "Atlantis" not in told.out
    (here / "city.csv").write_text(told.out, encoding="utf-8")
    text = (here / "p.toml").read_text("utf-8").replace('{ builtin = "sex" }', '"city.csv"')
    (here / "p.toml").write_text(text, encoding="utf-8")
    assert duckanon("hierarchy", "p.toml", "city").code == 0
    told = duckanon("hierarchy", "p.toml", "POINTS", "--propose")
    assert re.match(r"\[quasi_identifiers\.points\]\nhierarchy = \{ (intervals|cuts) = \[", told.out)
    assert 'dates = ["month", "year", "decade"]' in duckanon("hierarchy", "p.toml", "born", "--propose").out
    for words in (["--propose"], ["city", "--propose", "--csv"], ["nothing", "--propose"]):
        assert duckanon("hierarchy", "p.toml", *words).code == 2


def test_json_of_a_dump_can_be_read(people: Folder, here: Path, duckanon: Command) -> None:
    told = duckanon("init", "people", "--db", "warehouse.duckdb", "--json")
    assert json.loads(told.out)["source"] == "people"
