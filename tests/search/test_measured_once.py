"""No node is asked twice, by itself, for what it is like."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.policy import Policy
from duckanon.search import search
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem

POLICY = """
name = "once"
[source]
table = "people"
[privacy]
k = 3
[quasi_identifiers.age]
hierarchy = {{ intervals = [5, 10, 20] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [3, 2, 0] }}
[sensitive.ill]
alp = 0.6
dif = 0.4
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""


@pytest.mark.parametrize("method", ["greedy", "optimal", "datafly"])
def test_of_every_search(method: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT 20 + i * 7 % 40 AS age, CAST(1000 + i * 13 % 50 AS VARCHAR) AS zip, "
        "['flu', 'cold', 'HIV'][1 + i % 3] AS ill FROM range(200) r(i)"
    )
    policy, engine = Policy.parse(POLICY.format(method=method)), DuckDB.wrap(connection)
    scratch = Scratch(engine)
    measurer = Measurer(Problem.of(policy, take_census(policy, bind_source(policy, engine, scratch), scratch)))
    with engine.traced() as executed:
        assert search(measurer, lambda *_: None).answer is not None
    asked = Counter(part.note for part in executed if part.note.startswith("check: "))
    assert asked
    assert set(asked.values()) == {1}
