"""Random policies released again over data that has changed: modes, increments and pseudonyms against the reference."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from unittest import mock

import duckdb
from hypothesis import given
from hypothesis import strategies as st

import duckanon
from tests.support import reference as ref
from tests.support.case_warehouse import counted, every_class_holds, insert, released, warehouse
from tests.support.cases import RELEASE, SEEDS, SIZES, Case, cases, chance, table
from tests.support.examples import examples
from tests.support.reference import Value

KEY = "0123456789abcdef0123456789abcdef"


@st.composite
def later(draw: st.DrawFn, case: Case, shrinks: bool = True) -> tuple[dict[str, Value], ...]:
    """The rows of the source some time later; all their values are known to the hierarchies."""
    kept = [row for row in case.rows if not shrinks or not chance(draw, 4)]
    return (*kept, *table(case.columns, draw(SIZES), draw(SEEDS)))


def put(db: duckdb.DuckDBPyConnection, case: Case, rows: tuple[dict[str, Value], ...]) -> None:
    db.execute("DELETE FROM people")
    insert(db, "people", [tuple(row[name] for name in case.columns) for row in rows])


@examples(3)
@given(st.data(), st.sampled_from(["fixed", "monotone"]))
def test_a_mode_follows_the_last_release(data: st.DataObject, mode: str) -> None:
    case = data.draw(cases())
    text = case.toml().replace(f'"{RELEASE}"', f'"{RELEASE}", mode = "{mode}"')
    with warehouse(case) as (db, folder):
        policy = duckanon.Policy.parse(text, folder)
        first = duckanon.run(policy, db)
        if not first.good:
            return
        before, rows = released(case, db), data.draw(later(case))
        put(db, case, rows)
        second = duckanon.run(policy, db)
        if not second.good:
            assert released(case, db) == before
            return
        assert first.levels is not None
        assert second.levels is not None
        now, then = tuple(second.levels.values()), tuple(first.levels.values())
        assert now == then if mode == "fixed" else all(a >= b for a, b in zip(now, then, strict=True))
        problem = ref.Problem(case.policy, rows)
        shown = released(case, db)
        assert counted(shown) == counted(problem.judge(now).released)
        every_class_holds(problem, shown)


@examples(3)
@given(st.data())
def test_an_increment_adds_and_takes_nothing_away(data: st.DataObject) -> None:
    case = data.draw(cases())
    with warehouse(case) as (db, folder):
        policy = duckanon.Policy.parse(case.toml(), folder)
        first = duckanon.run(policy, db)
        if not first.good:
            return
        before, rows = released(case, db), data.draw(later(case, shrinks=False))
        put(db, case, rows)
        second = duckanon.run(policy, db, incremental=True)
        after = released(case, db)
        if not second.good:
            assert after == before
            return
        assert second.levels == first.levels
        assert counted(before) <= counted(after)
        assert len(after) - len(before) == second.rows["new"]
        assert first.levels is not None
        problem = ref.Problem(case.policy, rows)
        every_class_holds(problem, after)
        assert counted(problem.judge(tuple(first.levels.values())).released) <= counted(after)


def pseudonym(name: Value) -> Value:
    key = hmac.digest(KEY.encode(), b"people", hashlib.sha256)
    return None if name is None else hmac.new(key, str(name).encode(), hashlib.sha256).hexdigest()


@examples(3)
@given(cases())
def test_pseudonyms_are_released_like_columns_that_are_kept(case: Case) -> None:
    text = case.toml().replace('"identifiers" = ["name"]', '"pseudonyms" = ["name"]')
    text += 'pseudonyms = { key_env = "DUCKANON_TEST_KEY" }\n'
    shown = replace(
        case,
        policy=replace(case.policy, keep=(*case.policy.keep, "name")),
        rows=tuple({**row, "name": pseudonym(row["name"])} for row in case.rows),
    )
    with warehouse(case) as (db, folder), mock.patch.dict("os.environ", {"DUCKANON_TEST_KEY": KEY}):
        result = duckanon.run(duckanon.Policy.parse(text, folder), db)
        answer = ref.walk(shown.problem).answer
        assert result.good == (answer is not None)
        if answer is not None:
            rows = db.execute(f"FROM {RELEASE}")
            names = [column[0] for column in rows.description or ()]
            assert names == list(case.columns)
            found = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
            assert counted(found) == counted(answer.released)
