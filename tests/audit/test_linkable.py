"""Whom a release shows by the columns that it does not generalize."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE

KEY = "0123456789abcdef-not-for-production"


def told_of(people: Folder, duckanon: Command, columns: str, text: str = PEOPLE, *options: str) -> Any:
    policy = people.policy(text.replace('identifiers = ["name"]', f'identifiers = ["name"]\n{columns}'))
    told = duckanon("run", policy, "--json", "--replace", *options)
    assert told.code == 0, told.err
    return told.json


def by_hand(people: Folder, names: list[str]) -> tuple[int, int]:
    """Rows alone with these columns, and the smallest class, in plain Python."""
    classes = Counter(people.sql(f"SELECT {', '.join(names)} FROM people_anonymous"))
    return sum(size == 1 for size in classes.values()), min(classes.values())


QI = ["age", "zip", "sex"]


def test_nothing_but_quasi_identifiers(people: Folder, duckanon: Command) -> None:
    told = told_of(people, duckanon, "")
    assert told["privacy"]["linkable"] == {"rows": 0, "columns": [], "smallest": told["privacy"]["k"]}
    assert not [warning for warning in told["warnings"] if "alone" in warning]


def test_two_columns_identify_only_together(people: Folder, duckanon: Command) -> None:
    people.sql(
        "ALTER TABLE people ADD COLUMN a VARCHAR",
        "ALTER TABLE people ADD COLUMN b INTEGER",
        "ALTER TABLE people ADD COLUMN c VARCHAR",
        "UPDATE people SET a = 'secret' || substr(name, 8)::INT // 15, b = substr(name, 8)::INT % 15, c = 'same'",
    )
    told = told_of(people, duckanon, 'keep = ["c", "a", "b"]')
    linkable = told["privacy"]["linkable"]
    alone, smallest = by_hand(people, [*QI, "a", "b"])
    assert linkable == {"rows": alone, "columns": ["a", "b"], "smallest": smallest}
    assert alone == told["rows"]["released"]
    (warning,) = [warning for warning in told["warnings"] if "alone" in warning]
    assert "with a, b, released as they are" in warning
    assert f"{alone:,} rows (100%) are alone" in warning
    summary = duckanon("run", people.path / "policy.toml").out
    assert f"with all that is released, by a, b: {alone} rows alone, smallest class 1" in summary
    assert "secret" not in warning + summary
    checked = duckanon("check", people.path / "policy.toml", "--release", "--json").json
    assert checked["privacy"]["linkable"] == linkable
    assert warning in checked["warnings"]


def test_a_column_whose_values_have_two_rows_each(people: Folder, duckanon: Command) -> None:
    people.sql("CREATE TABLE twice AS SELECT *, name AS pair FROM people UNION ALL SELECT *, name FROM people")
    told = told_of(people, duckanon, 'keep = ["pair"]', PEOPLE.replace('table = "people"', 'table = "twice"'))
    assert told["privacy"]["linkable"] == {"rows": 0, "columns": ["pair"], "smallest": 2}
    (warning,) = [warning for warning in told["warnings"] if "pair" in warning]
    assert "(100%) are in classes below 3" in warning


def test_a_column_that_identifies_alone_is_said_once(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ADD COLUMN ssn VARCHAR", "UPDATE people SET ssn = name")
    told = told_of(people, duckanon, 'keep = ["ssn"]')
    assert told["privacy"]["linkable"]["columns"] == ["ssn"]
    (warning,) = [warning for warning in told["warnings"] if "ssn" in warning]
    assert "columns.keep: ssn (100%): so many of the rows are alone with their value" in warning


def test_a_harmless_column_is_measured_without_a_word(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ADD COLUMN country VARCHAR DEFAULT 'AT'")
    told = told_of(people, duckanon, 'keep = ["country"]')
    assert told["privacy"]["linkable"] == {"rows": 0, "columns": [], "smallest": told["privacy"]["k"]}
    assert told["warnings"] == []


def test_exact_numbers_in_sensitive_columns(people: Folder, duckanon: Command) -> None:
    people.sql(
        "ALTER TABLE people ADD COLUMN income DOUBLE",
        "ALTER TABLE people ADD COLUMN stage INTEGER",
        "UPDATE people SET income = 1000 + substr(name, 8)::INT * 3.25, stage = substr(name, 8)::INT % 3",
    )
    text = PEOPLE.replace("[columns]", "[sensitive.income]\n[sensitive.stage]\n[columns]")
    told = told_of(people, duckanon, "", text)
    alone, smallest = by_hand(people, [*QI, "income"])
    assert told["privacy"]["linkable"] == {"rows": alone, "columns": ["income"], "smallest": smallest}
    assert [warning for warning in told["warnings"] if "with income, released as they are" in warning]
    dropped = text.replace("[sensitive.income]\n", "").replace('["name"]', '["name", "income"]')
    told = told_of(people, duckanon, "", dropped)
    assert told["privacy"]["linkable"]["columns"] == []


def test_pseudonyms_are_random_and_do_not_count(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUCKANON_KEY", KEY)
    people.sql("ALTER TABLE people ADD COLUMN id VARCHAR", "UPDATE people SET id = name")
    told = told_of(people, duckanon, 'pseudonyms = ["id"]\n[pseudonyms]\nkey_env = "DUCKANON_KEY"')
    assert told["privacy"]["linkable"]["columns"] == []
    assert told["warnings"] == []


@pytest.mark.parametrize("kind", ["view", "parquet", "csv"])
@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_every_kind_and_method(kind: str, method: str, people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ADD COLUMN a INTEGER", "UPDATE people SET a = substr(name, 8)::INT % 50")
    text = PEOPLE.replace('kind = "table"', f'kind = "{kind}"').replace("people_anonymous", f"o_{kind}")
    told = told_of(people, duckanon, 'keep = ["a"]', text + f'[search]\nmethod = "{method}"\n')
    shown = f"o_{kind}" if kind == "view" else f"'{people.path}/o_{kind}'"
    if kind != "view":
        (people.path / f"o_{kind}").rename(people.path / f"o.{kind}")
        shown = f"'{people.path}/o.{kind}'"
    classes = Counter(people.sql(f"SELECT age, zip, sex, a FROM {shown}"))
    assert told["privacy"]["linkable"]["rows"] == sum(size == 1 for size in classes.values())
    assert told["privacy"]["linkable"]["smallest"] == min(classes.values())


# -- columns that are not released ----------------------------------------------------------------


def test_dropped_columns_are_just_not_there(people: Folder, duckanon: Command) -> None:
    people.sql(
        "ALTER TABLE people ADD COLUMN note VARCHAR DEFAULT 'x'",
        "ALTER TABLE people ADD COLUMN span INTERVAL",
        "ALTER TABLE people ADD COLUMN listed MAP(VARCHAR, INTEGER)",
    )
    told = told_of(people, duckanon, 'drop = ["note", "span", "LISTED"]')
    assert told["warnings"] == []
    assert [row[0] for row in people.sql("DESCRIBE people_anonymous")] == ["age", "zip", "sex", "disease"]


def test_repeating_identifiers_are_one_warning(people: Folder, duckanon: Command) -> None:
    people.sql(
        "ALTER TABLE people ADD COLUMN nr INTEGER DEFAULT 7", "ALTER TABLE people ADD COLUMN town VARCHAR DEFAULT 'x'"
    )
    text = PEOPLE.replace('["name"]', '["name", "nr", "town"]')
    (warning,) = told_of(people, duckanon, "", text)["warnings"]
    assert warning.startswith("columns: nr, town repeat: a person may have several rows")
    assert "columns.drop" in warning


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ('drop = ["nobody"]', "columns.drop: nobody: there is no such column"),
        ('drop = ["name"]', "name: has two roles: columns.identifiers and columns.drop"),
        ('drop = ["sex"]', "sex: has two roles: quasi_identifiers and columns.drop"),
        ("drop = 1", "columns.drop: must be a list"),
    ],
)
def test_wrong_drops(columns: str, words: str, people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE.replace('identifiers = ["name"]', f'identifiers = ["name"]\n{columns}'))
    told = duckanon("run", policy)
    assert told.code == 2
    assert words in told.err


def test_the_entity_may_be_dropped(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace("k = 3", 'k = 3\nentity = "name"').replace('identifiers = ["name"]', 'drop = ["name"]')
    assert told_of(people, duckanon, "", text)["people"]["source"] == 200
