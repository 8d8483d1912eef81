"""The peers' bugs, each reproduced in their tools: ours must not have them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import duckanon
from duckanon import HierarchyError, Policy, PolicyError
from tests.support.figures import alike, lost

BASE = """
name = "p"
[source]
table = "t"
[privacy]
k = {k}
suppression = {budget}
{columns}
[release]
kind = "table"
to = "o"
"""


def run(connection: duckdb.DuckDBPyConnection, columns: str, k: int = 2, budget: float = 0) -> duckanon.result.Result:
    return duckanon.run(Policy.parse(BASE.format(k=k, budget=budget, columns=columns)), connection)


@pytest.fixture
def db() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def test_1_results_do_not_depend_on_row_order(db: duckdb.DuckDBPyConnection) -> None:
    """pycanon takes index labels as positions."""
    db.execute("CREATE TABLE t AS SELECT (i * 37) % 20 AS age, (i * i) % 5 AS s FROM range(200) r (i)")
    columns = "[quasi_identifiers.age]\nhierarchy = { intervals = [5] }\n[sensitive.s]\nt = 0.9\n"
    first = run(db, columns).as_json()
    db.execute("CREATE TABLE u AS FROM t ORDER BY age DESC, s")
    db.execute("DROP TABLE t; ALTER TABLE u RENAME TO t")
    second = run(db, columns).as_json()
    for result in (first, second):
        del result["seconds"], result["started"]
    assert first == second


def test_2_recursive_sorts_descending(db: duckdb.DuckDBPyConnection) -> None:
    """98/1/1 has c = 99/2 for l = 2 and 98 for l = 3, never 1: pycanon sorts ascending."""
    db.execute(
        "CREATE TABLE t AS SELECT 1 AS a, "
        "CASE WHEN i < 98 THEN 'x' WHEN i = 98 THEN 'y' ELSE 'z' END AS s FROM range(100) r (i)"
    )
    columns = "[quasi_identifiers.a]\n[sensitive.s]\nrecursive = {{ c = {c}, l = {l} }}\n"
    assert run(db, columns.format(c=98.1, l=3)).status == "released"
    assert run(db, columns.format(c=98, l=3)).status == "infeasible"
    found = run(db, columns.format(c=50, l=2))
    assert [f.measured for f in found.constraints if f.constraint.name == "recursive"] == [49.0]


def test_3_entropy_is_a_real_number(db: duckdb.DuckDBPyConnection) -> None:
    """pycanon truncates: a uniform class of two values gives 1 instead of 2."""
    db.execute("CREATE TABLE t AS SELECT i // 6 AS a, i % 2 AS s FROM range(12) r (i)")
    result = run(db, "[quasi_identifiers.a]\n[sensitive.s]\nentropy_l = 2.0\n")
    assert result.status == "released"
    assert result.levels == {"a": 0}
    assert result.privacy is not None
    assert result.privacy["sensitive"]["s"]["entropy_l"] == pytest.approx(2.0, abs=1e-12)


def test_4_null_is_a_class(db: duckdb.DuckDBPyConnection) -> None:
    """A NULL in the only quasi-identifier drops the row from the classes; anjana then releases it alone."""
    db.execute("CREATE TABLE t AS SELECT CASE WHEN i < 9 THEN 1 END AS a, i AS s FROM range(10) r (i)")
    result = run(db, "[quasi_identifiers.a]\n[sensitive.s]\n", k=2, budget=0)
    assert result.path is not None
    assert result.path[0]["failing_rows"] == 1
    assert result.levels == {"a": 1}
    result = run(db, "[quasi_identifiers.a]\n[sensitive.s]\n", k=2, budget=1)
    assert db.execute("SELECT count(*), count(a) FROM o").fetchall() == [(9, 9)]


def test_5_no_row_number(db: duckdb.DuckDBPyConnection) -> None:
    """anjana's release carries a row-number column (the order is tested with the releases)."""
    db.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS s FROM range(10) r (i)")
    run(db, "[quasi_identifiers.a]\n[sensitive.s]\n")
    assert [row[0] for row in db.execute("DESCRIBE o").fetchall()] == ["a", "s"]


def test_6_diversity_uses_the_budget(db: duckdb.DuckDBPyConnection) -> None:
    """anjana's l-diversity generalizes a column away for 3 of 103 rows."""
    db.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i < 3 THEN 'a' ELSE 'b' END AS a, "
        "CASE WHEN i < 3 THEN 0 ELSE i % 4 END AS s FROM range(103) r (i)"
    )
    result = run(db, "[quasi_identifiers.a]\n[sensitive.s]\nl = 2\n", k=3, budget=0.05)
    assert result.levels == {"a": 0}
    assert result.rows == {"source": 103, "released": 100, "suppressed": 3}


def test_7_bounds_of_intervals_are_exact(db: duckdb.DuckDBPyConnection) -> None:
    """anjana's intervals put 20 in [10, 20)."""
    db.execute(
        "CREATE TABLE t AS SELECT a, i AS s FROM "
        "(VALUES (10), (19), (20), (29), (-1), (-10), (0)) v (a), range(3) r (i)"
    )
    run(db, "[quasi_identifiers.a]\nhierarchy = { intervals = [10] }\n[sensitive.s]\n", k=6, budget=3)
    found = dict(db.execute("SELECT a, count(*) FROM o GROUP BY a").fetchall())
    assert found == {"[10, 20)": 6, "[20, 30)": 6, "[-10, 0)": 6}


def test_8_a_missing_value_is_named(db: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """A bare KeyError, or "misses values"."""
    db.execute("CREATE TABLE t AS SELECT ['Rome', 'Oslo', 'Bern'][1 + i % 3] AS city, i AS s FROM range(9) r (i)")
    (tmp_path / "city.csv").write_text("level_0,level_1,level_2\nRome,Italy,*\n")
    text = BASE.format(k=2, budget=0, columns='[quasi_identifiers.city]\nhierarchy = "city.csv"\n[sensitive.s]\n')
    with pytest.raises(HierarchyError, match=r"city.*2 values.*6 rows.*'Bern', 'Oslo'"):
        duckanon.run(Policy.parse(text, tmp_path), db)


def test_9_duplicate_labels_and_rows(db: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Duplicate rows are one; the same label at two levels is fine; the file is not changed."""
    db.execute("CREATE TABLE t AS SELECT ['Rome', 'Milan'][1 + i % 2] AS city, i AS s FROM range(9) r (i)")
    content = "Rome;Italy;Italy;*\nRome;Italy;Italy;*\nMilan;Italy;Italy;*\n"
    (tmp_path / "city.csv").write_text(content)
    text = BASE.format(k=5, budget=0, columns='[quasi_identifiers.city]\nhierarchy = "city.csv"\n[sensitive.s]\n')
    result = duckanon.run(Policy.parse(text, tmp_path), db)
    assert result.levels == {"city": 1}
    assert result.rows["suppressed"] == 0
    assert (tmp_path / "city.csv").read_text() == content


def test_10_a_release_is_measured_as_what_it_is(db: duckdb.DuckDBPyConnection) -> None:
    """ARX counts suppressed rows as a class when its output is analyzed again."""
    db.execute("CREATE TABLE t AS SELECT CASE WHEN i < 2 THEN 99 ELSE i % 2 END AS a, i AS s FROM range(12) r (i)")
    policy = Policy.parse(BASE.format(k=5, budget=2, columns="[quasi_identifiers.a]\n[sensitive.s]\n"))
    released = duckanon.run(policy, db)
    checked = duckanon.check(policy, db, release=True)
    assert released.rows["suppressed"] == 2
    assert (checked.status, checked.classes, checked.rows) == ("holds", 2, released.rows)
    assert checked.levels == released.levels
    assert alike(checked.utility, lost(released.utility))


def test_11_a_column_without_a_role_is_an_error(db: duckdb.DuckDBPyConnection) -> None:
    """A default that makes unlisted columns quasi-identifiers, or releases them."""
    db.execute("CREATE TABLE t AS SELECT i % 2 AS a, i AS s, i AS forgotten FROM range(12) r (i)")
    with pytest.raises(PolicyError, match="forgotten"):
        run(db, "[quasi_identifiers.a]\n[sensitive.s]\n")
