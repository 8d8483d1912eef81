"""The refinement of a climb: less is lost than before, by plain Python, and every class holds as before."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import duckdb
import pytest

from duckanon.census.counting import Census
from duckanon.local import Placement
from duckanon.local.climb import refinement
from duckanon.local.climb.class_repair import ClassRepair
from duckanon.local.climb.class_table import ClassTable
from duckanon.local.climb.refinement import Refinement
from duckanon.local.climb.trials import Trials
from duckanon.local.climb.tuples import TupleTable
from duckanon.local.costs import UNIT
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from tests.support.climbing import Levels, climbed, counted, levels_of, table
from tests.support.command import Command
from tests.support.examples import MORE
from tests.support.folder import Folder
from tests.support.local_people import policy as policy_of_people
from tests.support.small import policy

Row = tuple[int, str, int, int]
WEIGHTS = (0.7, 1, 1)  # the importance of a, b and c in the small policy


def invented(seed: int, rows: int) -> list[Row]:
    draw = random.Random(seed)
    words = [first + second for first in "abc" for second in "xyz"]
    return [
        (draw.randrange(16), draw.choice(words), int(draw.random() ** 2 * 3), draw.randrange(5)) for _ in range(rows)
    ]


def fill(connection: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER, s INTEGER)")
    marks = ", ".join("(?, ?, ?, ?)" for _ in rows)
    connection.execute(f"INSERT INTO t VALUES {marks}", [cell for row in rows for cell in row])


def labels(row: Row) -> tuple[list[object], list[object], list[object]]:
    """What a row shows in each column at each level."""
    a, b, c, _ = row
    return [a, ("2", a // 2), ("4", a // 4), "*"], [b, b[0], "*"], [c, "*"]


def cost(rows: list[Row], row: Row, levels: Levels) -> float:
    """The weighted NCP of a row."""
    numbers, words = {r[0] for r in rows}, {r[1] for r in rows}
    under = sum(word[0] == row[1][0] for word in words)
    of_a = [0.0, *(min(1, width / (max(numbers) - min(numbers))) for width in (2, 4)), 1.0]
    of_b = [0.0, under / len(words) if under > 1 else 0.0, 1.0]
    of_c = [0.0, 1.0]
    of_columns = zip(WEIGHTS, (of_a, of_b, of_c), levels, strict=True)
    return sum(weight * costs[level] for weight, costs, level in of_columns)


def lost(rows: list[Row], census: Census, placement: Placement) -> float:
    """What a placement of all rows loses, in the whole."""
    placed = levels_of(census, placement)
    codes = [dict(census.workbench.fetch(f'SELECT value, code_0 FROM "{h.mapping.name}"')) for h in census.hierarchies]
    total = 0.0
    for row in rows:
        total += cost(rows, row, placed[tuple(code[value] for code, value in zip(codes, row[:3], strict=True))])
    return total


def climb_of(rows: list[Row], k: int) -> float:
    with duckdb.connect() as connection:
        fill(connection, rows)
        wanted = policy("", k, "0", "ncp")
        with counted(wanted, connection) as census:
            placement = climbed(wanted, census)
            assert placement is not None
            return lost(rows, census, placement)


@pytest.fixture
def unrefined(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(Refinement, "run", lambda self: None)
    return monkeypatch


def test_loses_as_much_less_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = invented(7, 300)
    run, said = Refinement.run, list[int]()

    def listened(self: Refinement) -> None:
        said.append(self.repair.loss())
        run(self)
        self.repair.refresh()
        said.append(self.repair.loss())

    monkeypatch.setattr(Refinement, "run", listened)
    refined = climb_of(rows, 3)
    monkeypatch.setattr(Refinement, "run", lambda self: None)
    plain = climb_of(rows, 3)
    assert refined < 0.97 * plain
    assert said == pytest.approx([plain * UNIT, refined * UNIT], rel=1e-6)


def partitions(rows: list[Row], k: int) -> Iterator[list[list[Row]]]:
    """All ways to part rows into groups of k or more."""
    if not rows:
        yield []
        return
    first, *others = rows
    for size in range(k - 1, len(others) + 1):
        for chosen in itertools.combinations(others, size):
            rest = [row for row in others if row not in chosen]
            for more in partitions(rest, k):
                yield [[first, *chosen], *more]


def cost_together(rows: list[Row], group: list[Row]) -> float:
    """At the lowest levels that all of a group share."""
    levels = []
    for of_column in zip(*(labels(row) for row in group), strict=True):
        at = [len(set(of_level)) == 1 for of_level in zip(*of_column, strict=True)]
        levels.append(at.index(True))
    return sum(cost(rows, row, tuple(levels)) for row in group)


@pytest.mark.parametrize("seed", range(MORE))
def test_never_better_than_the_best_and_never_worse_than_before(seed: int, unrefined: pytest.MonkeyPatch) -> None:
    """Nine tuples in all ways: the refinement finds the best, or nearly."""
    rows = list({row[:3]: row for row in invented(seed, 12)}.values())[:9]
    best = min(sum(cost_together(rows, group) for group in parts) for parts in partitions(rows, 2))
    plain = climb_of(rows, 2)
    unrefined.undo()
    refined = climb_of(rows, 2)
    assert best - 1e-4 <= refined <= min(plain, 1.1 * best) + 1e-4


def test_takes_in_rows_that_were_suppressed(unrefined: pytest.MonkeyPatch) -> None:
    wanted, placed = policy("proximity = { epsilon = 0, m = 2 }", 3, "0.05", "ncp"), []
    for _ in range(2):
        with duckdb.connect() as connection:
            table(connection, "1")
            with counted(wanted, connection) as census:
                placement = climbed(wanted, census)
                assert placement is not None
                placed.append(len(levels_of(census, placement)))
        unrefined.undo()
    assert placed[0] < placed[1]


@pytest.mark.parametrize("model", ["", "entropy_l = 1.5"])
def test_many_regions_on_any_number_of_threads(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_REGION", 40)
    found = []
    for threads in (1, 3):
        with duckdb.connect() as connection:
            connection.execute(f"SET threads = {threads}")
            fill(connection, invented(3, 400))
            wanted = policy(model, 3, "0", "ncp")
            with counted(wanted, connection) as census:
                placement = climbed(wanted, census)
                assert placement is not None
                assert placement.effort is not None
                assert placement.effort["offers"] > 0
                found.append((levels_of(census, placement), placement.effort))
    assert found[0] == found[1]


def test_classes_that_come_to_show_the_same_must_hold_together() -> None:
    """Two pairs hold, and would not as one class: 1 has three of four values near it."""
    rows = [(0, "ax", 0, 0), (0, "ay", 0, 2), (0, "az", 0, 1), (0, "aw", 0, 3), (9, "bx", 1, 0), (9, "by", 1, 9)]
    wanted = policy("proximity = { epsilon = 1, m = 2 }", 2, "0", "ncp")
    with duckdb.connect() as connection:
        fill(connection, rows)
        with counted(wanted, connection) as census:
            tuples = TupleTable(Measurer(Problem.of(wanted, census)))
            # Tuples are numbered by their values. One pair stands a level higher than it need.
            high = {"ax": 1, "ay": 1}
            words = sorted(row[1] for row in rows)
            placed = [(at, high.get(word, 0), 1, 0) for at, word in enumerate(words, 1)]
            values = ", ".join(str(row) for row in placed)
            tuples.make("placed", f"SELECT id, l0::SMALLINT AS l0, l1::SMALLINT AS l1, l2::SMALLINT AS l2 "
                                  f"FROM (VALUES {values}) v (id, l0, l1, l2)")  # fmt: skip
            assert ClassRepair(tuples).refresh() == (3, 0)
            classes = ClassTable(tuples)
            classes.count(100)
            trials = Trials(classes)
            trials.begin()
            changed = (str(words.index(word) + 1) for word in high)
            tuples.make("changes", f"SELECT id, 1 AS offer, 0 AS class, 0 AS l0, 1 AS l1, 0 AS l2 "
                                   f"FROM (VALUES ({'), ('.join(changed)})) v (id)")  # fmt: skip
            trials.apply()
            assert sorted(tuples.workbench.fetch(f"FROM {tuples.name('placed')}")) == placed
            tuples.keep_only("placed")


def test_a_time_limit_ends_it_with_what_is_reached(people: Folder, duckanon: Command) -> None:
    limited = policy_of_people("climb", "table").replace("[search]", "[search]\ntime_limit = 0.000001")
    assert "time_limit" in limited
    told = duckanon("run", people.policy(limited), "--json")
    assert told.code == 0, told.err
    assert told.json["search"] == {"rounds": 0, "offers": 0, "finished": False}
    assert all(finding["holds"] for finding in told.json["constraints"])
