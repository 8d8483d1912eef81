"""The dbt package, in a real dbt: the example passes, and failing tests fail with the right counts and no values.

dbt's requirements are not ours, so it lives in an environment of its own, `.venv-dbt`, made on the first run.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from tests.support.command import Command
from tests.support.environments import install, make_environment, scripts_of
from tests.support.needs import missing
from tests.support.paths import ROOT

pytestmark = pytest.mark.dbt

PACKAGE = ROOT / "integrations" / "dbt"
REQUIREMENTS = PACKAGE / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-dbt"

Row = dict[str, Any]
Person = tuple[Any, ...]


# dbt and a project ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def dbt() -> Path:
    """The dbt command of an environment that holds what requirements.txt asks for."""
    scripts = scripts_of(ENVIRONMENT)
    installed = ENVIRONMENT / "requirements.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not (installed.is_file() and installed.read_text(encoding="utf-8") == wanted and (scripts / "python").exists()):
        make_environment(ENVIRONMENT)
        (ENVIRONMENT / ".gitignore").write_text("*\n", encoding="utf-8")
        told = install(ENVIRONMENT, "--retries", "1", "--requirement", str(REQUIREMENTS))
        assert "ResolutionImpossible" not in told.stderr, told.stderr
        if told.returncode:
            last = [line for line in told.stderr.splitlines() if line.startswith("ERROR")][-1:]
            missing("dbt", f"dbt cannot be installed here (offline?): {' '.join(last) or told.stderr[-300:]}")
        installed.write_text(wanted, encoding="utf-8")
    return scripts / "dbt"


@dataclass
class Ran:
    """What one dbt command did: its exit code, what it printed, and the outcome of every node by name."""

    code: int
    out: str
    results: dict[str, Row]

    def statuses(self) -> dict[str, str]:
        return {name: result["status"] for name, result in self.results.items()}


class Project:
    """A copy of the package with its example, which stands in it as a user's project would."""

    def __init__(self, dbt: Path, folder: Path) -> None:
        self.command = dbt
        shutil.copytree(
            PACKAGE, folder, ignore=shutil.ignore_patterns("target", "logs", "dbt_packages", "*.duckdb", "*.wal")
        )
        self.path = folder / "example"

    def dbt(self, *arguments: str) -> Ran:
        (self.path / "target" / "run_results.json").unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DBT_")}
        told = subprocess.run(
            [str(self.command), "--no-use-colors", *arguments],
            cwd=self.path,
            env={**environment, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        file = self.path / "target" / "run_results.json"
        results = json.loads(file.read_text(encoding="utf-8"))["results"] if file.is_file() else []
        # model.clinic.patients_shared, test.clinic.NAME.HASH
        return Ran(told.returncode, told.stdout + told.stderr, {r["unique_id"].split(".")[2]: r for r in results})

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def failures(self) -> dict[str, list[Row]]:
        """The rows that each test left with --store-failures."""
        with duckdb.connect(str(self.path / "clinic.duckdb"), read_only=True) as connection:
            tables = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name LIKE '%audit'"
            ).fetchall()
            stored = {}
            for (table,) in tables:
                found = connection.execute(f'FROM main_dbt_test__audit."{table}"')
                names = [column[0] for column in found.description or []]
                stored[table] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return stored


# What the tests should say, in plain Python ---------------------------------------------------------------------------


def equivalence_classes(people: Iterable[Person]) -> dict[Person, list[Any]]:
    """The sensitive values (last in a row) of every class."""
    classes: dict[Person, list[Any]] = defaultdict(list)
    for *key, sensitive in people:
        classes[tuple(key)].append(sensitive)
    return classes


def k_failures(people: Iterable[Person], k: int) -> list[Row]:
    sizes = Counter(len(values) for values in equivalence_classes(people).values())
    return [{"class_size": x, "classes": n, "row_count": n * x} for x, n in sizes.items() if x < k]


def l_failures(people: Iterable[Person], least: int) -> list[Row]:
    found: dict[int, list[int]] = defaultdict(list)
    for values in equivalence_classes(people).values():
        found[len(set(values) - {None})].append(len(values))
    return [
        {"distinct_values": n, "classes": len(sizes), "row_count": sum(sizes)}
        for n, sizes in found.items()
        if n < least
    ]


def alpha_k_failures(people: Iterable[Person], k: int, alpha: float, protected: list[Any] | None) -> list[Row]:
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for values in equivalence_classes(people).values():
        counts = Counter(v for v in values if v is not None and (protected is None or v in protected))
        share = max(counts.values(), default=0) / len(values)
        broken = ["k"] * (len(values) < k) + ["alpha"] * (share > alpha + 1e-9)
        if broken:
            found[" and ".join(broken)].append((len(values), share))
    return [
        {
            "violation": violation,
            "smallest_class": min(size for size, _ in classes),
            "highest_share": max(share for _, share in classes),
            "classes": len(classes),
            "row_count": sum(size for size, _ in classes),
        }
        for violation, classes in found.items()
    ]


# The cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One generic test in a schema file, and the rows it should return."""

    name: str
    test: str
    model: str
    arguments: Row
    rows: list[Row] = field(default_factory=list)
    config: Row = field(default_factory=dict)
    column: str | None = None

    def as_yaml(self) -> Row:
        return {f"duckanon.{self.test}": {"name": self.name, "arguments": self.arguments, "config": self.config}}

    @property
    def failing_rows(self) -> int:
        return sum(row["row_count"] if "row_count" in row else row["class_size"] for row in self.rows)


def table(rows: Iterable[Person], columns: str) -> str:
    """A model of literal rows, for DuckDB and Postgres alike."""

    def literal(value: Any) -> str:
        return (
            "null" if value is None else "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value}"
        )

    lines = ",\n    ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
    return f"select * from (values\n    {lines}\n) as t ({columns})\n"


def people(seed: int, count: int) -> list[Person]:
    chance = random.Random(seed)
    return [
        (chance.choice([1, 2, 3, 4, None]), chance.choice(["a", "b", "NULL", None]), value)
        for value in chance.choices(["flu", "HIV", "cough", "it's", None], [4, 2, 1, 1, 2], k=count)
    ]


SOME = people(1, 60)
ODD = [(1, "x", 5, None, "s", "HIV")] * 2 + [(1, "x", 5, None, "s", "flu")] * 2 + [(2, "y", 6, 7, "t", "HIV")]
ODD_COLUMNS = '"zip code", "the ""order""", "class_size", "order", "Sensitive", "qi_1"'
ODD_SPELLED = ["zip code", 'the "order"', "class_size", "order", '"Sensitive"']

MODELS = {
    "some_people": table(SOME, "age, area, disease"),
    "nobody": table(SOME, "age, area, disease") + "where age > 100\n",
    "odd_names": table(ODD, ODD_COLUMNS),
    "passing_by": "{{ config(materialized='ephemeral') }}\n" + table(SOME, "age, area, disease"),
    "published": "select * from {{ ref('some_people') }}\n",
    "thirds": table([(1, "a", True), (1, "b", True), (1, "c", False)], "age, code, positive"),
    "amounts": table([(1, "5.00"), (1, "5.00"), (1, "7.00")], "age, amount").replace(
        "select *", "select age, cast(amount as decimal(6, 2)) as amount"
    ),
}

QI = ["age", "area"]
HAN = ["job", "birth", "postcode"]


def papers() -> list[Case]:
    """Han 2010: table 1 has a class where all have Cancer; table 2 is (0.4, 3) for HIV but not for every value."""
    one = {"quasi_identifiers": ["zip_code", "age", "nationality"]}
    two = {"quasi_identifiers": HAN, "sensitive_column": "illness", "k": 3, "alpha": 0.4}
    cancer = {"violation": "alpha", "smallest_class": 4, "highest_share": 0.5, "classes": 1, "row_count": 4}
    return [
        Case("han_1_k_4", "k_anonymity", "han_table1", one | {"k": 4}),
        Case(
            "han_1_k_5",
            "k_anonymity",
            "han_table1",
            one | {"k": 5},
            [{"class_size": 4, "classes": 2, "row_count": 8}],
        ),
        Case(
            "han_1_l_2",
            "l_diversity",
            "han_table1",
            one | {"l": 2, "sensitive_column": "condition"},
            [{"distinct_values": 1, "classes": 1, "row_count": 4}],
        ),
        Case("han_2_simple", "alpha_k_anonymity", "han_table2", two | {"values": ["HIV"]}),
        Case("han_2_general", "alpha_k_anonymity", "han_table2", two, [cancer]),
    ]


def random_people() -> Iterable[Case]:
    """Against plain Python, NULLs included, on a table, through an ephemeral model and on no rows."""
    sensitive = {"quasi_identifiers": QI, "sensitive_column": "disease"}
    for k in (1, 2, 3, 5, 50):
        yield Case(f"k_{k}", "k_anonymity", "some_people", {"quasi_identifiers": QI, "k": k}, k_failures(SOME, k))
    for least in (1, 2, 3, 4):
        rows = l_failures(SOME, least)
        yield Case(f"l_{least}", "l_diversity", "some_people", sensitive | {"l": least}, rows)
        yield Case(f"l_{least}_ephemeral", "l_diversity", "passing_by", sensitive | {"l": least}, rows)
    for k, alpha in ((1, 0.25), (4, 0.5), (4, 0.4), (5, 1), (3, 0.001)):
        for protected in (None, ["HIV"], ["cough", "it's"]):
            arguments = sensitive | {"k": k, "alpha": alpha} | ({"values": protected} if protected else {})
            name = f"alpha_{k}_{alpha}_{len(protected or [])}".replace(".", "_")
            rows = alpha_k_failures(SOME, k, alpha, protected)
            yield Case(name, "alpha_k_anonymity", "some_people", arguments, rows)
    yield Case("nobody_k", "k_anonymity", "nobody", {"quasi_identifiers": QI, "k": 5})
    yield Case("nobody_l", "l_diversity", "nobody", sensitive | {"l": 5})
    yield Case("nobody_alpha", "alpha_k_anonymity", "nobody", sensitive | {"k": 5, "alpha": 0.1})
    without_null = [person for person in SOME if person[0] is not None]
    yield Case(
        "where",
        "k_anonymity",
        "some_people",
        {"quasi_identifiers": QI, "k": 4},
        k_failures(without_null, 4),
        {"where": "age is not null"},
    )


def shown() -> Iterable[Case]:
    """With show_values: the classes themselves."""
    classes = equivalence_classes(SOME)
    yield Case(
        "shown_k",
        "k_anonymity",
        "some_people",
        {"quasi_identifiers": QI, "k": 4, "show_values": True},
        [{"age": key[0], "area": key[1], "class_size": len(of)} for key, of in classes.items() if len(of) < 4],
    )
    yield Case(
        "shown_l",
        "l_diversity",
        "some_people",
        {"quasi_identifiers": QI, "sensitive_column": "disease", "l": 3, "show_values": True},
        [
            {"age": key[0], "area": key[1], "class_size": len(of), "distinct_values": len(set(of) - {None})}
            for key, of in classes.items()
            if len(set(of) - {None}) < 3
        ],
    )
    yield Case(
        "shown_alpha",
        "alpha_k_anonymity",
        "han_table2",
        {"quasi_identifiers": HAN, "sensitive_column": "illness", "k": 4, "alpha": 0.4, "show_values": True},
        [
            {"job": "*", "birth": birth, "postcode": code, "violation": v, "class_size": x, "highest_share": share}
            for birth, code, v, x, share in (
                ("1975.*.*", 1541, "k", 3, pytest.approx(1 / 3)),
                ("1975.1.*", 1542, "alpha", 4, 0.5),
            )
        ],
    )


def odd_names() -> Iterable[Case]:
    """Blanks, quotes, reserved words, and columns called like ours."""
    arguments = {"quasi_identifiers": ODD_SPELLED, "sensitive_column": "qi_1"}
    yield Case("odd_k", "k_anonymity", "odd_names", {"quasi_identifiers": ODD_SPELLED, "k": 3}, k_failures(ODD, 3))
    yield Case("odd_l", "l_diversity", "odd_names", arguments | {"l": 3}, l_failures(ODD, 3))
    rows = alpha_k_failures(ODD, 3, 0.5, None)
    yield Case("odd_alpha", "alpha_k_anonymity", "odd_names", arguments | {"k": 3, "alpha": 0.5}, rows)
    yield Case(
        "odd_shown",
        "k_anonymity",
        "odd_names",
        {"quasi_identifiers": ODD_SPELLED, "k": 3, "show_values": True},
        [{"zip code": 2, 'the "order"': "y", "qi_3": 6, "order": 7, "Sensitive": "t", "class_size": 1}],
    )
    yield Case(
        "odd_column",
        "l_diversity",
        "odd_names",
        {"quasi_identifiers": ["zip code"], "l": 2},
        [{"distinct_values": 1, "classes": 1, "row_count": 1}],
        column="qi_1",
    )


def thresholds() -> Iterable[Case]:
    """A share of a third against thresholds beside it, and values of other types than text."""

    def case(name: str, column: str, alpha: float, share: float = 0, model: str = "thirds", **more: Any) -> Case:
        found = {"violation": "alpha", "smallest_class": 3, "classes": 1, "row_count": 3}
        arguments = {"quasi_identifiers": ["age"], "sensitive_column": column, "k": 3, "alpha": alpha, **more}
        rows = [found | {"highest_share": pytest.approx(share)}] if share else []
        return Case(name, "alpha_k_anonymity", model, arguments, rows)

    yield case("third_within_tolerance", "code", 0.3333333333)
    yield case("third_beyond_tolerance", "code", 0.33333333, 1 / 3)
    yield case("value_true", "positive", 0.5, 2 / 3, values=[True])
    yield case("value_false", "positive", 0.5, values=[False])
    yield case("number_in_text", "code", 0.1, values=[5])  # DuckDB would name a value in its conversion error
    yield case("number", "amount", 0.5, 2 / 3, "amounts", values=[5])
    yield case("number_as_text", "amount", 0.5, 2 / 3, "amounts", values=["5"])
    yield case("other_number", "amount", 0.5, model="amounts", values=[7])
    yield Case(
        "of_a_variable",
        "k_anonymity",
        "thirds",
        {"quasi_identifiers": ["age"], "k": "{{ var('k', 4) }}", "show_values": "{{ var('show_values', true) }}"},
        [{"age": 1, "class_size": 3}],
    )


CASES = [*papers(), *random_people(), *shown(), *odd_names(), *thresholds()]

SENSITIVE: Row = {"quasi_identifiers": QI, "sensitive_column": "disease"}
ALPHA: Row = SENSITIVE | {"k": 2, "alpha": 0.5}
WRONG: list[tuple[str, Row, str, str | None]] = [
    ("k_anonymity", {"k": 2}, "quasi_identifiers is missing", None),
    ("k_anonymity", {"quasi_identifiers": [], "k": 2}, "quasi_identifiers is empty", None),
    ("k_anonymity", {"quasi_identifiers": "age", "k": 2}, "must be a list of column names, not age", None),
    ("k_anonymity", {"quasi_identifiers": ["age", 5], "k": 2}, "quasi_identifiers holds 5", None),
    ("k_anonymity", {"quasi_identifiers": ["age", "AGE"], "k": 2}, "names AGE twice", None),
    ("k_anonymity", {"quasi_identifiers": QI}, "k is missing", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": 0}, "k must be a whole number of at least 1, not 0", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": 2.5}, "k must be a whole number", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": True}, "k must be a whole number", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": "two"}, "k must be a whole number", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": 2, "show_values": "some"}, "must be true or false", None),
    ("k_anonymity", {"quasi_identifiers": QI, "k": 2}, "a test of a table, not of the column", "disease"),
    ("l_diversity", {"quasi_identifiers": QI, "l": 2}, "sensitive_column is missing", None),
    ("l_diversity", SENSITIVE, "l is missing", None),
    ("l_diversity", SENSITIVE | {"l": 0}, "l must be a whole number of at least 1, not 0", None),
    ("l_diversity", SENSITIVE | {"sensitive_column": "Age", "l": 2}, "Age is among the quasi_id", None),
    ("l_diversity", {"quasi_identifiers": QI, "l": 2}, "area is among the quasi_identifiers", "area"),
    ("alpha_k_anonymity", SENSITIVE | {"alpha": 0.5}, "k is missing", None),
    ("alpha_k_anonymity", SENSITIVE | {"k": 2}, "alpha is missing", None),
    ("alpha_k_anonymity", ALPHA | {"alpha": 0}, "alpha must be a number above 0 and at most 1, not 0", None),
    ("alpha_k_anonymity", ALPHA | {"alpha": 1.1}, "above 0 and at most 1, not 1.1", None),
    ("alpha_k_anonymity", ALPHA | {"alpha": True}, "alpha must be a number", None),
    ("alpha_k_anonymity", ALPHA | {"values": []}, "values must be a list", None),
    ("alpha_k_anonymity", ALPHA | {"values": "HIV"}, "values must be a list", None),
    ("alpha_k_anonymity", ALPHA | {"values": ["HIV", None]}, "values holds null", None),
    ("alpha_k_anonymity", ALPHA | {"values": [["HIV"]]}, "list of single values", None),
    ("alpha_k_anonymity", {}, "quasi_identifiers is missing: .*; sensitive_column .*; k .*; alpha is ", None),
]
REFUSED = [
    (Case(f"refused_{number}", test, "some_people", arguments, column=column), message)
    for number, (test, arguments, message, column) in enumerate(WRONG)
]


def schema(cases: Iterable[Case]) -> str:
    """The cases as dbt reads them (JSON is YAML), on their seeds and models, or on a column."""
    nodes: dict[str, Row] = {}
    for case in cases:
        node = nodes.setdefault(case.model, {"name": case.model, "data_tests": [], "columns": []})
        if case.column is None:
            node["data_tests"].append(case.as_yaml())
        else:
            node["columns"].append({"name": case.column, "data_tests": [case.as_yaml()]})
    kinds = {
        "seeds": [n for m, n in nodes.items() if m not in MODELS],
        "models": [nodes[m] for m in nodes if m in MODELS],
    }
    return json.dumps({"version": 2, **kinds}, indent=2)


# The tests ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(dbt: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(dbt, tmp_path_factory.mktemp("dbt") / "package")
    told = project.dbt("deps")
    assert told.code == 0, told.out
    return project


@pytest.fixture(scope="module")
def example(project: Project) -> Ran:
    """The example as it is shipped, before any case is added."""
    return project.dbt("build")


@pytest.fixture(scope="module")
def cases(project: Project, example: Ran) -> Ran:
    """All cases, failing and refused ones too, in one build."""
    for seed in ("han_table1", "han_table2"):
        shutil.copy(ROOT / "fixtures" / f"{seed}.csv", project.path / "seeds")
    for name, sql in MODELS.items():
        project.write(f"models/{name}.sql", sql)
    project.write("models/cases.yml", schema([*CASES, *(case for case, _ in REFUSED)]))
    return project.dbt("build", "--store-failures", "--exclude", "patients+")


@pytest.fixture(scope="module")
def failures(project: Project, cases: Ran) -> dict[str, list[Row]]:
    return project.failures()


def test_the_example_passes(example: Ran) -> None:
    assert example.code == 0, example.out
    assert example.statuses() == {
        "patients": "success",
        "patients_shared": "success",
        "patients_shared_4_anonymous": "pass",
        "patients_shared_no_value_above_half": "pass",
        "patients_shared_hiv_hepatitis_below_a_fifth": "pass",
        "patients_shared_3_diagnoses": "pass",
    }
    assert "deprecat" not in example.out.lower()
    assert "warning" not in example.out.lower()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, cases: Ran, failures: dict[str, list[Row]]) -> None:
    result = cases.results[case.name]
    assert (result["status"], result["failures"]) == ("fail" if case.rows else "pass", case.failing_rows), result
    found = failures[case.name]
    assert len(found) == len(case.rows)
    assert all(row in found for row in case.rows), found


def test_the_cases_both_pass_and_fail(cases: Ran) -> None:
    assert cases.code == 1
    for test in ("k_anonymity", "l_diversity", "alpha_k_anonymity"):
        assert {cases.results[case.name]["status"] for case in CASES if case.test == test} == {"pass", "fail"}


def test_what_reads_a_failing_table_is_not_built(cases: Ran) -> None:
    assert cases.results["published"]["status"] == "skipped"


def test_failures_hold_no_values(failures: dict[str, list[Row]]) -> None:
    """Neither quasi-identifiers nor sensitive values, unless asked: counts, shares, and what was violated."""
    counts = {"class_size", "smallest_class", "distinct_values", "classes", "row_count"}
    for case in CASES:
        if "show_values" not in case.arguments:
            for row in failures[case.name]:
                assert set(row) <= counts | {"violation", "highest_share"}, case.name
                assert all(type(row[name]) is int for name in counts & set(row)), case.name
                assert row.get("violation") in (None, "k", "alpha", "k and alpha"), case.name


@pytest.mark.parametrize(("case", "message"), REFUSED, ids=lambda value: getattr(value, "name", ""))
def test_wrong_arguments_are_refused(case: Case, message: str, cases: Ran) -> None:
    result = cases.results[case.name]
    assert result["status"] == "error"
    assert re.search(rf"{case.test}: .*{message}", result["message"]), result["message"]


def test_the_readme_with_duckanon(project: Project, cases: Ran, duckanon: Command) -> None:
    """The README's policy and source: duckanon releases, dbt tests, and what reads the release is built after that."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    blocks = {name: body for body, name in re.findall(r"```\w+\n((?:#|--) (\S+)\n.*?)```", text, re.DOTALL)}
    for name in ("patients.toml", "models/anonymous.yml", "models/patients_published.sql"):
        project.write(name, blocks[name])
    told = duckanon("run", project.path / "patients.toml", "--json")
    assert (told.code, told.json["status"]) == (0, "released"), told.err

    ran = project.dbt("build", "--select", "source:anonymous+")
    assert ran.code == 0, ran.out
    assert list(ran.statuses().values()) == ["pass", "pass", "success"]


def test_the_example_holds_invented_people() -> None:
    with (PACKAGE / "example" / "seeds" / "patients.csv").open(encoding="utf-8", newline="") as file:
        patients = list(csv.DictReader(file))
    assert len(patients) == len({patient["name"] for patient in patients}) == 40


def test_compiles_for_other_warehouses(project: Project, cases: Ran) -> None:
    """Postgres' adapter renders every case without a server; what it renders is SQL for Snowflake and BigQuery too."""
    profile = (project.path / "profiles.yml").read_text(encoding="utf-8")
    server = "{type: postgres, host: localhost, port: 1, user: nobody, password: none, dbname: clinic, schema: main}"
    project.write("profiles.yml", f"{profile.rstrip()}\n    postgres: {server}\n")
    project.write("models/cases.yml", schema(CASES))
    told = project.dbt("compile", "--target", "postgres", "--no-populate-cache", "--target-path", "target/postgres")
    assert told.code == 0, told.out
    for case in CASES:
        (file,) = (project.path / "target" / "postgres").rglob(f"compiled/**/{case.name}.sql")
        sql = file.read_text(encoding="utf-8")
        assert not re.search(r"\b(double|try_cast|filter|qualify|group by all)\b", sql, re.IGNORECASE), case.name
        for dialect in ("postgres", "snowflake", "redshift", "duckdb"):
            assert len(sqlglot.parse(sql, read=dialect)) == 1, case.name
        if '""' not in sql and "''" not in sql:  # BigQuery spells quotes within quotes in another way
            assert len(sqlglot.parse(sql.replace('"', "`"), read="bigquery")) == 1, case.name
