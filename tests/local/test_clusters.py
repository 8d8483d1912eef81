"""Local recoding by clusters: every class holds, no cell is lost, the loss is near that of the paper's algorithm."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any

import duckdb
import pytest

import duckanon as api
from bench.papers.han import COMPLETE, QI
from duckanon import Policy
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.local import Placement
from duckanon.local.alpha_k import alpha_k_clustering
from duckanon.local.alpha_l import alpha_l_diversification
from duckanon.local.clusters import neighbours
from duckanon.local.clusters.distance import distances_from_raw
from duckanon.local.clusters.rounds import Rounds
from duckanon.local.l_c import l_c_clustering
from duckanon.local.losses import distortion, total_information_loss
from duckanon.search import Seen
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem
from tests.support import reference
from tests.support.adult import ADULT
from tests.support.examples import MORE
from tests.support.literal_han import Clustering, weighted_distance
from tests.support.small import small_policy

Method = Callable[[Measurer, Seen], Placement | None]
METHODS: list[Method] = [alpha_k_clustering, l_c_clustering, alpha_l_diversification]
LEVELS = "levels = { 1 = [0, 1], 2 = [2], 3 = [3, 4] }"
MODELS = {
    "k": "",
    "simple": "[sensitive.s.values.1]\nalpha = 0.4",
    "general": "alpha = 0.5",
    "complete": "alpha = 0.8\n[sensitive.s.values.1]\nalpha = 0.4\n[sensitive.s.values.3]\nalpha = 0.6",
    "rare": "[sensitive.s.values.1]\nalpha = 0.2",
    "value l": "alpha = 0.7\n[sensitive.s.values.0]\nl = 4\nsensitivity = 0.9\n[sensitive.s.values.1]\nl = 3",
    "levels": LEVELS + "\nlevel_l = 3\nlevel_alpha = { 1 = 0.6 }",
    "published levels": LEVELS + '\npublish = "level"\nlevel_l = 2\nlevel_alpha = { 1 = 0.6 }\nalpha = 0.7',
    "many": "l = 3\nentropy_l = 2.0\nt = 0.4\nalpha = 0.6\nrecursive = { c = 3.0, l = 2 }",
    "not monotone": "proximity = { epsilon = 0, m = 2 }",
}
# What a value of the source is released as, at each level; a group of one value keeps its label.
LISTED = [("0", "zero", "*"), ("1", "one", "*"), ("2", "one", "*"), ("3", "3", "*")]
Row = tuple[int | None, str | None, str, int | None]


def policy(model: str, k: int, suppression: str) -> Policy:
    return small_policy(model, k, suppression, 'hierarchy = { table = "dim", columns = ["c", "group", "all"] }')


def bounded(wanted: Policy, *levels: tuple[int, int | None]) -> Policy:
    """With the levels that each column may have."""
    pairs = zip(wanted.quasi_identifiers, levels, strict=True)
    quasi = tuple(replace(q, at_least=low, at_most=high) for q, (low, high) in pairs)
    return replace(wanted, quasi_identifiers=quasi, search=replace(wanted.search, method="alpha_k_clustering"))


def labels(row: Row) -> list[list[str | None]]:
    """The texts of a row's quasi-identifiers at every level."""
    a, b, c, _ = row
    ranges = [None if a is None else f"[{a // w * w}, {a // w * w + w})" for w in (2, 4)]
    masks = [b, None if b is None else b[0] + "*", "**"]
    return [[None if a is None else str(a), *ranges, "*"], masks, list(LISTED[int(c)])]


@dataclass
class Placed:
    """A method's answer, in plain Python: the level of every quasi-identifier of each source row; None: suppressed."""

    policy: Policy
    rows: list[Row]
    levels: list[tuple[int, ...] | None]
    distortion: float
    information_loss: float
    table: list[Any]

    def released(self, row: int) -> tuple[str | None, ...]:
        levels = self.levels[row]
        assert levels is not None
        return tuple(texts[level] for texts, level in zip(labels(self.rows[row]), levels, strict=True))

    def classes(self) -> dict[tuple[str | None, ...], list[int]]:
        found: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
        for row, levels in enumerate(self.levels):
            if levels is not None:
                found[self.released(row)].append(row)
        return found


def place(method: Method, wanted: Policy, rows: list[Row], threads: int = 2) -> Placed:
    """The method's answer; it must have one."""
    found = try_to_place(method, wanted, rows, threads)
    assert found is not None
    return found


def fill(connection: duckdb.DuckDBPyConnection, rows: list[Row]) -> None:
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c VARCHAR, s INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute('CREATE TABLE dim (c VARCHAR, "group" VARCHAR, "all" VARCHAR)')
    connection.executemany("INSERT INTO dim VALUES (?, ?, ?)", LISTED)


def try_to_place(method: Method, wanted: Policy, rows: list[Row], threads: int = 2) -> Placed | None:
    with duckdb.connect(config={"threads": threads}) as connection:
        fill(connection, rows)
        scratch = Scratch(engine := DuckDB.wrap(connection))
        census = take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        placement = method(Measurer(Problem.of(wanted, census)), lambda *_: None)
        if placement is None:
            return None
        name = placement.table.sql("duckdb")
        table = connection.execute(f"FROM {name} ORDER BY ALL").fetchall()
        assert len({row[: len(placement.keys)] for row in table}) == len(table)  # no cell twice
        assert all(level in h.allowed for row in table for h, level in zip(census.hierarchies, row[-3:], strict=True))
        joins, keys = [], {}
        for hierarchy in census.hierarchies:
            alias, quasi = f"m{hierarchy.index}", hierarchy.column.name
            joins.append(f"LEFT JOIN {hierarchy.mapping.sql('duckdb')} {alias} ON {alias}.value = t.{quasi}")
            if hierarchy.coded:
                keys[hierarchy.code(hierarchy.lowest)] = f"COALESCE({alias}.code_{hierarchy.lowest}, 0)"
        value = wanted.sensitive[0]
        shown = "t.s" if value.publish == "value" else f"CASE t.s {_levels(wanted)} END"
        joins.append(f"LEFT JOIN {census.sensitive[0].table.sql('duckdb')} v ON v.value = {shown}")
        keys["s0"] = "v.code"
        same = " AND ".join(f"p.{key} IS NOT DISTINCT FROM {keys[key]}" for key in placement.keys)
        found = connection.execute(
            f"SELECT p.l0, p.l1, p.l2 FROM t {' '.join(joins)} LEFT JOIN {name} p ON {same} ORDER BY t.rowid"
        ).fetchall()
        assert len(found) == len(rows)
        losses = distortion(census, placement, wanted.search.beta), total_information_loss(census, placement)
        scratch.clear()
        left = connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert left == [("dim",), ("t",)]
    levels = [None if row[0] is None else row for row in found]
    return Placed(wanted, rows, levels, *losses, table)


def _levels(wanted: Policy) -> str:
    return " ".join(f"WHEN {value} THEN {level}" for value, level in wanted.sensitive[0].level_of.items())


def must_hold(placed: Placed) -> None:
    """Every class, by its released text, holds every class-level constraint, by the plain-Python reference."""
    given = placed.policy.sensitive[0]
    names = ("l", "entropy_l", "t", "alpha", "level_l", "level_weight")
    wanted = reference.Sensitive(given.column, **{name: given.threshold(name) for name in names})
    wanted = replace(wanted, publish=given.publish, levels=given.levels)
    wanted = replace(wanted, level_alpha=given.threshold("level_alpha") or {})
    values = {
        v: reference.OfValue(alpha=own.threshold("alpha"), l=own.threshold("l")) for v, own in given.values.items()
    }
    recursive = astuple(given.threshold("recursive")) if "recursive" in given.thresholds else None
    proximity = astuple(given.threshold("proximity")) if "proximity" in given.thresholds else None
    wanted = replace(wanted, values=values, recursive=recursive, proximity=proximity)
    source = [{"s": wanted.shown(row[3])} for row in placed.rows]
    rules = list(reference.class_rules(wanted, source))
    for members in placed.classes().values():
        assert len(members) >= placed.policy.k
        rows = [source[row] for row in members]
        for bound, figure in rules:
            assert bound.holds(figure(rows)), bound


def some_rows(seed: str) -> list[Row]:
    draw = random.Random(seed)
    return [
        (draw.choice([0, 1, 2, 3, 5, 7, 9, None]), draw.choice(["aa", "ab", "ba", "bb", None]), draw.choice("0123"),
         draw.choice([0, 1, 2, 2, 3, 3, 4]))
        for _ in range(draw.randrange(20, 90))
    ]  # fmt: skip


def top_holds(wanted: Policy, rows: list[Row]) -> bool:
    top = (3, 2, 2)
    everything = Placed(wanted, rows, [top] * len(rows), 0.0, 0.0, [])
    try:
        must_hold(everything)
    except AssertionError:
        return False
    return True


# Each method with the models it was made for, and with others that it must hold all the same.
CASES: dict[Method, list[str]] = {
    alpha_k_clustering: list(MODELS),
    l_c_clustering: ["k", "general", "value l", "many"],
    alpha_l_diversification: ["simple", "levels", "published levels", "many"],
}
BUDGETS = ["0", "0.2"]
# Every model once, with and without a budget in turn.
PLACED: list[tuple[Method, str, str]] = [
    (method, model, BUDGETS[i % 2]) for method in METHODS for i, model in enumerate(CASES[method])
]


@pytest.mark.parametrize(("method", "model", "suppression"), PLACED)
def test_every_class_holds(method: Method, model: str, suppression: str) -> None:
    seed = f"{method.__name__}{model}{suppression}"
    rows = some_rows(seed)
    wanted = policy(MODELS[model], random.Random(seed).choice([2, 3, 5]), suppression)
    placed = try_to_place(method, wanted, rows)
    if placed is None:
        assert not top_holds(wanted, rows)
        return
    must_hold(placed)
    assert placed.levels.count(None) <= wanted.budget(len(rows))


BOUNDS: list[list[tuple[int, int | None]]] = [
    [(1, None), (1, None), (0, None)],
    [(0, 2), (0, None), (0, 1)],
    [(1, 2), (2, 2), (1, 1)],
    [(3, 3), (0, 1), (2, 2)],
]


# Every bound, by every method in turn.
BOUNDED = [*zip(METHODS, BOUNDS, strict=False), (METHODS[0], BOUNDS[-1])]


@pytest.mark.parametrize(("method", "levels"), BOUNDED)
def test_within_the_levels_allowed_too_every_class_holds(method: Method, levels: list[tuple[int, int | None]]) -> None:
    rows = some_rows("bounds") * 2
    wanted = bounded(policy(MODELS["levels"], 3, "0.3"), *levels)
    placed = place(method, wanted, rows)
    must_hold(placed)
    assert placed.levels.count(None) <= wanted.budget(len(rows))


@pytest.mark.parametrize("method", METHODS)
def test_what_can_meet_nobody_is_not_released(method: Method) -> None:
    """Two rows that may not be generalized beyond what tells them from all others."""
    rows: list[Row] = [*some_rows("alone"), (40, "aa", "0", 1), (60, "aa", "0", 2)]
    levels: list[tuple[int, int | None]] = [(0, 2), (0, None), (0, None)]
    assert try_to_place(method, bounded(policy(MODELS["k"], 2, "0"), *levels), rows) is None
    placed = place(method, bounded(policy(MODELS["k"], 2, "0.5"), *levels), rows)
    must_hold(placed)
    assert placed.levels[-2:] == [None, None]


@pytest.mark.parametrize("method", METHODS)
def test_in_order_too_every_class_holds(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many clusters only those that stand close in some order are compared."""
    monkeypatch.setattr(neighbours, "ALL_PAIRS", 0)
    placed = place(method, policy(MODELS["value l"], 4, "0"), some_rows("in order"))
    must_hold(placed)
    assert None not in placed.levels


@pytest.mark.parametrize("method", METHODS)
def test_the_same_whatever_the_threads(method: Method) -> None:
    rows = some_rows("threads")
    wanted = policy(MODELS["value l"], 4, "0")
    assert place(method, wanted, rows, threads=1).table == place(method, wanted, rows, threads=4).table


def test_identical_rows_of_one_value_need_others() -> None:
    """A cell goes whole to one class: five rows of the bounded value, alike, must be diluted."""
    rows: list[Row] = [(1, "aa", "0", 1) for _ in range(5)]
    rows += [(age, "ab", "1", 2 + age % 3) for age in range(12)]
    placed = place(alpha_k_clustering, policy("[sensitive.s.values.1]\nalpha = 0.4", 3, "0"), rows)
    must_hold(placed)
    assert None not in placed.levels


def test_nothing_feasible_is_said() -> None:
    rows: list[Row] = [(1, "aa", "0", 1), (1, "aa", "0", 1), (1, "aa", "0", 1), (2, "ab", "1", 2)]
    assert try_to_place(alpha_k_clustering, policy("alpha = 0.5", 2, "0"), rows) is None


# -- losses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [[(0, None)] * 3, [(1, None), (0, None), (1, None)], [(3, 3), (1, 2), (2, None)]])
@pytest.mark.parametrize("suppression", ["0", "0.3"])
def test_losses_equal_plain_python(suppression: str, levels: list[tuple[int, int | None]]) -> None:
    rows = some_rows("losses" + suppression)
    placed = place(alpha_k_clustering, bounded(policy(MODELS["complete"], 3, suppression), *levels), rows)
    heights = (3, 2, 2)
    ages = [row[0] for row in rows if row[0] is not None]
    expected = expected_loss = 0.0
    for of_row in placed.levels:
        expected += sum(1 if of_row is None else level / h for level, h in zip(of_row or heights, heights, strict=True))
    for members in placed.classes().values():
        held = {rows[row][0] for row in members}
        numbers = [age for age in held if age is not None]
        mixed = None in held and bool(numbers)
        share = 1.0 if mixed else (max(numbers) - min(numbers)) / (max(ages) - min(ages)) if numbers else 0.0
        for row in members:
            at = placed.levels[row]
            assert at is not None
            expected_loss += share + at[1] / 2 + at[2] / 2
    expected_loss += 3 * placed.levels.count(None)
    assert placed.distortion == pytest.approx(expected)
    assert placed.information_loss == pytest.approx(expected_loss)


@pytest.mark.unit
@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_distances_are_those_of_the_paper(beta: float) -> None:
    for height in range(1, 6):
        expected = [weighted_distance(height, 0, level, beta) for level in range(height + 1)]
        assert distances_from_raw(height, beta) == pytest.approx(expected)
    # Near the top a step weighs more, if β > 0: 1/1^β against 1/2^β for two steps.
    assert distances_from_raw(2, 1.0) == pytest.approx([0, 1 / 3, 1])


# -- yang's clusters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["general", "value l", "many"])
def test_l_c_loses_no_more_than_alpha_k(model: str) -> None:
    wanted = policy(MODELS[model], 3, "0.2")
    for seed in range(MORE):
        rows = some_rows(f"lost {model} {seed}") * 2
        lost = {method: ncp_of(method, wanted, rows) for method in METHODS[:2]}
        assert lost[l_c_clustering] <= lost[alpha_k_clustering] + 1e-9


def ncp_of(method: Method, wanted: Policy, rows: list[Row]) -> float:
    """As a run tells it."""
    wanted = replace(wanted, search=replace(wanted.search, method=method.__name__))
    with duckdb.connect() as connection:
        fill(connection, rows)
        utility = api.run(wanted, connection, dry_run=True).utility
    assert utility is not None
    return float(utility["ncp"])


def test_the_most_sensitive_are_served_first(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[str, int]] = []
    serve = Rounds.serve_first

    def watched(rounds: Rounds, those: str) -> None:
        serve(rounds, those)
        asked = f"SELECT COUNT(*) FROM {rounds.clusters.name('clusters')} a WHERE a.failing AND {those}"
        served.append((those, *rounds.clusters.workbench.fetch(asked)[0]))

    monkeypatch.setattr(Rounds, "serve_first", watched)
    graded = "l = 2" + "".join(f"\n[sensitive.s.values.{v}]\nsensitivity = {s}" for v, s in ((3, 0.2), (0, 0.9)))
    must_hold(place(l_c_clustering, policy(graded, 3, "0.2"), some_rows("served")))
    assert [those for those, _ in served] == ["a.u0 >= 0.9", "a.u0 >= 0.2"]
    assert all(waiting <= 2 for _, waiting in served)


# -- against the literal algorithm ------------------------------------------------------------------------

HAN_TABLE_2 = [
    ("1975.1.1", "HIV"), ("1975.2.1", "Flu"), ("1975.3.1", "Fever"),
    ("1975.1.2", "Cancer"), ("1975.1.3", "Cancer"), ("1975.1.4", "Flu"), ("1975.1.5", "HIV"),
]  # fmt: skip


@pytest.mark.unit
def test_the_literal_algorithm_on_the_rows_of_han_table_2() -> None:
    """With α = 0.4 for HIV alone two classes are possible; with 0.4 for every value Cancer must part (table 3)."""
    births = {birth: [birth, birth[:6] + ".*", "1975.*.*", "*"] for birth, _ in HAN_TABLE_2}
    rows = [((birth,), illness) for birth, illness in HAN_TABLE_2]
    for alpha in ({"HIV": 0.4}, dict.fromkeys(["HIV", "Flu", "Fever", "Cancer"], 0.4)):
        for seed in range(5):
            literal = Clustering(rows, [births], 3, alpha)
            classes, suppressed = literal.run(seed)
            assert sorted([row for c in classes for row in c.rows] + suppressed) == list(range(7))
            for c in classes:
                assert len(c.rows) >= 3
                assert all(count / len(c.rows) <= alpha.get(s, 1.0) for s, count in c.sensitive.items())


@pytest.mark.unit
def test_constraint_1_counts_at_least_k_rows() -> None:
    """Of k = 5 rows two may be HIV at 0.4, so two HIV rows may merge while the class is small; three may not."""
    rows = [(("x",), "HIV"), (("x",), "HIV"), (("x",), "HIV")]
    literal = Clustering(rows, [{"x": ["x", "*"]}], 5, {"HIV": 0.4})
    one, two, three = (literal.single(row) for row in range(3))
    assert literal.compatible(one, two)
    assert not literal.compatible(literal.merged(one, two), three)


@pytest.mark.unit
def test_distance_of_classes_is_eq_7() -> None:
    """(2 rows at level 1) and (1 raw row) meeting at level 2 of 2: 2 · 1/2 + 1 · 1."""
    ages = {str(age): [str(age), "young" if age < 30 else "old", "*"] for age in (20, 25, 40)}
    literal = Clustering([(("20",), "a"), (("25",), "a"), (("40",), "b")], [ages], 3, {})
    young = literal.merged(literal.single(0), literal.single(1))
    assert young.levels == (1,)
    assert literal.distance(young, literal.single(2)) == pytest.approx(2.0)
    assert literal.distance(literal.single(0), literal.single(1)) == pytest.approx(1.0)


@pytest.mark.adult
def test_adult_loses_no_more_than_the_literal_algorithm() -> None:
    names = ", ".join(f'"{name}"' for name in QI)
    sections = "".join(f'[quasi_identifiers.{n}]\nhierarchy = "adult_hierarchy_{n}.csv"\n' for n in QI)
    bounds = "".join(f"[sensitive.occupation.values.{v}]\nalpha = {alpha}\n" for v, alpha in COMPLETE.items())
    wanted = Policy.parse(
        'name = "p"\n[source]\ntable = "sample"\n[privacy]\nk = 5\n[release]\nkind = "table"\nto = "o"\n'
        + sections
        + bounds,
        ADULT,
    )
    with duckdb.connect() as connection:
        numbered = f"SELECT *, row_number() OVER () AS i FROM read_csv('{ADULT / 'adult.csv'}', delim = ';')"
        connection.execute(
            f"CREATE TABLE sample AS SELECT {names}, occupation FROM ({numbered}) ORDER BY md5(i::VARCHAR) LIMIT 1000"
        )
        texts = ", ".join(f'"{name}"::VARCHAR' for name in QI)
        rows = connection.execute(f"SELECT {texts}, occupation FROM sample").fetchall()
        scratch = Scratch(engine := DuckDB.wrap(connection))
        census = take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        placement = alpha_k_clustering(Measurer(Problem.of(wanted, census)), lambda *_: None)
        assert placement is not None
        lost = distortion(census, placement, wanted.search.beta)
    hierarchies = []
    for name in QI:
        with (ADULT / f"adult_hierarchy_{name}.csv").open(encoding="utf-8") as file:
            hierarchies.append({row[0]: row for row in csv.reader(file, delimiter=";")})
    literal = Clustering([(row[:-1], row[-1]) for row in rows], hierarchies, 5, COMPLETE)
    assert lost <= 1.05 * literal.total_distortion(*literal.run())
