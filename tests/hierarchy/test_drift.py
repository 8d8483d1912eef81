"""What the policy did not foresee: values that no hierarchy knows, new columns, new sensitive values.

The random tables are checked against plain Python: the labels of every row, its class, and what is lost.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import duckanon as api
from duckanon import Policy
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.search.batch import BatchMeasurer
from duckanon.search.measure import Measurer
from duckanon.search.objective import objective
from duckanon.search.problem import Problem
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE

TREE = {city: ("north" if city < "c" else "south", "*") for city in "abcdef"}
CITIES = ["a", "a", "b", "c", "d", "d", None, "Atlantis", "Ys"]
BORN = ["1980-01-05", "1980-01-09", "1980-02-01", "1981-07-07", "1981-07-08", None, "soon", "infinity"]
PAID = [0.5, 1.5, 2.5, 11.0, 12.5, 13.0, None, math.inf, -math.inf]

TOML = """
name = "drift"
[source]
table = "people"
[privacy]
k = {k}
suppression = {budget}
unmapped = "{unmapped}"
[quasi_identifiers.city]
hierarchy = "tree.csv"
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year"] }}
[quasi_identifiers.paid]
hierarchy = {{ intervals = [5, 10] }}
[sensitive.disease]
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "shown"
"""

# The suite tries the same tables every time; PROPERTY_EXAMPLES=20 tries twenty times as many.
SEEDS = int(os.environ.get("PROPERTY_EXAMPLES", "1"))

Row = tuple[Any, ...]
HEIGHTS = (2, 3, 3)
UNKNOWN = object()


@dataclass(frozen=True)
class Case:
    rows: tuple[Row, ...]
    k: int
    budget: int

    def labels(self, row: Row, node: Row, top: bool) -> Row | None:
        """A row as the node shows it; None: it has a value that a hierarchy does not know."""
        shown = []
        for value, level, label, height in zip(row, node, LABELS, HEIGHTS, strict=False):
            found = None if value is None else label(value, level)
            if found is UNKNOWN and not top:
                return None
            shown.append("*" if level == height or found is UNKNOWN else found)
        return tuple(shown)

    def released(self, node: Row, top: bool) -> Counter[Row]:
        """What is released at a node: the rows of every class of at least k, by label and disease."""
        shown = [(self.labels(row, node, top), row[3]) for row in self.rows]
        sizes = Counter(labels for labels, _ in shown)
        return Counter((*labels, s) for labels, s in shown if labels is not None and sizes[labels] >= self.k)

    def holds(self, node: Row, top: bool) -> bool:
        released = self.released(node, top).total()
        return released > 0 and len(self.rows) - released <= self.budget

    def ncp(self, node: Row, top: bool) -> float:
        """The NCP of a node; a suppressed row, and a cell that shows the top, costs 1."""
        released, lost = self.released(node, top), 0.0
        for cells, n in released.items():
            lost += n * sum(self.cost(i, label, node[i], top) for i, label in enumerate(cells[:3]))
        return (lost + 3 * (len(self.rows) - released.total())) / (3 * len(self.rows))

    def height(self, node: Row, top: bool) -> float:
        """1 − precision: the levels over the heights; a suppressed row is at the top."""
        share = self.released(node, top).total() / len(self.rows)
        return float(share * sum(level / most for level, most in zip(node, HEIGHTS, strict=True)) / 3 + 1 - share)

    def discernibility(self, node: Row, top: bool) -> float:
        sizes: Counter[Row] = Counter()
        for cells, n in self.released(node, top).items():
            sizes[cells[:3]] += n
        return sum(n * n for n in sizes.values()) + (len(self.rows) - sizes.total()) * len(self.rows)

    @lru_cache  # noqa: B019 - a case lives as long as its test
    def cost(self, index: int, label: Any, level: int, top: bool) -> float:
        if label == "*":
            return 1.0
        if label is None or level == 0:
            return 0.0
        rows = [row for row in self.rows if top or self.labels(row, (0, 0, 0), top) is not None]
        values = {row[index] for row in rows}
        if index == 0:
            listed = {city for city in TREE if TREE[city][level - 1] == label}
            return len(listed) / (len(TREE) + (None in values)) if len(listed) > 1 else 0.0
        if index == 1:
            held = {value for value in values if value is not None and born(value, level) == label}
            return len(held) / len(values) if len(held) > 1 else 0.0
        known = [value for value in values if value is not None and math.isfinite(value)]
        span = max(known) - min(known)
        return min(1.0, (5, 10)[level - 1] / span) if span else 1.0


def city(value: str, level: int) -> Any:
    return UNKNOWN if value not in TREE else (value, *TREE[value])[level]


def born(value: str, level: int) -> Any:
    return UNKNOWN if value in ("soon", "infinity") else (value, value[:7], value[:4], "*")[level]


def paid(value: float, level: int) -> Any:
    if not math.isfinite(value):
        return UNKNOWN
    lower = [math.floor(value / width) * width for width in (5, 10)]
    return (value, f"[{lower[0]}, {lower[0] + 5})", f"[{lower[1]}, {lower[1] + 10})", "*")[level]


LABELS: tuple[Callable[[Any, int], Any], ...] = (city, born, paid)


def a_case(seed: int) -> Case:
    random = Random(seed)
    strange = random.choice([0.02, 0.1, 0.3])  # how often a value is one that the hierarchy does not know

    def draw(values: list[Any]) -> Any:
        return random.choice(values[-2:] if random.random() < strange else values[:-2])

    rows = [(draw(CITIES), draw(BORN), draw(PAID), random.choice("xyz")) for _ in range(random.randint(30, 60))]
    budget = random.choice([0, 5, 20, 40])
    return Case((*rows, ("a", "1980-01-05", 0.5, "x"), ("b", "1980-01-09", 2.5, "y")), random.choice([2, 3]), budget)


def warehouse(case: Case, folder: Path) -> duckdb.DuckDBPyConnection:
    lines = [",".join((value, *parents)) for value, parents in TREE.items()]
    (folder / "tree.csv").write_text("\n".join(["level_0,level_1,level_2", *lines]))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people (city VARCHAR, born VARCHAR, paid DOUBLE, disease VARCHAR)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", case.rows)
    return connection


def text(row: Row) -> Row:
    """As a release shows it: numbers at level 0 are texts where the top may stand among them."""
    return tuple(str(cell) if isinstance(cell, float) else cell for cell in row)


@pytest.mark.parametrize("method", ["greedy", "optimal"])
@pytest.mark.parametrize("unmapped", ["suppress", "top"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_tables_with_values_that_no_hierarchy_knows(
    seed: int, unmapped: str, method: str, tmp_path: Path
) -> None:
    case, top = a_case(seed), unmapped == "top"
    toml = TOML.format(k=case.k, budget=case.budget, unmapped=unmapped, method=method, kind="table")
    with warehouse(case, tmp_path) as connection:
        policy = Policy.parse(toml, tmp_path)
        result = api.run(policy, connection)
        nodes = list(itertools.product(*(range(height + 1) for height in HEIGHTS)))
        good = [n for n in nodes if case.holds(n, top)]
        if result.levels is None:
            assert result.status == "infeasible"
            assert not good
            return
        rows = connection.execute("SELECT city, born, paid, disease FROM shown").fetchall()
        assert result.utility is not None
        node = tuple(result.levels.values())
        assert Counter(map(text, rows)) == Counter({text(row): n for row, n in case.released(node, top).items()})
        assert min(Counter(row[:3] for row in rows).values()) >= case.k
        assert result.rows == {
            "source": len(case.rows), "released": len(rows), "suppressed": len(case.rows) - len(rows)
        }  # fmt: skip
        assert len(case.rows) - len(rows) <= case.budget
        assert result.utility["ncp"] == pytest.approx(case.ncp(node, top))
        if method == "optimal":
            assert result.utility["ncp"] == pytest.approx(min(case.ncp(node, top) for node in good))
        checked = api.check(policy, connection, release=True)
        assert checked.status == "holds"
        assert checked.rows == result.rows
        # Labels of one level may be labels of another; where they are not, the check finds the same levels.
        if checked.levels == result.levels:
            assert checked.utility is not None
            assert checked.utility["ncp"] == pytest.approx(result.utility["ncp"])


@pytest.mark.parametrize("unmapped", ["suppress", "top"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_the_optimal_search_minimizes(seed: int, unmapped: str, tmp_path: Path) -> None:
    """At every node the loss is that of plain Python, and the bound is not above it."""
    case, top = a_case(seed), unmapped == "top"
    toml = TOML.format(k=case.k, budget=case.budget, unmapped=unmapped, method="optimal", kind="table")
    policy = Policy.parse(toml, tmp_path)
    with warehouse(case, tmp_path) as connection:
        scratch = Scratch(engine := DuckDB.wrap(connection))
        census = take_census(policy, bind_source(policy, engine, scratch), scratch)
        survey = BatchMeasurer(Measurer(Problem.of(policy, census)))
        surveyed = survey.measure(list(itertools.product(*(range(height + 1) for height in HEIGHTS))))
        for loss, expected in (("ncp", case.ncp), ("precision", case.height), ("discernibility", case.discernibility)):
            aim = objective(survey, loss)
            for found, lost in zip(surveyed, aim.loss(surveyed), strict=True):
                assert lost == pytest.approx(expected(found.node, top))
                assert aim.bound(found.node, found.failing_rows) <= lost * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("method", ["climb", "alpha_k_clustering"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_local_recoding_suppresses_them(seed: int, method: str, tmp_path: Path) -> None:
    case = a_case(seed)
    toml = TOML.format(k=case.k, budget=case.budget, unmapped="suppress", method=method, kind="table")
    with warehouse(case, tmp_path) as connection:
        result = api.run(Policy.parse(toml, tmp_path), connection)
        if result.status == "infeasible":
            assert not case.holds(HEIGHTS, False)
            return
        rows = connection.execute("SELECT city, born, paid, disease FROM shown").fetchall()
    assert result.status == "released"
    assert min(Counter(row[:3] for row in rows).values()) >= case.k
    assert len(rows) <= case.released(HEIGHTS, False).total()
    assert len(case.rows) - len(rows) == result.rows["suppressed"] <= case.budget


@pytest.mark.parametrize("unmapped", ["suppress", "top"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_view_over_data_that_drifts(seed: int, unmapped: str, tmp_path: Path) -> None:
    case, later, top = a_case(seed), a_case(seed + 100), unmapped == "top"
    toml = TOML.format(k=case.k, budget=len(case.rows) - 1, unmapped=unmapped, method="greedy", kind="view")
    with warehouse(case, tmp_path) as connection:
        result = api.run(Policy.parse(toml, tmp_path), connection)
        assert result.levels is not None
        node = tuple(result.levels.values())
        assert shown(connection) == expected(case, node, top)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", later.rows)
        both = Case(case.rows + later.rows, case.k, 0)
        assert shown(connection) == expected(both, node, top)


def shown(connection: duckdb.DuckDBPyConnection) -> Counter[Row]:
    return Counter(map(text, connection.execute("SELECT city, born, paid, disease FROM shown").fetchall()))


def expected(case: Case, node: Row, top: bool) -> Counter[Row]:
    return Counter({text(row): n for row, n in case.released(node, top).items()})


# -- what is said ---------------------------------------------------------------------------------

CITY = PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')


@pytest.fixture
def drifted(people: Folder) -> Folder:
    """200 people, of whom 15 have a sex that the hierarchy does not list."""
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")
    people.sql("UPDATE people SET sex = CASE WHEN age = 20 THEN 'secret' ELSE 'hidden' END WHERE age IN (20, 27, 34)")
    return people


def policy(unmapped: str, budget: str = "0.1") -> str:
    return CITY.replace("suppression = 0.1", f'suppression = {budget}\nunmapped = "{unmapped}"')


def test_an_error_unless_the_policy_says_otherwise(drifted: Folder, duckanon: Command) -> None:
    for text in (CITY, policy("error")):
        told = duckanon("run", drifted.policy(text))
        assert told.code == 2
        assert "does not map 2 values of the source (15 rows)" in told.err


@pytest.mark.parametrize(("unmapped", "fate"), [("suppress", "suppressed"), ("top", "shown as the top")])
def test_a_warning_says_how_many(unmapped: str, fate: str, drifted: Folder, duckanon: Command) -> None:
    told = duckanon("run", drifted.policy(policy(unmapped)), "--json")
    assert told.code == 0, told.err
    (warning,) = told.json["warnings"]
    assert "quasi_identifiers.sex: the hierarchy does not know 2 values (15 rows)" in warning
    assert fate in warning
    assert "secret" not in told.out
    values = {row[0] for row in drifted.sql("SELECT DISTINCT sex FROM people_anonymous")}
    assert not values & {"secret", "hidden"}


def test_beyond_the_budget_there_is_no_release(drifted: Folder, duckanon: Command) -> None:
    told = duckanon("run", drifted.policy(policy("suppress", "14")), "--json")
    assert told.code == 1
    reasons = " ".join(told.json["reasons"])
    assert "quasi_identifiers.sex: the hierarchy does not know 2 values (15 rows)" in reasons
    assert "15 rows would be suppressed, the budget is 14" in reasons
    assert "secret" not in told.out
    assert drifted.sql("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'people_anonymous'") == [(0,)]


def test_the_search_has_what_is_left_of_the_budget(drifted: Folder, duckanon: Command) -> None:
    told = duckanon("run", drifted.policy(policy("suppress", "15")), "--json")
    assert told.code == 0
    assert told.json["rows"] == {"source": 200, "released": 185, "suppressed": 15}


@pytest.mark.parametrize("unmapped", ["suppress", "top"])
def test_a_hierarchy_that_knows_nothing_is_the_wrong_one(unmapped: str, drifted: Folder, duckanon: Command) -> None:
    (drifted.path / "sex.csv").write_text("level_0,level_1\nmale,*\nfemale,*\n")
    assert duckanon("run", drifted.policy(policy(unmapped, "199"))).code == 2


def test_the_top_must_be_alone(drifted: Folder, duckanon: Command) -> None:
    (drifted.path / "sex.csv").write_text("level_0,level_1,level_2\nF,*,*\nM,M,*\n")
    told = duckanon("run", drifted.policy(policy("top")))
    assert told.code == 2
    assert "below its top" in told.err
    assert duckanon("run", drifted.policy(policy("suppress"))).code == 0


def test_local_recoding_shows_no_tops(drifted: Folder, duckanon: Command) -> None:
    told = duckanon("run", drifted.policy(policy("top") + '[search]\nmethod = "climb"\n'))
    assert told.code == 2
    assert "privacy.unmapped" in told.err


@pytest.mark.parametrize("unmapped", ["suppress", "top"])
def test_other_commands(unmapped: str, drifted: Folder, duckanon: Command) -> None:
    path = drifted.policy(policy(unmapped))
    assert duckanon("check", path).code == 1
    told = duckanon("hierarchy", path, "sex")
    assert told.code == 0
    assert "2 values (15 rows) unmapped" in told.out
    assert duckanon("sql", path).code == 0


def test_a_new_column_stops_the_export(people: Folder, duckanon: Command) -> None:
    path = people.policy(PEOPLE)
    assert duckanon("run", path).code == 0
    people.sql("ALTER TABLE people ADD COLUMN phone VARCHAR DEFAULT '617'")
    before = people.sql("FROM people_anonymous")
    told = duckanon("run", path)
    assert told.code == 2
    assert "phone: is a column of the source without a role" in told.err
    assert people.sql("FROM people_anonymous") == before


def test_a_new_sensitive_value_takes_the_threshold_of_its_column(people: Folder, duckanon: Command) -> None:
    wanted = PEOPLE.replace("l = 2", "alpha = 0.6\n[sensitive.disease.values.flu]\nalpha = 0.9")
    path = people.policy(wanted)
    assert duckanon("run", path).code == 0
    people.sql("UPDATE people SET disease = 'new' WHERE name < 'person 80'")  # most of them
    told = duckanon("run", path, "--json")
    assert told.code == 1
    assert "alpha 0.6 cannot hold for 'new'" in " ".join(told.json["reasons"])
