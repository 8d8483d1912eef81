"""The ledger: what every run leaves for the auditor and for the next run, and what it never leaves."""

from __future__ import annotations

import json
import subprocess
import sys

import duckdb
import pytest

import duckanon as api
from duckanon import Policy
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.ledgers import outcomes, rows_of
from tests.support.people import EXPORT, NAMED, PEOPLE, UNCOMPARED

# -- what is written ------------------------------------------------------------------------------


def test_a_release_and_its_entry(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE), "--json").json
    (row,) = rows_of(people.database)
    assert (row["policy"], row["outcome"], row["method"]) == ("people", "released", "greedy")
    assert (row["target_kind"], row["target_place"]) == ("table", "people_anonymous")
    assert row["warehouse"] == str(people.database.resolve())
    assert json.loads(row["levels"]) == told["levels"]
    assert {part: row[f"rows_{part}"] for part in told["rows"]} == told["rows"]
    assert row["classes"] == told["classes"]
    assert {name: row[name] for name in ("ncp", "precision")} == {n: told["utility"][n] for n in ("ncp", "precision")}
    assert row["discernibility"] == told["utility"]["discernibility"]
    assert row["seconds"] > 0
    assert row["version"] == api.__version__
    assert row["message"] is None
    assert all(len(row[name]) == 64 for name in ("policy_hash", "hierarchy_hash", "source_fingerprint"))
    found = rows_of(people.database, "FROM duckanon.release_constraints")
    assert {c["release_id"] for c in found} == {row["id"]}
    assert [{**c, "column": c["column_name"]} | {"release_id": 0, "column_name": 0} for c in found] == [
        c | {"release_id": 0, "column_name": 0} for c in told["constraints"]
    ]


def test_the_policy_is_kept_as_it_was_run(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE + UNCOMPARED)
    stricter = duckanon("run", policy, "--k", 5, "--method", "climb", "--set", "sensitive.disease.l=3", "--json").json
    weaker = duckanon("run", policy, "--json").json
    row, _ = rows_of(people.database)
    kept = Policy.parse(row["policy_text"])
    assert (kept.k, kept.search.method, kept.sensitive[0].threshold("l")) == (5, "climb", 3)
    assert row["policy_hash"] == stricter["policy_hash"] == kept.hash
    assert row["method"] == "climb"
    assert "asks for less than at the last release: privacy.k was 5, is 3; sensitive" in weaker["warnings"][0]


def test_every_table_and_column_is_explained(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(PEOPLE)).code == 0
    where = "WHERE schema_name = 'duckanon'"
    assert people.sql(f"SELECT count(*) FROM duckdb_tables() {where} AND comment IS NOT NULL") == [(2,)]
    assert people.sql(f"SELECT count(*), count(comment) FROM duckdb_columns() {where}") == [(35, 35)]


def test_runs_that_fail_are_written_down_once_there_is_a_ledger(people: Folder, duckanon: Command) -> None:
    wrong = people.policy(PEOPLE.replace('identifiers = ["name"]', ""), "wrong.toml")
    impossible = people.policy(PEOPLE.replace("k = 3", "k = 201"), "impossible.toml")
    untouched = people.dump()
    assert [duckanon("run", policy).code for policy in (wrong, impossible)] == [2, 1]
    assert people.dump() == untouched
    assert duckanon("run", people.policy(PEOPLE)).code == 0
    assert [duckanon("run", policy).code for policy in (wrong, impossible)] == [2, 1]
    released, broken, infeasible = rows_of(people.database)
    assert [row["outcome"] for row in (released, broken, infeasible)] == ["released", "error", "infeasible"]
    assert "without a role" in broken["message"]
    assert broken["rows_source"] is None
    assert "201" in infeasible["message"]
    assert infeasible["rows_source"] == 200
    assert people.sql("SELECT count(*) > 100 FROM people_anonymous") == [(True,)]


def test_constraints_that_fail_are_written_down_with_what_was_measured(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(EXPORT + NAMED)).code == 0
    policy = people.policy(EXPORT.replace("l = 2", "entropy_l = 4.9") + NAMED)
    assert duckanon("run", policy).code == 1
    found = rows_of(people.path / "ledger.duckdb", "FROM duckanon.release_constraints WHERE NOT holds")
    assert [(c["name"], c["column_name"], c["threshold"]) for c in found] == [("entropy_l", "disease", 4.9)]
    assert 1 < found[0]["measured"] < 4.9


def test_dry_runs_checks_and_failures_before_the_run_leave_nothing(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT + NAMED)
    assert duckanon("run", policy, "--dry-run").code == 0
    assert duckanon("check", policy).code == 1
    assert duckanon("run", policy, "--db", "gone.duckdb").code == 2
    assert not (people.path / "ledger.duckdb").exists()


@pytest.mark.parametrize(
    ("old", "new", "secrets"),
    [
        ("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"', ["X'; flu"]),
        ("l = 2", "alpha = 0.2", ["flu", "X';"]),
        ('table = "people"', 'query = "SELECT * REPLACE (disease::INT AS disease) FROM people"', ["flu", "HIV"]),
    ],
)
def test_no_value_of_a_row_is_ever_written(
    people: Folder, duckanon: Command, old: str, new: str, secrets: list[str]
) -> None:
    assert duckanon("run", people.policy(EXPORT + NAMED)).code == 0
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\n")
    people.sql("UPDATE people SET sex = 'X''; flu' WHERE sex = 'M'")
    told = duckanon("run", people.policy(EXPORT.replace(old, new) + NAMED), "--log", "json")
    assert told.code in (1, 2)
    *_, row = rows_of(people.path / "ledger.duckdb")
    assert row["message"]
    for secret in secrets:
        assert secret not in row["message"]
        assert secret not in told.err


# -- where it lies --------------------------------------------------------------------------------


def test_a_file_of_its_own_beside_a_database_that_is_only_read(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT + NAMED)
    with duckdb.connect(str(people.database), read_only=True):
        before = people.database.read_bytes()
        assert duckanon("run", policy).code == 0
        assert duckanon("run", policy).code == 0
        assert people.database.read_bytes() == before
    first, second = rows_of(people.path / "ledger.duckdb")
    assert first["target_place"] == str(people.path.resolve() / "people.csv")
    assert first["source_fingerprint"] == second["source_fingerprint"]
    assert first["id"] != second["id"]


def test_several_policies_share_a_ledger_at_the_same_time(people: Folder) -> None:
    policies = [
        people.policy(
            EXPORT.replace('name = "people"', f'name = "p{i}"').replace("people.csv", f"{i}.csv") + NAMED, f"{i}.toml"
        )
        for i in range(3)
    ]
    running = [
        subprocess.Popen([sys.executable, "-m", "duckanon", "run", str(p)], stdout=subprocess.PIPE) for p in policies
    ]
    assert [process.communicate() and process.returncode for process in running] == [0, 0, 0]
    assert {row["policy"] for row in rows_of(people.path / "ledger.duckdb")} == {"p0", "p1", "p2"}


def test_a_release_that_stands_is_not_called_interrupted(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.ledger import FileLedger

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FileLedger, "settled", stopped)
    told = duckanon("run", people.policy(EXPORT + NAMED), "--json")
    assert told.code == 0
    assert told.json["warnings"][-1].endswith("the ledger could not be written: interrupted")


def test_an_export_without_a_ledger_is_fine(people: Folder, duckanon: Command) -> None:
    before = people.dump()
    assert duckanon("run", people.policy(EXPORT)).code == 0
    assert people.dump() == before
    assert "ledger.duckdb" not in people.files()


def test_the_warehouse_may_be_named_as_the_ledger(people: Folder, duckanon: Command) -> None:
    here = '[ledger]\ndatabase = "./warehouse.duckdb"\n'
    assert duckanon("run", people.policy(PEOPLE + here)).code == 0
    assert outcomes(people.database) == ["released"]
    told = duckanon("run", people.policy(EXPORT + here))
    assert told.code == 2
    assert "ledger.database" in told.err
    assert "people.csv" not in people.files()


def test_a_release_and_its_entry_are_one_transaction(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.errors import EngineError
    from duckanon.ledger.tables import LedgerTables

    def full(*_: object) -> None:
        raise EngineError("the disk is full")

    before = people.dump()
    monkeypatch.setattr(LedgerTables, "add", full)
    assert duckanon("run", people.policy(PEOPLE)).code == 2
    assert people.dump() == before
    told = duckanon("run", people.policy(EXPORT + NAMED), "--json")
    assert told.code == 0, "a file that stands has been released, whatever the ledger says"
    assert "the ledger could not be written" in told.json["warnings"][-1]


@pytest.mark.parametrize("named", ["", NAMED])
def test_tables_of_that_name_that_are_not_ours_are_refused(people: Folder, duckanon: Command, named: str) -> None:
    place = people.path / "ledger.duckdb" if named else people.database
    with duckdb.connect(str(place)) as connection:
        connection.execute("CREATE SCHEMA duckanon; CREATE TABLE duckanon.releases AS SELECT 'theirs' AS x")
    before = people.dump()
    told = duckanon("run", people.policy(PEOPLE + named), "--replace")
    assert told.code == 2
    assert "duckanon.releases is not the ledger" in told.err
    assert people.dump() == before
    assert duckanon("history", "--db", place).code == 2


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (PEOPLE.replace("people_anonymous", "duckanon.releases"), "is the ledger"),
        (EXPORT.replace("people.csv", "ledger.duckdb") + NAMED, "is the ledger"),
        (EXPORT + '[ledger]\ndatabase = "gone/ledger.duckdb"\n', "no folder"),
        (EXPORT + '[ledger]\ndatabase = "policy.toml"\n', "not a DuckDB database"),
        (EXPORT + '[ledger]\ndatabase = "duckanon.duckdb"\n', "rename the file"),
    ],
)
def test_a_ledger_that_cannot_be(people: Folder, duckanon: Command, text: str, word: str) -> None:
    people.sql("CREATE SCHEMA duckanon")
    policy = people.policy(text)
    files = people.files()
    told = duckanon("run", policy, "--replace")
    assert told.code == 2
    assert word in told.err
    assert people.files() == files
    assert people.sql("SELECT count(*) FROM duckdb_tables()") == [(1,)]


def test_a_warehouse_called_duckanon_keeps_no_ledger(people: Folder, duckanon: Command) -> None:
    """Its names would be ambiguous there."""
    database = people.database.rename(people.path / "duckanon.duckdb")
    policy = people.policy(PEOPLE)
    assert duckanon("run", policy, "--db", database).code == 0
    assert duckanon("run", policy, "--db", database, "--if-changed").code == 2
    assert duckanon("history", policy, "--db", database, "--json").json == []


# -- hashes ---------------------------------------------------------------------------------------


def test_the_policy_hash_is_of_its_meaning() -> None:
    def hashed(text: str, folder: str = "a") -> str:
        return Policy.parse(text, folder).hash

    same = hashed(PEOPLE)
    assert hashed(PEOPLE, "b/c") == same
    assert hashed("# a word\n" + PEOPLE.replace("k = 3", "k    =  3")) == same
    assert hashed(PEOPLE.replace("suppression = 0.1", "suppression = 0.10")) == same
    assert hashed(PEOPLE + NAMED) == same
    assert hashed(PEOPLE.replace("intervals = [5, 10, 20]", "intervals = [5, 10, 20], origin = 0")) == same
    assert hashed(PEOPLE.replace('database = "warehouse.duckdb"', 'database = "/elsewhere.duckdb"')) == same
    source = PEOPLE.replace('table = "people"', 'file = "people.csv"')
    assert hashed(source) == hashed(source, "b/c")
    other = [
        ("k = 3", "k = 4"), ("suppression = 0.1", "suppression = 1"), ("[5, 10, 20]", "[5, 10, 40]"),
        ("l = 2", "l = 3"), ('["name"]', "[]"), ("people_anonymous", "other"), ("[4, 3, 0]", "[4, 3]"),
        ("[quasi_identifiers.sex]", "[quasi_identifiers.sex]\nimportance = 0.5"), ('"people"\nd', '"peoples"\nd'),
    ]  # fmt: skip
    hashes = [hashed(PEOPLE.replace(old, new)) for old, new in other]
    assert len({same, hashed(source), *hashes}) == len(other) + 2


def test_what_a_release_is_made_from_is_told_by_its_hashes(people: Folder, duckanon: Command) -> None:
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")
    people.sql("CREATE TABLE dim AS SELECT DISTINCT zip, zip[:3] AS area FROM people")
    text = EXPORT.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    text = text.replace("{ mask = [4, 3, 0] }", '{ table = "dim", columns = ["zip", "area"] }')
    policy = people.policy(text + UNCOMPARED + NAMED)

    def hashes() -> tuple[str, str, str]:
        assert duckanon("run", policy).code == 0
        row = rows_of(people.path / "ledger.duckdb")[-1]
        return row["policy_hash"], row["hierarchy_hash"], row["source_fingerprint"]

    first = hashes()
    people.sql("CREATE TABLE again AS FROM people ORDER BY md5(name)", "DROP TABLE people")
    people.sql("ALTER TABLE again RENAME TO people")
    assert hashes() == first, "the order of the rows is nothing"
    people.sql("UPDATE people SET name = 'somebody' WHERE name = 'person 7'")
    renamed = hashes()
    assert renamed[:2] == first[:2]
    assert renamed[2] != first[2], "a column that is not released counts, too"
    people.sql("INSERT INTO people FROM people WHERE name IN ('person 1', 'person 2')")
    doubled = hashes()
    people.sql("INSERT INTO people FROM people WHERE name IN ('person 1', 'person 2')")
    assert len({first[2], renamed[2], doubled[2], hashes()[2]}) == 4
    people.sql("UPDATE dim SET area = 'else'")
    listed = hashes()[1]
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\nX,*\n")
    assert len({first[1], listed, hashes()[1]}) == 3


# -- history --------------------------------------------------------------------------------------


def test_history_shows_the_newest_first(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    other = people.policy(
        PEOPLE.replace('name = "people"', 'name = "other"').replace("people_anonymous", "o"), "o.toml"
    )
    for run in (policy, other, policy):
        assert duckanon("run", run).code == 0
    everything = duckanon("history", "--db", people.database, "--json").json
    assert [run["policy"] for run in everything] == ["people", "other", "people"]
    assert everything[0]["finished_at"] > everything[2]["finished_at"]
    assert everything[0]["levels"].keys() == {"age", "zip", "sex"}
    assert [c["name"] for c in everything[0]["constraints"]] == ["k", "distinct_l"]
    assert duckanon("history", policy, "--json").json == [everything[0], everything[2]]
    assert duckanon("history", policy, "--json", "--limit", 1).json == everything[:1]
    text = duckanon("history", other).out.splitlines()
    assert text[0].split()[:3] == ["finished", "policy", "outcome"]
    assert [line.split()[2:4] for line in text[1:]] == [["other", "released"]]


def test_history_finds_the_named_ledger(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT + NAMED)
    assert duckanon("run", policy).code == 0
    assert [run["outcome"] for run in duckanon("history", policy, "--json").json] == ["released"]


def test_history_of_nothing(people: Folder, duckanon: Command) -> None:
    assert duckanon("history", "--db", people.database).out == "no run is recorded\n"
    assert duckanon("history", "--db", people.database, "--json").json == []
    assert "--db" in duckanon("history").err
    assert duckanon("history", "--db", people.path / "gone.duckdb").code == 2
    assert "Example:  duckanon history" in duckanon("history", "--help").out


def test_history_in_python(people: Folder) -> None:
    policy = Policy.load(people.policy(PEOPLE))
    with api.connect(people.database) as db:
        assert len(api.history(db)) == 0
        api.run(policy, db)
        assert api.run(policy, db, if_changed=True).status == "unchanged"
        frame = api.history(db, policy)
        assert list(frame["outcome"]) == ["unchanged", "released"]
        assert frame["constraints"][1][0]["name"] == "k"
        assert len(api.history(db, "nobody")) == 0
