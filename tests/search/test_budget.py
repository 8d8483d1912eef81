"""The budget: rows that are left out are taken from it, and only once, whoever searches."""

from __future__ import annotations

import duckdb
import pytest

import duckanon as api
from duckanon import Policy
from duckanon.local.climb import climbing

# 3 rows are of no city that the hierarchy knows, 2 are alone with theirs: of 5 allowed, none is too many.
ROWS = [("a", 1)] * 4 + [("b", 2)] * 4 + [("c", 3)] * 2 + [("Atlantis", 1)] * 3
LISTED = [("a", "north"), ("b", "south"), ("c", "west")]

TOML = """
name = "budget"
[source]
table = "people"
[privacy]
k = 4
suppression = {allowed}
unmapped = "suppress"
[quasi_identifiers.city]
hierarchy = {{ table = "dim", columns = ["city", "region"] }}
[sensitive.disease]
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""


def released(method: str, allowed: int) -> list[tuple[object, ...]] | None:
    """The cities of the release; None: there is none."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (city VARCHAR, disease INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?)", ROWS)
        connection.execute("CREATE TABLE dim (city VARCHAR, region VARCHAR)")
        connection.executemany("INSERT INTO dim VALUES (?, ?)", LISTED)
        result = api.run(Policy.parse(TOML.format(method=method, allowed=allowed)), connection)
        if result.status != "released":
            return None
        return connection.execute("SELECT city, count(*) FROM shown GROUP BY ALL ORDER BY ALL").fetchall()


@pytest.mark.parametrize("method", ["greedy", "optimal", "datafly"])
def test_what_is_left_out_is_taken_from_the_budget_once(method: str) -> None:
    assert released(method, 2) is None  # fewer than are left out
    assert released(method, 4) == [("*", 10)]  # one row may go: too few for the two that are alone
    assert released(method, 5) == [("a", 4), ("b", 4)]


@pytest.mark.parametrize("method", ["climb", "alpha_k_clustering", "l_c_clustering"])
def test_so_it_is_where_every_class_has_its_own_levels(method: str) -> None:
    assert released(method, 2) is None
    assert released(method, 4) in ([("*", 6), ("a", 4)], [("*", 6), ("b", 4)])


def test_where_a_climb_loses_its_way_the_walk_has_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(climbing, "_refined", lambda refinement: False)
    assert released("climb", 5) == [("a", 4), ("b", 4)]
    assert released("climb", 4) == [("*", 10)]
