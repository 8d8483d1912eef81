"""A hierarchy of three hundred levels, more than a byte can number, beside another: against plain Python."""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

import duckanon as api
from duckanon import Policy
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine import Column
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import TEXT
from duckanon.hierarchy import Hierarchy, Level
from duckanon.search.batch import BatchMeasurer
from duckanon.search.batch.keys import NodeKeys
from duckanon.search.measure import Measurer
from duckanon.search.objective import objective
from duckanon.search.problem import Problem

HEIGHTS = (300, 3)
MERGES = ((60, 150, 257), (1, 2))  # the levels from which pairs, fours and eights of values are one
VALUES = 16
K, BUDGET = 3, 4

TOML = """
name = "deep"
[source]
table = "people"
[privacy]
k = 3
suppression = 4
[quasi_identifiers.a]
hierarchy = "a.csv"
importance = 0.5
[quasi_identifiers.b]
hierarchy = "b.csv"
[sensitive.s]
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""

# DuckDB takes most of a minute for a mapping table of so many levels.

Row = tuple[int, int]
Node = tuple[int, int]
dice = random.Random(11)
ROWS: list[Row] = [(min(dice.randrange(VALUES), dice.randrange(VALUES)), dice.randrange(VALUES)) for _ in range(60)]


def group(column: int, value: int, level: int) -> tuple[int, int]:
    """How many values share the label, and which of these groups it is."""
    if level == HEIGHTS[column]:
        return VALUES, 0
    size = 1 << sum(level >= merge for merge in MERGES[column])
    return size, value // size


def label(column: int, value: int, level: int) -> str:
    size, place = group(column, value, level)
    return "*" if size == VALUES else str(value) if size == 1 else f"{place * size}-{place * size + size - 1}"


def failing(node: Node) -> list[Row]:
    classes = Counter(tuple(group(i, row[i], node[i]) for i in (0, 1)) for row in ROWS)
    return [row for row in ROWS if classes[tuple(group(i, row[i], node[i]) for i in (0, 1))] < K]


def cost(node: Node) -> float:
    """The importance-weighted NCP."""
    suppressed = Counter(failing(node))
    lost = 0.0
    for row, n in Counter(ROWS).items():
        for column, importance in ((0, 0.5), (1, 1.0)):
            size, _ = group(column, row[column], node[column])
            share = 1.0 if suppressed[row] else size / VALUES if size > 1 else 0.0
            lost += n * importance * share
    return lost / (1.5 * len(ROWS))


def written(folder: Path) -> Path:
    """The hierarchies as files."""
    for column, name in enumerate("ab"):
        lines = [
            ",".join(label(column, value, level) for level in range(HEIGHTS[column] + 1)) for value in range(VALUES)
        ]
        header = ",".join(f"level_{level}" for level in range(HEIGHTS[column] + 1))
        (folder / f"{name}.csv").write_text("\n".join([header, *lines]))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture
def people() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people (a INTEGER, b INTEGER, s INTEGER)")
    connection.executemany("INSERT INTO people VALUES (?, ?, 1)", ROWS)
    return connection


def test_every_cell_has_a_number_of_its_own() -> None:
    """Two hierarchies of 300 levels each: no code of a level of one is mistaken for one of the other."""
    level = Level(values=5, loss=0, ncp=0, highest_ncp=0)
    hierarchies = tuple(
        Hierarchy(index, Column("q", TEXT), 1, "*", exp.to_table("m"), (level,) * 301, 5, 0, None, None, ())
        for index in range(2)
    )
    keys, numbers = NodeKeys(hierarchies), set[int]()
    with duckdb.connect() as connection:
        for at in range(1, 300):
            codes = ", ".join(f"code AS {h.code(at)}" for h in hierarchies)
            packed = f"SELECT 0 AS node, {keys.keys([(at, at)])} FROM (SELECT {codes} FROM range(6) r(code))"
            cells = connection.execute(f"SELECT {keys.cells([(at, at)])} FROM ({packed})").fetchall()
            numbers |= {number for (row,) in cells for number in row}
    assert len(numbers) == 2 * 299 * 6


@pytest.mark.many
def test_what_every_node_loses(folder: Path, people: duckdb.DuckDBPyConnection) -> None:
    policy, scratch = Policy.parse(TOML.format(method="optimal"), folder), Scratch(engine := DuckDB.wrap(people))
    survey = BatchMeasurer(
        Measurer(Problem.of(policy, take_census(policy, bind_source(policy, engine, scratch), scratch)))
    )
    levels = (0, 1, 60, 127, 128, 150, 255, 256, 257, 258, 259, 299, 300)
    surveyed = survey.measure(list(itertools.product(levels, range(4))))
    for found, lost in zip(surveyed, objective(survey, "ncp").loss(surveyed), strict=True):
        node = (found.node[0], found.node[1])
        assert found.failing_rows == len(failing(node))
        assert lost == pytest.approx(cost(node)), node


@pytest.mark.many
def test_optimal(folder: Path, people: duckdb.DuckDBPyConnection) -> None:
    nodes = itertools.product(range(301), range(4))
    least = min(cost(node) for node in nodes if len(failing(node)) <= BUDGET)
    result = api.run(Policy.parse(TOML.format(method="optimal"), folder), people)
    assert result.levels is not None
    assert cost((result.levels["a"], result.levels["b"])) == pytest.approx(least)


@pytest.mark.many
def test_greedy(folder: Path, people: duckdb.DuckDBPyConnection) -> None:
    """wang eq. 9, step by step; ties go to the lower importance, which is that of the first column."""
    node = (0, 0)
    while len(failing(node)) > BUDGET:
        above = [(node[0] + 1, node[1]), (node[0], node[1] + 1)]
        steps = [
            (importance * (group(column, 0, above[column][column])[0] - 1), column)
            for column, importance in ((0, 0.5), (1, 1.0))
            if node[column] < HEIGHTS[column]
        ]
        node = above[min(steps)[1]]
    result = api.run(Policy.parse(TOML.format(method="greedy"), folder), people)
    assert result.levels == {"a": node[0], "b": node[1]}


@pytest.mark.many
def test_climb(tmp_path: Path, people: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a level above 127, which a signed byte cannot hold, wherever a class may be."""
    monkeypatch.setattr(sys.modules[__name__], "HEIGHTS", (132, 3))
    monkeypatch.setattr(sys.modules[__name__], "MERGES", ((1, 129, 130), (1, 2)))
    written(tmp_path)
    result = api.run(Policy.parse(TOML.format(method="climb"), tmp_path), people)
    assert result.status == "released"
    shown = people.execute("SELECT a, b, count(*) FROM shown GROUP BY ALL").fetchall()
    assert all(n >= K for _, _, n in shown)
    assert sum(n for _, _, n in shown) >= len(ROWS) - BUDGET
    assert result.classes_by_levels is not None
    assert max(part["levels"]["a"] for part in result.classes_by_levels) > 127
    assert result.utility is not None
    nodes = itertools.product((0, 1, 129, 130, 132), range(4))
    assert result.utility["weighted_ncp"] <= min(cost(node) for node in nodes if len(failing(node)) <= BUDGET)
