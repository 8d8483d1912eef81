"""β-likeness, δ-disclosure and t by a hierarchy: small tables whose figures can be worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon
from duckanon import HierarchyError, Policy, PolicyError
from duckanon.policy.demands import weaker
from duckanon.result import Result

POLICY = """
name = "p"
source = { table = "people" }
privacy = { k = 1 }
[quasi_identifiers.ward]
[sensitive.ill]
THRESHOLDS
[release]
kind = "KIND"
to = "shown"
"""
TREE = "level_0,level_1,level_2,level_3\nflu,infection,lung,*\nbronchitis,infection,lung,*\nulcer,stomach,gut,*\n"


def policy(thresholds: str, folder: Path = Path(), kind: str = "table") -> Policy:
    return Policy.parse(POLICY.replace("THRESHOLDS", thresholds).replace("KIND", kind), folder)


def wards(*classes: str) -> duckdb.DuckDBPyConnection:
    """A table with a ward for each list of illnesses; - is none."""
    db = duckdb.connect()
    db.execute("CREATE TABLE people (ward INTEGER, ill VARCHAR)")
    rows = [(ward, None if ill == "-" else ill) for ward, named in enumerate(classes) for ill in named.split()]
    db.executemany("INSERT INTO people VALUES (?, ?)", rows)
    return db


def measured(db: duckdb.DuckDBPyConnection, thresholds: str, folder: Path = Path()) -> dict[Any, Any]:
    """Every constraint of the table as it is, and what it measures."""
    found = duckanon.check(policy(thresholds, folder), db).constraints
    return {(f.constraint.name, f.constraint.value): (f.measured, f.holds) for f in found if f.constraint.column}


def test_only_gains_count() -> None:
    """Of 8 who have an illness 6 have the flu, 2 HIV: p is .75 and .25. In the first ward q is .5 of both."""
    with wards("flu flu HIV HIV -", "flu flu flu flu") as db:
        found = measured(db, "beta = 1\nenhanced_beta = 1\n[sensitive.ill.values.flu]\nbeta = 0.3\nenhanced_beta = 0.3")
        assert found["beta", None] == (1.0, True)
        assert found["beta", "flu"] == (pytest.approx(1 / 3), False)
        # -ln .25 is above 1; -ln .75 is .288, and the second ward gains a third.
        assert found["enhanced_beta", None] == (1.0, True)
        assert found["enhanced_beta", "flu"] == (math.inf, False)


def test_a_value_that_a_class_lacks_fails_for_any_delta() -> None:
    with wards("flu flu HIV HIV -", "flu flu flu flu") as db:
        found = measured(
            db, "delta = 99\n[sensitive.ill.values.flu]\ndelta = 0.41\n[sensitive.ill.values.none]\ndelta = 1"
        )
        assert found["delta", None] == (math.inf, False)
        assert found["delta", "flu"] == (pytest.approx(math.log(1.5)), True)
        assert found["delta", "none"] == (0, True), "the data has no such value"
        loose = "delta = {{ threshold = {}, present_only = true }}"
        assert measured(db, loose.format(0.7))["delta", None] == (pytest.approx(math.log(2)), True)
        assert measured(db, loose.format(math.log(2)))["delta", None] == (pytest.approx(math.log(2)), False)


def test_the_search_avoids_what_fails() -> None:
    """Only all rows together have every value, and where nobody has one, none does."""
    with wards("flu flu HIV HIV", "flu flu flu flu", "- -") as db:
        assert duckanon.run(policy("beta = 1.5"), db).levels == {"ward": 0}
        assert duckanon.run(policy("beta = 0.3"), db).levels == {"ward": 1}
        assert duckanon.run(policy("delta = 9"), db).levels == {"ward": 1}
        assert duckanon.run(policy("delta = { threshold = 9, present_only = true }"), db).levels == {"ward": 0}


@pytest.mark.parametrize(
    "thresholds", ["beta = 0.7", "enhanced_beta = 0.7", "delta = 0.7", 't = { threshold = 0.25, hierarchy = "h.csv" }']
)
def test_a_view_keeps_to_it_when_the_source_changes(thresholds: str, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(TREE, encoding="utf-8")
    with wards("flu flu bronchitis ulcer", "flu flu bronchitis ulcer") as db:
        assert duckanon.run(policy(thresholds, tmp_path, "view"), db).levels == {"ward": 0}
        assert db.execute("SELECT ward, count(*) FROM shown GROUP BY ward ORDER BY ward").fetchall() == [(0, 4), (1, 4)]
        db.execute("INSERT INTO people SELECT 2, 'ulcer' FROM range(2)")
        assert db.execute("SELECT DISTINCT ward FROM shown ORDER BY ward").fetchall() == [(0,), (1,)]
        db.execute("UPDATE people SET ill = 'cold' WHERE ward = 1 AND ill = 'bronchitis'")
        shown = db.execute("SELECT DISTINCT ill FROM shown").fetchall()
        assert ("cold",) not in shown, "what no hierarchy knows, and what only one class has, is not shown"


# -- t by a hierarchy ---------------------------------------------------------------------------------


def test_near_values_are_closer(tmp_path: Path) -> None:
    """In three levels: flu and bronchitis meet at the first, both meet the ulcer at the third."""
    (tmp_path / "h.csv").write_text(TREE, encoding="utf-8")
    by = 't = { threshold = 0.2, hierarchy = "h.csv" }'
    with wards("flu flu", "bronchitis bronchitis") as db:
        assert measured(db, "t = 0.2")["t", None] == (0.5, False)
        assert measured(db, by, tmp_path)["t", None] == (pytest.approx(0.5 / 3), True)
    with wards("flu flu", "ulcer ulcer") as db:
        assert measured(db, by, tmp_path)["t", None] == (0.5, False)


def test_any_hierarchy_will_do(tmp_path: Path) -> None:
    """A table of the warehouse, or ranges of numbers; of numbers, one of a single level is equal distance."""
    with wards("1 1 2", "3 4 4") as db:
        db.execute(
            "CREATE TABLE dim AS SELECT '1' AS a, 'x' AS b UNION ALL SELECT i::VARCHAR, 'y' FROM range(2, 5) r (i)"
        )
        by_table = 't = { threshold = 1, hierarchy = { table = "dim", columns = ["a", "b"] } }'
        assert measured(db, by_table)["t", None] == (pytest.approx((1 / 2 + 1 / 3) / 2), True)
        db.execute("ALTER TABLE people ALTER ill TYPE INTEGER")
        ranges = "t = { threshold = 1, hierarchy = { intervals = [2] } }"
        assert measured(db, ranges)["t", None] == (pytest.approx((1 / 2 + 1 / 3) / 2), True)
        one = by_table.replace('["a", "b"]', '["a"]')
        assert measured(db, one)["t", None] == (pytest.approx(1 / 2), True)


def test_a_value_that_it_does_not_know_is_said(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(TREE, encoding="utf-8")
    with wards("flu cold", "flu cold") as db:
        what = r"sensitive\.ill\.t\.hierarchy: does not map 1 value of the source \(2 rows\), such as 'cold' — add them"
        with pytest.raises(HierarchyError, match=what):
            duckanon.run(policy('t = { threshold = 0.2, hierarchy = "h.csv" }', tmp_path), db)


@pytest.mark.parametrize(
    ("thresholds", "where"),
    [
        ("t = { hierarchy = 'h.csv' }", "sensitive.ill.t.threshold"),
        ("t = { threshold = 0.2, hierarchy = 3 }", "sensitive.ill.t.hierarchy"),
        ("t = { threshold = 0.2, hierarchy = { mask = [1, 2] } }", "sensitive.ill.t.hierarchy.mask"),
        ("t = { threshold = 2 }", "sensitive.ill.t.threshold"),
        ("t = 0.2\nlevels = { 1 = ['flu'] }\npublish = 'level'\nt = 1", "TOML"),
        (
            "t = { threshold = 1, hierarchy = 'h' }\nlevels = { 1 = ['flu'] }\npublish = 'level'",
            "sensitive.ill.t.hierarchy",
        ),
        ("delta = { present_only = true }", "sensitive.ill.delta.threshold"),
        ("delta = { threshold = 1, present_only = 1 }", "sensitive.ill.delta.present_only"),
        ("delta = 0", "sensitive.ill.delta"),
        ("beta = { threshold = 1 }", "sensitive.ill.beta"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(thresholds: str, where: str) -> None:
    with pytest.raises(PolicyError) as raised:
        policy(thresholds)
    assert [fault.where for fault in raised.value.faults] == [where]


def test_asking_for_less_is_said() -> None:
    was = policy("t = 0.2\ndelta = 1\n[sensitive.ill.values.flu]\ndelta = 0.5")
    now = policy('t = { threshold = 0.2, hierarchy = "h" }\ndelta = { threshold = 1, present_only = true }')
    assert list(weaker(now, was)) == [
        "sensitive.ill.delta.present_only was 0, is 1",
        "sensitive.ill.t.hierarchy was 0, is 1",
        "sensitive.ill.values.flu.delta was 0.5, is 1",
        "sensitive.ill.values.flu.delta.present_only was 0, is 1",
    ]
    assert list(weaker(was, now)) == []


def test_the_figures_are_told() -> None:
    with wards("flu flu HIV HIV -", "flu flu flu flu") as db:
        told: Result = duckanon.check(policy(""), db)
        assert told.privacy is not None
        figures = told.privacy["sensitive"]["ill"]
        assert (figures["beta"], figures["enhanced_beta"], figures["delta"]) == (1.0, None, None)
        assert figures["present_delta"] == pytest.approx(math.log(2))
