"""The optimal search finds what brute force over the whole lattice finds, and says how."""

from __future__ import annotations

import itertools
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duckanon
from duckanon import Policy
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.search.batch import BatchMeasurer, aggregates
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from tests.support.adult import QI, adult
from tests.support.command import Command
from tests.support.examples import examples
from tests.support.folder import Folder
from tests.support.people import PEOPLE
from tests.support.small import MODELS, ROWS, SIZES, brute_force, is_usable, loaded, policy

LOSSES = ["ncp", "precision", "discernibility"]
BUDGETS = ["0", "0.3"]
# Every objective and budget with k alone; every other model with one of each in turn.
CASES = [("", "", loss, budget) for loss in LOSSES for budget in BUDGETS]
CASES += [(model, "", LOSSES[place % 3], BUDGETS[place % 2]) for place, model in enumerate(MODELS[1:])]
CASES += [(MODELS[place % 2], sizes, LOSSES[place % 3], BUDGETS[place % 2]) for place, sizes in enumerate(SIZES)]


@pytest.mark.parametrize(("model", "sizes", "loss", "budget"), CASES)
@examples(1)
@given(rows=ROWS.filter(is_usable), k=st.sampled_from([2, 3]))
def test_equal_to_brute_force(
    model: str, sizes: str, loss: str, budget: str, rows: list[tuple[Any, ...]], k: int
) -> None:
    wanted = policy(model, 1 if sizes else k, budget, loss, sizes)
    with loaded(rows) as connection:
        _, expected = brute_force(wanted, connection)
        result = duckanon.run(wanted, connection)
    if not expected:
        assert result.status == "infeasible"
        return
    assert result.status == "released"
    assert result.levels is not None
    assert tuple(result.levels.values()) == expected[0]
    assert result.effort is not None
    assert result.effort["proven"]


@pytest.mark.parametrize(("model", "sizes"), [*((model, "") for model in MODELS), *(("l = 2", s) for s in SIZES[:2])])
@examples(1)
@given(rows=ROWS.filter(is_usable))
def test_a_survey_of_many_nodes_says_what_each_alone_does(model: str, sizes: str, rows: list[tuple[Any, ...]]) -> None:
    """Also from aggregates: where a statement costs nothing and to make one less than that, every group is rolled up.
    What the sizes of classes tell is the same without their values."""
    wanted = policy(model, 2, "0.3", "ncp", sizes)
    with loaded(rows) as connection, pytest.MonkeyPatch.context() as patch:
        scratch = Scratch(engine := DuckDB.wrap(connection))
        census = take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        measurer = Measurer(Problem.of(wanted, census))
        nodes = list(itertools.product(*(range(h.height + 1) for h in census.hierarchies)))
        for statement, making in ((0, -1), (10**9, 3)):
            patch.setattr(aggregates, "_STATEMENT", statement)
            patch.setattr(aggregates, "_MAKING", making)
            survey = BatchMeasurer(measurer)
            for surveyed, sized, node in zip(survey.measure(nodes), survey.sizes(nodes), nodes, strict=True):
                assert (sized.squares, sized.largest) == (surveyed.sizes.squares, surveyed.sizes.largest)
                assert sized.lasting <= surveyed.sizes.lasting <= surveyed.failing_rows
                alone = measurer.measure(node)
                assert surveyed.classes == alone.classes
                assert (surveyed.failing_classes, surveyed.failing_rows) == (alone.failing_classes, alone.failing_rows)
                assert (surveyed.squares, surveyed.smallest) == (alone.squares, alone.class_findings[0].measured)
            scratch.clear(keep=("cells", "counted_cells", "census", "map_0", "map_1", "map_2", "sensitive_0"))


@pytest.mark.adult
@pytest.mark.parametrize(
    ("suppression", "levels", "suppressed", "ncp"),
    [
        ("0.02", (3, 2, 2, 1, 0, 0, 0, 1), 506, 0.29617),
        ("0", (4, 3, 2, 2, 1, 0, 0, 0), 0, 0.625),
        ("0.999999", (3, 2, 0, 0, 0, 0, 0, 0), 3276, 0.17636),
    ],
)
def test_adult(suppression: str, levels: tuple[int, ...], suppressed: int, ncp: float) -> None:
    with duckdb.connect() as connection:
        result = duckanon.run(adult(5, suppression, '[search]\nmethod = "optimal"'), connection)
    assert result.levels == dict(zip(QI, levels, strict=True))
    assert result.rows["suppressed"] == suppressed
    assert result.utility is not None
    assert result.utility["ncp"] == pytest.approx(ncp, abs=5e-6)
    effort = result.effort
    assert effort is not None
    assert effort["nodes"] == 4320
    assert effort["measured"] + effort["pruned_by_bound"] + effort["pruned_by_failing"] == 4320


@pytest.mark.adult
@pytest.mark.parametrize(
    ("suppression", "rules", "levels", "suppressed"),
    [
        ("0.04", "t = 0.2", (4, 3, 1, 1, 1, 1, 1, 2), 235),
        ("0.05", "recursive = { c = 4, l = 5 }", (3, 3, 0, 1, 0, 0, 0, 2), 1199),
        ("0.04", "entropy_l = 4", (3, 3, 1, 1, 0, 0, 0, 1), 1013),
    ],
)
def test_adult_with_rules_and_a_budget(suppression: str, rules: str, levels: tuple[int, ...], suppressed: int) -> None:
    """What lasts rules most nodes out; the answers are those of a search that measured up to 4,311 of them."""
    with duckdb.connect() as connection:
        result = duckanon.run(adult(5, suppression, '[search]\nmethod = "optimal"', rules), connection)
    assert result.levels == dict(zip(QI, levels, strict=True))
    assert result.rows["suppressed"] == suppressed
    effort = result.effort
    assert effort is not None
    assert effort["proven"]
    assert effort["measured"] < 400
    assert effort["measured"] + effort["pruned_by_bound"] + effort["pruned_by_failing"] == 4320


def test_a_limit_gives_the_best_so_far_and_says_so(people: Folder, duckanon: Command) -> None:
    """At the least it is as good as the greedy answer, from which the search starts."""
    limited = people.policy(PEOPLE + '[search]\nmethod = "optimal"\nnodes = 1\n')
    told = duckanon("run", limited, "--json")
    assert told.code == 0, told.err
    found = told.json["search"]
    assert not found["proven"]
    assert found["measured"] <= 2
    assert found["bound"] is not None
    greedy = duckanon("run", people.policy(PEOPLE.replace("people_anonymous", "other"), "greedy.toml"), "--json").json
    assert told.json["utility"]["ncp"] <= greedy["utility"]["ncp"] + 1e-9
    assert "not proven best" in duckanon("run", limited).out


def test_time_ends_the_walk_that_the_search_starts_from(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is reached is released if it holds; else nothing is, and nothing is said to be proven."""
    limited = people.policy(PEOPLE + '[search]\nmethod = "optimal"\ntime_limit = 0.000001\n')
    monkeypatch.setattr(BatchMeasurer, "is_light_at", lambda *_: False)  # node by node, as where there are many rows
    told = duckanon("run", limited, "--json")
    assert told.code == 1, told.err
    assert told.json["search"]["measured"] == 1
    assert not told.json["search"]["proven"]
    assert "none of the 1 nodes measured within the limits of the search holds" in told.json["reasons"]
    easy = PEOPLE.replace("k = 3", "k = 1").replace("l = 2", "")
    at_once = people.policy(easy + '[search]\nmethod = "optimal"\ntime_limit = 1e-6\n')
    assert duckanon("run", at_once, "--json").json["levels"] == {"age": 0, "zip": 0, "sex": 0}


def test_a_lattice_of_millions_starts_at_once() -> None:
    """Fifteen quasi-identifiers: 4^15 nodes."""
    names = [f"q{i}" for i in range(15)]
    with duckdb.connect() as connection:
        columns = ", ".join(f"(hash(i * {place + 1}) % 20)::INTEGER AS {name}" for place, name in enumerate(names))
        connection.execute(f"CREATE TABLE t AS SELECT {columns}, i % 3 AS s FROM range(300) r (i)")
        sections = "".join(f"[quasi_identifiers.{name}]\nhierarchy = {{ intervals = [5, 10] }}\n" for name in names)
        wanted = Policy.parse(
            f'name = "p"\n[source]\ntable = "t"\n[privacy]\nk = 2\n{sections}[sensitive.s]\n[search]\n'
            'method = "optimal"\nnodes = 60\n[release]\nkind = "table"\nto = "o"\n'
        )
        result = duckanon.run(wanted, connection)
    assert result.effort is not None
    assert result.effort["nodes"] == 4**15
    assert result.status == "released"
