"""Random tables under random policies: the whole run against the plain Python of tests/support/reference.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duckanon
from duckanon.result import Result
from tests.support import reference as ref
from tests.support.case_warehouse import (
    counted,
    every_class_holds,
    exists,
    insert,
    released,
    warehouse,
)
from tests.support.cases import (
    RELEASE,
    SEEDS,
    SIZES,
    Case,
    Column,
    Generalized,
    cases,
    chance,
    sized_cases,
    table,
)
from tests.support.examples import examples
from tests.support.reference import Value

# -- the run ------------------------------------------------------------------------------------------


def run(case: Case, db: duckdb.DuckDBPyConnection, folder: Path, kind: str = "table") -> Result:
    return duckanon.run(duckanon.Policy.parse(case.toml(kind), folder), db)


def alike(found: Any, expected: Any) -> bool:
    """Equal, figures to within rounding."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == expected)


def same(found: Any, expected: Any) -> None:
    assert alike(found, expected), f"found {found}, expected {expected}"


# -- properties ---------------------------------------------------------------------------------------


@examples(15)
@given(cases() | sized_cases(), st.booleans())
def test_run_is_the_reference(case: Case, as_large: bool) -> None:
    """What is done otherwise with many rows comes to the same with few."""
    with ExitStack() as patched:
        for few in ("duckanon.census.coding.MANY_ROWS", "duckanon.search.gathering._FEW") if as_large else ():
            patched.enter_context(patch(few, 0))
        compare(case)


def compare(case: Case) -> None:
    """Run a case and compare all that is told and released with the reference."""
    with warehouse(case) as (db, folder):
        result = run(case, db, folder)
        if not result.path:
            never_feasible(case, db, result)
            return
        walk = ref.walk(case.problem)
        same_path(case, result, walk)
        if walk.answer is None and result.levels is not None:
            # Where the top proves nothing the search goes on, off the path: what it finds must hold.
            found = case.problem.judge(tuple(result.levels.values()))
            assert found.holds(case.problem.budget)
            same_release(case, db, found)
        elif walk.answer is None:
            infeasible(case, db, result, walk.path[-1])
        else:
            same_result(case, result, walk.answer)
            same_release(case, db, walk.answer)


def pinned(part: Generalized, ages: Sequence[Value], k: int, secret: ref.Sensitive | None = None) -> Case:
    """A case written by hand: one quasi-identifier, and a secret that numbers its values."""
    columns = {"name": Column("VARCHAR", ("Ann",)), "age": part.column}
    columns |= {secret.column: Column("INTEGER", ())} if secret else {}
    numbers = {age: place for place, age in enumerate(dict.fromkeys(ages), start=1)}
    rows = [dict(zip(columns, ("Ann", age, numbers[age]), strict=False)) for age in ages]
    quasi = (ref.QuasiIdentifier("age", part.kind),)
    policy = ref.Policy(quasi, (secret,) if secret else (), (), k, suppression=0)
    return Case(columns, (part,), policy, tuple(rows), by_query=False)


AGES = Generalized(Column("INTEGER", ()), ref.Flat())
PRICES = Generalized(Column("DECIMAL(8, 2)", ()), ref.Intervals((Decimal(5),)), {"intervals": [5]})
LEVELS = {1: ("1",), 2: ("2",), 3: ("3",)}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(pinned(AGES, [1, 2, 3], k=3), id="nothing but the top to release"),
        pytest.param(
            pinned(PRICES, [*map(Decimal, ("1.9", "2.1", "9.05", "9.05"))], k=2), id="finer than its intervals"
        ),
        pytest.param(
            pinned(AGES, [1, 1, 2, 3, 3], k=1, secret=ref.Sensitive("secret", t=0.55, publish="level", levels=LEVELS)),
            id="t of published levels",
        ),
    ],
)
def test_pinned_case_is_the_reference(case: Case) -> None:
    compare(case)


def never_feasible(case: Case, db: duckdb.DuckDBPyConnection, result: Result) -> None:
    """Refused before any search: then no node of the whole lattice holds."""
    assert result.status == "infeasible"
    assert result.reasons
    assert not exists(db)
    problem = case.problem
    assert not any(problem.judge(node).holds(problem.budget) for node in ref.lattice(problem))


def same_path(case: Case, result: Result, walk: ref.Walk) -> None:
    budget = case.problem.budget
    expected = [
        {
            "levels": dict(zip(case.problem.qi, judged.node, strict=True)),
            "failing_rows": judged.failing_rows,
            "holds": judged.holds(budget),
        }
        for judged in walk.path
    ]
    found = list(result.path or ())
    same(found[: len(expected)] if walk.answer is None else found, expected)


def infeasible(case: Case, db: duckdb.DuckDBPyConnection, result: Result, top: ref.SensitiveRules) -> None:
    """The top fails: what was measured there is told, and nothing is written."""
    assert result.status == "infeasible"
    assert result.reasons
    assert not exists(db)
    same(result.rows, {"source": len(case.rows), "released": 0, "suppressed": 0})
    expected = dict(top.class_findings)
    if top.good and top.failing_rows <= case.problem.budget:
        expected |= top.table_findings
    same_findings(result, expected)


# A release without any value of the column has no figure for these, and none of its classes is far or near.
NOTHING_IS_ZERO = ("t", "proximity")


def same_findings(result: Result, expected: ref.Findings) -> None:
    found = {(f.constraint.name, f.constraint.column, f.constraint.value): f for f in result.constraints}
    assert len(found) == len(result.constraints)
    assert found.keys() == {bound.key for bound in expected}
    for bound, figure in expected.items():
        finding = found[bound.key]
        assert math.isclose(finding.constraint.threshold, bound.threshold)
        measured = 0.0 if finding.measured is None and bound.name in NOTHING_IS_ZERO else finding.measured
        same((bound.key, measured), (bound.key, figure))
        assert finding.holds == bound.holds(figure)


def same_result(case: Case, result: Result, answer: ref.SensitiveRules) -> None:
    problem, rows = case.problem, len(answer.released)
    assert result.status == "released"
    assert result.levels == dict(zip(problem.qi, answer.node, strict=True))
    assert result.heights == {h.column: h.height for h in problem.hierarchies}
    assert result.rows == {"source": len(case.rows), "released": rows, "suppressed": answer.failing_rows}
    assert result.classes == len(answer.good)
    same_findings(result, answer.good_findings | answer.table_findings)
    assert all(finding.holds for finding in result.constraints)
    same_figures(result.utility, ref.utility(problem, answer))
    same_figures(result.privacy, ref.privacy(problem, answer))


def same_figures(found: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """Every figure that is defined; a run may tell more."""
    assert found is not None
    same({key: found.get(key) for key in expected}, expected)


def same_release(case: Case, db: duckdb.DuckDBPyConnection, answer: ref.SensitiveRules) -> None:
    rows = released(case, db)
    assert counted(rows) == counted(answer.released)
    assert len(rows) + answer.failing_rows == len(case.rows)
    every_class_holds(case.problem, rows)


@examples(2)
@given(cases(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_and_threads_do_not_matter(case: Case, random: Any, threads: int) -> None:
    shuffled = list(case.rows)
    random.shuffle(shuffled)
    with warehouse(case) as (db, folder), warehouse(replace(case, rows=tuple(shuffled))) as (other, elsewhere):
        first, rows = run(case, db, folder), stored(db)
        other.execute(f"SET threads = {threads}")
        same(told(run(case, other, elsewhere)), told(first))
        assert stored(other) == rows
        same(told(run(case, db, folder)), told(first))
        assert stored(db) == rows


def stored(db: duckdb.DuckDBPyConnection) -> list[tuple[Value, ...]]:
    """The released rows as they lie; none without a release."""
    return db.execute(f"FROM {RELEASE}").fetchall() if exists(db) else []


def told(result: Result) -> dict[str, Any]:
    return {key: value for key, value in result.as_json().items() if key not in ("seconds", "started")}


def test_threads_on_a_large_table() -> None:
    """Enough rows for several threads to work at once."""
    policy = """
    name = "large"
    source = { table = "large" }
    privacy = { k = 20, suppression = 0.01 }
    search = { method = "greedy" }
    release = { kind = "table", to = "people_anonymous" }
    [quasi_identifiers]
    age = { hierarchy = { intervals = [5, 10, 20] } }
    zip = { hierarchy = { mask = [4, 3, 0] } }
    [sensitive.disease]
    l = 2
    t = 0.6
    alp = 0.9
    """
    outcomes = []
    for threads, order in ((1, "i"), (4, "hash(i)")):
        with duckdb.connect() as db:
            db.execute(f"SET threads = {threads}")
            db.execute(
                f"""
                CREATE TABLE large AS
                SELECT hash(i, 1) % 80 AS age, lpad((hash(i, 2) % 3000)::VARCHAR, 5, '0') AS zip,
                    (hash(i, 3) % 5)::INTEGER AS disease
                FROM range(120_000) AS r (i) ORDER BY {order}
                """
            )
            result = duckanon.run(duckanon.Policy.parse(policy), db)
            assert result.good
            outcomes.append((told(result), stored(db)))
    (first, rows), (second, other) = outcomes
    same(second, first)
    assert other == rows


@st.composite
def changed(draw: st.DrawFn, case: Case) -> tuple[dict[str, Value], ...]:
    """The rows of a source some time later: some are gone, some are new, with values never seen before."""
    kept = [row for row in case.rows if not chance(draw, 4)]
    columns = {name: replace(column, values=column.values + column.later) for name, column in case.columns.items()}
    new = () if chance(draw, 2) else table(columns, draw(SIZES), draw(SEEDS))
    return (*kept, *new)


@examples(6)
@given(st.data())
def test_view_shows_only_what_holds(data: st.DataObject) -> None:
    case = data.draw(cases() | sized_cases())
    with warehouse(case) as (db, folder):
        result = run(case, db, folder, "view")
        if not result.good:
            return
        assert result.levels is not None
        answer = case.problem.judge(tuple(result.levels.values()))
        assert counted(released(case, db)) == counted(answer.released)
        later = data.draw(changed(case))
        db.execute("DELETE FROM people")
        insert(db, "people", [tuple(row[name] for name in case.columns) for row in later])
        people = case.population
        if people:
            people = data.draw(st.sampled_from([people, people[: len(people) // 2], ()]))
            db.execute("DELETE FROM everybody")
            insert(db, "everybody", [tuple(row.values()) for row in people])
        problem = replace(case.problem, current=later, population=people)
        shown, judged = released(case, db), problem.judge(answer.node)
        every_class_holds(problem, shown)
        # Of the whole table only the sizes are guarded.
        guarded = all(
            bound.column is not None or bound.holds(figure) for bound, figure in judged.table_findings.items()
        )
        assert counted(shown) == counted(judged.released if guarded else [])


# -- refusals -----------------------------------------------------------------------------------------


@examples(5)
@given(st.data())
def test_nothing_to_release_is_refused(data: st.DataObject) -> None:
    """A column of NULLs, or nobody to hide among."""
    case = data.draw(cases())
    roles = [q.column for q in case.policy.quasi_identifiers] + [s.column for s in case.policy.sensitive]
    empty = data.draw(st.sampled_from([*roles, "rows"]))
    rows = case.rows[:1] if empty == "rows" else tuple({**row, empty: None} for row in case.rows)
    with warehouse(replace(case, rows=rows)) as (db, folder):
        with pytest.raises((duckanon.PolicyError, duckanon.HierarchyError)):
            run(case, db, folder)
        assert not exists(db)
