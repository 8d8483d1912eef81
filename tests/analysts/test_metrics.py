"""`metrics`, `install` and `sql --metrics`: privacy figures of any table, without a policy."""

from __future__ import annotations

import subprocess

import duckdb
import pandas
import pytest
import sqlglot

import duckanon as package
from tests.support.adult import ADULT
from tests.support.command import Command
from tests.support.far import FarDatabase
from tests.support.figures import must_be_alike
from tests.support.folder import Folder, opened
from tests.support.needs import duckdb_shell
from tests.support.paths import ROOT
from tests.support.people import PEOPLE

QUESTION = ["--qi", "age", "--qi", "zip", "--sensitive", "disease"]


def test_metrics_of_a_table(people: Folder, duckanon: Command) -> None:
    told = duckanon("metrics", "people", "--db", people.database, *QUESTION, "--json")
    assert told.code == 0
    found = told.json
    k, classes = people.sql("SELECT min(x), count(*) FROM (SELECT count(*) AS x FROM people GROUP BY age, zip)")[0]
    assert (found["rows"], found["classes"], found["privacy"]["k"]) == (200, classes, k)
    assert sum(size["row_count"] for size in found["class_sizes"]) == 200
    assert set(found["privacy"]["sensitive"]["disease"]["values"]["HIV"]) == {"rows", "alpha", "alp", "dif"}


def test_metrics_say_what_each_column_adds(folder: Folder, duckanon: Command) -> None:
    """Of rows, and of people: 3 and 4 have two rows each, and are alone by age and zip together only."""
    rows = "(1, 20, 'a'), (2, 20, 'a'), (3, 30, 'a'), (3, 30, 'a'), (4, 30, 'b'), (4, 30, 'b'), (5, 20, 'b')"
    folder.sql(f"CREATE TABLE visits AS FROM (VALUES {rows}) AS v (who, age, zip)")
    question = ["metrics", "visits", "--db", folder.database, "--qi", "zip", "--qi", "age"]
    by_rows, by_people = duckanon(*question, "--json"), duckanon(*question, "--entity", "who", "--json")
    assert [tuple(risk.values()) for risk in by_rows.json["column_risk"]] == [("zip", 0, 1), ("age", 0, 1)]
    assert [tuple(risk.values()) for risk in by_people.json["column_risk"]] == [("zip", 0, 3), ("age", 0, 3)]
    told = duckanon(*question, "--entity", "who").out
    assert "  without zip  0 people would be alone, 3 fewer\n" in told


def test_metrics_for_people_to_read(people: Folder, duckanon: Command) -> None:
    told = duckanon("metrics", "people", "--db", people.database, *QUESTION)
    assert told.code == 0
    for words in ("highest risk", "class size", "█", "distinct l", "entropy l", "ALP", "HIV", "classes of one value"):
        assert words in told.out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_metrics_of_a_file(people: Folder, duckanon: Command, suffix: str) -> None:
    path = people.path / f"people's table.{suffix}"
    people.sql("COPY people TO '" + str(path).replace("'", "''") + "'")
    told = duckanon("metrics", path, *QUESTION, "--json")
    assert told.code == 0, told.err
    table = duckanon("metrics", "people", "--db", people.database, *QUESTION, "--json")
    assert told.json["privacy"] == table.json["privacy"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["people", *QUESTION], "--db"),
        (["gone.csv", *QUESTION], "no such file"),
        (["people", "--db", "DB", "--qi", "gone"], "gone"),
        (["gone", "--db", "DB", "--qi", "age"], "gone"),
        (["people", "--db", "DB", "--qi", "age", "--sensitive", "AGE"], "quasi-identifier too"),
        (["people", "--db", "DB"], "--qi"),
        (["people", "--db", "DB", "--qi", "age", "--k", "0"], "at least 1"),
    ],
)
def test_wrong_questions(people: Folder, duckanon: Command, arguments: list[str], word: str) -> None:
    told = duckanon("metrics", *(str(people.database) if a == "DB" else a for a in arguments))
    assert told.code == 2
    assert word in told.err


def test_metrics_in_python(people: Folder) -> None:
    with package.connect(people.database, read_only=True) as db:
        frame = package.metrics(db, "people", qi=["age", "zip"], sensitive="disease")
    assert list(frame.columns) == ["metric", "column", "value", "measured"]
    assert frame[frame.metric == "rows"].measured.iloc[0] == 200
    assert set(frame[frame.value == "HIV"].metric) == {"rows", "alpha", "alp", "dif"}


def test_install(people: Folder, duckanon: Command) -> None:
    for _ in range(2):
        assert duckanon("install", people.database).code == 0
    assert people.sql("SELECT k >= 1 FROM duckanon.k_anonymity('people', ['age', 'zip'])") == [(True,)]
    comments = people.sql("SELECT count(*) FROM duckdb_functions() WHERE schema_name = 'duckanon' AND comment IS NULL")
    assert comments == [(0,)]


def test_install_elsewhere(folder: Folder, duckanon: Command) -> None:
    assert duckanon("install", folder.path / "gone.duckdb").code == 2
    (folder.path / "people.csv").write_text("a,b\n1,2\n")
    assert "not a DuckDB database" in duckanon("install", folder.path / "people.csv").err
    ambiguous = folder.path / "duckanon.duckdb"
    duckdb.connect(str(ambiguous)).close()
    told = duckanon("install", ambiguous)
    assert told.code == 2
    assert "rename" in told.err


def test_an_installed_database_is_anonymized_as_any_other(people: Folder, duckanon: Command) -> None:
    duckanon("install", people.database)
    assert duckanon("run", people.policy(PEOPLE)).code == 0


def test_plain_selects_for_other_warehouses(people: Folder, duckanon: Command) -> None:
    told = duckanon("sql", "--metrics", "people", *QUESTION, "--dialect", "duckdb")
    assert told.code == 0
    assert "duckanon." not in told.out
    with duckdb.connect(str(people.database)) as connection:
        statements = connection.extract_statements(told.out)
        assert len(statements) > 8
        for statement in statements:
            connection.execute(statement)
    for dialect in ("postgres", "snowflake", "bigquery", "spark"):
        told = duckanon("sql", "--metrics", "people", *QUESTION, "--dialect", dialect)
        assert len([part for part in sqlglot.parse(told.out, read=dialect) if part]) == len(statements)
    assert duckanon("sql", "--metrics", "people", "--dialect", "duckdb").code == 2
    assert duckanon("sql").code == 2
    assert duckanon("sql", "policy.toml", "--metrics", "people", *QUESTION).code == 2


@pytest.mark.duckdb_cli
def test_the_real_command_line_of_duckdb(people: Folder) -> None:
    binary = duckdb_shell()
    assert binary is not None
    asked = "SELECT row_count FROM duckanon.k_anonymity('people', ['age']);"
    script = f".read {ROOT / 'sql' / 'macros.sql'}\n.mode csv\n{asked}\n"
    with duckdb.connect(str(people.database)) as connection:
        connection.execute(f"COPY people TO '{people.path}/people.parquet'")
    ended = subprocess.run(
        [binary], input=f"CREATE TABLE people AS FROM '{people.path}/people.parquet';\n{script}",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split()[-1] == "200"


@pytest.mark.adult
@pytest.mark.parametrize(
    ("qi", "sensitive", "k", "alpha", "distinct_l", "truncated", "t"),
    [
        (["education", "sex"], "occupation", 14, 0.8197802197802198, 5, 1, 0.7073990925194427),
        (["education", "sex"], "age", 14, 0.21024258760107817, 13, 12, 0.15503441042782115),
        (["marital-status", "sex", "workclass"], "occupation", 1, 1.0, 1, 1, 0.9672103971885154),
        (["marital-status", "sex", "workclass"], "age", 1, 1.0, 1, 1, 0.43072805909123607),
    ],
)
def test_adult_against_pycanon(
    qi: list[str], sensitive: str, k: int, alpha: float, distinct_l: int, truncated: int, t: float
) -> None:
    """The figures of pycanon 1.3.5 on the same file. It truncates entropy l, and its t holds only for a fresh index.

    Sorted by the first column pycanon gives t = 0.394… in place of the first 0.707…; ours does not depend on order.
    """
    with package.connect() as db:
        frame = package.metrics(db, str(ADULT / "adult.csv"), qi=qi, sensitive=sensitive)
    figures = frame[frame["value"].isna()].set_index("metric")["measured"].to_dict()
    assert figures["k"] == k
    assert figures["distinct_l"] == distinct_l
    assert int(figures["entropy_l"] + 1e-9) == truncated
    assert figures["t"] == pytest.approx(t, abs=1e-9)
    assert frame[frame["metric"] == "alpha"]["measured"].max() == pytest.approx(alpha, abs=1e-9)


@pytest.mark.adult
@pytest.mark.parametrize(
    ("qi", "sensitive", "beta", "delta"),
    [
        (["education", "sex"], "occupation", 52.95706618962433, 3.988188659765531),
        (["education", "sex"], "age", 62.36554621848738, 4.14892027868921),
        (["marital-status", "sex", "workclass"], "occupation", 163.81967213114754, 5.104851980079209),
        (["marital-status", "sex", "workclass"], "age", 477.76190476190476, 6.171203406529098),
    ],
)
def test_likeness_of_adult_against_pycanon(qi: list[str], sensitive: str, beta: float, delta: float) -> None:
    """The figures of pycanon 1.3.5, whose δ is of the values that a class has: in each of these tables some class lacks
    one, so that no δ holds as Brickell and Shmatikov define it.

    Its enhanced β is 8.117… for occupation and 10.314… for age, whatever the classes: -ln p of the rarest value. By Cao
    and Karras every value is bounded by its own -ln p, and some gain here is above it, so that no β holds."""
    with package.connect() as db:
        frame = package.metrics(db, str(ADULT / "adult.csv"), qi=qi, sensitive=sensitive)
    figures = frame[frame["value"].isna()].set_index("metric")["measured"].to_dict()
    assert figures["beta"] == pytest.approx(beta, abs=1e-9)
    assert figures["present_delta"] == pytest.approx(delta, abs=1e-9)
    assert pandas.isna(figures["delta"])
    assert pandas.isna(figures["enhanced_beta"])


@pytest.mark.parametrize("server", ["postgres_database", "lake"])
def test_a_server_is_asked_as_duckdb_is(
    people: Folder, duckanon: Command, request: pytest.FixtureRequest, server: str
) -> None:
    """By rows and by people."""
    far: FarDatabase = request.getfixturevalue(server)
    with opened(people.database) as near:
        near.execute("UPDATE people SET name = 'person ' || age % 7")
        far.copy(near, "people")
    asked = ("metrics", "people", "--qi", "age", "--qi", "sex", "--sensitive", "disease", "--json")
    for more in ((), ("--entity", "name")):
        found, expected = (duckanon(*asked, *more, "--db", at) for at in (far.address, people.database))
        assert (found.code, expected.code) == (0, 0), found.err
        must_be_alike(found.json, expected.json)
