"""The analysts' macros: sql/macros.sql, in DuckDB alone."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import metrics_reference as reference
from tests.support.examples import examples
from tests.support.needs import duckdb_shell
from tests.support.paths import MACROS

CONTRACT = {
    "classes": ("tbl", "qi"),
    "k_anonymity": ("tbl", "qi"),
    "class_sizes": ("tbl", "qi"),
    "risk": ("tbl", "qi", "k"),
    "k_map": ("tbl", "qi", "population"),
    "presence": ("tbl", "qi", "population"),
    "journalist_risk": ("tbl", "qi", "population", "k"),
    "row_risk": ("tbl", "qi"),
    "column_risk": ("tbl", "qi"),
    "l_diversity": ("tbl", "qi", "sensitive"),
    "recursive_diversity": ("tbl", "qi", "sensitive", "l"),
    "alpha": ("tbl", "qi", "sensitive"),
    "leakage": ("tbl", "qi", "sensitive"),
    "association": ("tbl", "qi", "sensitive"),
    "homogeneity": ("tbl", "qi", "sensitive"),
    "skewness": ("tbl", "qi", "sensitive", "c"),
    "t_closeness": ("tbl", "qi", "sensitive"),
    "t_closeness_to": ("tbl", "qi", "sensitive", "reference"),
    "t_closeness_by": ("tbl", "qi", "sensitive", "hierarchy", "reference"),
    "beta_likeness": ("tbl", "qi", "sensitive", "reference"),
    "delta_disclosure": ("tbl", "qi", "sensitive", "reference"),
    "value_diversity": ("tbl", "qi", "sensitive"),
    "proximity": ("tbl", "qi", "sensitive", "epsilon"),
    "people": ("tbl", "qi", "entity"),
    "people_diversity": ("tbl", "qi", "sensitive", "entity"),
    "people_value_diversity": ("tbl", "qi", "sensitive", "entity"),
    "people_leakage": ("tbl", "qi", "sensitive", "entity"),
    "k_violations": ("tbl", "qi", "k"),
    "l_violations": ("tbl", "qi", "sensitive", "l"),
    "alpha_violations": ("tbl", "qi", "sensitive", "alpha"),
    "distinction": ("tbl", "columns", "most"),
    "utility": ("source", "release", "qi"),
    "roll_up": ("tbl", "col", "hierarchy", "level"),
}
OUTPUT = {
    "classes": ["a", "b", "class_size"],
    "k_anonymity": ["k", "classes", "row_count", "unique_rows", "average_class_size"],
    "class_sizes": ["class_size", "classes", "row_count"],
    "risk": ["highest_risk", "average_risk", "rows_at_risk", "unique_rows"],
    "k_map": ["k_map", "classes", "row_count", "population_rows", "covered_rows"],
    "presence": ["least_presence", "most_presence"],
    "journalist_risk": ["highest_risk", "average_risk", "rows_at_risk"],
    "row_risk": ["a", "b", "s", "class_size", "risk"],
    "column_risk": ["column_name", "unique_rows_without", "unique_rows_added"],
    "l_diversity": ["distinct_l", "entropy_l", "classes"],
    "recursive_diversity": ["c"],
    "alpha": ["value", "row_count", "frequency", "alpha"],
    "leakage": ["value", "row_count", "alp", "highest_lp", "dif"],
    "association": ["value", "a", "b", "class_size", "weight"],
    "homogeneity": ["homogeneous_classes", "homogeneous_rows", "expected_classes"],
    "skewness": ["skewed_classes", "skewed_rows"],
    "t_closeness": ["t"],
    "t_closeness_to": ["t"],
    "t_closeness_by": ["t"],
    "beta_likeness": ["beta", "enhanced_beta"],
    "delta_disclosure": ["delta", "present_delta"],
    "value_diversity": ["value", "row_count", "distinct_l"],
    "proximity": ["share"],
    "people": ["k", "classes", "people", "row_count", "unique_people", "average_people"],
    "people_diversity": ["distinct_l", "entropy_l", "classes", "homogeneous_classes", "homogeneous_people"],
    "people_value_diversity": ["value", "people", "distinct_l"],
    "people_leakage": ["value", "people", "alp", "highest_lp", "dif"],
    "k_violations": ["a", "b", "class_size"],
    "l_violations": ["a", "b", "class_size", "distinct_l"],
    "alpha_violations": ["a", "b", "class_size", "highest_frequency"],
    "distinction": ["columns", "distinct_values", "unique_rows", "unique_share"],
    "utility": ["measure", "column", "source", "release", "ratio"],
    "roll_up": ["a", "b", "s", "rolled_up"],
}
OF_CLASSES = ["classes", "k_anonymity", "class_sizes", "risk", "row_risk", "column_risk", "k_violations"]
OF_POPULATION = [name for name, parameters in CONTRACT.items() if "population" in parameters]
BY_HIERARCHY = [name for name, parameters in CONTRACT.items() if "hierarchy" in parameters]
OF_VALUES = [name for name, of in CONTRACT.items() if "sensitive" in of and name not in BY_HIERARCHY]
OF_PEOPLE = [name for name, parameters in CONTRACT.items() if "entity" in parameters]
# What some macros need besides.
BEYOND_QI = {"t_closeness_to": ", 't'", "proximity": ", 1"} | dict.fromkeys(OF_PEOPLE, ", 's'")
BEYOND_QI |= dict.fromkeys(OF_POPULATION, ", 't'")

Rows = list[dict[str, Any]]


def literal(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Database:
    """A database with the macros, and one table at a time."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(MACROS.read_text(encoding="utf-8"))

    def sql(self, statement: str, parameters: list[object] | None = None) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, parameters).fetchall()

    def one(self, statement: str) -> Any:
        [[value]] = self.sql(statement)
        return value

    def columns(self, statement: str) -> list[str]:
        return [column[0] for column in self.connection.execute(statement).description]

    def table(self, rows: Rows, columns: dict[str, str], name: str = "t") -> None:
        """Replace a table by these rows; columns are name and type."""
        typed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        self.sql(f"CREATE OR REPLACE TABLE {name} ({typed})")
        if rows:
            lists = [[row[column] for row in rows] for column in columns]
            self.sql(
                f"INSERT INTO {name} SELECT " + ", ".join(f"unnest(?::{kind}[])" for kind in columns.values()),
                list(lists),
            )

    def clear(self) -> None:
        self.sql("RESET threads")
        for [schema] in self.sql("SELECT schema_name FROM duckdb_schemas() WHERE NOT internal"):
            if schema not in ("main", "duckanon"):
                self.sql(f"DROP SCHEMA {schema} CASCADE")
        for kind in ("table", "view"):
            for [name] in self.sql(f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE NOT internal"):
                self.sql(f"DROP {kind} {quoted(name)}")

    def papers(self, text: str) -> None:
        """A table as the papers print it: cells of text separated by |, column names first."""
        header, *lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().split("\n")]
        rows = [dict(zip(header, line, strict=True)) for line in lines]
        self.table(rows, dict.fromkeys(header, "VARCHAR"))


SHARED = Database()


@pytest.fixture
def db() -> Database:
    """A database with nothing in it but the macros."""
    SHARED.clear()
    return SHARED


# Random small tables against the definitions ------------------------------------------------------

COLUMNS = {"a": "INTEGER", "b": "VARCHAR", "s": "VARCHAR", "v": "DECIMAL(9, 2)", "w": "DOUBLE"}
QI = ["a", "b"]


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Up to 14 rows of few values, NULLs included."""
    cell = {
        "a": st.sampled_from([None, 1, 2]),
        "b": st.sampled_from([None, "", "x"]),
        "s": st.sampled_from([None, "flu", "HIV", "can'cer", "a\nb"]),
        "v": st.sampled_from([None, 0, 1, 2, 5, 9, -3]),
        "w": st.sampled_from([None, 0.0, 0.1, 0.2, 0.3, 1e6, -1.5]),
    }
    return draw(st.lists(st.fixed_dictionaries(cell), max_size=14))


def property_test(check: Callable[[Rows], None]) -> Callable[[], None]:
    """A check of the macros on the table t, against random tables."""

    @examples(20)
    @given(tables())
    def test(rows: Rows) -> None:
        SHARED.table(rows, COLUMNS)
        check(rows)

    return test


def close(expected: float | None) -> object:
    return None if expected is None else pytest.approx(expected, abs=1e-10)


def each(expected: dict[Any, float]) -> object:
    return {key: close(value) for key, value in expected.items()}


def check_classes(rows: Rows) -> None:
    found = {row[:-1]: row[-1] for row in SHARED.sql("FROM duckanon.classes('t', ['a', 'b'])")}
    assert found == {key: len(members) for key, members in reference.classes(rows, QI).items()}


def check_k(rows: Rows) -> None:
    [[k, classes, row_count, unique_rows, average]] = SHARED.sql("FROM duckanon.k_anonymity('t', ['a', 'b'])")
    sizes = reference.class_sizes(rows, QI)
    assert (k, classes, row_count) == (reference.k(rows, QI), sizes.total(), len(rows))
    assert (unique_rows, average) == (sizes[1], close(len(rows) / sizes.total()) if rows else None)
    histogram = SHARED.sql("FROM duckanon.class_sizes('t', ['a', 'b'])")
    assert histogram == [(size, sizes[size], size * sizes[size]) for size in sorted(sizes)]


def check_risk(rows: Rows) -> None:
    found = SHARED.sql("FROM duckanon.risk('t', ['a', 'b'], k := 3)")
    expected = reference.risk(rows, QI, 3)
    assert found == [(close(expected.highest), close(expected.average), *expected[2:])]


def check_population(rows: Rows) -> None:
    """Of a population that has some of the rows several times, and others."""
    population = [*rows[::2] * 3, *({**row, "a": 2, "b": "y"} for row in rows)]
    SHARED.table(population, COLUMNS, "everybody")
    expected, call = reference.beside(rows, population, QI, 3), "('t', ['a', 'b'], 'everybody'"
    sizes = (len(reference.classes(rows, QI)), len(rows), len(population))
    assert SHARED.sql(f"FROM duckanon.k_map{call})") == [(expected.k_map, *sizes, expected.covered_rows)]
    bounds = (close(expected.least_presence), close(expected.most_presence))
    assert SHARED.sql(f"FROM duckanon.presence{call})") == [bounds]
    risk = (close(expected.highest_risk), close(expected.average_risk), expected.rows_at_risk)
    assert SHARED.sql(f"FROM duckanon.journalist_risk{call}, k := 3)") == [risk]


def check_l(rows: Rows) -> None:
    [[distinct_l, entropy_l, classes]] = SHARED.sql("FROM duckanon.l_diversity('t', ['a', 'b'], 's')")
    assert distinct_l == reference.distinct_l(rows, QI, "s")
    assert entropy_l == close(reference.entropy_l(rows, QI, "s"))
    assert classes == len(reference.classes(rows, QI))


def check_recursive(rows: Rows) -> None:
    for least in (1, 2, 3):
        found = SHARED.one(f"FROM duckanon.recursive_diversity('t', ['b'], 's', l := {least})")
        assert found == close(reference.recursive_c(rows, ["b"], "s", least))


def check_alpha(rows: Rows) -> None:
    for column in ("s", "v"):
        found = SHARED.sql(f"FROM duckanon.alpha('t', ['a', 'b'], '{column}')")
        counts = reference.values(rows, column)
        assert {row[0]: row[1:3] for row in found} == {value: (y, close(y / len(rows))) for value, y in counts.items()}
        assert {row[0]: row[3] for row in found} == each(reference.alpha(rows, QI, column))


def check_leakage(rows: Rows) -> None:
    found = SHARED.sql("FROM duckanon.leakage('t', ['a', 'b'], 's')")
    assert {row[0]: row[1] for row in found} == reference.values(rows, "s")
    expected = reference.leakage(rows, QI, "s")
    assert {row[0]: row[2:] for row in found} == {
        value: (close(one.alp), close(one.highest_lp), close(one.dif)) for value, one in expected.items()
    }
    assert all(row[4] >= 0 and math.copysign(1, row[4]) == 1 for row in found)


def check_association(rows: Rows) -> None:
    found = SHARED.sql("FROM duckanon.association('t', ['a', 'b'], 's')")
    classes = reference.classes(rows, QI)
    assert {(row[0], row[1:3]): row[4] for row in found} == each(reference.association(rows, QI, "s"))
    assert all(row[3] == len(classes[row[1:3]]) for row in found)
    assert len(found) == len(classes) * len(reference.values(rows, "s"))


def check_homogeneity(rows: Rows) -> None:
    expected = reference.homogeneity(rows, QI, "s")
    found = SHARED.sql("FROM duckanon.homogeneity('t', ['a', 'b'], 's')")
    assert found == [(expected.classes, expected.rows, close(expected.expected))]


def check_skewness(rows: Rows) -> None:
    for c in (0.25, 0.5, 1):
        found = SHARED.sql(f"FROM duckanon.skewness('t', ['a', 'b'], 's', c := {c})")
        assert found == [reference.skewness(rows, QI, "s", c)]


def check_t(rows: Rows) -> None:
    for column, ordered in (("s", False), ("v", True), ("w", True)):
        found = SHARED.one(f"FROM duckanon.t_closeness('t', ['a'], '{column}')")
        assert found == close(reference.t(rows, ["a"], column, ordered=ordered))


def check_t_to(rows: Rows) -> None:
    SHARED.table(rows[len(rows) // 3 :], COLUMNS)
    SHARED.table(rows[: len(rows) // 2], COLUMNS, "other")
    for column, ordered in (("s", False), ("v", True)):
        found = SHARED.one(f"FROM duckanon.t_closeness_to('t', ['a'], '{column}', 'other')")
        assert found == close(
            reference.t(rows[len(rows) // 3 :], ["a"], column, ordered=ordered, reference=rows[: len(rows) // 2])
        )


# Li et al., 2007, fig. 1.
DISEASES = {
    "flu": ("respiratory infection", "respiratory", "*"),
    "bronchitis": ("respiratory infection", "respiratory", "*"),
    "pulmonary embolism": ("vascular lung disease", "respiratory", "*"),
    "stomach cancer": ("stomach disease", "digestive", "*"),
}
TREE = {"flu": ("a", "x", "*"), "HIV": ("b", "x", "*"), "can'cer": ("b", "x", "*"), "a\nb": ("c", "y", "*")}


def hierarchy(paths: Mapping[str, Sequence[str]]) -> None:
    rows = [dict(enumerate((value, *path))) for value, path in paths.items()]
    columns = {f"level_{level}": "VARCHAR" for level in rows[0]}
    SHARED.table([{f"level_{at}": label for at, label in row.items()} for row in rows], columns, "tree")


def check_t_by(rows: Rows) -> None:
    hierarchy(TREE)
    SHARED.table(rows[: len(rows) // 2], COLUMNS, "other")
    for whole, more in ((rows, ""), (rows[: len(rows) // 2], ", reference := 'other'")):
        everything = reference.values(whole, "s")
        parts = [reference.values(members, "s") for members in reference.classes(rows, ["a"]).values()]
        far = [reference.hierarchical_distance(part, everything, TREE) for part in parts if part and everything]
        found = SHARED.one(f"FROM duckanon.t_closeness_by('t', ['a'], 's', 'tree'{more})")
        assert found == close(max(far, default=None))


def test_the_distances_of_a_hierarchy(db: Database) -> None:
    """Of two diseases in 3 levels; what a hierarchy must be is said."""
    hierarchy(DISEASES)
    apart = {}
    db.sql("CREATE TABLE t AS SELECT 1 AS a, 'flu' AS s")
    for other in DISEASES:
        db.sql(f"CREATE OR REPLACE TABLE other AS SELECT '{other}' AS s")
        apart[other] = db.one("FROM duckanon.t_closeness_by('t', ['a'], 's', 'tree', reference := 'other')")
    assert list(apart.values()) == [0, close(1 / 3), close(2 / 3), 1]
    db.sql("UPDATE t SET s = 'cold'")
    with pytest.raises(duckdb.Error, match="does not know every value of s"):
        db.sql("FROM duckanon.t_closeness_by('t', ['a'], 's', 'tree')")
    db.sql("ALTER TABLE tree DROP level_3")
    for arguments, what in {"['a'], 's'": "one top", "[], 's'": "qi must be", "['a'], NULL": "one column name"}.items():
        with pytest.raises(duckdb.Error, match=what):
            db.sql(f"FROM duckanon.t_closeness_by('t', {arguments}, 'tree')")


def check_likeness(rows: Rows) -> None:
    SHARED.table(rows[len(rows) // 3 :], COLUMNS)
    SHARED.table(rows[: len(rows) // 2], COLUMNS, "other")
    for part, other, reference_ in (
        (rows[len(rows) // 3 :], None, ""),
        (rows[len(rows) // 3 :], rows[: len(rows) // 2], ", reference := 'other'"),
    ):
        for column in ("s", "v"):
            beta, delta = (
                SHARED.sql(f"FROM duckanon.{macro}('t', ['a'], '{column}'{reference_})")
                for macro in ("beta_likeness", "delta_disclosure")
            )
            figures = reference.likeness_figures(part, ["a"], column, other)
            assert beta == [tuple(close(figures[name]) for name in ("beta", "enhanced_beta"))]
            assert delta == [tuple(close(figures[name]) for name in ("delta", "present_delta"))]


def check_proximity(rows: Rows) -> None:
    for column, epsilon in (("v", 0), ("v", 2), ("v", 4.5), ("w", 0.1), ("w", 2e6)):
        found = SHARED.one(f"FROM duckanon.proximity('t', ['a'], '{column}', {epsilon})")
        assert found == close(reference.proximity(rows, ["a"], column, epsilon))


def check_value_diversity(rows: Rows) -> None:
    found = SHARED.sql("FROM duckanon.value_diversity('t', ['a', 'b'], 's')")
    assert {row[0]: row[1] for row in found} == reference.values(rows, "s")
    assert {row[0]: row[2] for row in found} == reference.value_diversity(rows, QI, "s")


def check_violations(rows: Rows) -> None:
    classes = reference.classes(rows, QI)
    small = SHARED.sql("FROM duckanon.k_violations('t', ['a', 'b'], k := 2)")
    assert {row[:2]: row[2] for row in small} == {
        key: len(members) for key, members in classes.items() if len(members) < 2
    }
    uniform = SHARED.sql("FROM duckanon.l_violations('t', ['a', 'b'], 's')")
    assert {row[:2]: row[2:] for row in uniform} == {
        key: (len(members), distinct)
        for key, members in classes.items()
        if (distinct := len(reference.values(members, "s"))) < 2
    }
    frequent = SHARED.sql("FROM duckanon.alpha_violations('t', ['a', 'b'], 's', alpha := 0.4)")
    assert {row[:2]: row[2:] for row in frequent} == {
        key: (len(members), close(highest))
        for key, members in classes.items()
        if (highest := reference.highest_frequency(members, "s")) > 0.4
    }


def check_row_risk(rows: Rows) -> None:
    found = SHARED.sql("FROM duckanon.row_risk('t', ['a', 'b'])")
    expected = [(*(row[name] for name in COLUMNS), size, risk) for row, size, risk in reference.row_risk(rows, QI)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def check_column_risk(rows: Rows) -> None:
    for qi in (["a", "b", "s"], ["a"]):
        found = SHARED.sql(f"FROM duckanon.column_risk('t', {qi})")
        assert {row[0]: row[1:] for row in found} == reference.column_risk(rows, qi)
        assert [row[2] for row in found] == sorted((row[2] for row in found), reverse=True)


def check_distinction(rows: Rows) -> None:
    for columns, most in ((["s", "a", "b", "v"], 3), (["*"], 4), (["*"], 9), (["*"], 1)):
        found = SHARED.sql(f"FROM duckanon.distinction('t', {columns}, most := {most})")
        expected = reference.distinction(rows, list(COLUMNS) if columns == ["*"] else columns, most)
        assert {tuple(row[0]): row[1:] for row in found} == {
            names: (*one, close(one.unique_rows / len(rows))) for names, one in expected.items()
        }
        assert len(found) == len(expected)


def check_utility(rows: Rows) -> None:
    kept = [row for row in rows if row["a"] is not None]
    SHARED.table(kept, COLUMNS, "release")
    found = {row[:2]: row[2:] for row in SHARED.sql("FROM duckanon.utility('t', 'release', ['a', 'b'])")}
    before, after = reference.classes(rows, QI), reference.classes(kept, QI)
    assert found["row_count", None][:2] == (len(rows), len(kept))
    assert found["classes", None][:2] == (len(before), len(after))
    assert found["discernibility", None][:2] == (
        reference.discernibility(rows, QI),
        reference.discernibility(kept, QI, suppressed=len(rows) - len(kept)),
    )
    for name in QI:
        values = (len({row[name] for row in rows}), len({row[name] for row in kept}))
        assert found["distinct_values", name][:2] == values


test_random_classes = property_test(check_classes)
test_random_k = property_test(check_k)
test_random_risk = property_test(check_risk)
test_random_population = property_test(check_population)
test_random_l = property_test(check_l)
test_random_recursive = property_test(check_recursive)
test_random_alpha = property_test(check_alpha)
test_random_leakage = property_test(check_leakage)
test_random_association = property_test(check_association)
test_random_homogeneity = property_test(check_homogeneity)
test_random_skewness = property_test(check_skewness)
test_random_t = property_test(check_t)
test_random_t_to = property_test(check_t_to)
test_random_proximity = property_test(check_proximity)
test_random_t_by = property_test(check_t_by)
test_random_likeness = property_test(check_likeness)
test_random_value_diversity = property_test(check_value_diversity)
test_random_violations = property_test(check_violations)
test_random_row_risk = property_test(check_row_risk)
test_random_column_risk = property_test(check_column_risk)
test_random_distinction = property_test(check_distinction)
test_random_utility = property_test(check_utility)


def test_thousands_of_values_and_any_order(db: Database) -> None:
    """Many values per class, several threads, three row orders: one answer, and the definition's."""
    db.sql(
        "CREATE TABLE base AS SELECT i, i % 7 AS a, (hash(i) % 900)::INTEGER AS v, 's' || hash(i) % 50 AS s, "
        "(hash(i) % 997) / 7 AS w FROM range(6000) AS r (i)"
    )
    calls = [
        "leakage('t', ['a'], 's')",
        "l_diversity('t', ['a'], 's')",
        "t_closeness('t', ['a'], 's')",
        "t_closeness('t', ['a'], 'v')",
        "t_closeness('t', ['a'], 'w')",
        "proximity('t', ['a'], 'w', 3)",
        "alpha('t', ['a'], 'v')",
    ]
    answers = []
    for order, threads in (("i", 1), ("-i", 3), ("hash(i, 3)", 4), ("s", 2)):
        db.sql(f"SET threads = {threads}")
        db.sql(f"CREATE OR REPLACE TABLE t AS SELECT a, v, s, w FROM base ORDER BY {order}")
        answers.append([db.sql(f"FROM duckanon.{call}") for call in calls])
    assert all(answer == answers[0] for answer in answers)
    rows = [dict(zip("avsw", row, strict=True)) for row in db.sql("SELECT a, v, s, w FROM t")]
    assert answers[0][2] == [(close(reference.t(rows, ["a"], "s", ordered=False)),)]
    assert answers[0][3] == [(close(reference.t(rows, ["a"], "v", ordered=True)),)]
    assert answers[0][4] == [(close(reference.t(rows, ["a"], "w", ordered=True)),)]
    assert answers[0][5] == [(close(reference.proximity(rows, ["a"], "w", 3)),)]


# The papers' tables -------------------------------------------------------------------------------


def test_mohapatra_table_2(db: Database) -> None:
    db.papers(
        """
        pid|state|age|disease
        1210**|*|<30|Brain Cancer
        1210**|*|<30|Malaria
        1210**|*|<30|Heart Disease
        1210**|*|<30|Malaria
        134***|*|>40|Heart Disease
        134***|*|>40|Malaria
        134***|*|>40|Heart Disease
        134***|*|>40|Malaria
        14****|*|3*|Heart Disease
        14****|*|3*|Brain Cancer
        14****|*|3*|Malaria
        14****|*|3*|Brain Cancer
        """
    )
    qi = "'t', ['pid', 'state', 'age']"
    assert db.one(f"SELECT k FROM duckanon.k_anonymity({qi})") == 4
    assert db.sql(f"SELECT value, row_count, alpha FROM duckanon.alpha({qi}, 'disease')") == [
        ("Brain Cancer", 3, 0.5),
        ("Heart Disease", 4, 0.5),
        ("Malaria", 5, 0.5),
    ]
    matrix = f"SELECT value, list(weight ORDER BY pid) FROM duckanon.association({qi}, 'disease')"
    assert db.sql(f"{matrix} GROUP BY ALL ORDER BY ALL") == [
        ("Brain Cancer", [0.25, 0, 0.5]),
        ("Heart Disease", [0.25, 0.5, 0.25]),
        ("Malaria", [0.5, 0.5, 0.25]),
    ]
    assert db.sql(f"FROM duckanon.homogeneity({qi}, 'disease')") == [(0, 0, close(1 / 9))]


WANG_QI = "'t', ['age', 'education', 'sex']"


def test_wang_table_1(db: Database) -> None:
    db.papers(
        """
        age|education|sex|illness
        (40, 50]|Dr.|M|HIV
        (40, 50]|Dr.|M|HIV
        [30, 40]|Master|M|cancer
        [30, 40]|Master|M|cold
        [20, 30)|Secondary education|F|fever
        [20, 30)|Secondary education|F|fever
        """
    )
    assert db.one(f"SELECT k FROM duckanon.k_anonymity({WANG_QI})") == 2
    assert db.sql(f"SELECT * EXCLUDE (expected_classes) FROM duckanon.homogeneity({WANG_QI}, 'illness')") == [(2, 4)]
    assert db.sql(f"SELECT age, class_size, distinct_l FROM duckanon.l_violations({WANG_QI}, 'illness')") == [
        ("(40, 50]", 2, 1),
        ("[20, 30)", 2, 1),
    ]


def test_wang_table_2(db: Database) -> None:
    illnesses = ("HIV", "HIV", "cancer", "cold", "fever", "fever")
    db.papers("age|education|sex|illness\n" + "\n".join(f"(20, 50]|*|person|{one}" for one in illnesses))
    assert db.sql(f"SELECT k, classes FROM duckanon.k_anonymity({WANG_QI})") == [(6, 1)]
    assert db.one(f"SELECT distinct_l FROM duckanon.l_diversity({WANG_QI}, 'illness')") == 4


def test_wang_table_3(db: Database) -> None:
    db.papers(
        """
        age|education|sex|illness
        (40, 50]|tertiary education|M|HIV
        (40, 50]|tertiary education|M|HIV
        (40, 50]|tertiary education|M|CANCER
        (40, 50]|tertiary education|M|COLD
        [20, 30)|secondary education|F|FEVER
        [20, 30)|secondary education|F|FEVER
        """
    )
    assert db.one(f"SELECT k FROM duckanon.k_anonymity({WANG_QI})") == 2
    leakage = {row[0]: row[1:] for row in db.sql(f"FROM duckanon.leakage({WANG_QI}, 'illness')")}
    assert leakage["HIV"] == (2, 0.5, 0.5, 0)
    assert leakage["FEVER"] == (2, 1, 1, 0)


def test_wang_theorem_3_is_wrong(db: Database) -> None:
    """Merging two classes can raise DIF: models, section 1."""
    db.sql(
        "CREATE TABLE t AS "
        "SELECT c AS fine, least(c, 2) AS coarse, CASE WHEN i < y THEN 'HIV' ELSE 'flu' END AS s "
        "FROM (VALUES (1, 1, 1), (2, 10, 5), (3, 10, 0)) AS r (c, x, y), range(x) AS m (i)"
    )
    figures = "SELECT alp, dif FROM duckanon.leakage('t', ['{}'], 's') WHERE value = 'HIV'"
    assert db.sql(figures.format("fine")) == [(close(3.5 / 6), close(2.5 / 6))]
    assert db.sql(figures.format("coarse")) == [(close(0.375), close(0.625))]


def test_dif_is_zero_where_all_classes_leak_alike(db: Database) -> None:
    """1/5 three times over: the average is not a rounding error away from the highest."""
    db.sql("CREATE TABLE t AS SELECT c AS a, i = 0 AS s FROM range(3) AS r (c), range(5) AS m (i)")
    assert db.sql("SELECT value, dif FROM duckanon.leakage('t', ['a'], 's')") == [(False, 0), (True, 0)]


def test_han_table_1(db: Database) -> None:
    db.papers(
        """
        zip|age|nationality|condition
        130**|<30|*|Heart Disease
        130**|<30|*|Heart Disease
        130**|<30|*|Viral Infection
        130**|<30|*|Viral Infection
        130**|3*|*|Cancer
        130**|3*|*|Cancer
        130**|3*|*|Cancer
        130**|3*|*|Cancer
        """
    )
    qi = "'t', ['zip', 'age', 'nationality']"
    assert db.one(f"SELECT k FROM duckanon.k_anonymity({qi})") == 4
    assert db.sql(f"FROM duckanon.homogeneity({qi}, 'condition')") == [(1, 4, close(8 / 4 / 3**3))]


HAN_QI = "'t', ['job', 'birth', 'postcode'], 'illness'"


def test_han_table_2(db: Database) -> None:
    db.papers(
        """
        job|birth|postcode|illness
        *|1975.*.*|1541|HIV
        *|1975.*.*|1541|Flu
        *|1975.*.*|1541|Fever
        *|1975.1.*|1542|Cancer
        *|1975.1.*|1542|Cancer
        *|1975.1.*|1542|Flu
        *|1975.1.*|1542|HIV
        """
    )
    alpha = dict(db.sql(f"SELECT value, alpha FROM duckanon.alpha({HAN_QI})"))
    assert alpha["HIV"] == close(1 / 3)  # simple (0.4, 3) holds for HIV
    assert alpha["Cancer"] == 0.5  # general (0.4, 3) does not
    assert db.sql(f"FROM duckanon.alpha_violations({HAN_QI}, alpha := 0.4)") == [("*", "1975.1.*", "1542", 4, 0.5)]


def test_han_table_3(db: Database) -> None:
    db.papers(
        """
        job|birth|postcode|illness
        *|1975.*.*|154*|HIV
        *|1975.*.*|154*|Flu
        *|1975.*.*|154*|Fever
        *|1975.*.*|154*|Cancer
        *|1975.1.*|1542|Cancer
        *|1975.1.*|1542|Flu
        *|1975.1.*|1542|HIV
        """
    )
    assert db.one("SELECT k FROM duckanon.k_anonymity('t', ['job', 'birth', 'postcode'])") == 3
    assert db.one(f"SELECT max(alpha) FROM duckanon.alpha({HAN_QI})") == close(1 / 3)
    assert db.sql(f"FROM duckanon.alpha_violations({HAN_QI}, alpha := 0.4)") == []


def test_pan_table_2_as_one_class(db: Database) -> None:
    conditions = ["gastric ulcer", "AIDS", "flu", "neurasthenia", "flu", "hepatitis", "neurasthenia", "flu"]
    db.papers("everyone|condition\n" + "\n".join(f"*|{condition}" for condition in conditions))
    assert db.one("SELECT distinct_l FROM duckanon.l_diversity('t', ['everyone'], 'condition')") == 5
    assert dict(db.sql("SELECT value, alpha FROM duckanon.alpha('t', ['everyone'], 'condition')")) == {
        "gastric ulcer": 0.125,
        "AIDS": 0.125,
        "flu": 0.375,
        "neurasthenia": 0.25,
        "hepatitis": 0.125,
    }


PAN_LEVELS = {
    "V": ([2, 1, 3, 3, 3, 1, 3, 3], [("female", 4, 2)]),  # the paper says that L = 3 holds
    "XI as printed": ([3, 3, 1, 3, 2, 1, 2, 3], [("male", 4, 2)]),
    "VI mapped by X": ([3, 2, 1, 3, 2, 1, 3, 3], []),
}


@pytest.mark.parametrize(("levels", "failing"), PAN_LEVELS.values(), ids=PAN_LEVELS)
def test_pan_levels(db: Database, levels: list[int], failing: list[tuple[str, int, int]]) -> None:
    rows = [{"sex": "male" if i < 4 else "female", "level": level} for i, level in enumerate(levels)]
    db.table(rows, {"sex": "VARCHAR", "level": "INTEGER"})
    assert db.one("SELECT k FROM duckanon.k_anonymity('t', ['sex'])") == 4
    assert db.one("SELECT alpha FROM duckanon.alpha('t', ['sex'], 'level') WHERE value = 1") == 0.25
    assert db.sql("FROM duckanon.l_violations('t', ['sex'], 'level', l := 3)") == failing


def test_yang_table_2(db: Database) -> None:
    db.papers(
        """
        race|sex|birth|zip|disease
        Black|M|1965-3-18|0214*|Flu
        Black|M|1965-5-1|0214*|Cancer
        Black|M|1966-6-10|0213*|Obesity
        Black|M|1966-7-15|0213*|Gastritis
        White|F|1968-3-20|0213*|HIV
        White|F|1968-4-1|0213*|Cancer
        """
    )
    assert db.one("SELECT k FROM duckanon.k_anonymity('t', ['race', 'sex', 'zip'])") == 2
    assert db.one("SELECT k FROM duckanon.k_anonymity('t', ['race', 'sex', 'zip', 'birth'])") == 1
    diversity = db.sql("FROM duckanon.value_diversity('t', ['race', 'sex', 'zip'], 'disease')")
    assert diversity[0] == ("Cancer", 2, 2)


# What other tools got wrong -----------------------------------------------------------------------


def test_t_does_not_take_labels_for_positions(db: Database) -> None:
    """pycanon: 0.354 for a table sorted by age, instead of 0.556."""
    db.sql("CREATE TABLE t AS SELECT i // 3 AS a, [3, 4, 5, 6, 11, 8, 7, 9, 10][i + 1] AS v FROM range(9) r (i)")
    ordered = db.one("FROM duckanon.t_closeness('t', ['a'], 'v')")
    db.sql("CREATE OR REPLACE TABLE t AS FROM t ORDER BY v DESC")
    assert db.one("FROM duckanon.t_closeness('t', ['a'], 'v')") == ordered == close(0.375)


def test_recursive_diversity_sorts_descending(db: Database) -> None:
    """pycanon: 98/1/1 gives c = 1."""
    db.sql("CREATE TABLE t AS SELECT 1 AS a, least(greatest(i, 97), 99) AS s FROM range(100) AS r (i)")
    assert db.one("FROM duckanon.recursive_diversity('t', ['a'], 's', l := 3)") == 98
    assert db.one("FROM duckanon.recursive_diversity('t', ['a'], 's')") == 49


def test_entropy_is_not_truncated(db: Database) -> None:
    """pycanon: a uniform class of two values gives 1."""
    db.sql("CREATE TABLE t AS SELECT 1 AS a, i % 2 AS s FROM range(20) AS r (i)")
    assert db.one("SELECT entropy_l FROM duckanon.l_diversity('t', ['a'], 's')") == 2


def test_null_quasi_identifiers_form_a_class(db: Database) -> None:
    """pycanon and anjana drop the row from the classes."""
    db.sql("CREATE TABLE t AS SELECT NULLIF(i, 3) AS a, 's' || i AS s FROM (VALUES (1), (1), (3)) AS r (i)")
    assert db.sql("SELECT k, classes, row_count FROM duckanon.k_anonymity('t', ['a'])") == [(1, 2, 3)]
    assert db.sql("FROM duckanon.k_violations('t', ['a'], k := 2)") == [(None, 1)]


def test_no_more_homogeneous_classes_are_expected_than_there_are(db: Database) -> None:
    """One row is alone, 999 share their class; mohapatra's formula, which supposes equal classes, would expect 1000."""
    db.sql("CREATE TABLE t AS SELECT greatest(i, 1) AS a, i % 3 AS s FROM range(2) r(i) UNION ALL "
           "SELECT 7, i % 3 FROM range(998) r(i) UNION ALL SELECT 8, 1")  # fmt: skip
    assert db.sql("SELECT expected_classes FROM duckanon.homogeneity('t', ['a'], 's')") == [(close(1 / 3 + 1),)]


# NULL, empty tables, thresholds -------------------------------------------------------------------


def test_null_sensitive_values(db: Database) -> None:
    db.sql("CREATE TABLE t AS FROM (VALUES (1, 'x'), (1, NULL), (2, NULL), (2, NULL)) AS r (a, s)")
    assert db.sql("FROM duckanon.l_diversity('t', ['a'], 's')") == [(0, 0, 2)]
    assert db.sql("FROM duckanon.alpha('t', ['a'], 's')") == [("x", 1, 0.25, 0.5)]
    assert db.sql("FROM duckanon.leakage('t', ['a'], 's')") == [("x", 1, 0.5, 0.5, 0)]
    assert db.sql("FROM duckanon.homogeneity('t', ['a'], 's')") == [(0, 0, 2)]
    assert db.one("FROM duckanon.recursive_diversity('t', ['a'], 's')") is None
    assert db.one("FROM duckanon.t_closeness('t', ['a'], 's')") == 0
    assert db.sql("SELECT a, weight FROM duckanon.association('t', ['a'], 's') ORDER BY a") == [
        (1, 0.5),
        (2, 0),
    ]
    assert db.sql("FROM duckanon.value_diversity('t', ['a'], 's')") == [("x", 1, 1)]


ONE_ROW = {
    "k_anonymity": (None, 0, 0, 0, None),
    "risk": (None, None, 0, 0),
    "l_diversity": (None, None, 0),
    "recursive_diversity": (None,),
    "homogeneity": (0, 0, None),
    "skewness": (0, 0),
    "t_closeness": (None,),
    "t_closeness_to": (None,),
    "beta_likeness": (None, None),
    "delta_disclosure": (None, None),
    "proximity": (None,),
    "people": (None, 0, 0, 0, 0, None),
    "people_diversity": (None, None, 0, 0, 0),
    "column_risk": ("a", 0, 0),
}


@pytest.mark.parametrize("macro", [*OF_CLASSES, "people", *OF_VALUES])
def test_empty_table(db: Database, macro: str) -> None:
    db.sql("CREATE TABLE t (a INTEGER, s INTEGER)")
    sensitive = ", 's'" if macro in OF_VALUES else ""
    found = db.sql(f"FROM duckanon.{macro}('t', ['a']{sensitive}{BEYOND_QI.get(macro, '')})")
    assert found == ([ONE_ROW[macro]] if macro in ONE_ROW else [])


def test_thresholds_have_a_tolerance(db: Database) -> None:
    db.sql("CREATE TABLE t AS SELECT 1 AS a, i % 3 AS s, i / 10 AS v FROM range(7, 10) AS r (i)")
    assert db.sql("FROM duckanon.skewness('t', ['a'], 's', c := 0.3333333333)") == [(0, 0)]
    assert db.sql("FROM duckanon.alpha_violations('t', ['a'], 's', alpha := 0.3333333333)") == []
    assert db.one("FROM duckanon.proximity('t', ['a'], 'v', 0.1)") == 1  # 0.8 - 0.7 is a little more than 0.1


def test_arguments_may_be_queries_and_parameters(db: Database) -> None:
    db.sql("CREATE TABLE t AS FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) AS r (a, s)")
    assert db.sql("FROM duckanon.k_violations('t', ['a'], k := (SELECT 2))") == [(2, 1)]
    assert db.sql("FROM duckanon.k_violations('t', ['a'])") == [(2, 1), (1, 2)]
    assert db.sql("FROM duckanon.k_violations(?, ?, k := ?)", ["t", ["a"], 2]) == [(2, 1)]
    assert db.sql("SELECT value FROM duckanon.alpha(?, ?, ?)", ["t", ["a"], "s"]) == [("x",), ("y",)]


def test_counts_are_bigint(db: Database) -> None:
    db.sql("CREATE TABLE t AS SELECT 1 AS a, 2 AS b, i AS s FROM range(3) AS r (i)")
    for macro in [*OF_CLASSES, "people", *OF_VALUES]:
        sensitive = ", 's'" if macro in OF_VALUES else ""
        described = db.sql(f"DESCRIBE FROM duckanon.{macro}('t', ['a', 'b']{sensitive}{BEYOND_QI.get(macro, '')})")
        for name, kind, *_ in described:
            assert kind in ("BIGINT", "DOUBLE") or name in ("a", "b", "column_name"), (macro, name)


# Rolling up ---------------------------------------------------------------------------------------


def test_a_column_of_several_levels_is_rolled_up(db: Database) -> None:
    db.sql("CREATE TABLE h AS FROM (VALUES ('1', 'a', 'x', '*'), ('2', 'a', 'x', '*'), ('3', 'b', 'x', '*')) AS h "
           "(level_0, level_1, level_2, level_3)")  # fmt: skip
    db.sql(
        "CREATE TABLE t AS FROM (VALUES ('1', 1), ('a', 2), ('*', 3), ('3', 4), (NULL, 5), ('x', 6)) AS t (\"a b\", s)"
    )
    expected = {
        0: ["1", "*", "*", "3", None, "*"],
        1: ["a", "a", "*", "b", None, "*"],
        2: ["x", "x", "*", "x", None, "x"],
    }
    for level, labels in expected.items():
        assert db.sql(f"SELECT rolled_up FROM duckanon.roll_up('t', 'a b', 'h', {level}) ORDER BY s") == [
            (label,) for label in labels
        ]


def test_what_cannot_be_rolled_up_is_an_error(db: Database) -> None:
    db.sql(
        "CREATE TABLE h AS FROM (VALUES ('1', 'a', '*'), ('2', 'b', '*'), ('a', 'b', '*')) "
        "AS h (level_0, level_1, level_2)"
    )
    db.sql("CREATE TABLE t AS SELECT '1' AS a UNION ALL SELECT '9'")
    db.sql("CREATE TABLE twice AS SELECT 'a' AS a")
    for call, message in {
        "'t', 'a', 'h', 1": "does not know every value of a",
        "'twice', 'a', 'h', 1": "lies below two labels of level 1",
        "'t', 'a', 'h', 3": "level_3",
        "'t', 'a', 'h', -1": "level must be",
        "'t', 'b', 'h', 1": "was selected but was not found",
        "'t', ['a'], 'h', 1": "COLUMNS expects",
        "'nowhere', 'a', 'h', 1": "nowhere",
    }.items():
        with pytest.raises(duckdb.Error, match=message):
            db.sql(f"FROM duckanon.roll_up({call})")


# Names, types and errors --------------------------------------------------------------------------

HOSTILE = ["select", "a b", "ünï", 'we"ird', "a.b", "it's", "new\nline", "back\\1slash", "q_x", "*", "%"]
STEP = r"(\w+) AS (?:NOT )?(?:MATERIALIZED )?\(\n"  # the name of a CTE
OURS = sorted(
    {*"nxysklctmieg", "id", "code", "codes", "ys", "total", "below", "position", "number", "name", "place", "size"}
    | {name for parameters in CONTRACT.values() for name in parameters}
    | {name for columns in OUTPUT.values() for name in columns}
    | set(re.findall(STEP, MACROS.read_text(encoding="utf-8")))
)


@pytest.mark.parametrize("names", [HOSTILE, OURS], ids=["hostile", "ours"])
def test_names(db: Database, names: list[str]) -> None:
    """Whatever the columns are called, the figures are those of plain names."""
    values = ["'x'", "'quo''te'", "'new\nline'", "NULL", "'\"'"]
    cells = ", ".join(f"[{', '.join(values)}][1 + (hash(i, {c}) % 5)::BIGINT] AS c{c}" for c in range(len(names)))
    db.sql(f"CREATE TABLE plain AS SELECT {cells}, hash(i) % 9 AS amount_in_euro FROM range(40) AS r (i)")
    renamed = ", ".join(f"c{c} AS {quoted(name)}" for c, name in enumerate(names))
    db.sql(f"CREATE TABLE t AS SELECT {renamed}, amount_in_euro FROM plain")
    for c in range(0, len(names), 1 + len(names) // 5):
        others = [o for o in range(len(names)) if o != c and (o - c) % 5 in (1, 2)]
        for macro in [*OF_CLASSES, "people", *OF_VALUES]:
            answers = []
            for table, spelled in (("plain", [f"c{o}" for o in range(len(names))]), ("t", names)):
                qi = ", ".join(literal(spelled[o]) for o in others)
                of = {"proximity": ", 'amount_in_euro', 2", "t_closeness_to": f", {literal(spelled[c])}, '{table}'"}
                sensitive = of.get(macro, f", {literal(spelled[c])}" if macro in OF_VALUES else "")
                sensitive += f", {literal(spelled[c - 1])}" if macro in OF_PEOPLE else ""
                shown = "* EXCLUDE (column_name)" if macro == "column_risk" else "*"
                query = f"SELECT {shown} FROM duckanon.{macro}('{table}', [{qi}]{sensitive})"
                answers.append(sorted(db.sql(query), key=repr))
            assert answers[0] == answers[1], (macro, names[c])
    pair = f"[{literal(names[0])}, {literal(names[1])}]"
    assert len(db.sql(f"FROM duckanon.distinction('t', {pair})")) == 3
    assert [row[0] for row in db.sql("FROM duckanon.distinction('t', ['*'], most := 1) ORDER BY columns")] == [
        [name] for name in sorted([*names, "amount_in_euro"])
    ]
    assert {row[0] for row in db.sql(f"FROM duckanon.column_risk('t', {pair})")} == set(names[:2])
    assert [row[1] for row in db.sql(f"FROM duckanon.utility('t', 't', {pair})")] == [None] * 4 + names[:2]


def test_output_names_that_the_table_has_too(db: Database) -> None:
    """The later column of the two gets the suffix _1, as everywhere in DuckDB."""
    db.sql("CREATE TABLE t AS SELECT 7 AS class_size, 8 AS value, 9 AS weight, 'x' AS s")
    both = ["class_size", "value", "class_size_1"]
    assert db.columns("FROM duckanon.classes('t', ['class_size', 'value'])") == both
    assert db.columns("FROM duckanon.k_violations('t', ['class_size', 'value'])") == both
    assert db.sql("FROM duckanon.k_violations('t', ['class_size', 'value'])") == [(7, 8, 1)]
    assert db.columns("FROM duckanon.association('t', ['value', 'weight'], 's')") == [
        "value",
        "value_1",
        "weight",
        "class_size",
        "weight_1",
    ]


def test_tables_named_like_parts_of_the_macros(db: Database) -> None:
    """A table of the user's is never mistaken for a step of a macro."""
    db.sql("CREATE TABLE t AS SELECT i % 2 AS a, i AS s FROM range(5) AS r (i)")
    for body in MACROS.read_text(encoding="utf-8").split("CREATE OR REPLACE MACRO duckanon.")[1:]:
        macro = body.split("(")[0]
        if macro not in (*OF_VALUES, "distinction", "column_risk"):
            continue
        sensitive = ", 's'" if macro in OF_VALUES else ""
        answers = set()
        for step in ["t", *re.findall(STEP, body)]:
            if step != "t":
                db.sql(f"CREATE OR REPLACE VIEW {step} AS FROM t")
            found = db.sql(f"FROM duckanon.{macro}('{step}', ['a']{sensitive}{BEYOND_QI.get(macro, '')})")
            answers.add(repr(sorted(found)))
        assert len(answers) == 1, macro


def test_table_names(db: Database) -> None:
    db.sql("CREATE SCHEMA clinic")
    db.sql('CREATE TABLE clinic."odd na.me" AS SELECT 1 AS a')
    db.sql('CREATE VIEW v AS FROM clinic."odd na.me"')
    db.sql('CREATE TABLE "quo""te\'d" AS SELECT 1 AS a')
    for name in ('clinic."odd na.me"', 'memory.clinic."odd na.me"', "v", '"v"', "main.v", '"quo""te\'\'d"'):
        assert db.one(f"SELECT k FROM duckanon.k_anonymity('{name}', ['a'])") == 1
    assert db.one("WITH mine AS (SELECT 1 AS a) SELECT k FROM duckanon.k_anonymity('mine', ['a'])") == 1
    assert len(db.sql("FROM duckanon.distinction('clinic.\"odd na.me\"', ['a'])")) == 1


TYPES = {
    "DATE": "DATE '2020-01-01' + i::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2020-01-01' + to_days(i::INTEGER)",
    "BOOLEAN": "i = 1",
    "VARCHAR": "'s' || i",
    "DECIMAL(9, 2)": "i / 4",
    "DOUBLE": "CASE i WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE ELSE i END",
    "HUGEINT": "i * 100000000000000000000::HUGEINT",
    "UTINYINT": "i",
    "INTEGER[]": "[i, NULL]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': i, 'b': NULL}",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': i}",
    "BLOB": "('x' || i)::BLOB",
    "UUID": "('00000000-0000-0000-0000-00000000000' || i)::UUID",
    "ENUM('0', '1', '2')": "i::VARCHAR",
    "INTERVAL": "to_days(i::INTEGER)",
    "JSON": "'{}'",
}


@pytest.mark.parametrize("kind", TYPES)
def test_types(db: Database, kind: str) -> None:
    """A column of any type, as quasi-identifier and as sensitive column."""
    db.sql(
        f"CREATE TABLE t AS SELECT NULLIF(i, 2) AS a, ({TYPES[kind]})::{kind} AS b "
        "FROM (VALUES (0), (0), (1), (1), (2), (2)) AS r (i)"
    )
    db.sql("INSERT INTO t VALUES (0, NULL)")
    distinct = db.one("SELECT count(DISTINCT b) FROM t")
    assert db.one("SELECT classes FROM duckanon.k_anonymity('t', ['b'])") == distinct + 1
    assert len(db.sql("FROM duckanon.alpha('t', ['a'], 'b')")) == distinct
    assert len(db.sql("FROM duckanon.association('t', ['a'], 'b')")) == distinct * 3
    assert db.one("FROM duckanon.recursive_diversity('t', ['a'], 'b', l := 1)") == 1
    assert db.one("FROM duckanon.t_closeness('t', ['a'], 'b')") == db.one(
        "FROM duckanon.t_closeness_to('t', ['a'], 'b', 't')"
    )
    assert len(db.sql("FROM duckanon.distinction('t', ['a', 'b'])")) == 3
    [values] = [row[1] for row in db.sql("FROM duckanon.distinction('t', ['*'])") if row[0] == ["b"]]
    assert values == distinct + 1
    assert db.one("SELECT sum(risk) FROM duckanon.row_risk('t', ['b'])") == close(distinct + 1)
    assert len(db.sql("FROM duckanon.column_risk('t', ['a', 'b'])")) == 2
    for macro in OF_VALUES:
        if macro != "proximity":
            beyond = ", 'b'" if macro in OF_PEOPLE else BEYOND_QI.get(macro, "")
            db.sql(f"FROM duckanon.{macro}('t', ['b'], 'a'{beyond})")


ARGUMENTS = {
    "'t', ['zz']": 'Column "zz" was selected but was not found',
    "'t', ['a', 'zz']": 'Column "zz" was selected but was not found',
    "'t', []": "must be a list of one or more column names",
    "'t', 'a'": "must be a list of one or more column names",
    "'t', ['a'][2:]": "must be a list of one or more column names",
    "'t', NULL": "must be a list of one or more column names",
    "'t', [NULL]": "must be a list of one or more column names",
    "'t', [1]": "must be a list of one or more column names",
    "'nope', ['a']": "nope",
}
SENSITIVE = {
    "['a'], 'zz'": 'Column "zz" was selected but was not found',
    "['a', 's'], 's'": "the sensitive column s is also in qi",
    "['a', 'S'], 's'": "the sensitive column s is also in qi",
    "['a'], 'A'": "the sensitive column A is also in qi",
    "['a'], NULL": "sensitive must be one column name",
    "['a'], ['s']": "sensitive must be one column name",
    "['a'], '.'": "was selected but was not found",  # not a regular expression
}


@pytest.mark.parametrize("empty", [False, True], ids=["rows", "empty"])
@pytest.mark.parametrize("macro", [name for name in CONTRACT if name not in ("utility", *BY_HIERARCHY)])
def test_wrong_arguments_are_errors(db: Database, macro: str, empty: bool) -> None:
    """Never a number: whether or not the table has rows."""
    db.sql(f"CREATE TABLE t AS SELECT 1 AS a, 's' AS s, 2 AS v WHERE {not empty}")
    rest = (", 's'" if macro in OF_VALUES else "") + BEYOND_QI.get(macro, "")
    for arguments, message in ARGUMENTS.items():
        with pytest.raises(duckdb.Error, match=message):
            db.sql(f"FROM duckanon.{macro}({arguments}{rest})")
    if macro in OF_VALUES:
        for arguments, message in SENSITIVE.items():
            with pytest.raises(duckdb.Error, match=message):
                db.sql(f"FROM duckanon.{macro}('t', {arguments}{BEYOND_QI.get(macro, '')})")


def test_wrong_thresholds_are_errors(db: Database) -> None:
    db.sql("CREATE TABLE t AS SELECT 1 AS a, 's' AS s, 2 AS v")
    db.sql("CREATE TABLE other AS SELECT 's' AS s, '2' AS v")
    for call, message in {
        "risk('t', ['a'], k := NULL)": "k is NULL",
        "k_violations('t', ['a'], k := NULL)": "k is NULL",
        "l_violations('t', ['a'], 's', l := NULL)": "l is NULL",
        "alpha_violations('t', ['a'], 's', alpha := NULL)": "alpha is NULL",
        "skewness('t', ['a'], 's', c := NULL)": "c is NULL",
        "recursive_diversity('t', ['a'], 's', l := 0)": "l must be 1 or more",
        "recursive_diversity('t', ['a'], 's', l := NULL)": "l must be 1 or more",
        "proximity('t', ['a'], 'v', -1)": "epsilon must be 0 or more",
        "proximity('t', ['a'], 'v', NULL)": "epsilon must be 0 or more",
        "proximity('t', ['a'], 's', 1)": "s is no number",
        "t_closeness_to('t', ['a'], 'v', 'other')": "a number in one of the two tables only",
        "t_closeness_to('t', ['a'], 's', 'nope')": "nope",
        "distinction('t', ['a', 'A'])": "named twice",
        "distinction('t', ['t'])": "not found",
        "distinction('t', ['*', 'a'])": "not found",
        "distinction('t', ['a'], most := 0)": "most must be a whole number, 1 or more",
        "distinction('t', ['a'], most := 1.5)": "most must be a whole number, 1 or more",
        "distinction('t', ['a'], most := NULL)": "most must be a whole number, 1 or more",
        "people('t', [], 's')": "must be a list",
        "people('t', ['a'], 1)": "entity must be one column name",
        "people_diversity('t', ['a'], 's', 'nope')": "not found",
        "people_leakage('t', ['a'], 'A', 's')": "is also in qi",
        "utility('t', 't', [])": "must be a list",
        "utility('t', 'other', ['a'])": "not found",
    }.items():
        with pytest.raises(duckdb.Error, match=message):
            db.sql(f"FROM duckanon.{call}")


def test_too_many_sets_are_refused_and_many_are_not(db: Database) -> None:
    """60 columns: 1830 sets of up to two, more than 10,000 of up to three."""
    db.sql(f"CREATE TABLE t AS SELECT {', '.join(f'i % {n + 2} AS c{n}' for n in range(60))} FROM range(62) AS r (i)")
    found = db.sql("FROM duckanon.distinction('t', ['*'], most := 2)")
    assert (len(found), len({tuple(row[0]) for row in found})) == (1830, 1830)
    pairs = {tuple(row[0]): row[1:3] for row in found}
    assert pairs["c59",] == (61, 60)
    assert pairs["c0", "c1"] == (6, 0)
    assert pairs["c28", "c59"] == (62, 62)
    with pytest.raises(duckdb.Error, match="60 columns make 36050 sets of up to 3, and 10000 are the most"):
        db.sql("FROM duckanon.distinction('t', ['*'])")


def test_naming_a_column_twice_changes_nothing(db: Database) -> None:
    db.sql("CREATE TABLE t AS SELECT i % 3 AS a, i % 2 AS b, i AS s FROM range(11) AS r (i)")
    for macro in [*OF_CLASSES, "people", *OF_VALUES]:
        rest = (", 's'" if macro in OF_VALUES else "") + BEYOND_QI.get(macro, "")
        answers = [
            sorted(db.sql(f"FROM duckanon.{macro}('t', {qi}{rest})"), key=repr)
            for qi in ("['a', 'b']", "['B', 'a', 'b', 'A', 'a']")
        ]
        assert answers[0] == answers[1]


# Where the macros live ----------------------------------------------------------------------------


def test_contract(db: Database) -> None:
    """Names, parameters and output columns are promises; every macro says what it is for."""
    found = db.sql("SELECT function_name, parameters, comment FROM duckdb_functions() WHERE schema_name = 'duckanon'")
    assert {name: tuple(parameters) for name, parameters, _ in found} == CONTRACT
    for name, _, comment in found:
        assert all(column in comment for column in OUTPUT[name] if column not in ("a", "b", "s")), name
    db.sql("CREATE TABLE t AS SELECT 1 AS a, 2 AS b, 3 AS s")
    db.sql("CREATE TABLE h AS SELECT unnest(['1', '3']) AS level_0, '*' AS level_1")
    for macro, columns in OUTPUT.items():
        call = f"'t', ['a', 'b']{', ' + repr('s') if macro in OF_VALUES else ''}{BEYOND_QI.get(macro, '')}"
        others = {"utility": "'t', 't', ['a', 'b']", "distinction": "'t', ['a']", "roll_up": "'t', 'a', 'h', 1"}
        others["t_closeness_by"] = "'t', ['a', 'b'], 's', 'h'"
        arguments = others.get(macro, call)
        assert db.columns(f"FROM duckanon.{macro}({arguments})") == columns, macro


def test_every_macro_has_a_header() -> None:
    text = MACROS.read_text(encoding="utf-8")
    for name, parameters in CONTRACT.items():
        [header] = [part for part in text.split("-- ---") if f"\n-- {name}({', '.join(parameters[:2])}" in part]
        assert "--   Output" in header
        assert "--   NULL" in header


def test_loading_twice_is_harmless(db: Database) -> None:
    db.sql("CREATE TABLE t AS SELECT 1 AS a")
    db.connection.execute(MACROS.read_text(encoding="utf-8"))
    assert db.one("SELECT k FROM duckanon.k_anonymity('t', ['a'])") == 1


def test_macros_work_from_an_attached_catalog(db: Database, tmp_path: Path) -> None:
    """The macros in one database, the table in another, the second being the current one."""
    create = "CREATE TABLE t AS SELECT i % 2 AS a, i % 3 AS b, i AS s FROM range(12) AS r (i)"
    db.sql(create)
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        connection.execute(create)
        connection.execute("ATTACH ':memory:' AS m1")
        connection.execute("USE m1")
        connection.execute(MACROS.read_text(encoding="utf-8"))
        connection.execute("USE warehouse")
        for macro in [name for name in CONTRACT if name not in BY_HIERARCHY]:
            rest = (", 's'" if macro in OF_VALUES else "") + BEYOND_QI.get(macro, "")
            call = f"{macro}('t', {repr('t') + ', ' if macro == 'utility' else ''}['a', 'b']{rest})"
            expected = sorted(db.sql(f"FROM duckanon.{call}"), key=repr)
            for spelled in (call, call.replace("'t'", '\'"warehouse"."main"."t"\'')):
                found = connection.execute(f"FROM m1.duckanon.{spelled}").fetchall()
                assert sorted(found, key=repr) == expected, spelled
        schemas = connection.execute("SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'warehouse'")
        assert ("duckanon",) not in schemas.fetchall()


def test_macros_can_be_stored_in_views_and_files(tmp_path: Path) -> None:
    path = str(tmp_path / "stored.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(MACROS.read_text(encoding="utf-8"))
        connection.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS s FROM range(6) AS r (i)")
        connection.execute("CREATE VIEW figures AS FROM duckanon.leakage('t', ['a'], 's')")
    with duckdb.connect(path, read_only=True) as connection:
        assert len(connection.execute("FROM figures").fetchall()) == 6
        assert connection.execute("FROM duckanon.t_closeness('t', ['a'], 's')").fetchall() == [(close(0.1),)]


@pytest.mark.duckdb_cli
def test_command_line_shell() -> None:
    """The real DuckDB shell reads the file and gives the same figures."""
    shell = duckdb_shell()
    assert shell is not None
    setup = "SELECT i % 3 AS a, i % 2 AS b, 'v' || (i * i) % 7 AS s, i % 5 AS v FROM range(60) AS r (i)"
    arguments = {"utility": "'t', 't', ['a', 'b']", "distinction": "'t', ['a', 'b', 's']"}
    calls = []
    for macro in [name for name in CONTRACT if name not in BY_HIERARCHY]:
        sensitive = (", 'v'" if macro == "proximity" else ", 's'") if macro in OF_VALUES else ""
        call = arguments.get(macro, f"'t', ['a', 'b']{sensitive}{BEYOND_QI.get(macro, '')}")
        calls.append(f"FROM duckanon.{macro}({call}) ORDER BY ALL")
    calls.append("FROM duckanon.t_closeness('t', ['a', 'b'], 'v')")
    script = [".bail on", ".mode csv", ".headers off", f".read '{MACROS}'", f"CREATE TABLE t AS {setup};"]
    script += [f"SELECT to_json(r)::VARCHAR FROM ({call}) AS r;" for call in calls]
    done = subprocess.run(
        [shell],
        input="\n".join(script) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    database = Database()
    database.sql(f"CREATE TABLE t AS {setup}")
    expected = []
    for call in calls:
        expected += [row for [row] in database.sql(f"SELECT to_json(r)::VARCHAR FROM ({call}) AS r")]
    found = [line[1:-1].replace('""', '"') for line in done.stdout.splitlines()]
    assert found == expected
