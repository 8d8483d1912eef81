"""Cells from which people are counted below a ceiling: every class of every node has the people that it has."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import duckanon
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.policy import Policy
from duckanon.search import gathering
from duckanon.search.gathering import Gatherings
from duckanon.search.lattice import Node, nowhere_above
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from tests.support.examples import MORE

POLICY = """
name = "visits"
[source]
{source}
[privacy]
k = 3
suppression = 0.1
entity = "patient"
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 20] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [2, 1] }}
[sensitive.disease]
{sensitive}
[columns]
keep = ["ward"]
[search]
method = "{method}"
[release]
kind = "table"
to = "anonymous"
"""
WIDTHS, KEPT = [1, 5, 20, 10**9], [3, 2, 1, 0]
NODES: list[Node] = list(product(range(4), range(4)))

Visit = tuple[str, int, str, str, str]


def policy(folder: Path = Path("."), **changed: str) -> Policy:
    usual = {"source": 'table = "visits"', "sensitive": "alpha = 0.8", "method": "greedy"}
    return Policy.parse(POLICY.format(**usual | changed), folder)


def visits(seed: int, people: int = 80, steps: tuple[int, ...] = (0, 0, 1, 3)) -> list[Visit]:
    """Some come often, age and move between their visits; some come to two wards on a day."""
    dice = random.Random(seed)
    found = []
    for number in range(people):
        age, place = dice.randint(20, 59), dice.choice(["100", "101", "110", "200", "210"])
        for _ in range(dice.choice([1, 1, 2, 3, 9])):
            age, place = age + dice.choice(steps), dice.choice([place, place, "100", "210"])
            disease = dice.choice(["flu", "cold", "ulcer"])
            found += [(f"p{number:03}", age, place, disease, ward) for ward in dice.choice(["a", "b", "ab"])]
    return found


@pytest.fixture
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def load(db: duckdb.DuckDBPyConnection, rows: list[Visit]) -> None:
    names = ("patient", "age", "zip", "disease", "ward")
    db.execute("CREATE TABLE visits (patient VARCHAR, age INTEGER, zip VARCHAR, disease VARCHAR, ward VARCHAR)")
    lists = [list(values) for values in zip(*rows, strict=True)]
    db.execute(f"INSERT INTO visits SELECT {', '.join('unnest(?)' for _ in names)}", lists)


@contextmanager
def measurer_of(db: duckdb.DuckDBPyConnection, wanted: Policy) -> Iterator[Measurer]:
    scratch = Scratch(engine := DuckDB.wrap(db))
    try:
        yield Measurer(Problem.of(wanted, take_census(wanted, bind_source(wanted, engine, scratch), scratch)))
    finally:
        scratch.clear()


def classes_of(rows: list[Visit], node: Node) -> Counter[tuple[int, int, float]]:
    """Rows, people and alpha of every class, in plain Python."""
    found: dict[Any, list[tuple[str, str]]] = {}
    for patient, age, place, disease, _ in rows:
        found.setdefault((age // WIDTHS[node[0]], place[: KEPT[node[1]]]), []).append((patient, disease))
    return Counter(_figures(members) for members in found.values())


def _figures(members: list[tuple[str, str]]) -> tuple[int, int, float]:
    people = len({patient for patient, _ in members})
    most = max(len({p for p, d in members if d == disease}) for _, disease in members)
    return len(members), people, round(most / people, 9)


def measured(measurer: Measurer, node: Node) -> Counter[tuple[int, int, float]]:
    kept = measurer.keep_classes(node)
    (alpha,) = [name for part in measurer.judged for name in part.figures]
    found = measurer.census.workbench.fetch(exp.select("x", "people", alpha).from_(kept))
    measurer.census.scratch.drop(kept)
    return Counter((int(x), int(people), round(share, 9)) for x, people, share in found)


@pytest.mark.parametrize("seed", range(MORE))
def test_every_node_between_two_is_measured_from_what_was_gathered_for_them(
    db: duckdb.DuckDBPyConnection, seed: int
) -> None:
    rows = visits(seed)
    load(db, rows)
    expected = {node: classes_of(rows, node) for node in NODES}
    dice = random.Random(seed)
    with measurer_of(db, policy()) as measurer:
        made = measurer.gatherings
        assert made is not None
        for _ in range(12):
            made.forget()
            finest, ceiling = sorted(dice.sample(NODES, 2))
            if not nowhere_above(finest, ceiling):
                continue
            made._make(finest, ceiling)
            for node in NODES:
                if nowhere_above(finest, node) and nowhere_above(node, ceiling):
                    assert measured(measurer, node) == expected[node], (finest, ceiling, node)
                    assert len(made.made) == 1, "nothing else was needed"


def test_above_a_ceiling_others_are_made(db: duckdb.DuckDBPyConnection) -> None:
    rows = visits(3)
    load(db, rows)
    with measurer_of(db, policy()) as measurer:
        made = measurer.gatherings
        assert made is not None
        made._make((0, 0), (1, 1))
        assert measured(measurer, (2, 1)) == classes_of(rows, (2, 1))
        assert [part.ceiling for part in made.made] == [(1, 1), (3, 3)]


def test_who_meets_nobody_but_others_is_gathered(db: duckdb.DuckDBPyConnection) -> None:
    """Two rows far from each other are two cells of somebody, and need not be told apart below."""
    db.execute(
        "CREATE TABLE visits AS SELECT 'p' || i // 2 AS patient, CASE WHEN i % 2 = 0 THEN 21 ELSE 55 END AS age, "
        "'100' AS zip, 'flu' AS disease, 'a' AS ward FROM range(40) AS t(i)"
    )
    with measurer_of(db, policy(sensitive="")) as measurer:
        made = measurer.gatherings
        assert made is not None
        assert made._make((0, 0), (2, 3)).persons == 0
        assert made._make((0, 0), (3, 3)).persons == 40


@pytest.mark.parametrize(
    ("method", "sensitive"), [("greedy", ""), ("optimal", "alpha = 0.8\nl = 2"), ("datafly", "t = 0.5\nalp = 0.8")]
)
def test_many_people_are_counted_as_few_are(
    db: duckdb.DuckDBPyConnection, method: str, sensitive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(db, visits(5, steps=(20, 30, 40)))
    wanted = policy(method=method, sensitive=sensitive)
    few = told(duckanon.run(wanted, db))
    for name, value in {"_FEW": 0, "_WORTH": 2, "_SHARE": 3}.items():
        monkeypatch.setattr(gathering, name, value)
    made = list[Node]()
    make = Gatherings._make

    def remembered(self: Gatherings, node: Node, ceiling: Node) -> Any:
        made.append(ceiling)
        return make(self, node, ceiling)

    monkeypatch.setattr(Gatherings, "_make", remembered)
    assert told(duckanon.run(wanted, db)) == few
    assert any(ceiling != (3, 3) for ceiling in made), "below some ceiling"


@pytest.mark.parametrize("source", ['query = "SELECT * FROM visits"', 'file = "v.csv"', 'file = "v.parquet"'])
def test_wherever_the_rows_are_read_from(db: duckdb.DuckDBPyConnection, tmp_path: Path, source: str) -> None:
    load(db, visits(6))
    for kind in ("csv", "parquet"):
        db.execute(f"COPY visits TO '{tmp_path / f'v.{kind}'}'")
    expected = told(duckanon.run(policy(), db))
    db.execute("DROP TABLE anonymous")
    assert told(duckanon.run(policy(tmp_path, source=source), db)) == expected


def told(result: duckanon.Result) -> dict[str, Any]:
    names = ("status", "levels", "rows", "classes", "people", "privacy", "constraints", "path")
    return {name: result.as_json()[name] for name in names}
