"""Quasi-identifiers released as numbers: of whole classes, which their labels make."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon
from duckanon import Policy, PolicyError
from duckanon.policy.demands import weaker
from tests.support.command import Command
from tests.support.far import FarDatabase
from tests.support.folder import Folder

PEOPLE = """
name = "people"
[source]
table = "people"
[privacy]
k = 4
suppression = 0.1
[quasi_identifiers.age]
hierarchy = { intervals = [5, 10, 20] }
release_as = "AGE"
[quasi_identifiers.pay]
hierarchy = { cuts = [[10000, 20000, 40000], [20000]] }
release_as = "PAY"
[quasi_identifiers.sex]
[sensitive.ill]
[columns]
keep = ["i"]
[search]
method = "METHOD"
[release]
kind = "table"
to = "shown"
difference = "ignore"
"""
ROWS = """
SELECT i, CASE WHEN i % 23 = 0 THEN NULL ELSE (20 + (i * 7) % 40)::INTEGER END AS age,
    ((i * i * 37) % 60000 + 0.25)::DECIMAL(9, 2) AS pay, ['F', 'M'][(1 + i % 2)::INTEGER] AS sex,
    ['flu', 'cough', 'asthma'][(1 + (i // 2) % 3)::INTEGER] AS ill
FROM (SELECT range::INTEGER AS i FROM range(160))
"""


def asked(age: str = "mean", pay: str = "median", method: str = "greedy") -> str:
    text = PEOPLE.replace("AGE", age).replace("PAY", pay).replace("METHOD", method)
    return text


@pytest.fixture
def people() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS {ROWS}")
        yield connection


def shown(connection: duckdb.DuckDBPyConnection, text: str) -> dict[int, tuple[Any, ...]]:
    """The quasi-identifiers of every released row, by the number of the row."""
    result = duckanon.run(Policy.parse(text), connection, replace=True)
    assert result.good, result.reasons
    found = connection.execute("SELECT i, age, pay, sex FROM shown").fetchall()
    cells = Counter(row[1:] for row in found)
    assert result.classes == len(cells)
    assert min(cells.values()) >= Policy.parse(text).k
    assert duckanon.check(Policy.parse(text), connection, release=True).good
    return {row[0]: row[1:] for row in found}


def rounded(number: float, decimals: int) -> float:
    """To four significant digits."""
    scale = 10.0 ** min(decimals, 3 - math.floor(math.log10(abs(number))))
    return math.floor(number * scale + 0.5) / scale


@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_a_class_shows_the_mean_and_the_median_of_its_own_rows(people: duckdb.DuckDBPyConnection, method: str) -> None:
    by_label = shown(people, asked("label", "label", method))
    by_number = shown(people, asked("mean", "median", method))
    assert by_label.keys() == by_number.keys()  # labels decide who is in a class, and who is left out
    source = {i: (age, pay) for i, age, pay in people.execute("SELECT i, age, pay FROM people").fetchall()}
    classes: dict[tuple[Any, ...], list[int]] = {}
    for i, labels in by_label.items():
        classes.setdefault(labels, []).append(i)
    for labels, rows in classes.items():
        ages, pays = ([source[i][part] for i in rows] for part in (0, 1))
        age = None if labels[0] in (None, "*") else rounded(statistics.fmean(ages), 0)
        pay = None if labels[1] == "*" else rounded(float(statistics.median(pays)), 2)
        assert {by_number[i] for i in rows} == {(age, pay, labels[2])}


@pytest.mark.parametrize("method", ["greedy", "climb"])
def test_a_midpoint_is_that_of_the_label_and_of_no_row(people: duckdb.DuckDBPyConnection, method: str) -> None:
    by_label = shown(people, asked("label", "label", method))
    by_number = shown(people, asked("midpoint", "label", method))
    for i, (label, *others) in by_label.items():
        middle = None if label in (None, "*") else label
        if label is not None and label.startswith("["):
            low, high = map(int, label.strip("[)").split(", "))
            middle = (low + high) / 2
        assert by_number[i] == (None if middle is None else float(middle), *others)


def test_a_check_knows_the_midpoints_of_the_levels_that_are_allowed(people: duckdb.DuckDBPyConnection) -> None:
    """Of climb, where values themselves stand beside the middles of ranges."""
    bounded = 'release_as = "midpoint"\nat_most = 3'
    text = asked("midpoint", "label", "climb").replace('release_as = "midpoint"', bounded).replace("k = 4", "k = 3")
    assert {age for age, *_ in shown(people, text).values()} & set(range(20, 60))
    people.execute("UPDATE shown SET age = 31.7")
    assert any("age: 1 labels" in said for said in duckanon.check(Policy.parse(text), people, release=True).reasons)


def test_classes_that_come_to_show_the_same_are_one(people: duckdb.DuckDBPyConnection) -> None:
    """[99990, 100000) has a mean of 99,997 and [100000, 100010) one of 100,002: four digits of both are the same."""
    people.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i, 99995 + i AS age, 1.0::DECIMAL(9, 2) AS pay, 'F' AS sex, "
        "['b', 'a'][(1 + i % 2)::INTEGER] AS ill FROM (SELECT range::INTEGER AS i FROM range(10))"
    )
    text = asked("mean", "label").replace("[5, 10, 20]", "[10]").replace('keep = ["i"]', 'drop = ["i"]')
    result = duckanon.run(Policy.parse(text), people)
    assert result.levels is not None
    assert (result.status, result.levels["age"], result.classes, result.constraints[0].measured) == (
        "released",
        1,
        1,
        10,
    )
    rows = people.execute("SELECT age, ill FROM shown").fetchall()
    assert rows == [(100000.0, "a")] * 5 + [(100000.0, "b")] * 5  # nor does their order tell them apart
    assert duckanon.check(Policy.parse(text), people, release=True).classes == 1


REFUSED = [
    ('release_as = "mean"', 'release_as = "mean"\nat_least = 1', "at_least"),
    ("k = 4", "k = 2", "k of at least 3"),
    ('kind = "table"', 'kind = "view"', "a view"),
    ('difference = "ignore"', 'difference = "refuse"', "cannot be compared"),
    ("k = 4", 'k = 4\nunmapped = "top"', "privacy.unmapped"),
    ("k = 4", 'k = 4\nentity = "who"', "privacy.entity"),
    ("[search]", '[search]\nwhere = "warehouse"', "search.where"),
    ('release_as = "median"', 'release_as = "mean"', "open"),
    ('release_as = "median"', 'release_as = "midpoint"', "begin and end"),
    ("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nrelease_as = "mean"', "ranges of numbers"),
    (
        "[quasi_identifiers.sex]",
        '[quasi_identifiers.sex]\nhierarchy = { mask = [1, 0] }\nrelease_as = "mean"',
        "ranges",
    ),
    ("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nrelease_as = "average"', "must be one of"),
]


@pytest.mark.unit
@pytest.mark.parametrize(("old", "new", "said"), REFUSED, ids=[said for *_, said in REFUSED])
def test_what_is_not_safe_or_sound_is_refused_by_name(old: str, new: str, said: str) -> None:
    text = asked()
    assert old in text
    with pytest.raises(PolicyError, match="release_as") as refused:
        Policy.parse(text.replace(old, new))
    assert all("release_as" in fault.where and said in str(fault) for fault in refused.value.faults)


@pytest.mark.unit
def test_numbers_of_classes_tell_more_than_labels() -> None:
    labels, means = Policy.parse(asked("label", "label")), Policy.parse(asked("mean", "label"))
    assert list(weaker(means, labels)) == ["quasi_identifiers.age.release_as was label, is mean"]
    assert not list(weaker(labels, means))
    assert (
        Policy.parse(asked("label", "label")).hash
        == Policy.parse(asked("label", "label").replace('release_as = "label"\n', "")).hash
        != means.hash
    )


@pytest.mark.parametrize(("column", "said"), [("born", "of type DATE"), ("word", "values of this one are none")])
def test_only_numbers_are_released_as_numbers(people: duckdb.DuckDBPyConnection, column: str, said: str) -> None:
    people.execute("CREATE TABLE others AS SELECT *, DATE '2000-01-01' + i AS born, 'w' || i % 2 AS word FROM people")
    people.execute("CREATE TABLE words AS SELECT * FROM (VALUES ('w0', 'w'), ('w1', 'w')) AS t (a, b)")
    hierarchy = "{ intervals = [100] }" if column == "born" else '{ table = "words", columns = ["a", "b"] }'
    text = asked().replace('table = "people"', f'query = "SELECT i, ill, age, pay, sex, {column} FROM others"')
    text += f'[quasi_identifiers.{column}]\nhierarchy = {hierarchy}\nrelease_as = "median"\n'
    with pytest.raises(duckanon.HierarchyError, match=said):
        duckanon.run(Policy.parse(text), people)


def test_a_second_release_says_that_it_cannot_be_compared(folder: Folder, duckanon: Command) -> None:
    folder.sql(f"CREATE TABLE people AS {ROWS}")
    text = asked().replace('table = "people"', 'table = "people"\ndatabase = "warehouse.duckdb"')
    policy = folder.policy(text.replace('difference = "ignore"', ""))
    assert duckanon("run", policy).code == 0
    again = duckanon("run", policy)
    assert "age, pay: is released as numbers, by which classes cannot be compared" in again.out
    added = duckanon("run", policy, "--incremental")
    assert added.code == 2
    assert "numbers of whole classes" in added.err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_hold_numbers_too(tmp_path: Path, people: duckdb.DuckDBPyConnection, kind: str) -> None:
    people.execute(f"COPY people TO '{tmp_path / 'people.csv'}'")
    text = asked("mean", "label").replace('table = "people"', 'file = "people.csv"')
    text = text.replace('kind = "table"\nto = "shown"', f'kind = "{kind}"\nto = "shown.{kind}"')
    policy = Policy.parse(text, tmp_path)
    with duckanon.connect(None) as database:
        result = duckanon.run(policy, database)
        assert result.good, result.reasons
        assert duckanon.check(policy, database, release=True).good
    ((kinds,),) = people.execute(f"SELECT DISTINCT typeof(age) FROM '{tmp_path / 'shown.'}{kind}'").fetchall()
    assert kinds == "DOUBLE"


@pytest.mark.parametrize("method", ["greedy", "climb"])
@pytest.mark.parametrize("engine", ["postgres_database", "lake"])
def test_it_is_the_same_release_where_the_rows_lie_elsewhere(
    people: duckdb.DuckDBPyConnection, request: pytest.FixtureRequest, engine: str, method: str
) -> None:
    database: FarDatabase = request.getfixturevalue(engine)
    database.copy(people, "people")
    text = asked("mean", "median", method)
    with duckanon.connect(database.address) as far:
        result = duckanon.run(Policy.parse(text), far)
        assert result.good, result.reasons
        assert duckanon.check(Policy.parse(text), far, release=True).good
    here = shown(people, text)
    there = {i: tuple(cells) for i, *cells in database.sql("SELECT i, age, pay, sex FROM shown")}
    assert there == here
