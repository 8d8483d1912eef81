"""A policy released again after it, its hierarchies or its columns changed: what is compared, and what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.ledgers import rows_of
from tests.support.people import NAMED, PEOPLE
from tests.support.repeats import policy, released


def refused(duckanon: Command, folder: Folder, text: str) -> list[str]:
    told = duckanon("run", folder.policy(text), "--json")
    assert (told.code, told.json["status"]) == (1, "violated"), told.out + told.err
    reasons: list[str] = told.json["reasons"]
    return reasons


# -- modes follow what the levels showed ----------------------------------------------------------


def ages(folder: Folder) -> None:
    folder.sql("CREATE TABLE p AS SELECT (20 + i % 40)::INTEGER AS age, 'e' || i % 4 AS area FROM range(4000) AS r (i)")


def by_age(intervals: str, k: int, mode: str, more: str = "") -> str:
    return f"""
        name = "ages"
        [source]
        table = "p"
        database = "warehouse.duckdb"
        [privacy]
        k = {k}
        [quasi_identifiers.age]
        hierarchy = {intervals}
        [quasi_identifiers.area]
        {more}
        [release]
        kind = "table"
        to = "o"
        mode = "{mode}"
        difference = "ignore"
    """


def test_monotone_does_not_trust_the_number_of_a_level(folder: Folder, duckanon: Command) -> None:
    ages(folder)
    first = released(duckanon, folder, by_age("{ intervals = [10, 20] }", 200, "monotone"))
    assert first["levels"]["age"] == 1
    told = duckanon("run", folder.policy(by_age("{ intervals = [2, 4] }", 50, "monotone")))
    assert told.code == 2
    assert "the hierarchy of age is not what it was" in told.err
    assert 'release once with mode = "search"' in told.err
    assert folder.sql("SELECT DISTINCT age FROM o ORDER BY 1 LIMIT 1") == [("[20, 30)",)]
    finer_below = released(duckanon, folder, by_age("{ intervals = [2, 10, 20] }", 50, "monotone"))
    assert finer_below["levels"]["age"] == 2, "ranges of 10 are the second level now"
    assert folder.sql("SELECT DISTINCT age FROM o ORDER BY 1 LIMIT 1") == [("[20, 30)",)]
    wider = released(duckanon, folder, by_age("{ intervals = [5, 20] }", 50, "monotone"))
    assert wider["levels"]["age"] == 2, "ranges of 5 are finer, those of 20 are not"
    shifted = duckanon("run", folder.policy(by_age("{ intervals = [20], origin = 5 }", 50, "monotone")))
    assert shifted.code == 2, "ranges that overlap those of the last release cut them into finer ones"


def test_cuts_are_followed_by_their_points(folder: Folder, duckanon: Command) -> None:
    ages(folder)
    first = released(duckanon, folder, by_age("{ cuts = [[30, 40, 50], [40]] }", 200, "monotone"))
    assert first["levels"]["age"] == 1
    finer_below = by_age("{ cuts = [[25, 30, 40, 50], [30, 40, 50]] }", 50, "{}")
    for mode in ("monotone", "fixed"):
        assert released(duckanon, folder, finer_below.replace("{}", mode))["levels"]["age"] == 2
    assert folder.sql("SELECT DISTINCT age FROM o ORDER BY 1") == [("30 – 39",), ("40 – 49",), ("< 30",), ("≥ 50",)]
    fewer = released(duckanon, folder, by_age("{ cuts = [[30, 35, 50], [50]] }", 50, "monotone"))
    assert fewer["levels"]["age"] == 2, "35 was no point of the last release"
    for mode in ("monotone", "fixed"):
        assert duckanon("run", folder.policy(by_age("{ cuts = [[30, 50]] }", 50, mode))).code == 2


@pytest.mark.parametrize("mode", ["fixed", "monotone"])
def test_a_listed_level_is_followed_while_it_lists_the_same(folder: Folder, duckanon: Command, mode: str) -> None:
    ages(folder)
    names = folder.path / "areas.csv"
    text = by_age("{ intervals = [10, 20] }", 900, mode, 'hierarchy = "areas.csv"')
    names.write_text("e0,north,*\ne1,north,*\ne2,south,*\ne3,south,*\n")
    levels = released(duckanon, folder, text)["levels"]
    assert levels["area"] == 1
    assert released(duckanon, folder, text)["levels"] == levels
    names.write_text("e0,north,all,*\ne1,north,all,*\ne2,south,all,*\ne3,south,all,*\n")
    assert released(duckanon, folder, text)["levels"] == levels, "a level above changes nothing"
    names.write_text("e0,north,*\ne1,south,*\ne2,south,*\ne3,south,*\n")
    told = duckanon("run", folder.policy(text))
    assert told.code == 2
    assert "the hierarchy of area is not what it was" in told.err


def test_fixed_finds_the_level_that_shows_the_same(folder: Folder, duckanon: Command) -> None:
    ages(folder)
    released(duckanon, folder, by_age("{ intervals = [10, 20] }", 200, "fixed"))
    again = released(duckanon, folder, by_age("{ intervals = [5, 10, 20] }", 200, "fixed"))
    assert again["levels"]["age"] == 2
    assert duckanon("run", folder.policy(by_age("{ intervals = [20, 40] }", 200, "fixed"))).code == 2


def test_the_last_release_is_the_last_recorded_whatever_the_clocks_said(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, policy("search"))
    coarse = people.policy(policy("search").replace("k = 3", "k = 30"))
    people.sql("UPDATE duckanon.releases SET finished_at = TIMESTAMP '2999-01-01'")
    last = duckanon("run", coarse, "--json").json["levels"]
    assert released(duckanon, people, policy("monotone"))["levels"] == last


# -- an earlier ledger ----------------------------------------------------------------------------


def as_in_the_first_version(folder: Folder) -> None:
    for name in ("recorded", "started_at", "policy_text", "shows", "warnings", "release_fingerprint"):
        folder.sql(f"ALTER TABLE duckanon.releases DROP COLUMN {name}")


def test_a_ledger_of_an_earlier_version_goes_on(people: Folder, duckanon: Command) -> None:
    first = released(duckanon, people, policy("fixed"))
    as_in_the_first_version(people)
    before = duckanon("history", "--db", people.database, "--json").json
    assert [(run["outcome"], run["recorded"], run["shows"]) for run in before] == [("released", None, None)]
    assert released(duckanon, people, policy("fixed"), "--dry-run")["levels"] == first["levels"]
    assert released(duckanon, people, policy("fixed"))["levels"] == first["levels"]
    assert [(row["recorded"], row["policy_text"] is None) for row in rows_of(people.database)] == [
        (1, True),
        (2, False),
    ]


def test_its_levels_are_good_only_while_no_hierarchy_changes(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, policy("fixed"))
    as_in_the_first_version(people)
    told = duckanon("run", people.policy(policy("fixed").replace("[5, 10, 20]", "[5, 20]")))
    assert told.code == 2
    assert "the hierarchies are not what they were" in told.err


# -- what two releases tell together --------------------------------------------------------------


REGIONS = """
    name = "regions"
    [source]
    table = "p"
    database = "warehouse.duckdb"
    [privacy]
    k = 5
    [quasi_identifiers.region]
    hierarchy = { mask = [1, 0] }
    [sensitive.disease]
    [release]
    kind = "%s"
    to = "%s"
    difference = "refuse"
    mode = "search"
"""


@pytest.mark.parametrize("kind", ["table", "parquet"])
def test_releases_of_different_levels_are_compared(folder: Folder, duckanon: Command, kind: str) -> None:
    text = REGIONS % (kind, "o" if kind == "table" else f"o.{kind}")
    folder.sql("CREATE TABLE p AS SELECT 'A' || i % 5 AS region, 'flu' AS disease FROM range(19) AS r (i)")
    assert released(duckanon, folder, text)["levels"] == {"region": 1}
    folder.sql("INSERT INTO p SELECT 'A' || i % 5, 'HIV' FROM range(4) AS r (i)")
    folder.sql("INSERT INTO p SELECT 'B' || i % 5, 'flu' FROM range(50) AS r (i)")
    assert "fewer than k = 5" in refused(duckanon, folder, text)[0], "4 rows of A* came"
    folder.sql("INSERT INTO p SELECT 'A' || i % 5, 'flu' FROM range(30) AS r (i)")
    assert released(duckanon, folder, text)["levels"] == {"region": 0}, "34 rows have come: enough to hide among"
    folder.sql("DELETE FROM p WHERE region IN ('A1', 'A2', 'A3') AND disease = 'HIV'")
    assert "3 rows in all" in refused(duckanon, folder, text.replace("k = 5", "k = 12"))[0], "from fine to coarse"


def test_a_change_of_columns_is_said(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ADD COLUMN ward VARCHAR", "UPDATE people SET ward = 'W' || (age % 3)")
    hidden = policy("fixed", difference="refuse").replace('["name"]', '["name", "ward"]')
    kept = policy("fixed", difference="refuse").replace('["name"]', '["name"]\nkeep = ["ward"]')
    released(duckanon, people, hidden)
    people.sql("INSERT INTO people SELECT 'new', age, zip, sex, disease, ward FROM people WHERE name = 'person 7'")
    assert len(refused(duckanon, people, hidden)) == 1
    reasons = refused(duckanon, people, kept)
    assert any("fewer than k = 3" in reason for reason in reasons)
    assert any("now has ward" in reason for reason in reasons)
    warned = released(duckanon, people, kept.replace('"refuse"', '"warn"'))["warnings"]
    assert any("now has ward" in warning for warning in warned)
    assert any("no longer has ward" in reason for reason in refused(duckanon, people, hidden))


def test_a_release_that_cannot_be_read_is_said(people: Folder, duckanon: Command) -> None:
    """A view as it stands in the place, which an earlier policy made: what it reads is gone."""
    text = policy("search", difference="refuse")
    released(duckanon, people, policy("search", kind="view"))
    people.sql("ALTER TABLE people RENAME TO persons")
    (reason,) = refused(duckanon, people, text.replace('table = "people"', 'table = "persons"'))
    assert reason.startswith("release.difference: the last release cannot be read, so it cannot be compared: ")
    assert "persons" not in people.sql("SELECT sql FROM duckdb_views() WHERE view_name = 'people_anonymous'")[0][0]


@pytest.mark.parametrize("kind", ["table", "parquet"])
def test_a_release_that_is_gone_is_said(people: Folder, duckanon: Command, kind: str) -> None:
    text = policy("search", kind=kind, difference="refuse")
    released(duckanon, people, text)
    if kind == "table":
        people.sql("DROP TABLE people_anonymous")
    else:
        (people.path / "out.parquet").unlink()
    (reason,) = refused(duckanon, people, text)
    assert "not in its place any more" in reason
    (warning,) = released(duckanon, people, text.replace('"refuse"', '"warn"'))["warnings"]
    assert "not in its place any more" in warning


def test_classes_at_their_own_levels_cannot_be_compared(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(policy("search", method="climb", difference="refuse")))
    assert told.code == 2
    assert "release.difference" in told.err
    text = policy("search", method="climb", difference="warn")
    released(duckanon, people, text)
    people.sql("DELETE FROM people WHERE name = 'person 7'")
    assert any("classes at their own levels" in warning for warning in released(duckanon, people, text)["warnings"])


def test_hierarchies_that_do_not_nest_are_said(folder: Folder, duckanon: Command) -> None:
    ages(folder)
    text = by_age("{ intervals = [10, 20] }", 200, "search").replace('"ignore"', '"refuse"')
    released(duckanon, folder, text)
    (reason,) = refused(duckanon, folder, text.replace("[10, 20] }", "[10, 20], origin = 5 }"))
    assert reason.startswith("release.difference: age: labels of then and now do not nest")


def test_a_warning_of_a_release_is_in_its_entry(people: Folder, duckanon: Command) -> None:
    text = policy("fixed", difference="warn")
    released(duckanon, people, text)
    people.sql("DELETE FROM people WHERE name = 'person 7'")
    (warning,) = released(duckanon, people, text)["warnings"]
    first, second = rows_of(people.database)
    assert json.loads(first["warnings"]) == []
    assert json.loads(second["warnings"]) == [warning]


def test_the_headline_of_a_refusal_does_not_blame_the_constraints(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, policy("fixed", difference="refuse"))
    people.sql("DELETE FROM people WHERE name = 'person 7'")
    told = duckanon("run", people.policy(policy("fixed", difference="refuse")))
    assert told.code == 1
    assert told.err.startswith("people: refused; nothing was written\n  release.difference: ")
    assert "NOT hold" not in told.err


# -- a policy that asks for less ------------------------------------------------------------------


def test_asking_for_less_is_said_everywhere(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, PEOPLE.replace("k = 3", "k = 5") + NAMED)
    elsewhere = PEOPLE.replace("people_anonymous", "elsewhere") + NAMED
    told = duckanon("run", people.policy(elsewhere), "--log", "json")
    warning = "the policy asks for less than at the last release: privacy.k was 5, is 3"
    assert warning in told.out
    assert warning in told.err
    *_, last = rows_of(people.path / "ledger.duckdb")
    assert warning in json.loads(last["warnings"])
    assert released(duckanon, people, elsewhere)["warnings"] == [], "once is enough"


def test_the_ledger_keeps_the_policy_and_what_the_levels_show(people: Folder, duckanon: Command) -> None:
    told = released(duckanon, people, PEOPLE)
    (row,) = rows_of(people.database)
    assert row["policy_text"] == PEOPLE
    shows: dict[str, Any] = json.loads(row["shows"])
    assert {name: part["level"] for name, part in shows.items()} == told["levels"]
    assert shows["age"] == {"level": 2, "says": "ranges of 10", "rule": shows["age"]["rule"]}
    assert shows["age"]["rule"] == {"intervals": "10", "origin": "0", "of": "number", "decimals": 0}
    assert row["started_at"] <= row["finished_at"]


def test_an_unreadable_policy_of_then_is_said(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, PEOPLE)
    people.sql("UPDATE duckanon.releases SET policy_text = 'k = five', policy_hash = 'x'")
    assert "cannot be read by this version" in released(duckanon, people, PEOPLE)["warnings"][0]


# -- what an attacker tried -----------------------------------------------------------------------


def one_column(kind: str, to: str, column: str, hierarchy: str = "", more: str = "", release: str = "") -> str:
    said = f"hierarchy = {hierarchy}\n" if hierarchy else ""
    return f"""
        name = "p"
        [source]
        table = "p"
        database = "warehouse.duckdb"
        [privacy]
        k = 5
        suppression = 3
        {more}
        [quasi_identifiers.{column}]
        {said}
        [columns]
        keep = ["s"]
        [release]
        kind = "{kind}"
        to = "{to}"
        difference = "refuse"
        {release}
        [ledger]
        database = "ledger.duckdb"
    """


def groups(sizes: dict[str, int]) -> str:
    """SELECTs of so many rows of each value."""
    return " UNION ALL ".join(f"SELECT {value} AS g, 'x' AS s FROM range({n})" for value, n in sizes.items())


@pytest.mark.parametrize(
    ("hierarchy", "then", "now"),
    [
        ("{ intervals = [10] }", {"30": 6, "31": 6}, {"30.0::DOUBLE": 7, "31.0::DOUBLE": 6}),
        ("{ dates = ['month'] }", {"DATE '2024-01-01'": 6}, {"TIMESTAMP '2024-01-01'": 7}),
        ('{ builtin = "age" }', {"30": 6, "31": 6}, {"30.0::DOUBLE": 7, "31.0::DOUBLE": 6}),
        ('{ builtin = "age" }\nat_least = 1', {"30": 6, "31": 6}, {"30.0::DOUBLE": 7, "31.0::DOUBLE": 6}),
        ("", {"30": 6, "31": 6}, {"30::DECIMAL(5, 1)": 7, "31::DECIMAL(5, 1)": 6}),
    ],
)
def test_a_column_of_another_type_is_not_silently_another(
    folder: Folder, duckanon: Command, hierarchy: str, then: dict[str, int], now: dict[str, int]
) -> None:
    text = one_column("parquet", "r.parquet", "g", hierarchy)
    folder.sql("CREATE TABLE p AS " + groups(then))
    released(duckanon, folder, text)
    folder.sql("CREATE OR REPLACE TABLE p AS " + groups(now))
    assert refused(duckanon, folder, text)


def test_a_group_that_is_called_like_a_code(folder: Folder, duckanon: Command) -> None:
    """C50 is a code and the name of a group; released as groups, then as codes."""
    (folder.path / "h.csv").write_text("C50,C50,*\nC50.1,C50,*\nC51,C51,*\nC51.1,C51,*\n")
    text = one_column("table", "r", "g", '"h.csv"')
    folder.sql("CREATE TABLE p AS " + groups({"'C50'": 4, "'C50.1'": 8, "'C51'": 6, "'C51.1'": 6}))
    assert released(duckanon, folder, text.replace("suppression = 3", "suppression = 0"))["levels"] == {"g": 1}
    folder.sql("INSERT INTO p SELECT 'C50', 'x'")
    assert "1 rows in all" in refused(duckanon, folder, text.replace("suppression = 3", "suppression = 0"))[0]


def test_labels_that_nest_only_higher_up_are_said(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS " + groups({"2": 5, "7": 5, "12": 10, "17": 10}))
    first = one_column("table", "r", "g", "{ intervals = [5, 10, 20] }").replace("k = 5", "k = 8")
    assert released(duckanon, folder, first)["levels"] == {"g": 2}
    folder.sql("CREATE OR REPLACE TABLE p AS " + groups({"2": 6, "7": 6, "12": 14, "17": 10}))
    second = one_column("table", "r", "g", "{ intervals = [5, 20] }").replace("k = 5", "k = 6")
    reasons = refused(duckanon, folder, second)
    assert any("nest only at a level that neither" in reason for reason in reasons)


def test_ranges_of_other_cuts_are_compared_where_they_nest(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS " + groups({"2": 6, "7": 6, "12": 6, "17": 6}))
    assert released(duckanon, folder, one_column("table", "r", "g", "{ cuts = [[5, 10]] }\nat_least = 1"))
    folder.sql("INSERT INTO p SELECT 7, 'x'")
    (reason,) = refused(duckanon, folder, one_column("table", "r", "g", "{ cuts = [[10]] }\nat_least = 1"))
    assert "1 rows in all" in reason


@pytest.mark.parametrize(
    ("then", "now"),
    [('null = "NA"', ""), ("escape_formulas = true", ""), ("header = false", ""), ("", 'delimiter = ";"')],
)
def test_a_file_that_was_written_otherwise_is_not_misread(
    folder: Folder, duckanon: Command, then: str, now: str
) -> None:
    folder.sql("CREATE TABLE p AS " + groups({"'-a'": 6, "NULL": 6, "'b'": 6}))
    released(duckanon, folder, one_column("csv", "r.csv", "g", release=then))
    folder.sql("INSERT INTO p SELECT NULL, 'x'")
    (reason,) = refused(duckanon, folder, one_column("csv", "r.csv", "g", release=now))
    assert "written with other options" in reason


def test_a_release_that_was_edited_is_not_compared_with(folder: Folder, duckanon: Command) -> None:
    text = one_column("table", "r", "g")
    folder.sql("CREATE TABLE p AS " + groups({"'a'": 6, "'b'": 6}))
    released(duckanon, folder, text)
    folder.sql("INSERT INTO p SELECT 'a', 'x'")
    assert "1 rows in all" in refused(duckanon, folder, text)[0]
    folder.sql("INSERT INTO r SELECT 'a', 'x'")
    assert "is not the release that the ledger recorded" in refused(duckanon, folder, text)[0]
    for options in (["--incremental"], ["--incremental", "--dry-run"]):
        told = duckanon("run", folder.policy(text), *options)
        assert told.code == 2
        assert "is not the release that the ledger recorded" in told.err


def test_another_place_does_not_make_the_last_release_forgotten(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS " + groups({str(age): 6 for age in range(20, 40)}))
    first = one_column("csv", "monday.csv", "g", "{ intervals = [10, 20] }", release='mode = "monotone"')
    coarse = released(duckanon, folder, first.replace("k = 5", "k = 50"))["levels"]
    assert coarse == {"g": 1}
    second = first.replace("monday.csv", "tuesday.csv")
    (reason,) = refused(duckanon, folder, second)
    assert "went to csv" in reason
    assert released(duckanon, folder, second.replace('"refuse"', '"warn"'))["levels"] == coarse
    (folder.path / "monday.csv").unlink()
    folder.database.rename(folder.path / "copy.duckdb")
    again = first.replace("warehouse.duckdb", "copy.duckdb").replace('"refuse"', '"warn"')
    assert released(duckanon, folder, again)["levels"] == coarse


def test_what_was_shown_as_the_top_does_not_become_finer(folder: Folder, duckanon: Command) -> None:
    names = folder.path / "h.csv"
    names.write_text("a,*\nb,*\n")
    folder.sql("CREATE TABLE p AS " + groups({"'a'": 10, "'b'": 10, "'c'": 10, "'d'": 10}))
    text = one_column("table", "r", "g", '"h.csv"', 'unmapped = "top"', 'mode = "monotone"')
    released(duckanon, folder, text)
    names.write_text("a,*\nb,*\nc,*\nd,*\n")
    assert duckanon("run", folder.policy(text)).code == 2
    assert folder.sql("SELECT count(DISTINCT g) FROM r") == [(3,)]


def test_another_query_is_another_source(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS SELECT '0213' || i % 2 AS g, 'x' AS s FROM range(20) r (i)")
    text = one_column("table", "r", "g", release='mode = "monotone"')
    short = text.replace('table = "p"', 'query = "SELECT left(g, 3) AS g, s FROM p"')
    released(duckanon, folder, short)
    told = duckanon("run", folder.policy(short.replace("left(g, 3) AS g", "g")))
    assert told.code == 2
    assert "source.query is not what it was" in told.err


@pytest.mark.parametrize("widths", ["[0.5, 10, 20]", "[5, 20]"])
def test_fixed_shows_the_same_labels_or_stops(folder: Folder, duckanon: Command, widths: str) -> None:
    folder.sql("CREATE TABLE p AS " + groups({str(age): 4 for age in range(20, 40)}))
    text = one_column("table", "r", "g", "{ intervals = [10, 20] }", release='mode = "fixed"')
    released(duckanon, folder, text.replace("suppression = 3", "suppression = 0"))
    assert duckanon("run", folder.policy(text.replace("[10, 20]", widths))).code == 2


def test_what_is_no_longer_generalized_is_said(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS SELECT i % 2 AS g, i % 3 AS z, 'x' AS s FROM range(60) r (i)")
    text = one_column("table", "r", "g")
    released(duckanon, folder, text.replace("[columns]", "[quasi_identifiers.z]\n[columns]"))
    reasons = refused(duckanon, folder, text.replace('["s"]', '["s", "z"]'))
    assert any("z: was generalized in the last release" in reason for reason in reasons)


def test_a_value_that_looks_like_the_top_is_none(folder: Folder, duckanon: Command) -> None:
    folder.sql("CREATE TABLE p AS " + groups({"'*'": 6, "'a'": 6, "'4*'": 6}))
    text = one_column("parquet", "r.parquet", "g")
    released(duckanon, folder, text)
    assert released(duckanon, folder, text)["warnings"] == []


def test_a_ledger_that_somebody_edited_is_said_to_be(people: Folder, duckanon: Command) -> None:
    released(duckanon, people, policy("fixed"))
    for cell in ("shows = 'zz'", "levels = '[1]'", """shows = '{"age": 1}'"""):
        people.sql(f"UPDATE duckanon.releases SET {cell}")
        told = duckanon("run", people.policy(policy("fixed")))
        assert told.code == 2
        assert "somebody has changed it" in told.err
        assert "unexpected" not in told.err
