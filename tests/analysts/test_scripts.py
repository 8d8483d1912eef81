"""What `duckanon sql` prints is executed as it is, on a copy of the warehouse, and gives exactly the released rows."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon as api
from duckanon.query.names import quoted
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.hostile import HOSTILE
from tests.support.local_people import policy as local_policy
from tests.support.people import PEOPLE
from tests.support.postgres import Server

ROWS, VIEW = "-- the released rows, from the census\n", "-- the view over the source, guarding itself\n"
Row = tuple[Any, ...]


def executed(script: str, database: Path, folder: Path) -> tuple[list[Row], list[Row]]:
    """The released rows and those of the view, as a plain DuckDB gives them on a copy of the warehouse."""
    copy = folder / "copy.duckdb"
    shutil.copy(database, copy)
    before, after = script.split(ROWS)
    rows, after = after.split(";\n\n", 1) if ";\n\n-- kept" in after or f";\n\n{VIEW}" in after else (after, "")
    kept, _, view = after.partition(VIEW)
    with duckdb.connect(str(copy)) as connection:
        connection.execute(before)
        found = connection.execute(rows).fetchall()
        if kept.strip():
            connection.execute(kept)
        return found, connection.execute(view).fetchall()


def must_agree(folder: Folder, duckanon: Command, text: str, table: str) -> str:
    """What the script gives is what a run releases; the script."""
    policy = folder.policy(text)
    script = duckanon("sql", policy)
    assert script.code == 0, script.err
    assert duckanon("run", policy).code == 0
    released = folder.sql(f"FROM {table}")
    rows, shown = executed(script.out, folder.database, folder.path)
    assert rows == released  # in their order
    assert sorted(map(str, shown)) == sorted(map(str, released))
    return script.out


@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_full_domain(people: Folder, duckanon: Command, method: str) -> None:
    must_agree(people, duckanon, PEOPLE + f'[search]\nmethod = "{method}"\n', "people_anonymous")


def test_a_census_in_the_warehouse(people: Folder, duckanon: Command) -> None:
    """The counts of the node come from there, in a statement of their own."""
    must_agree(people, duckanon, PEOPLE + '[search]\nwhere = "warehouse"\n', "people_anonymous")


def test_a_population(people: Folder, duckanon: Command) -> None:
    """Also one that is a query, which the script defines."""
    people.sql("CREATE TABLE everybody AS SELECT age + i AS age, zip, sex FROM people, range(3) r (i)")
    text = PEOPLE.replace("k = 3", "k_map = 7\naverage_risk = 0.4")
    for given in ('table = "everybody"', 'query = "SELECT * FROM everybody"'):
        script = must_agree(people, duckanon, f"{text}\n[population]\n{given}\n", "people_anonymous")
    assert "m: rows of the population in a cell" in script


@pytest.mark.parametrize("method", ["climb", "l_c_clustering"])  # the other clusterings place cells as this one does
def test_every_class_at_its_own_levels(people: Folder, duckanon: Command, method: str) -> None:
    script = must_agree(people, duckanon, local_policy(method), "out")
    assert f"as {method} places them" in script
    assert "-- the cells where they are released" in script


def test_odd_names_and_a_dimension_table(hostile: Folder, duckanon: Command) -> None:
    text = HOSTILE.format(table='we"ird; drop', kind="table", to='"out; ""put"')
    must_agree(hostile, duckanon, text, '"out; ""put"')


MIXED = """
name = "mixed"
[source]
{source}
database = "warehouse.duckdb"
[privacy]
k = 3
suppression = 0.4
unmapped = "{unmapped}"
{entity}
[quasi_identifiers.born]
hierarchy = {{ dates = ["month", "year", "decade"] }}
[quasi_identifiers.paid]
hierarchy = {{ intervals = [0.5, 10, 100] }}
[quasi_identifiers.zip]
hierarchy = {{ mask = [3, 1, 0] }}
[quasi_identifiers.city]
hierarchy = "city's.csv"
[sensitive.ill]
l = 2
[columns]
identifiers = ["person"]
[search]
method = "{method}"
[release]
kind = "table"
to = "shown"
"""

CASES = {
    "by people": {"entity": 'entity = "person"'},
    "a query": {"source": "query = \"SELECT * FROM visits WHERE zip <> '0000' OR zip IS NULL\""},
    "what is unknown goes": {"unmapped": "suppress"},
    "what is unknown is the top": {"unmapped": "top"},
    "what is unknown goes, placed": {"unmapped": "suppress", "method": "climb"},
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_hierarchy(tmp_path: Path, duckanon: Command, case: str) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "city's.csv").write_text('level_0,level_1,level_2\na,north,*\nb,north,*\n"c""c",south,*\n')
    unknown = "'Ys'" if "unknown" in case else "NULL"
    folder.sql(
        "CREATE TABLE visits AS SELECT 'p' || i // 2 AS person, DATE '1980-01-01' + CAST(i % 90 AS INTEGER) AS born, "
        "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 * 0.25 END::DOUBLE AS paid, "
        "['0213', '0214', '1000', NULL][1 + i % 4] AS zip, "
        f"['a', 'b', 'c\"c', CASE WHEN i % 9 = 0 THEN {unknown} END][1 + i % 4] AS city, "
        "['flu', 'HIV', 'cold', NULL][1 + i // 3 % 4] AS ill FROM range(300) r(i)"
    )
    usual = {"source": 'table = "visits"', "unmapped": "error", "entity": "", "method": "greedy"}
    must_agree(folder, duckanon, MIXED.format(**usual | CASES[case]), "shown")


def test_levels_that_are_given(people: Folder, duckanon: Command) -> None:
    told = duckanon("sql", people.policy(PEOPLE), "--levels", "age=2,zip=1")
    rows, shown = executed(told.out, people.database, people.path)
    assert rows
    assert sorted(map(str, rows)) == sorted(map(str, shown))


# -- other dialects -------------------------------------------------------------------------------


def asked_of_postgres(server: Server, folder: Folder, tables: list[str], script: str) -> list[list[dict[str, str]]]:
    """The answers of the script's last two queries, the rows and the view, over copies of the tables."""
    statements = []
    for table in tables:
        described = folder.sql(f"DESCRIBE {table}")
        types = {"VARCHAR": "TEXT", "DOUBLE": "DOUBLE PRECISION"}
        columns = ", ".join(f"{quoted(name)} {types.get(kind, kind)}" for name, kind, *_ in described)
        statements.append(f"CREATE TEMP TABLE {table} ({columns})")
        for row in folder.sql(f"FROM {table}"):
            values = ", ".join("NULL" if v is None else "'" + str(v).replace("'", "''") + "'" for v in row)
            statements.append(f"INSERT INTO {table} VALUES ({values})")
    before, rows = script.split(ROWS)
    rows, view = rows.split(VIEW)
    rows, *kept = rows.split(";\n\n")
    script = "".join(f"{s};\n" for s in statements) + f"\\o /dev/null\n{before}\n" + ";\n".join(kept)
    told = server.psql(f"{script}\n\\o\n{rows};\n\\echo ----\n{view}\n")
    return [list(csv.DictReader(io.StringIO(part))) for part in told.split("----\n")]


def must_agree_on_postgres(
    server: Server, folder: Folder, duckanon: Command, text: str, tables: list[str], to: str
) -> None:
    policy = folder.policy(text)
    script = duckanon("sql", policy, "--dialect", "postgres")
    assert script.code == 0, script.err
    assert duckanon("run", policy).code == 0
    names = [name for name, *_ in folder.sql(f"DESCRIBE {to}")]
    released = sorted(tuple("NULL" if v is None else str(v) for v in row) for row in folder.sql(f"FROM {to}"))
    for answer in asked_of_postgres(server, folder, tables, script.out):
        assert sorted(tuple(row[name] for name in names) for row in answer) == released


def test_postgresql_gives_the_released_rows(people: Folder, duckanon: Command, postgres: Server) -> None:
    rules = "l = 2\nt = 0.6\nalpha = 0.9\nalp = 0.9\nentropy_l = 1.1\nrecursive = { c = 9.0, l = 2 }\n"
    text = PEOPLE.replace("l = 2\n", rules)
    must_agree_on_postgres(postgres, people, duckanon, text, ["people"], "people_anonymous")


@pytest.mark.parametrize("entity", ["", 'entity = "person"'])
def test_postgresql_with_every_kind_of_hierarchy(
    tmp_path: Path, duckanon: Command, postgres: Server, entity: str
) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "city's.csv").write_text('level_0,level_1,level_2\na,north,*\nb,north,*\n"c""c",south,*\n')
    folder.sql(
        "CREATE TABLE visits AS SELECT 'p' || i // 2 AS person, DATE '1980-01-01' + CAST(i % 90 AS INTEGER) AS born, "
        "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 END::BIGINT AS paid, "
        "['0213', '0214', '1000', NULL][1 + i % 4] AS zip, ['a', 'b', 'c\"c', NULL][1 + i % 4] AS city, "
        "['flu', 'HIV', 'cold', NULL][1 + i // 3 % 4] AS ill FROM range(120) r(i)"
    )
    usual = {"source": 'table = "visits"', "unmapped": "error", "entity": entity, "method": "greedy"}
    must_agree_on_postgres(postgres, folder, duckanon, MIXED.format(**usual), ["visits"], "shown")


def test_postgresql_with_odd_names(hostile: Folder, duckanon: Command, postgres: Server) -> None:
    text = HOSTILE.format(table='we"ird; drop', kind="table", to='"out; ""put"')
    tables = ['"we""ird; drop"', '"dim ""odd""; table"']
    must_agree_on_postgres(postgres, hostile, duckanon, text, tables, '"out; ""put"')


REFUSED = {
    ("postgres", '[search]\nmethod = "climb"\n'): "what only DuckDB knows",
    ("spark", ""): "temporary tables (values of the source, in one scan)",
    ("bigquery", ""): "HUGEINT (mapping table of age)",
    ("snowflake", ""): "HUGEINT (mapping table of age)",
}


@pytest.mark.parametrize(("dialect", "more"), REFUSED)
def test_what_a_dialect_cannot_say_is_refused_by_name(
    people: Folder, duckanon: Command, dialect: str, more: str
) -> None:
    told = duckanon("sql", people.policy(PEOPLE + more), "--dialect", dialect)
    assert (told.code, told.out) == (2, "")
    assert f"--dialect {dialect}: cannot say {REFUSED[dialect, more]}" in told.err


WITHOUT_NUMBERS = {
    "spark": "temporary tables (values of the source, in one scan)",
    "bigquery": "NULLS LAST",
    "snowflake": "(UNNEST) (the released rows, from the census)",
}


@pytest.mark.parametrize("dialect", WITHOUT_NUMBERS)
def test_without_numbers_too(people: Folder, duckanon: Command, dialect: str) -> None:
    text = PEOPLE.replace("hierarchy = { intervals = [5, 10, 20] }", "")
    told = duckanon("sql", people.policy(text), "--dialect", dialect)
    assert (told.code, told.out) == (2, "")
    assert f"--dialect {dialect}: cannot say " in told.err
    assert WITHOUT_NUMBERS[dialect] in told.err


def test_a_cast_that_may_fail_is_not_made_one_that_does(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ALTER age TYPE VARCHAR USING DATE '1950-01-01' + age")
    text = PEOPLE.replace("intervals = [5, 10, 20]", 'dates = ["year"]')
    told = duckanon("sql", people.policy(text), "--dialect", "postgres")
    assert (told.code, told.out) == (2, "")
    assert "cannot say a cast that may fail (TRY_CAST) (mapping table of age)" in told.err


def test_a_number_whose_text_is_another_elsewhere(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ALTER age TYPE DOUBLE")
    told = duckanon("sql", people.policy(PEOPLE), "--dialect", "postgres")
    assert (told.code, told.out) == (2, "")
    assert "cannot say the values of age, of type DOUBLE, as the same texts" in told.err


@pytest.mark.parametrize("option", ["--levels", "--db"])
def test_options_without_a_meaning_for_metrics(duckanon: Command, option: str) -> None:
    told = duckanon("sql", "--metrics", "people", "--qi", "age", option, "age=1")
    assert (told.code, told.out) == (2, "")
    assert f"{option}: has no meaning with --metrics" in told.err


@pytest.mark.parametrize("option", ["--qi", "--sensitive", "--numeric"])
def test_options_without_a_meaning_for_a_policy(people: Folder, duckanon: Command, option: str) -> None:
    told = duckanon("sql", people.policy(PEOPLE), option, "age")
    assert (told.code, told.out) == (2, "")
    assert f"{option}: has no meaning with a policy" in told.err


def test_pseudonyms_are_left_to_a_run(people: Folder, duckanon: Command) -> None:
    """The key is nothing to print: the script says so, and what would need it fails."""
    text = PEOPLE.replace('identifiers = ["name"]', 'pseudonyms = ["name"]\n[pseudonyms]\nkey_env = "NO_SUCH_KEY"')
    told = duckanon("sql", people.policy(text))
    assert told.code == 0
    assert "-- Pseudonyms need the key, which only a run is given: what makes them fails here.\n" in told.out
    with pytest.raises(duckdb.Error, match=r"not provided for the following parameters: .*inner_pad"):
        executed(told.out, people.database, people.path)


def test_nothing_is_traced_that_nobody_asked_for(people: Folder) -> None:
    with api.connect(people.database) as engine:
        with engine.workbench.traced() as executed:
            engine.fetch("SELECT 1")
        engine.fetch("SELECT 2", "a note")
    assert [part.statement for part in executed] == ["SELECT 1"]
