"""Hierarchies as mapping tables: every kind, at its bounds."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import duckanon
from duckanon import HierarchyError, Policy, resources
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE


def labels(values: str, kind: str, hierarchy: str, level: int, folder: Path = Path(".")) -> dict[object, object]:
    """The label of each value at one level, as a release shows it."""
    from duckanon.census.counting import take_census
    from duckanon.census.source import bind_source
    from duckanon.engine.duckdb.warehouse import DuckDB
    from duckanon.engine.scratch import Scratch

    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT unnest({values})::{kind} AS a, 1 AS s")
        text = f"""
        name = "p"
        [source]
        table = "t"
        [privacy]
        k = 1
        [quasi_identifiers.a]
        hierarchy = {hierarchy}
        [sensitive.s]
        [release]
        kind = "table"
        to = "o"
        """
        policy = Policy.parse(text, folder)
        scratch = Scratch(engine := DuckDB.wrap(connection))
        census = take_census(policy, bind_source(policy, engine, scratch), scratch)
        (hierarchy_built,) = census.hierarchies
        if level == hierarchy_built.height:
            return {"*": hierarchy_built.top}
        mapping = hierarchy_built.mapping.sql("duckdb")
        return dict(connection.execute(f"SELECT value::VARCHAR, label_{level} FROM {mapping}").fetchall())


@pytest.mark.parametrize(
    ("values", "kind", "hierarchy", "level", "expected"),
    [
        ("[24, 25, 29, 30]", "INTEGER", "{ intervals = [5] }", 1,
         {"24": "[20, 25)", "25": "[25, 30)", "29": "[25, 30)", "30": "[30, 35)"}),
        ("[-1, -5, -6]", "BIGINT", "{ intervals = [5] }", 1, {"-1": "[-5, 0)", "-5": "[-5, 0)", "-6": "[-10, -5)"}),
        ("[17, 18]", "INTEGER", "{ intervals = [10], origin = 18 }", 1, {"17": "[8, 18)", "18": "[18, 28)"}),
        ("[0.3, 0.29]", "DOUBLE", "{ intervals = [0.1, 0.5] }", 1, {"0.3": "[0.3, 0.4)", "0.29": "[0.2, 0.3)"}),
        ("[1.999, 2.0, -0.001]", "DECIMAL(9, 3)", "{ intervals = [0.5, 2] }", 1,
         {"1.999": "[1.5, 2.0)", "2.000": "[2.0, 2.5)", "-0.001": "[-0.5, 0.0)"}),
        ("[1.999, 2.0]", "DECIMAL(9, 3)", "{ intervals = [0.5, 2] }", 2,
         {"1.999": "[0.0, 2.0)", "2.000": "[2.0, 4.0)"}),
        ("['2024-01-03', '2024-01-04']", "DATE", "{ intervals = [7] }", 1,
         {"2024-01-03": "[2023-12-28, 2024-01-04)", "2024-01-04": "[2024-01-04, 2024-01-11)"}),
        ("['02139', '021']", "VARCHAR", "{ mask = [4, 3, 0] }", 1, {"02139": "0213*", "021": "021"}),
        ("['02139']", "VARCHAR", "{ mask = [4, 3, 0] }", 3, {"*": "*****"}),
        ("['02139']", "VARCHAR", "{ mask = [4, 3] }", 3, {"*": "*"}),
        ("[2139]", "INTEGER", "{ mask = [2] }", 1, {"2139": "21**"}),
        ("['2024-05-31 23:59:59']", "TIMESTAMP", '{ dates = ["day", "month"] }', 1,
         {"2024-05-31 23:59:59": "2024-05-31"}),
        ("['2024-05-31']", "DATE", '{ dates = ["month", "year"] }', 1, {"2024-05-31": "2024-05"}),
        ("['2024-05-31']", "DATE", '{ dates = ["quarter"] }', 1, {"2024-05-31": "2024-Q2"}),
        ("['2019-12-30']", "DATE", '{ dates = ["week"] }', 1, {"2019-12-30": "2020-W01"}),
        ("['1999-01-01']", "DATE", '{ dates = ["year", "decade", "century"] }', 2, {"1999-01-01": "1990s"}),
        ("['1999-01-01']", "VARCHAR", '{ dates = ["year", "decade", "century"] }', 3, {"1999-01-01": "1900-1999"}),
    ],
)  # fmt: skip
def test_labels(values: str, kind: str, hierarchy: str, level: int, expected: dict[str, str]) -> None:
    doubled = values[:-1] + ", " + values[1:]
    assert labels(doubled, kind, hierarchy, level) == expected


def test_text_that_is_no_date(folder: Folder) -> None:
    with pytest.raises(HierarchyError, match="1 value cannot be placed"):
        labels("['2024-05-31', 'soon']", "VARCHAR", '{ dates = ["month"] }', 1)


@pytest.mark.parametrize("content", [
    "level_0,level_1,level_2\na,x,*\nb,x,*\n", "a;x;*\nb;x;*\n", "a,x,*\nb,x,*\n",
    "\ufefflevel_0,level_1,level_2\na,x,*\nb,x,*\n", 'a,"x",*\r\n"b",x,*\r\n'])  # fmt: skip
def test_both_forms_of_a_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "h.csv").write_text(content, encoding="utf-8", newline="")
    assert labels("['a', 'b']", "VARCHAR", '"h.csv"', 1, tmp_path) == {"a": "x", "b": "x"}


def test_a_file_matches_the_text_form(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("39;30s;*\n40;40s;*\n")
    assert labels("[39, 40]", "INTEGER", '"h.csv"', 1, tmp_path) == {"39": "30s", "40": "40s"}


def test_null_is_a_value_of_its_own_until_the_top() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT [1, 2, NULL][1 + i % 3] AS a, i AS s FROM range(9) r (i)")
        text = """
        name = "p"
        [source]
        table = "t"
        [privacy]
        k = {k}
        [quasi_identifiers.a]
        hierarchy = {{ intervals = [10] }}
        [sensitive.s]
        [release]
        kind = "table"
        to = "o"
        """
        assert duckanon.run(Policy.parse(text.format(k=3)), connection).levels == {"a": 0}
        assert duckanon.run(Policy.parse(text.format(k=4)), connection).levels == {"a": 2}
        assert connection.execute("SELECT DISTINCT a FROM o").fetchall() == [("*",)]


@pytest.mark.parametrize("name", resources.builtin_hierarchies())
def test_ready_made_hierarchies_are_sound(name: str) -> None:
    """Every value of every file can be anonymized with it."""
    path = resources.builtin_hierarchies()[name]
    with duckdb.connect() as connection:
        more = "01" if name == "us_zip3" else ""  # of a code, the file has the beginning
        connection.execute(
            f"CREATE TABLE t AS SELECT column0 || '{more}' AS a, i AS s FROM read_csv('{path}', all_varchar = true, "
            "header = false, skip = 1, nullstr = 'no such text') h, range(2) r (i)"
        )
        policy = Policy.parse(
            f'name = "p"\n[source]\ntable = "t"\n[privacy]\nk = 3\n[quasi_identifiers.a]\n'
            f'hierarchy = {{ builtin = "{name}" }}\n[sensitive.s]\n[release]\nkind = "table"\nto = "o"\n'
        )
        assert duckanon.run(policy, connection).status == "released"


def test_the_hierarchy_command(people: Folder, duckanon: Command) -> None:
    told = duckanon("hierarchy", people.policy(PEOPLE))
    assert told.code == 0
    assert "age: height 4" in told.out
    assert "ranges of 10" in told.out
    assert "zip: height 3" in told.out
    only = duckanon("hierarchy", people.policy(PEOPLE), "zip")
    assert "age" not in only.out
    assert duckanon("hierarchy", people.policy(PEOPLE), "disease").code == 2
    assert "us_states" in duckanon("hierarchy").out


@pytest.mark.parametrize("hierarchy", ["{ intervals = [7] }", '{ dates = ["week"] }', '{ dates = ["month", "year"] }'])
@pytest.mark.parametrize("farthest", ["5881580-07-10", "5877642-06-25 (BC)", "infinity"])
def test_the_farthest_dates_are_not_known(hierarchy: str, farthest: str) -> None:
    """Their week, or the end of their interval, is not in the calendar any more."""
    text = f"""
        name = "p"
        source = {{ table = "t" }}
        privacy = {{ k = 2, suppression = 1, UNMAPPED }}
        quasi_identifiers = {{ born = {{ hierarchy = {hierarchy} }} }}
        release = {{ kind = "table", to = "o" }}
        [sensitive.s]
    """
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT DATE '2024-01-01' + i::INTEGER AS born, 1 AS s FROM range(7) r (i)")
        db.execute(f"INSERT INTO t VALUES ('{farthest}', 1)")
        with pytest.raises(
            HierarchyError, match="1 value cannot be placed: not a finite date within 2,000,000,000 days"
        ):
            duckanon.run(Policy.parse(text.replace(", UNMAPPED", "")), db)
        result = duckanon.run(Policy.parse(text.replace("UNMAPPED", 'unmapped = "suppress"')), db)
        assert result.rows == {"source": 8, "released": 7, "suppressed": 1}


def test_intervals_of_days_stay_in_the_calendar() -> None:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT DATE '2024-01-01' AS born, 1 AS s FROM range(7)")
        policy = """
            name = "p"
            source = { table = "t" }
            privacy = { k = 2 }
            quasi_identifiers = { born = { hierarchy = { intervals = [3000000000] } } }
            release = { kind = "table", to = "o" }
            [sensitive.s]
        """
        with pytest.raises(HierarchyError, match="100,000,000 days wide at most"):
            duckanon.run(Policy.parse(policy), db)


@pytest.mark.parametrize("sign", ["\x01", "\\N", "NULL", "\x00"])
def test_no_cell_of_a_file_becomes_null(sign: str, people: Folder, duckanon: Command) -> None:
    """It would switch off the check for values that the hierarchy does not map."""
    (people.path / "sex.csv").write_text(f"level_0,level_1\nF,*\n{sign},*\n", encoding="utf-8")
    policy = PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    told = duckanon("run", people.policy(policy))
    assert told.code == 2
    assert "quasi_identifiers.sex.hierarchy: does not map 1 value of the source (100 rows)" in told.err
    people.sql(
        "UPDATE people SET sex = " + f"CASE sex WHEN 'F' THEN 'F' ELSE '{sign}' END".replace("\x00", "' || chr(0) || '")
    )
    assert duckanon("run", people.policy(policy)).code == 0


def test_a_listing_with_a_null_knows_nothing_more() -> None:
    from sqlglot import exp

    from duckanon.hierarchy.listing import not_listed
    from duckanon.query.expressions import literal

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE listing AS SELECT unnest(['a', NULL]) AS level_0")
        for value, unknown in (("a", False), ("b", True)):
            asked = exp.select(not_listed(literal(value), exp.to_table("listing")))
            assert connection.execute(asked.sql("duckdb")).fetchall() == [(unknown,)]
