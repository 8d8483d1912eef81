"""What a result says of each column, of numbers and of pairs, against the released rows themselves in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import ExitStack
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any
from unittest.mock import patch

import duckdb
import pytest

import duckanon
from duckanon import Policy
from duckanon.recoding.fidelity import correlation, cramers_v

COLUMNS = ("age", "zip", "sex", "wage", "disease")
PEOPLE = """
name = "people"
[source]
table = "people"
[privacy]
k = 4
suppression = 0.1
[quasi_identifiers.age]
hierarchy = { intervals = [10, 20] }
[quasi_identifiers.zip]
hierarchy = { mask = [1, 0] }
[quasi_identifiers.sex]
[sensitive.wage]
[sensitive.disease]
[release]
kind = "table"
to = "out"
"""
# Older people earn more; women live elsewhere; the disease follows nothing.
ROWS = """CREATE TABLE people AS SELECT (20 + i % 47)::INTEGER AS age,
    ['ab', 'ac', 'cd', NULL][1 + (i % 2 * 2 + i % 3) % 4] AS zip, ['f', 'm'][1 + i % 2] AS sex,
    10.5 * (i % 47 // 4) + i % 2 AS wage, ['flu', 'HIV', 'cold'][1 + i // 7 % 3] AS disease
    FROM range(150) r (i)"""

# Whether these are many rows, and how many counts are taken at once.
SIZES = [(False, 65_536), (False, 1), (True, 65_536), (True, 200)]

Row = tuple[Any, ...]


def number(label: Any, source: list[Row], position: int) -> float | None:
    """A label read as the middle of the numbers that it stands for."""
    if label is None or label == "*":
        return None
    if not str(label).startswith("["):
        return float(label)
    low, high = map(int, str(label)[1:-1].split(","))
    under = [row[position] for row in source if low <= row[position] < high]
    return float(min(under) + max(under)) / 2


def v(pairs: list[tuple[Any, Any]]) -> float | None:
    """Cramér's V by its definition: the square of what is beyond chance, corrected as Bergsma says."""
    n, table = len(pairs), Counter(pairs)
    rows, columns = Counter(x for x, _ in pairs), Counter(y for _, y in pairs)
    if min(len(rows), len(columns)) < 2:
        return None
    chi = sum((table[x, y] - rows[x] * columns[y] / n) ** 2 / (rows[x] * columns[y] / n) for x in rows for y in columns)
    r, c = len(rows), len(columns)
    phi = max(0.0, chi / n - (r - 1) * (c - 1) / (n - 1))
    return math.sqrt(phi / (min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1))


def pearson(pairs: list[tuple[Any, Any]]) -> float | None:
    pairs = [(x, y) for x, y in pairs if x is not None and y is not None]
    (x, y) = ([float(one) for one in side] for side in zip(*pairs, strict=True))
    return (fmean(a * b for a, b in pairs) - fmean(x) * fmean(y)) / pstdev(x) / pstdev(y)


@pytest.fixture(params=[(method, large, most) for method in ("greedy", "climb") for large, most in SIZES])
def ran(request: pytest.FixtureRequest) -> tuple[duckanon.Result, list[Row], list[Row]]:
    method, large, most = request.param
    with duckdb.connect() as db, ExitStack() as patched:
        patched.enter_context(patch("duckanon.recoding.sides._MOST_COUNTS", most))
        if large:
            patched.enter_context(patch("duckanon.census.coding.MANY_ROWS", 0))
        db.execute(ROWS)
        result = duckanon.run(Policy.parse(PEOPLE + f'[search]\nmethod = "{method}"\n'), db)
        before, after = (
            db.execute(f"SELECT {', '.join(COLUMNS)} FROM {name}").fetchall() for name in ("people", "out")
        )
    assert result.status == "released"
    return result, before, after


def test_each_column_says_what_is_left_of_it(ran: tuple[duckanon.Result, list[Row], list[Row]]) -> None:
    result, before, after = ran
    assert result.utility
    told = result.utility["columns"]
    assert list(told) == ["age", "zip", "sex"]
    assert result.utility["ncp"] == pytest.approx(fmean(column["ncp"] for column in told.values()))
    values: dict[int, set[Any]] = {at: {row[at] for row in before} for at in range(3)}
    for position, (name, column) in enumerate(told.items()):
        labels = [row[position] for row in after]
        assert column["labels_before"] == len(values[position])
        assert column["labels_after"] == len(set(labels))
        raw = [label for label in labels if str(label) in map(str, values[position])]
        top = [label for label in labels if label is not None and not str(label).strip("*")]
        assert column["gone"] == pytest.approx((len(before) - len(after) + len(top)) / len(before))
        if name != "zip":  # what is NULL stays so at every level but the top
            assert column["unchanged"] == pytest.approx(len(raw) / len(before))
        assert column["unchanged"] + column["generalized"] + column["gone"] == pytest.approx(1)
        assert sum(column["levels"].values()) == pytest.approx(1)
        assert column["level"] == (result.levels[name] if result.levels else column["level"])


def test_numbers_say_how_far_they_move(ran: tuple[duckanon.Result, list[Row], list[Row]]) -> None:
    result, before, after = ran
    assert result.utility
    assert list(result.utility["numbers"]) == ["age", "wage"]
    for name, moved in result.utility["numbers"].items():
        at = COLUMNS.index(name)
        then = [float(row[at]) for row in before]
        now = [found for row in after if (found := number(row[at], before, at)) is not None]
        assert moved["mean"] == pytest.approx((fmean(now) - fmean(then)) / pstdev(then), abs=0.0051)
        assert moved["spread"] == pytest.approx(pstdev(now) / pstdev(then), abs=0.0051)
        quartiles = [
            (sorted(side)[math.ceil(len(side) * share) - 1]) for share in (0.25, 0.5, 0.75) for side in (then, now)
        ]
        by = [(quartiles[2 * i + 1] - quartiles[2 * i]) / pstdev(then) for i in range(3)]
        assert moved["quartiles"] == pytest.approx(by, abs=0.0051)


def test_pairs_say_how_they_go_together(ran: tuple[duckanon.Result, list[Row], list[Row]]) -> None:
    result, before, after = ran
    assert result.utility
    pairs = {tuple(pair["columns"]): pair for pair in result.utility["associations"]}
    expected = {(q, s) for q in ("age", "zip", "sex") for s in ("wage", "disease")}
    assert set(pairs) == expected | set(combinations(("age", "zip", "sex"), 2))
    for (one, other), pair in pairs.items():
        x, y = COLUMNS.index(one), COLUMNS.index(other)
        numbers = {one, other} == {"age", "wage"}
        assert pair["measure"] == ("correlation" if numbers else "cramers_v")
        for side, rows in (("before", before), ("after", after)):
            shown = [
                (number(row[x], before, x), number(row[y], before, y)) if numbers else (row[x], row[y]) for row in rows
            ]
            strength = pearson(shown) if numbers else v(shown)
            assert pair[side] == (None if strength is None else pytest.approx(strength, abs=0.0051)), (one, other, side)


@pytest.mark.unit
def test_what_has_no_strength() -> None:
    assert correlation(None, None, None) is None  # no rows
    assert correlation(0.0, 0.0, 3.0) is None  # all the same
    assert cramers_v(None, 0, 0, 0) is None
    assert cramers_v(0.0, 1, 3, 10) is None  # one row of the table is all there is
    assert cramers_v(1.0, 2, 2, 100) == pytest.approx(1.0)


def test_a_budget_that_looks_like_a_percentage_draws_a_hint() -> None:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE people AS SELECT i % 10 AS age, i % 7 AS disease FROM range(2000) r (i)")
        text = 'name = "p"\n[source]\ntable = "people"\n[privacy]\nk = 5\nsuppression = {}\n[quasi_identifiers.age]\n'
        text += '[sensitive.disease]\n[release]\nkind = "table"\nto = "out"\n'
        found = [duckanon.run(Policy.parse(text.format(budget)), db, dry_run=True) for budget in (2, 200, 0.02)]
    (hint,) = found[0].warnings
    assert hint == "privacy.suppression = 2 allows 2 rows of 2,000; 2 % would be 0.02"
    assert not found[1].warnings
    assert not found[2].warnings
    assert [result.budget for result in found] == [2, 200, 40]
