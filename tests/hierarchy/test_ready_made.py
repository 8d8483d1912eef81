"""The ready-made hierarchies: what their files hold, and how a value finds its row."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

import duckanon as api
from duckanon import HierarchyError, Policy, resources
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.checked import check_list
from duckanon.hierarchy.computed import PrefixesKind
from duckanon.hierarchy.listed import list_file
from duckanon.hierarchy.matching import matched_values
from duckanon.policy import MappingFile
from duckanon.policy.hierarchy import PREFIXES
from duckanon.query.expressions import literal

FILES = resources.builtin_hierarchies()


def lines(name: str) -> list[list[str]]:
    with FILES[name].open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.unit
@pytest.mark.parametrize("name", FILES)
def test_every_label_has_one_parent_and_one_meaning(name: str) -> None:
    header, *rows = lines(name)
    assert header[1:] == [f"level_{level}" for level in range(1, len(header))]
    assert len({row[0] for row in rows}) == len(rows)
    assert {row[-1] for row in rows} == {"*"}
    meant: dict[str, frozenset[str]] = {}
    for level in range(1, len(header)):
        members: dict[str, set[str]] = {}
        for row in rows:
            assert row[level].strip() == row[level] != ""
            members.setdefault(row[level], set()).add(row[0])
        # A label of two levels stands for the same values at both.
        for label, values in members.items():
            assert meant.setdefault(label, frozenset(values)) == values
    parents = {(level, row[level], row[level + 1]) for row in rows for level in range(len(header) - 1)}
    assert len(parents) == len({(level, label) for level, label, _ in parents})


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("icd10", [2216, 2216, 263, 22, 1]),
        ("nace", [88, 88, 21, 1]),
        ("isco", [43, 43, 10, 1]),
        ("occupation_isco", [43, 10, 6, 1]),
        ("education_isced", [9, 3, 1]),
    ],
)
def test_a_classification_has_as_many_groups_as_the_official_one(name: str, counts: list[int]) -> None:
    header, *rows = lines(name)
    assert [len({row[level] for row in rows}) for level in range(len(header))] == counts


@pytest.mark.unit
def test_groups_of_codes_hold_the_codes_that_they_name() -> None:
    for row in lines("icd10")[1:]:
        first, last = row[2].split(" ")[0].split("–")
        assert first <= row[0] == row[1] <= last
    sections = {row[0]: row[2][0] for row in lines("nace")[1:]}
    assert list(sections.values()) == sorted(sections.values())
    assert "".join(sorted(set(sections.values()))) == "ABCDEFGHIJKLMNOPQRSTU"
    assert [sections[division] for division in ("01", "35", "62", "99")] == ["A", "D", "J", "U"]
    assert all(row[0][0] == row[2][0] and row[1].startswith(f"{row[0]} ") for row in lines("isco")[1:])
    assert [row[0] for row in lines("isco")][1:] == [row[0] for row in lines("occupation_isco")][1:]


@pytest.mark.unit
def test_what_hipaa_wants_hidden_is_hidden() -> None:
    shown = {row[0]: row[1] for row in lines("us_zip3")[1:]}
    few = ["036", "059", "063", "102", "203", "205", "369", "556", "692", "753", "772", "790", "821", "823", "830",
           "831", "878", "879", "884", "890", "893"]  # fmt: skip
    military = [zip3 for zip3 in shown if "090" <= zip3 <= "098" or zip3 in ("340", "962", "966")]
    assert {shown[zip3] for zip3 in (*few, *military)} == {"000"}
    assert all(label == zip3 for zip3, label in shown.items() if label != "000")
    assert {row[1] for row in lines("age_hipaa")[1:] if int(row[0]) > 89} == {"≥ 90"}
    assert all(row[1] == row[0] for row in lines("age_hipaa")[1:] if int(row[0]) <= 89)


POLICY = """
name = "p"
[source]
table = "t"
[privacy]
k = {k}
suppression = {suppression}
unmapped = "{unmapped}"
[quasi_identifiers.a]
hierarchy = {hierarchy}
at_least = {level}
at_most = {level}
[sensitive.s]
[release]
kind = "{kind}"
to = "o"
difference = "ignore"
"""


def shown(
    values: str, hierarchy: str, level: int, k: int = 1, kind: str = "table", folder: Path = Path(), fate: str = "error"
) -> list[str]:
    """What a release shows of a column at one level."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT unnest({values}) AS a, 1 AS s")
        text = POLICY.format(hierarchy=hierarchy, level=level, k=k, kind=kind, unmapped=fate, suppression=0)
        result = api.run(Policy.parse(text, folder), connection)
        assert result.status == "released"
        return [row[0] for row in connection.execute("SELECT a FROM o ORDER BY 1").fetchall()]


@pytest.mark.parametrize("kind", ["table", "view"])
@pytest.mark.parametrize(
    ("values", "name", "level", "labels"),
    [
        ("[18, 19]::INTEGER[]", "age", 1, ["[15, 20)", "[15, 20)"]),
        ("[18.0, 19.0]::DOUBLE[]", "age", 1, ["[15, 20)", "[15, 20)"]),
        ("[18.00, 90.00]::DECIMAL(5, 2)[]", "age_hipaa", 2, ["15 – 19", "≥ 90"]),
        ("['18', '18.0', ' 18 ']", "age", 1, ["[15, 20)"] * 3),
        ("['C50', 'C50.1', 'C501', 'S72.001A']", "icd10", 1, ["C50", "C50", "C50", "S72"]),
        ("['J12.9', 'U07.1']", "icd10", 2, ["J09–J18 Influenza and pneumonia",
            "U00–U49 Provisional assignment of new diseases of uncertain etiology or emergency use"]),
        ("['01', '01.1', '01.11', '6201']", "nace", 2, ["A Agriculture, forestry and fishing"] * 3
            + ["J Information and communication"]),
        ("[2512, 25]", "isco", 2, ["2 Professionals"] * 2),
        ("['02139', '02139-4307', '03601']", "us_zip3", 1, ["000", "021", "021"]),
        ("['DE212', 'DE21H', 'EL30']", "nuts", 1, ["DE21", "DE21", "EL30"]),
        ("['DE212', 'DE300']", "nuts", 3, ["DE", "DE"]),
    ],
)  # fmt: skip
def test_a_value_finds_its_groups(values: str, name: str, level: int, labels: list[str], kind: str) -> None:
    assert shown(values, f'{{ builtin = "{name}" }}', level, kind=kind) == labels


STRANGE = {
    "age": ["18.5", "018", "18 years", "121"],
    "marital_status": ["married"],
    "icd10": ["c50", "C50-C59", "A10", "V00", "C5", "", "C50 ", "C50.", "C50\n"],
    "nace": ["1", "011", "04", "A01", "01.111"],
    "isco": ["1", "110", "04"],
    "us_zip3": ["2139", "00401", "02139-43"],
    "nuts": ["", "DE", "GB301", "DE2123", "de212", "DE212\n"],
}


@pytest.mark.unit
@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_value_of_a_classification_is_never_taken_for_one(name: str) -> None:
    with duckdb.connect() as connection:
        scratch = Scratch(DuckDB.wrap(connection))
        for text in STRANGE[name]:
            if name in PREFIXES:
                unknown = PrefixesKind(PREFIXES[name].pattern, PREFIXES[name].kept).unmapped(literal(text))
            else:
                listed = list_file(MappingFile(FILES[name], ready_made=True), 0, "a", scratch)
                unknown = check_list(listed, scratch.workbench).lacks(literal(text))
            assert unknown is not None
            assert scratch.workbench.fetch(exp.select(unknown)) == [(True,)], text
            scratch.clear()


def test_codes_are_counted_as_the_data_has_them() -> None:
    """C50 stands for two values of four; that the list has 2216 categories is of no interest."""
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT unnest(['C50.1', 'C50.9', 'C51', 'J12']) AS a, 1 AS s")
        text = POLICY.format(
            hierarchy='{ builtin = "icd10" }', level=1, k=1, kind="table", unmapped="error", suppression=0
        )
        utility = api.run(Policy.parse(text), db).utility
        assert utility is not None
        assert utility["ncp"] == pytest.approx((2 / 4 + 2 / 4 + 0 + 0) / 4)


def test_a_file_with_empty_cells_is_left_to_fill_in(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("level_0,level_1,level_2\na,x,*\nb,,*\nc,,\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match=rf"{re.escape(str(file))}: 2 values are left to fill in"):
        shown("['a', 'a']", '"h.csv"', 1, folder=tmp_path)
    assert shown("['a', 'b', 'd']", '"h.csv"', 1, fate="top", folder=tmp_path) == ["*", "*", "x"]
    file.write_text("level_0,level_1,level_2\na,x,*\n,y,*\n", encoding="utf-8")
    assert shown("['a', '']", '"h.csv"', 1, folder=tmp_path) == ["x", "y"], "the empty text is a value"


def test_a_file_may_list_the_beginnings_of_codes(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    for wrong in ("^([A-Z])[0-9]+$", "^[A-Z]$", "^([A-Z])|x$", "^([A-Z]$", "^(?i)([A-Z])$", "^([A-Z]??)[0-9]$"):
        file.write_text(f"{wrong},level_1,level_2\nA,x,*\n", encoding="utf-8")
        with pytest.raises(HierarchyError, match="the pattern of its codes must be like"):
            shown("['A1', 'A2']", '"h.csv"', 1, folder=tmp_path)
    file.write_text('"^([A-Z])[0-9]{1,3}$",level_1,level_2\nA,x,*\nB,y,*\n', encoding="utf-8")
    assert shown("['A1', 'B123']", '"h.csv"', 1, folder=tmp_path) == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", {"18": "18", "018.0": "18", " 19 ": "19", "18.5": None, "121": None}),
        ("marital_status", {"MARRIED": "Married", "Married ": "Married", "merry": None}),
        ("countries_name", {"cote  d'ivoire": "Cote d'Ivoire", "Öland": None, "AUSTRIA": "Austria"}),
        ("icd10", {"c50.1 ": "C50", "C50": "C50", "C50-C51": None}),
    ],
)
def test_a_proposal_matches_more_loosely(name: str, values: dict[str, str | None]) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE v (value VARCHAR, n BIGINT)")
        connection.executemany("INSERT INTO v VALUES (?, 3)", [[value] for value in (*values, None)])
        scratch = Scratch(DuckDB.wrap(connection))
        listed = list_file(MappingFile(FILES[name], ready_made=True), 0, "a", scratch)
        listing = check_list(listed, scratch.workbench)
        query = matched_values(exp.to_table("v"), listing.table, listing.height, listing.matching)
        rows = scratch.workbench.fetch(query)
    assert {row[0]: row[2] for row in rows} == values
    assert {row[1] for row in rows} == {3}
    parents = {row[0]: row[1:] for row in lines(name)[1:]}
    assert all(list(row[3:]) == parents[row[2]] for row in rows if row[2] is not None)
