"""The metrics as plain SELECTs: their text per dialect, and their figures on DuckDB and on PostgreSQL."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from duckanon.analysts.portable import DIALECTS, Metric, metric_queries, metrics_script
from duckanon.errors import PolicyError
from duckanon.query.names import quoted
from tests.support import metrics_reference as reference
from tests.support.examples import examples
from tests.support.paths import ROOT
from tests.support.postgres import Server

GOLDEN = Path(__file__).parent / "golden" / "metrics"
FIXTURES = ROOT / "fixtures"

Row = dict[str, Any]
Person = tuple[Any, ...]

K, L, C = 3, 2, 0.4


# -- the text -----------------------------------------------------------------------------------------


def clinic(dialect: str) -> str:
    asked = '"clinic"."patients"', ["age", "zip", "odd name"], ["disease", "salary"], dialect
    return metrics_script(*asked, numeric=frozenset({"salary"}), population='"clinic"."residents"')


@pytest.mark.parametrize("dialect", DIALECTS)
def test_golden(dialect: str) -> None:
    """A change of generated SQL shows in review; DUCKANON_UPDATE_GOLDEN=1 accepts it."""
    path = GOLDEN / f"{dialect}.sql"
    if os.environ.get("DUCKANON_UPDATE_GOLDEN") == "1":
        path.write_text(clinic(dialect), encoding="utf-8")
    assert clinic(dialect) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_golden_files_parse_in_their_own_dialect(dialect: str) -> None:
    parsed = sqlglot.parse((GOLDEN / f"{dialect}.sql").read_text(encoding="utf-8"), read=dialect)
    per_table = ["k_anonymity", "class_sizes", "risk", "k_violations", "column_risk", "distinction", "row_risk"]
    per_table += OF_POPULATION
    per_column = [
        "l_diversity",
        "recursive_diversity",
        "homogeneity",
        "value_diversity",
        "alpha",
        "leakage",
        "skewness",
    ]
    per_column += ["t_closeness", "beta_likeness", "delta_disclosure"]
    metrics = metric_queries("t", ["a"], ["s"], population="p")
    assert [metric.name for metric in metrics] == per_table + per_column
    assert len([statement for statement in parsed if statement is not None]) == len(per_table) + 2 * len(per_column)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"table": "two words"}, "table"),
        ({"table": ""}, "table"),
        ({"table": "a.b.c.d"}, "table"),
        ({"qi": []}, "qi"),
        ({"qi": ["age", "AGE"]}, "qi"),
        ({"qi": [""]}, "qi"),
        ({"sensitive": ["disease", "Disease"]}, "sensitive"),
        ({"sensitive": ["Age"]}, "sensitive"),
        ({"numeric": frozenset({"salary"})}, "numeric"),
        ({"population": "two words"}, "population"),
        ({"k": 0}, "k"),
        ({"l": 0}, "l"),
        ({"c": math.nan}, "c"),
        ({"dialect": "cobol"}, "dialect"),
    ],
)
def test_faults(arguments: dict[str, Any], where: str) -> None:
    with pytest.raises(PolicyError) as raised:
        metrics_script(**{"table": "t", "qi": ["age"], "sensitive": ["disease"], "dialect": "duckdb", **arguments})
    assert [fault.where for fault in raised.value.faults] == [where]


def test_faults_are_reported_together() -> None:
    with pytest.raises(PolicyError, match="3 faults"):
        metric_queries("two words", [], [], k=0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_name_stays_a_name(dialect: str) -> None:
    """Neither quotes nor line ends in a name end the identifier or the comment that they stand in."""
    odd = 'a"`\'\n; DROP TABLE "t"; --'
    script = metrics_script(quoted(odd), [odd], ["s\n; SELECT 1;"], dialect)
    statements = [statement for statement in sqlglot.parse(script, read=dialect) if statement is not None]
    assert [type(statement) for statement in statements] == [sqlglot.exp.Select] * 17


# -- the figures --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """A table's name, its quasi-identifiers, a text column and a column of numbers."""

    table: str
    qi: tuple[str, ...]
    text: str
    number: str

    @cached_property
    def metrics(self) -> list[Metric]:
        """Every metric of both sensitive columns."""
        sensitive, numeric = [self.text, self.number], frozenset({self.number})
        asked: dict[str, Any] = {"k": K, "l": L, "c": C, "numeric": numeric, "population": quoted(self.everybody)}
        return metric_queries(quoted(self.table), self.qi, sensitive, **asked)

    @property
    def everybody(self) -> str:
        """A table of the population, named as a step of the queries is."""
        return "both" if self.table == "renamed" else "renamed"

    @staticmethod
    def population(rows: Sequence[Person]) -> list[Person]:
        """Some of the people several times, and others."""
        return [*list(rows[::2]) * 3, *((7, *row[1:]) for row in rows[1:])]

    def with_risk(self, *row: Any) -> Row:
        return dict(zip([*self.qi, self.text, self.number, "class_size", "risk"], row, strict=True))

    def statements(self, rows: Sequence[Person]) -> list[str]:
        """What creates and fills the table, on any engine."""
        types = [*("INTEGER" if place == 0 else "VARCHAR" for place in range(len(self.qi))), "VARCHAR", "INTEGER"]
        columns = list(zip([*self.qi, self.text, self.number], types, strict=True))
        made = []
        for name, people in ((self.table, rows), (self.everybody, self.population(rows))):
            made.append(f"CREATE TABLE {quoted(name)} ({', '.join(f'{quoted(c)} {kind}' for c, kind in columns)})")
            values = ", ".join(f"({', '.join(map(sql_literal, row))})" for row in people)
            made += [f"INSERT INTO {quoted(name)} VALUES {values}"] if people else []
        return made


def sql_literal(value: Any) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


OF_POPULATION = ("k_map", "presence", "journalist_risk")

# Tables and columns that try to be taken for the queries' own.
NAMES = [
    Names("people", ("age", "zip"), "disease", "salary"),
    Names("renamed", ("g1", "G0", "v"), "y", "x"),
    Names("counts", ("v",), "g0", "n"),
    Names("odd table", ("odd name", 'quo"te'), "value", "Größe"),
    Names("sizes", ("class_size", "row_count", "k"), "q", "p"),
]


@st.composite
def people(draw: st.DrawFn) -> tuple[Names, list[Person]]:
    """Up to 14 rows of few distinct values, so that classes meet; NULL everywhere."""
    names = draw(st.sampled_from(NAMES))
    keys = [st.sampled_from([1, 2, None]), *[st.sampled_from(["a", "b", None])] * (len(names.qi) - 1)]
    row = st.tuples(*keys, st.sampled_from(["flu", "HIV", "", "Ärger", None]), st.sampled_from([-5, 0, 10, 1000, None]))
    return names, draw(st.lists(row, max_size=14))


@pytest.fixture(scope="module")
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB with the macros."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute((ROOT / "sql" / "macros.sql").read_text(encoding="utf-8"))
        yield connection


def filled(warehouse: duckdb.DuckDBPyConnection, names: Names, rows: Sequence[Person]) -> None:
    for name in (names.table, names.everybody):
        warehouse.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
    for statement in names.statements(rows):
        warehouse.execute(statement)


def on_duckdb(warehouse: duckdb.DuckDBPyConnection, metric: Metric) -> list[Row]:
    return fetched(warehouse, metric.query.sql("duckdb", identify=True))


def fetched(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[object] = ()) -> list[Row]:
    cursor = connection.execute(query, parameters)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def same(found: list[Row], expected: list[Row]) -> None:
    """The same columns and rows, in any order, figures to 1e-9."""
    assert [list(row) for row in found[:1]] == [list(row) for row in expected[:1]]
    assert len(found) == len(expected)
    for one, other in zip(sorted(found, key=first), sorted(expected, key=first), strict=True):
        assert one == {name: close(value) for name, value in other.items()}


def first(row: Row) -> str:
    """What orders rows, whatever the last digits of their figures."""
    return str([value for value in row.values() if not isinstance(value, float)])


def close(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-9) if isinstance(value, float) else value


@examples(12)
@given(people())
def test_duckdb_agrees_with_the_macros(warehouse: duckdb.DuckDBPyConnection, table: tuple[Names, list[Person]]) -> None:
    names, rows = table
    filled(warehouse, names, rows)
    for metric in names.metrics:
        same(on_duckdb(warehouse, metric), by_macro(warehouse, names, metric))


def by_macro(warehouse: duckdb.DuckDBPyConnection, names: Names, metric: Metric) -> list[Row]:
    """The macro of the metric's name. Its k_violations show the classes; the portable ones only count them."""
    thresholds = {"risk": "k", "k_violations": "k", "recursive_diversity": "l", "skewness": "c", "journalist_risk": "k"}
    limits = {"k": K, "l": L, "c": C}
    given: list[object] = [quoted(names.table), list(names.qi), *([metric.column] if metric.column else [])]
    given += [quoted(names.everybody)] if metric.name in OF_POPULATION else []
    marks = ["?"] * len(given)
    if (threshold := thresholds.get(metric.name)) is not None:
        given.append(limits[threshold])
        marks.append(f"{threshold} := ?")
    call = f"duckanon.{metric.name}({', '.join(marks)})"
    if metric.name == "distinction":
        return fetched(warehouse, f"SELECT * REPLACE (array_to_string(columns, ', ') AS columns) FROM {call}", given)
    if metric.name == "row_risk":
        # Macros, as subqueries, call the second column of a name differently.
        return [names.with_risk(*row) for row in warehouse.execute(f"FROM {call}", given).fetchall()]
    if metric.name == "k_violations":
        # The last column is the size, whatever the quasi-identifiers are called.
        columns = ", ".join([*(f"g{place}" for place in range(len(names.qi))), "size"])
        sizes = "size AS class_size, COUNT(*) AS classes, SUM(size)::BIGINT AS row_count"
        return fetched(warehouse, f"SELECT {sizes} FROM {call} AS t ({columns}) GROUP BY size", given)
    return fetched(warehouse, f"FROM {call}", given)


@examples(20)
@given(people())
def test_duckdb_agrees_with_the_definitions(
    warehouse: duckdb.DuckDBPyConnection, table: tuple[Names, list[Person]]
) -> None:
    names, rows = table
    filled(warehouse, names, rows)
    for metric in names.metrics:
        same(on_duckdb(warehouse, metric), defined(names, rows, metric))


def defined(names: Names, people: Sequence[Person], metric: Metric) -> list[Row]:
    """The metric in plain Python, under the names of its output columns."""
    columns = [*names.qi, names.text, names.number]
    rows = [dict(zip(columns, person, strict=True)) for person in people]
    if metric.name == "row_risk":
        found = reference.row_risk(rows, names.qi)
        return [names.with_risk(*row.values(), size, risk) for row, size, risk in found]
    if metric.name in {"column_risk", "distinction"}:
        return of_sets(metric.name, rows, names.qi)
    if metric.name in OF_POPULATION:
        population = [dict(zip(columns, person, strict=True)) for person in names.population(people)]
        return of_population(metric.name, rows, population, names.qi)
    if metric.column is None:
        return of_sizes(metric.name, rows, names.qi)
    if metric.name in {"alpha", "leakage", "value_diversity"}:
        return of_values(metric.name, rows, names.qi, metric.column)
    return [of_column(metric.name, rows, names.qi, metric.column, ordered=metric.column == names.number)]


def of_population(name: str, rows: list[Row], population: list[Row], qi: Sequence[str]) -> list[Row]:
    found = reference.beside(rows, population, qi, K)
    if name == "k_map":
        sizes = (len(reference.classes(rows, qi)), len(rows), len(population))
        titles = "k_map, classes, row_count, population_rows, covered_rows"
        return [named(titles, found.k_map, *sizes, found.covered_rows)]
    if name == "presence":
        return [named("least_presence, most_presence", found.least_presence, found.most_presence)]
    return [named("highest_risk, average_risk, rows_at_risk", *found[-3:])]


def of_sizes(name: str, rows: list[Row], qi: Sequence[str]) -> list[Row]:
    risk, sizes = reference.risk(rows, qi, K), reference.class_sizes(rows, qi)
    if name == "k_anonymity":
        average = len(rows) / sizes.total() if rows else None
        figures = (reference.k(rows, qi), sizes.total(), len(rows), risk.unique_rows, average)
        return [named("k, classes, row_count, unique_rows, average_class_size", *figures)]
    if name == "risk":
        return [named("highest_risk, average_risk, rows_at_risk, unique_rows", *risk)]
    shown = {size: times for size, times in sizes.items() if name == "class_sizes" or size < K}
    return [named("class_size, classes, row_count", size, times, size * times) for size, times in shown.items()]


def of_sets(name: str, rows: list[Row], qi: Sequence[str]) -> list[Row]:
    if name == "column_risk":
        found = reference.column_risk(rows, qi)
        return [named("column_name, unique_rows_without, unique_rows_added", name, *found[name]) for name in qi]
    sets = reference.distinction(rows, qi, 3)
    titles = "columns, distinct_values, unique_rows, unique_share"
    return [named(titles, ", ".join(names), *one, one.unique_rows / len(rows)) for names, one in sets.items()]


def of_values(name: str, rows: list[Row], qi: Sequence[str], column: str) -> list[Row]:
    counts = reference.values(rows, column)
    if name == "leakage":
        leakage = reference.leakage(rows, qi, column)
        return [named("value, row_count, alp, highest_lp, dif", v, y, *leakage[v]) for v, y in counts.items()]
    if name == "value_diversity":
        least = reference.value_diversity(rows, qi, column)
        return [named("value, row_count, distinct_l", v, y, least[v]) for v, y in counts.items()]
    alpha = reference.alpha(rows, qi, column)
    return [named("value, row_count, frequency, alpha", v, y, y / len(rows), alpha[v]) for v, y in counts.items()]


def of_column(name: str, rows: list[Row], qi: Sequence[str], column: str, ordered: bool) -> Row:
    if name == "l_diversity":
        figures = (reference.distinct_l(rows, qi, column), reference.entropy_l(rows, qi, column))
        return named("distinct_l, entropy_l, classes", *figures, len(reference.classes(rows, qi)))
    if name == "recursive_diversity":
        return named("c", reference.recursive_c(rows, qi, column, L))
    if name == "homogeneity":
        found = reference.homogeneity(rows, qi, column)
        return named("homogeneous_classes, homogeneous_rows, expected_classes", *found)
    if name == "skewness":
        return named("skewed_classes, skewed_rows", *reference.skewness(rows, qi, column, C))
    if name in ("beta_likeness", "delta_disclosure"):
        shown = reference.likeness_figures(rows, qi, column)
        return {title: figure for title, figure in shown.items() if title.endswith(name.split("_")[0])}
    return named("t", reference.t(rows, qi, column, ordered=ordered))


def named(columns: str, *figures: Any) -> Row:
    return dict(zip(columns.split(", "), figures, strict=True))


def test_the_papers_figures(warehouse: duckdb.DuckDBPyConnection) -> None:
    """mohapatra table 2: k = 4, α = 0.5 for each disease, SE = 1/9. han table 1: 4 homogeneous rows."""
    for paper in ("mohapatra_table2", "han_table1"):
        warehouse.execute(f"CREATE TABLE {paper} AS FROM '{FIXTURES}/{paper}.csv'")
    mohapatra = metric_queries("mohapatra_table2", ["pid", "state", "age"], ["disease"])
    m = {metric.name: on_duckdb(warehouse, metric) for metric in mohapatra}
    assert m["k_anonymity"][0]["k"] == 4
    assert [row["alpha"] for row in m["alpha"]] == [0.5, 0.5, 0.5]
    same(m["homogeneity"], [{"homogeneous_classes": 0, "homogeneous_rows": 0, "expected_classes": 1 / 9}])
    han = metric_queries("han_table1", ["zip_code", "age", "nationality"], ["condition"])
    h = {metric.name: on_duckdb(warehouse, metric) for metric in han}
    assert (h["k_anonymity"][0]["k"], h["homogeneity"][0]["homogeneous_rows"]) == (4, 4)


# -- PostgreSQL ---------------------------------------------------------------------------------------


def random_rows(names: Names, size: int) -> list[Person]:
    """The same rows every time."""
    chance = random.Random(size)
    keys: list[list[Any]] = [[1, 2, 3, None], *[["a", "B", "", None]] * (len(names.qi) - 1)]
    domains: list[list[Any]] = [*keys, ["flu", "HIV", "Ärger", "it's", "", None], [-5, 0, 10, 1000, None]]
    return [tuple(chance.choice(domain) for domain in domains) for _ in range(size)]


@pytest.mark.parametrize("size", [0, 7, 300])
@pytest.mark.parametrize("names", NAMES, ids=lambda names: names.table)
def test_postgresql_agrees_with_duckdb(
    postgres: Server, warehouse: duckdb.DuckDBPyConnection, names: Names, size: int
) -> None:
    rows = random_rows(names, size)
    filled(warehouse, names, rows)
    answers = postgres.ask(names.statements(rows), names.metrics)
    for metric, found in zip(names.metrics, answers, strict=True):
        expected = on_duckdb(warehouse, metric)
        same([typed(row, expected) for row in found], expected)


def typed(row: Row, like: list[Row]) -> Row:
    """The text of a CSV row in the types that DuckDB gave."""
    kinds: dict[str, Callable[[str], Any]] = {
        name: type(value) for other in like for name, value in other.items() if value is not None
    }
    return {name: None if text == "NULL" else kinds.get(name, str)(text) for name, text in row.items()}


def test_a_large_class_is_no_underflow(postgres: Server) -> None:
    """K^(1-k) of 3 values and a class of 3000 is far below the least double."""
    rows: list[Person] = [(1, "a", "abc"[i % 3], i % 3) for i in range(3000)]
    metrics = [metric for metric in NAMES[0].metrics if metric.name == "homogeneity"]
    for found in postgres.ask(NAMES[0].statements(rows), metrics):
        assert [row["expected_classes"] for row in found] == ["0"]
