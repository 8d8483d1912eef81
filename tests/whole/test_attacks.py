"""Ways in which a release could break its policy or destroy something, each tried once and closed."""

from __future__ import annotations

import os
import subprocess
import sys

import duckdb
import pytest

import duckanon as package
from duckanon import Policy
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE

VIEW = """
name = "p"
[source]
table = "t"
database = "warehouse.duckdb"
[privacy]
k = 2
[quasi_identifiers.a]
{hierarchy}
[sensitive.s]
[release]
kind = "{kind}"
to = "o"
"""


def test_a_collated_column_is_refused(folder: Folder, duckanon: Command) -> None:
    """Under a collation one person's value would match several values of a hierarchy, and count several times."""
    folder.sql("CREATE TABLE t (a VARCHAR COLLATE NOCASE, s VARCHAR)")
    folder.sql("INSERT INTO t VALUES ('Male', 'x'), ('female', 'y'), ('female', 'z')")
    told = duckanon("run", folder.policy(VIEW.format(hierarchy='hierarchy = { builtin = "sex" }', kind="table")))
    assert told.code == 2
    assert "collation" in told.err
    folder.sql("CREATE VIEW u AS SELECT decode(encode(a)) AS a, s FROM t")
    text = VIEW.format(hierarchy='hierarchy = { builtin = "sex" }', kind="table").replace('"t"', '"u"')
    told = duckanon("run", folder.policy(text), "--json")
    assert told.code == 0, told.err
    assert told.json["levels"] == {"a": 1}


@pytest.mark.parametrize("kind", ["INTEGER[2]", "INTERVAL", "MAP(INTEGER, INTEGER)", "INTEGER[]", "STRUCT(x INTEGER)"])
def test_types_without_a_trusted_equality_are_refused(folder: Folder, duckanon: Command, kind: str) -> None:
    folder.sql(f"CREATE TABLE t AS SELECT NULL::{kind} AS a, i AS s FROM range(4) r (i)")
    told = duckanon("run", folder.policy(VIEW.format(hierarchy="", kind="table")))
    assert told.code == 2
    assert "a: is of type" in told.err


def test_a_negative_zero_is_zero(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE t AS SELECT unnest([0.0, -0.0, 1.0, 1.0])::DOUBLE AS a, 1 AS s")
    policy = folder.policy(VIEW.format(hierarchy="", kind="view"))
    assert duckanon("run", policy).code == 0
    assert folder.sql("SELECT DISTINCT a::VARCHAR FROM o ORDER BY 1") == [("0.0",), ("1.0",)]
    folder.sql("INSERT INTO t VALUES (-0.0, 2)")
    assert folder.sql("SELECT DISTINCT a::VARCHAR FROM o ORDER BY 1") == [("0.0",), ("1.0",)]


@pytest.mark.parametrize(
    ("kind", "known", "unknown", "hierarchy"),
    [
        ("VARCHAR", "'2024-01-01'", "'garbage'", '{ dates = ["month"] }'),
        ("DATE", "'2024-01-01'", "'infinity'", '{ dates = ["month"] }'),
        ("DOUBLE", "1.5", "'inf'", "{ intervals = [5] }"),
        ("DOUBLE", "1.5", "1.23456e25", "{ intervals = [5] }"),
        ("VARCHAR", "'Male'", "'unmapped'", '{ builtin = "sex" }'),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_a_view_shows_no_value_that_the_hierarchy_does_not_know(
    folder: Folder, duckanon: Command, kind: str, known: str, unknown: str, hierarchy: str, k: int
) -> None:
    """At every level: k = 3 needs the top."""
    folder.sql(f"CREATE TABLE t AS SELECT {known}::{kind} AS a, i AS s FROM range(2) r (i)")
    if kind == "VARCHAR" and "builtin" in hierarchy:
        folder.sql("INSERT INTO t VALUES ('Female', 1)" if k == 3 else "SELECT 1")
    else:
        folder.sql(f"INSERT INTO t VALUES (NULL::{kind}, 1)" if k == 3 else "SELECT 1")
    text = VIEW.format(hierarchy=f"hierarchy = {hierarchy}", kind="view").replace("k = 2", f"k = {k}")
    assert duckanon("run", folder.policy(text)).code == 0
    before = folder.sql("SELECT a, count(*) FROM o GROUP BY a ORDER BY a")
    folder.sql(f"INSERT INTO t SELECT {unknown}::{kind}, i FROM range(9) r (i)")
    assert folder.sql("SELECT a, count(*) FROM o GROUP BY a ORDER BY a") == before


def test_a_level_is_written_in_one_way(people: Folder, duckanon: Command) -> None:
    levels = 'levels = { 1 = ["HIV", "cancer"], 2 = ["asthma", "flu", "cough"] }\n'
    text = PEOPLE.replace("l = 2\n", levels + 'level_alpha = { 1 = 0.1, "01" = 0.9 }\n')
    told = duckanon("run", people.policy(text))
    assert told.code == 2
    assert "level_alpha.01" in told.err


@pytest.mark.parametrize("victim", ["warehouse.duckdb", "policy.toml", "sex.csv", "extra.csv", "s9.csv", "s1.csv"])
def test_inputs_are_never_replaced(people: Folder, duckanon: Command, victim: str) -> None:
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")
    (people.path / "extra.csv").write_text("x\n1\n")
    (people.path / "s1.csv").write_text("age,zip,sex,disease,name\n" + "30,02139,F,flu,x\n31,02139,M,HIV,y\n" * 4)
    text = PEOPLE.replace('kind = "table"\nto = "people_anonymous"', f'kind = "csv"\nto = "{victim}"')
    text = text.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    if victim == "extra.csv":
        query = f"SELECT p.* FROM people p, read_csv('{people.path}/extra.csv')"
        text = text.replace('table = "people"', f'query = "{query}"')
    if victim.startswith("s") and victim != "sex.csv":
        text = text.replace('table = "people"', 'file = "s?.csv"')
    before = people.dump()
    policy = people.policy(text)
    kept = {name: (people.path / name).read_bytes() for name in people.files() if name != "warehouse.duckdb"}
    told = duckanon("run", policy, "--replace")
    assert told.code == 2, told.out
    assert people.dump() == before
    assert {name: (people.path / name).read_bytes() for name in kept} == kept


def test_a_link_at_the_target_stays_a_link(people: Folder, duckanon: Command) -> None:
    (people.path / "deep").mkdir()
    os.symlink("deep/real.csv", people.path / "link.csv")
    text = PEOPLE.replace('kind = "table"\nto = "people_anonymous"', 'kind = "csv"\nto = "link.csv"')
    for _ in range(2):
        assert duckanon("run", people.policy(text)).code == 0
    assert (people.path / "link.csv").is_symlink()
    assert (people.path / "deep" / "real.csv").is_file()


def test_a_sidecar_that_cannot_be_written_leaves_nothing(people: Folder, duckanon: Command) -> None:
    (people.path / ".p.csv.duckanon").mkdir()
    text = PEOPLE.replace('kind = "table"\nto = "people_anonymous"', 'kind = "csv"\nto = "p.csv"')
    policy = people.policy(text)
    files = people.files()
    assert duckanon("run", policy).code == 2
    assert people.files() == files


def test_two_views_of_one_policy_do_not_share_their_tables(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = { builtin = "sex" }')
    first = text.replace('kind = "table"\nto = "people_anonymous"', 'kind = "view"\nto = "v1"')
    assert duckanon("run", people.policy(first)).code == 0
    shown = people.sql("SELECT count(*) FROM v1")
    second = first.replace('"v1"', '"v2"')
    section = '[quasi_identifiers.sex]\nhierarchy = { builtin = "sex" }\n'
    second = second.replace(section, "").replace("[quasi_identifiers.age]", section + "[quasi_identifiers.age]")
    assert duckanon("run", people.policy(second)).code == 0
    assert people.sql("SELECT count(*) FROM v1") == shown
    assert duckanon("run", people.policy(first.replace('kind = "view"', 'kind = "table"'))).code == 0
    kept = people.sql("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'duckanon' AND table_name LIKE '%v1%'")
    assert kept == [(0,)]


def test_a_csv_release_is_checked_with_its_own_types(folder: Folder, duckanon: Command) -> None:
    folder.sql(
        "CREATE TABLE t AS SELECT ['01', '1', '', NULL][1 + i % 4] AS a, "
        "['x', '', NULL][1 + i % 3] AS s FROM range(24) r (i)"
    )
    text = VIEW.format(hierarchy="", kind="csv").replace('to = "o"', 'to = "o.csv"')
    policy = folder.policy(text)
    released = duckanon("run", policy, "--json")
    assert released.code == 0, released.err
    assert released.json["classes"] == 4
    checked = duckanon("check", policy, "--release", "--json")
    assert checked.code == 0, checked.err
    assert checked.json["classes"] == 4


def test_the_outcome_does_not_depend_on_who_listens(people: Folder) -> None:
    policy = people.policy(PEOPLE.replace("k = 3", "k = 201"))
    shell = f"{sys.executable} -m duckanon run {policy} --json | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", shell], capture_output=True, check=False).returncode == 1
    good = people.policy(PEOPLE)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(
        [sys.executable, "-m", "duckanon", "run", str(good)], capture_output=True, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.full_device
def test_a_release_stands_though_nothing_of_it_can_be_told(people: Folder) -> None:
    shell = f"{sys.executable} -m duckanon run {people.policy(PEOPLE)} > /dev/full"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, check=False)
    assert ended.returncode == 0
    assert b"could not be written" in ended.stderr


def test_columns_that_differ_only_by_an_accented_letters_case(folder: Folder, duckanon: Command) -> None:
    folder.sql('CREATE TABLE t AS SELECT i % 2 AS "é", i % 3 AS "É", i AS s FROM range(24) r (i)')
    text = VIEW.format(hierarchy="", kind="table").replace(
        "[quasi_identifiers.a]", '[quasi_identifiers."é"]\n[quasi_identifiers."É"]'
    )
    assert duckanon("run", folder.policy(text)).code == 0


def test_the_schema_path_of_a_connection_is_left_alone(people: Folder) -> None:
    with duckdb.connect(str(people.database)) as connection:
        connection.execute("CREATE SCHEMA s2")
        connection.execute("SET search_path = 's2,main'")
        package.run(Policy.load(people.policy(PEOPLE)), connection)
        assert connection.execute("SELECT current_setting('search_path')").fetchall() == [("s2,main",)]
