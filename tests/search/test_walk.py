"""A walk that ends at a failing top has not seen the whole lattice: where the top is not best, it must look on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given

import duckanon as api
from duckanon import Policy
from duckanon.search import methods
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.folder import Folder
from tests.support.small import MODELS, ROWS, holding_nodes, is_usable, loaded, small_policy

PANEL = """
name = "panel"
[source]
table = "panel"
database = "warehouse.duckdb"
[privacy]
k = 20
{privacy}
[quasi_identifiers.age]
[quasi_identifiers.year]
[sensitive.health]
{rule}
[columns]
identifiers = ["person"]
[search]
method = "{method}"
{limits}
[release]
kind = "table"
to = "shown"
"""


def panel(folder: Folder, **changed: str) -> Path:
    """Forty people, each asked in two years: who is well in one is ill in the other. All years together, everybody is
    both, and what everybody is, is known; so the only node that holds shows the year and not the age."""
    folder.sql(
        "CREATE TABLE panel AS SELECT 'p' || i AS person, 20 + i AS age, year, "
        "CASE WHEN (i + year) % 2 = 0 THEN 'ill' ELSE 'well' END AS health FROM range(40) p(i), range(2) y(year)"
    )
    usual = {"privacy": 'entity = "person"', "rule": "l = 2", "method": "greedy", "limits": ""}
    return folder.policy(PANEL.format(**usual | changed))


@pytest.mark.parametrize("method", ["greedy", "datafly", "optimal"])
def test_people_whose_values_differ_from_year_to_year(folder: Folder, duckanon: Command, method: str) -> None:
    told = duckanon("run", panel(folder, method=method), "--json")
    assert told.code == 0
    assert told.json["levels"] == {"age": 1, "year": 0}
    assert told.json["path"][-1] == {"levels": {"age": 1, "year": 0}, "failing_rows": 0, "holds": True}


def test_rows_that_a_budget_lets_go(folder: Folder, duckanon: Command) -> None:
    """All together too many are ill; without the ten of one town, who all are, not."""
    folder.sql(
        "CREATE TABLE panel AS SELECT i AS person, 20 + i % 45 AS age, CASE WHEN i < 90 THEN 1 ELSE 2 END AS year, "
        "CASE WHEN i >= 90 OR i % 2 = 0 THEN 'ill' ELSE 'well' END AS health FROM range(100) p(i)"
    )
    changed = {"privacy": "suppression = 10", "rule": "alpha = 0.5", "method": "greedy", "limits": ""}
    told = duckanon("run", folder.policy(PANEL.format(**changed)), "--json")
    assert told.code == 0
    assert told.json["levels"] == {"age": 1, "year": 0}
    assert told.json["rows"] == {"source": 100, "released": 90, "suppressed": 10}
    assert told.json["search"]["proven"]


def test_where_no_node_holds_the_top_is_not_called_the_best(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", panel(folder, rule="l = 2\nalpha = 0.45"))
    assert told.code == 1
    assert "no feasible release" in told.err
    assert "none of the 4 nodes holds" in told.err
    assert "at best" not in told.err
    assert "distinct_l of health: 1 with everything generalized, the policy asks for 2" in told.err


def test_a_search_that_is_cut_short_denies_nothing(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", panel(folder, rule="l = 2\nalpha = 0.45", limits="nodes = 1"))
    assert told.code == 1
    assert "no feasible release" not in told.err
    assert "no release was found" in told.err
    assert 'of 4 nodes were looked at; method = "optimal" may find one' in told.err


def test_who_has_seen_every_node_has_a_proof(folder: Folder, duckanon: Command) -> None:
    told = duckanon("run", panel(folder, rule="l = 2\nalpha = 0.45", limits="nodes = 4"), "--json")
    assert told.json["search"]["measured"] == told.json["search"]["nodes"] == 4
    assert told.json["search"]["proven"]


def test_in_a_vast_lattice_the_walk_looks_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """With less than one node in twenty looked at, the one that holds is found."""
    dice, columns = random.Random(4), [f"q{place}" for place in range(6)]
    people = [[dice.randrange(16) for _ in columns] for _ in range(60)]
    rows = [(i, year, *values, (i + year) % 2) for i, values in enumerate(people) for year in range(2)]
    described = "\n".join(f"[quasi_identifiers.{name}]\nhierarchy = {{ intervals = [2, 4, 8] }}" for name in columns)
    changed = {"privacy": 'entity = "person"', "rule": "l = 2", "method": "greedy", "limits": ""}
    text = PANEL.format(**changed).replace("[quasi_identifiers.age]", described)
    monkeypatch.setattr(methods, "_LOOKS", 0)
    with duckdb.connect() as connection:
        typed = ", ".join(f"{name} INTEGER" for name in ("person", "year", *columns, "health"))
        connection.execute(f"CREATE TABLE panel ({typed})")
        connection.executemany(f"INSERT INTO panel VALUES ({', '.join('?' * 9)})", rows)
        result = api.run(Policy.parse(text), connection)
    assert result.status == "released"
    assert result.levels is not None
    assert result.levels["year"] == 0
    assert result.effort is not None
    assert result.effort["measured"] < result.effort["nodes"] / 20


@pytest.mark.parametrize(
    ("model", "method"),
    [(model, ("greedy", "datafly")[place % 2]) for place, model in enumerate(model for model in MODELS if model)],
)
@examples(1)
@given(rows=ROWS.filter(is_usable))
def test_there_is_a_release_if_some_node_holds(method: str, model: str, rows: list[tuple[Any, ...]]) -> None:
    wanted = small_policy(model, 2, "0.3", f'[search]\nmethod = "{method}"')
    with loaded(rows) as connection:
        holding = holding_nodes(wanted, connection)
        result = api.run(wanted, connection)
    assert result.status == ("released" if holding else "infeasible")
