"""Wrong policies, data and databases: exit code 2, one clear message, and nothing changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import duckdb
import pytest

from tests.support.command import Command, run_on_a_full_disk
from tests.support.folder import Folder
from tests.support.people import PEOPLE

Edit = Callable[[str], str]


def put(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


def add(section: str) -> Edit:
    return lambda text: text + section


# What the text alone tells is in test_reader.py; of that, one key and one column here.
WRONG: dict[str, tuple[Edit, list[str]]] = {
    "unknown key": (put("suppression", "supression"), ["privacy.supression", "did you mean 'suppression'"]),
    "two roles": (put('identifiers = ["name"]', 'identifiers = ["name", "AGE"]'), ["AGE", "two roles"]),
    "no role": (put('identifiers = ["name"]', ""), ["name", "without a role"]),
    "missing column": (put('["name"]', '["name", "nmae"]'), ["nmae", "no such column", "did you mean"]),
    "missing table": (put('table = "people"', 'table = "peple"'), ["source.table", "peple"]),
    "missing file": (put('table = "people"', 'file = "gone.csv"'), ["gone.csv", "no such file"]),
    "a file of no known kind": (put('table = "people"', 'file = "people.xlsx"'), ["people.xlsx"]),
    "not a SELECT": (put('table = "people"', 'query = "DELETE FROM people"'), ["source.query", "SELECT"]),
    "two statements": (put('table = "people"', 'query = "FROM people; DROP TABLE people"'), ["source.query", "SELECT"]),
    "not SQL": (put('table = "people"', 'query = "SELEC 1"'), ["source.query"]),
    "a query that fails": (put('table = "people"', 'query = "SELECT gone FROM people"'), ["gone"]),
    "intervals of text": (put("{ mask = [4, 3, 0] }", "{ intervals = [5] }"), ["quasi_identifiers.zip", "VARCHAR"]),
    "cuts of text": (put("{ mask = [4, 3, 0] }", "{ cuts = [[5]] }"), ["quasi_identifiers.zip", "VARCHAR"]),
    "cuts of numbers at dates": (
        put("intervals = [5, 10, 20]", "cuts = [[2000-01-01]]"),
        ["age.hierarchy.cuts", "numbers"],
    ),
    "cuts between whole numbers": (
        put("intervals = [5, 10, 20]", "cuts = [[17.5]]"),
        ["age.hierarchy.cuts", "whole numbers"],
    ),
    "dates of numbers": (put("{ intervals = [5, 10, 20] }", '{ dates = ["month"] }'), ["age", "INTEGER"]),
    "missing hierarchy file": (put("{ mask = [4, 3, 0] }", '"gone.csv"'), ["zip", "gone.csv", "cannot be read"]),
    "missing hierarchy table": (
        put("{ mask = [4, 3, 0] }", '{ table = "gone", columns = ["a"] }'),
        ["zip", "no table 'gone'"],
    ),
    "missing hierarchy column": (
        put("{ mask = [4, 3, 0] }", '{ table = "people", columns = ["zip", "region"] }'),
        ["zip", "no column region"],
    ),
    "values without a level": (
        put("l = 2", 'levels = { 1 = ["HIV"], 2 = ["flu"] }\nlevel_l = 2'),
        ["sensitive.disease.levels", "3 of the 5 values", "no level"],
    ),
    "proximity of text": (put("l = 2", "proximity = { epsilon = 1, m = 2 }"), ["proximity", "VARCHAR"]),
    "a target in no schema": (put('to = "people_anonymous"', 'to = "gone.people"'), ["release.to", "gone"]),
    "a target in no folder": (
        put('kind = "table"\nto = "people_anonymous"', 'kind = "csv"\nto = "gone/people.csv"'),
        ["release.to", "no folder"],
    ),
    "a target that is a folder": (
        put('kind = "table"\nto = "people_anonymous"', 'kind = "csv"\nto = "."'),
        ["release.to", "folder"],
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_policy(people: Folder, duckanon: Command, fault: str) -> None:
    edit, words = WRONG[fault]
    policy = people.policy(edit(PEOPLE))
    before, files = people.dump(), people.files()
    told = duckanon("run", policy, "--json")
    assert told.code == 2, told.out
    assert told.out == ""
    for word in words:
        assert word in told.err
    assert people.dump() == before
    assert people.files() == files


HIERARCHIES = {
    "unmapped": ("level_0,level_1\nF,*\n", ["1 value ", "100 rows", "'M'"]),
    "two parents": ("level_0,level_1,level_2\nF,a,*\nM,b,*\nF,b,*\n", ["two parents", "'F'"]),
    "two parents above": ("level_0,level_1,level_2,level_3\nF,a,x,*\nM,a,y,*\n", ["level 1", "two parents"]),
    "two tops": ("F;female\nM;male\n", ["2 tops"]),
    "empty": ("", ["empty"]),
    "only a header": ("level_0,level_1\n", ["lists no value"]),
    "one level": ("F\nM\n", ["only one level"]),
    "ragged": ("level_0,level_1\nF,*\nM\n", ["same number of columns"]),
}


@pytest.mark.parametrize("fault", HIERARCHIES)
def test_wrong_hierarchy_file(people: Folder, duckanon: Command, fault: str) -> None:
    content, words = HIERARCHIES[fault]
    (people.path / "sex.csv").write_text(content)
    text = PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    before = people.dump()
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    for word in ("quasi_identifiers.sex.hierarchy", *words):
        assert word in told.err
    assert people.dump() == before
    assert duckanon("hierarchy", people.policy(text)).code == 2


def test_a_hierarchy_file_that_is_not_text(people: Folder, duckanon: Command) -> None:
    (people.path / "sex.csv").write_bytes(b"F,*\nM,\xff\xfe*\n")
    text = PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    assert "UTF-8" in told.err


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("DELETE FROM people", "no rows"),
        ("DELETE FROM people WHERE name <> 'person 1'", "only one row"),
        ("UPDATE people SET age = NULL", "age"),
        ("UPDATE people SET disease = NULL", "disease"),
    ],
)
def test_data_that_cannot_be_anonymized(people: Folder, duckanon: Command, statement: str, word: str) -> None:
    people.sql(statement)
    before = people.dump()
    told = duckanon("run", people.policy(PEOPLE))
    assert told.code == 2
    assert word in told.err
    assert people.dump() == before


def test_numbers_that_are_none(folder: Folder, duckanon: Command) -> None:
    folder.sql(
        "CREATE TABLE t AS SELECT CASE WHEN i = 3 THEN 'nan'::DOUBLE ELSE i END AS a, i % 2 AS s FROM range(9) r (i)"
    )
    text = (
        'name = "t"\n[source]\ntable = "t"\ndatabase = "warehouse.duckdb"\n[privacy]\nk = 2\n[quasi_identifiers.a]\n'
        'hierarchy = { intervals = [2, 4] }\n[sensitive.s]\n[release]\nkind = "table"\nto = "o"\n'
    )
    told = duckanon("run", folder.policy(text))
    assert told.code == 2
    assert "quasi_identifiers.a" in told.err


def test_a_missing_policy(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", folder.path / "gone.toml")
    assert told.code == 2
    assert "gone.toml" in told.err


def test_a_missing_database_is_not_made(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", folder.policy(PEOPLE))
    assert told.code == 2
    assert "no such database" in told.err
    assert folder.files() == ["policy.toml"]


def test_no_database_at_all(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", folder.policy(PEOPLE.replace('database = "warehouse.duckdb"', "")))
    assert told.code == 2
    assert "--db" in told.err


def test_a_database_that_is_none(folder: Folder, duckanon: Command) -> None:
    folder.database.write_text("this is no database, only a text\n" * 1000)
    told = duckanon("run", folder.policy(PEOPLE))
    assert told.code == 2
    assert "not a DuckDB database" in told.err


def test_a_locked_database(people: Folder, duckanon: Command) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import duckdb; c = duckdb.connect({str(people.database)!r}); print(1, flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        for command in ("run", "check"):
            told = duckanon(command, people.policy(PEOPLE))
            assert told.code == 2
            assert "in use by another process" in told.err
    finally:
        holder.communicate(b"\n")


def test_a_table_release_into_memory(folder: Folder, duckanon: Command) -> None:
    (folder.path / "p.csv").write_text("a,s\n1,x\n1,y\n")
    text = 'name = "p"\n[source]\nfile = "p.csv"\n[privacy]\nk = 2\n[quasi_identifiers.a]\n[sensitive.s]\n[release]\n'
    told = duckanon("run", folder.policy(text + 'kind = "table"\nto = "o"\n'))
    assert told.code == 2
    assert "needs a database" in told.err


def test_a_full_disk(people: Folder, duckanon: Command) -> None:
    people.sql("CREATE TABLE big AS SELECT p.* FROM people p, range(2000)")
    text = PEOPLE.replace('table = "people"', 'table = "big"').replace('kind = "table"', 'kind = "csv"')
    policy = people.policy(text.replace('to = "people_anonymous"', 'to = "p.csv"'))
    files = people.files()
    ended = run_on_a_full_disk(policy)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert people.files() == files
    table = people.policy(PEOPLE.replace('table = "people"', 'table = "big"'))
    before = people.dump()
    ended = run_on_a_full_disk(table, 2_200_000)
    assert ended.returncode in (0, 2), ended.stderr
    if ended.returncode == 2:
        assert people.dump() == before


def test_messages_show_no_sensitive_values(people: Folder, duckanon: Command) -> None:
    """A cast that fails inside a query would quote the value of a row."""
    text = PEOPLE.replace(
        'table = "people"', 'query = "SELECT name, age, zip, sex, disease::INTEGER AS disease FROM people"'
    )
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    assert not any(value in told.err for value in ("flu", "HIV", "cancer", "asthma", "cough"))


def test_errors_carry_the_sql() -> None:
    import duckanon

    with duckanon.connect() as db, pytest.raises(duckanon.EngineError) as caught:
        db.fetch("SELECT gone")
    assert caught.value.sql == "SELECT gone"
    assert isinstance(caught.value.__cause__, duckdb.Error)


def test_wrong_usage(duckanon: Command) -> None:
    assert duckanon().code == 2
    assert duckanon("fly").code == 2
    assert duckanon("run").code == 2


@pytest.mark.parametrize("levels", ["age", "age=9", "height=1", "age=-1", "age=x"])
def test_wrong_levels(people: Folder, duckanon: Command, levels: str) -> None:
    told = duckanon("sql", people.policy(PEOPLE), "--levels", levels)
    assert told.code == 2
    assert "--levels" in told.err


def test_wrong_dialect(people: Folder, duckanon: Command) -> None:
    told = duckanon("sql", people.policy(PEOPLE), "--dialect", "klingon")
    assert told.code == 2
    assert "klingon" in told.err
