"""A small table t (a, b, c, s) under every model."""

from __future__ import annotations

import itertools
import math
from typing import Any

import duckdb
from hypothesis import strategies as st

from duckanon import Policy
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.recoding.full_domain import FullDomain
from duckanon.search.measure import Measurement, Measurer
from duckanon.search.objective import TIE
from duckanon.search.problem import Problem

# Of the table itself, and of who is a little older or of another kind: values that it need not have.
EVERYBODY = "SELECT a, b, c FROM t UNION ALL SELECT a + 1, b, c FROM t UNION ALL SELECT a, b || b, 1 - c FROM t"


def small_policy(model: str, k: int, suppression: str, more: str, sizes: str = "") -> Policy:
    """A policy over a table t (a, b, c, s); `more` is said of c, then in sections of its own, `model` of s. `sizes` are
    asked for of classes, among the population."""
    population = f"population = {{ query = '{EVERYBODY}' }}" if sizes else ""
    return Policy.parse(
        f"""
        name = "p"
        {population}
        [source]
        table = "t"
        [privacy]
        k = {k}
        suppression = {suppression}
        {sizes}
        [quasi_identifiers.a]
        hierarchy = {{ intervals = [2, 4] }}
        importance = 0.7
        [quasi_identifiers.b]
        hierarchy = {{ mask = [1, 0] }}
        [quasi_identifiers.c]
        {more}
        [release]
        kind = "table"
        to = "o"
        [sensitive.s]
        {model}
        """
    )


MODELS = [
    "",
    "l = 2",
    "entropy_l = 1.5",
    "recursive = { c = 2.5, l = 2 }",
    "t = 0.4",
    "alpha = 0.6",
    "alp = 0.6\ndif = 0.3",
    "l = 2\nalp = 0.7",
    "[sensitive.s.values.1]\nalpha = 0.4\nl = 2",
    "proximity = { epsilon = 0, m = 2 }",
    "t = { threshold = 0.25, hierarchy = { intervals = [2] } }",
    "beta = 1.5\nenhanced_beta = 0.9",
    "delta = 1.2",
    "delta = { threshold = 0.8, present_only = true }\n[sensitive.s.values.1]\ndelta = 1.1",
    "levels = { 1 = [0, 1], 2 = [2, 3] }\nlevel_l = 2\nlevel_alpha = { 1 = 0.8 }\nlevel_weight = 0.5",
]


# What may be asked of the sizes of classes.
SIZES = [
    "k_map = 6",
    "presence = { least = 0, most = 0.4 }",
    "presence = { least = 0.2, most = 0.7 }",
    "average_risk = 0.25",
    "rows_at_risk = { share = 0.2, risk = 0.3 }",
    "k_map = 9\nrows_at_risk = 0.3",
]


def policy(model: str, k: int, budget: str, loss: str, sizes: str = "") -> Policy:
    return small_policy(model, k, budget, f'[search]\nmethod = "optimal"\nloss = "{loss}"', sizes)


def holding_nodes(wanted: Policy, connection: duckdb.DuckDBPyConnection) -> list[tuple[int, ...]]:
    """The nodes that hold, of the whole lattice, each measured alone."""
    scratch = Scratch(warehouse := DuckDB.wrap(connection))
    census = take_census(wanted, bind_source(wanted, warehouse, scratch), scratch)
    problem = Problem.of(wanted, census)
    measurer = Measurer(problem)
    nodes = itertools.product(*(range(h.height + 1) for h in census.hierarchies))
    found = [node for node in nodes if measurer.measure(node).holds(problem.budget)]
    scratch.clear()
    return found


def brute_force(wanted: Policy, connection: duckdb.DuckDBPyConnection) -> tuple[float, list[tuple[int, ...]]]:
    """The least loss of all nodes, and the nodes that have it; by measuring each alone."""
    scratch = Scratch(warehouse := DuckDB.wrap(connection))
    census = take_census(wanted, bind_source(wanted, warehouse, scratch), scratch)
    problem = Problem.of(wanted, census)
    measurer, budget = Measurer(problem), problem.budget
    weights = [h.importance for h in census.hierarchies]
    found: list[tuple[float, int, tuple[int, ...]]] = []
    for node in itertools.product(*(range(h.height + 1) for h in census.hierarchies)):
        measured = measurer.measure(node)
        if not measured.holds(budget):
            continue
        recoding = FullDomain(measurer, measured)
        utility = recoding.utility()
        scratch.drop(recoding.good)
        losses = {
            "discernibility": float(utility["discernibility"]),
            "precision": _weighted(
                weights, [lv / h.height for h, lv in zip(census.hierarchies, node, strict=True)], measured
            ),
            "ncp": utility["weighted_ncp"],
        }
        found.append((losses[wanted.search.loss], measured.failing_rows, node))
    scratch.clear()
    least = min((loss for loss, _, _ in found), default=math.inf)
    tied = sorted((rows, node) for loss, rows, node in found if loss <= least * (1 + TIE) + 1e-12)
    return least, [node for _, node in tied]


def _weighted(weights: list[float], cells: list[float], measured: Measurement) -> float:
    share = measured.failing_rows / measured.rows
    return (1 - share) * sum(w * c for w, c in zip(weights, cells, strict=True)) / sum(weights) + share


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 3, 5, 7, None]),
        st.sampled_from(["aa", "ab", "ba", None]),
        st.sampled_from([0, 1]),
        st.sampled_from([0, 1, 2, 3, 3, None]),
    ),
    min_size=8,
    max_size=40,
)


def is_usable(rows: list[tuple[Any, ...]]) -> bool:
    """A column that is all NULL is refused."""
    return all(any(row[place] is not None for row in rows) for place in range(4))


def loaded(rows: list[tuple[Any, ...]]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER, s INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    return connection
