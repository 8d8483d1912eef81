"""Climbs of small tables, and what they come to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from duckanon.census.counting import Census, take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.local import Placement
from duckanon.local.climb import climb
from duckanon.policy import Policy
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem

Codes = tuple[int, ...]
Levels = tuple[int, ...]


@contextmanager
def counted(wanted: Policy, connection: duckdb.DuckDBPyConnection) -> Iterator[Census]:
    """The census, in one transaction as in a run; nothing temporary is left of it."""
    engine = DuckDB.wrap(connection)
    with engine.transaction():
        scratch = Scratch(engine)
        yield take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        scratch.clear()
    engine.close()
    assert not connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()


def climbed(wanted: Policy, census: Census) -> Placement | None:
    return climb(Measurer(Problem.of(wanted, census)), lambda *_: None)


def levels_of(census: Census, placement: Placement) -> dict[Codes, Levels]:
    """The levels of every tuple that is placed; none is placed twice."""
    codes = len(census.finest)
    assert placement.keys == tuple(census.finest)
    levels = ", ".join(f"l{index}" for index in range(len(census.hierarchies)))
    names = ", ".join([*placement.keys, levels])
    found = census.workbench.fetch(f'SELECT {names} FROM "{placement.table.name}"')
    placed = {row[:codes]: row[codes:] for row in found}
    assert len(placed) == len(found)
    for of_tuple in placed.values():
        assert all(level in h.allowed for h, level in zip(census.hierarchies, of_tuple, strict=True))
    return placed


def table(connection: duckdb.DuckDBPyConnection, seed: str) -> None:
    """100 rows in which every model has something to do."""
    draw = random.Random(seed)
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER, s INTEGER)")
    rows = [
        (draw.choice([*range(12), None]), draw.choice(["aa", "ab", "ac", "ba", "bb", None]), draw.randrange(3),
         draw.choice([0, 1, 1, 2, 2, 3, None]))
        for _ in range(100)
    ]  # fmt: skip
    marks = ", ".join("(?, ?, ?, ?)" for _ in rows)
    connection.execute(f"INSERT INTO t VALUES {marks}", [cell for row in rows for cell in row])
