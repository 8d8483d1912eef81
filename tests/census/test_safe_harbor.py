"""What Safe Harbor finds in the columns themselves, whatever they are called."""

from __future__ import annotations

import json

import duckdb
import pytest

from tests.support.command import Command
from tests.support.far import FarDatabase
from tests.support.folder import Folder

PATIENTS = """
name = "patients"
[source]
query = "SELECT {columns} FROM patients"
{database}
[privacy]
k = 5
suppression = 0.2
profile = "hipaa_safe_harbor"
[quasi_identifiers.zip]
[quasi_identifiers.age]
[quasi_identifiers.seen]
hierarchy = {{ dates = ["month", "year"] }}
[sensitive.disease]
{more}
[release]
kind = "table"
to = "shown"
difference = "ignore"
"""
PLAIN = "zip, age, seen, disease"
ROWS = """
SELECT ['02139', '02140', '03601', '03602'][1 + i % 4] AS zip, (80 + i % 20)::INTEGER AS age,
    DATE '2020-01-01' + i::INTEGER AS seen, ['flu', 'asthma'][1 + i % 2] AS disease, 'ward ' || i % 3 AS ward,
    'p' || i || '@mail.example' AS contact, DATE '2021-01-01' + i::INTEGER AS left_on,
    (1900 + i % 30)::INTEGER AS birth_year, DATE '1900-01-01' + (400 * i)::INTEGER AS dob,
    'case ' || i AS story, TIMESTAMP '2021-01-01' AS noted
FROM range(100) AS r (i)
"""


@pytest.fixture
def patients(folder: Folder) -> Folder:
    folder.sql(f"CREATE TABLE patients AS {ROWS}")
    return folder


def policy(columns: str = "", more: str = "") -> str:
    named = ", ".join([PLAIN, *columns.split()])
    return PATIENTS.format(columns=named, more=more, database='database = "warehouse.duckdb"')


def test_a_release_shows_years_zip3_and_the_old_together(patients: Folder, duckanon: Command) -> None:
    path = patients.policy(policy())
    told = duckanon("run", path, "--json")
    assert told.code == 0, told.err
    shown = patients.sql("SELECT DISTINCT zip, age, seen FROM shown")
    assert {zip_ for zip_, *_ in shown} <= {"021", "000", "*"}  # 036 is one of the small areas
    assert not {age for _, age, _ in shown} & {str(age) for age in range(90, 100)}
    assert {seen for *_, seen in shown} <= {"2020", "*"}
    profile = json.loads(told.out)["profile"]
    assert profile["name"] == "hipaa_safe_harbor"
    assert "quasi_identifiers.seen.at_least: 2, where the policy says 0" in profile["raised"]
    assert json.loads(duckanon("check", path, "--release", "--json").out)["profile"] == profile
    assert "profile   hipaa_safe_harbor" in duckanon("check", path, "--release").out


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        ("contact", '[columns]\nkeep = ["contact"]', ["contact: has e-mail addresses"]),
        ("contact", "[quasi_identifiers.contact]", ["contact: has e-mail addresses"]),
        ("left_on", '[columns]\nkeep = ["left_on"]', ["left_on: has dates", '{ dates = ["year"] }']),
        ("noted", "[sensitive.noted]", ["noted: has dates"]),
        ("left_on", "[quasi_identifiers.left_on]\nhierarchy = { intervals = [400] }", ["left_on: has dates"]),
        ("story", '[columns]\nkeep = ["story"]', ["story: has a text of its own in nearly every row"]),
        ("birth_year", '[columns]\nkeep = ["birth_year"]', ["birth_year: tells that 100 rows", "age_hipaa"]),
        ("dob", "[quasi_identifiers.dob]", ["dob: tells that", "of 90 or more"]),
    ],
)
def test_what_a_column_holds_is_refused_by_name(
    patients: Folder, duckanon: Command, columns: str, more: str, said: list[str]
) -> None:
    told = duckanon("run", patients.policy(policy(columns, more)))
    assert told.code == 2
    assert all(words in told.err for words in said), told.err
    assert patients.sql("SELECT * FROM duckdb_tables() WHERE table_name = 'shown'") == []


@pytest.mark.parametrize(
    ("hierarchy", "code"),
    [
        ("{ intervals = [5, 10] }", 2),  # [90, 95) and [95, 100) are two
        ('{ builtin = "age" }', 2),
        ("{ cuts = [[20, 40, 60, 80, 95], [40, 80]] }", 2),
        ("{ cuts = [[20, 40, 60, 80, 90], [40, 80]] }", 0),
    ],
)
def test_ages_of_ninety_and_over_must_be_one(patients: Folder, duckanon: Command, hierarchy: str, code: int) -> None:
    text = policy().replace("[quasi_identifiers.age]", f"[quasi_identifiers.age]\nhierarchy = {hierarchy}")
    told = duckanon("run", patients.policy(text))
    assert told.code == code, told.err
    assert code == 0 or "age: has ages" in told.err


@pytest.mark.parametrize("engine", ["postgres_database", "lake"])
def test_it_is_the_same_where_the_rows_lie_elsewhere(
    folder: Folder, duckanon: Command, request: pytest.FixtureRequest, engine: str
) -> None:
    database: FarDatabase = request.getfixturevalue(engine)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE patients AS {ROWS}")
        database.copy(connection, "patients")
    path = folder.policy(policy("contact dob", '[quasi_identifiers.dob]\n[columns]\nkeep = ["contact"]'))
    told = duckanon("run", path, "--db", database.address)
    assert told.code == 2
    assert "contact: has e-mail addresses" in told.err
    assert "dob: tells that" in told.err


@pytest.mark.parametrize("page", ["page.md", "page.html"])
def test_the_report_explains_the_profile(
    patients: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr("duckanon.pages.html._charts", lambda _: {})
    assert duckanon("run", patients.policy(policy()), "--report", patients.path / page).code == 0
    text = (patients.path / page).read_text(encoding="utf-8")
    assert "The profile" in text
    assert "What the profile does not do" in text
    assert "no legal advice" in text
