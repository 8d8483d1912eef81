"""New rows join the last release: what was released stays, and every class holds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon
from duckanon import Policy
from duckanon.errors import ReleaseError
from duckanon.result import Result

POLICY = """
name = "people"
[source]
table = "people"
[privacy]
k = 4
suppression = {suppression}
{privacy}
[quasi_identifiers.age]
hierarchy = {{ intervals = [10, 20] }}
[quasi_identifiers.city]
[sensitive.disease]
{sensitive}
[columns]
keep = ["ward"]
identifiers = ["id"]
[search]
method = "{method}"
[release]
kind = "{kind}"
to = "{to}"
{release}
[ledger]
database = "ledger.duckdb"
"""
COLUMNS = "age::VARCHAR, city, disease, ward"


def policy(folder: Path, **changed: Any) -> Policy:
    usual = {
        "suppression": 0.2,
        "privacy": "",
        "sensitive": "l = 2\nalpha = 0.7",
        "method": "greedy",
        "kind": "parquet",
        "to": "out.parquet",
        "release": 'difference = "ignore"',
    }
    return Policy.parse(POLICY.format(**usual | changed), folder)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, age INTEGER, city VARCHAR, disease VARCHAR, ward INTEGER)")
        add(connection, 200, seed=1)
        yield connection


def add(db: duckdb.DuckDBPyConnection, count: int, seed: int) -> None:
    dice = random.Random(seed)
    ages, cities = [dice.randint(20, 59) for _ in range(count)], [dice.choice("AAB") for _ in range(count)]
    diseases = [dice.choice(["flu", "cold", "HIV", None]) for _ in range(count)]
    ids = [seed * 1000 + i for i in range(count)]
    new = "INSERT INTO people SELECT unnest(?) AS id, unnest(?), unnest(?), unnest(?), id % 3"
    db.execute(new, [ids, ages, cities, diseases])


def insert(db: duckdb.DuckDBPyConnection, *rows: tuple[int, str, str, int], times: int = 1) -> None:
    for row in rows * times:
        db.execute("INSERT INTO people VALUES (9999, ?, ?, ?, ?)", row)


def released(db: duckdb.DuckDBPyConnection, wanted: Policy) -> Counter[tuple[Any, ...]]:
    where = wanted.release.to if wanted.release.kind == "table" else f"'{wanted.folder / wanted.release.to}'"
    return Counter(db.execute(f"SELECT {COLUMNS} FROM {where}").fetchall())


def holds(rows: Counter[tuple[Any, ...]]) -> bool:
    """k = 4, l = 2 and alpha = 0.7 in plain Python."""
    classes: dict[tuple[Any, Any], list[str | None]] = {}
    for (age, city, disease, _), n in rows.items():
        classes.setdefault((age, city), []).extend([disease] * n)
    return all(
        len(c) >= 4
        and len(set(c) - {None}) >= 2
        and max(Counter(d for d in c if d is not None).values()) / len(c) <= 0.7
        for c in classes.values()
    )


def again(wanted: Policy, db: duckdb.DuckDBPyConnection, **options: Any) -> Result:
    return duckanon.run(wanted, db, incremental=True, **options)


@pytest.mark.parametrize(("kind", "to"), [("parquet", "out.parquet"), ("csv", "out.csv"), ("table", "anonymous")])
def test_new_rows_join_and_old_ones_stay(tmp_path: Path, db: duckdb.DuckDBPyConnection, kind: str, to: str) -> None:
    wanted = policy(tmp_path, kind=kind, to=to)
    first = duckanon.run(wanted, db)
    for night in range(2, 5):
        before = released(db, wanted)
        add(db, 25, seed=night)
        result = again(wanted, db)
        after = released(db, wanted)
        assert result.status == "released"
        assert result.levels == first.levels
        assert before <= after
        assert result.rows["new"] == after.total() - before.total() > 0
        assert result.rows["released"] == after.total()
        assert result.rows["source"] - after.total() == result.rows["suppressed"]
        assert holds(after)
    assert "incremental: " in (duckanon.history(duckdb.connect(str(tmp_path / "ledger.duckdb"))).iloc[0]["message"])


def test_what_does_not_fit_is_held_back(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    """New rows that would break alpha in their class stay out, and the class stays as it was."""
    wanted = policy(tmp_path)
    duckanon.run(wanted, db)
    before = released(db, wanted)
    age, city, size = break_the_smallest(db, before)
    insert(db, (int(age[1:3]), "A" if city == "B" else "B", "flu", 1))
    result = again(wanted, db)
    after = released(db, wanted)
    assert result.status == "released"
    assert result.rows["new"] == 1
    assert before <= after
    assert _classes(after)[age, city] == size
    assert holds(after)


def break_the_smallest(db: duckdb.DuckDBPyConnection, before: Counter[tuple[Any, ...]]) -> tuple[str, str, int]:
    """So many new rows with one value that the smallest class breaks alpha: its labels and its size before."""
    (age, city), size = _classes(before).most_common()[-1]
    new = "INSERT INTO people SELECT 20000 + i, ?, ?, 'HIV', 0 FROM range(?) AS r (i)"
    db.execute(new, [int(age[1:3]), city, 3 * size])
    return age, city, size


def _classes(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[str, str]]:
    sizes: Counter[tuple[str, str]] = Counter()
    for (age, city, *_), n in rows.items():
        sizes[age, city] += n
    return sizes


def test_a_new_class_that_holds_by_itself(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    wanted = policy(tmp_path)
    duckanon.run(wanted, db)
    insert(db, (85, "A", "flu", 0), (85, "A", "cold", 0), times=3)
    insert(db, (95, "B", "flu", 0), (95, "B", "cold", 0))  # too small: they wait
    result = again(wanted, db)
    assert result.rows["new"] == 6
    insert(db, (95, "B", "flu", 0), (95, "B", "cold", 0))
    assert again(wanted, db).rows["new"] == 4


@pytest.mark.parametrize(
    "change", ["DELETE FROM people WHERE id = 1007", "UPDATE people SET ward = 7 WHERE id = 1007", "DELETE FROM people"]
)
def test_rows_that_are_gone_stop_it(tmp_path: Path, db: duckdb.DuckDBPyConnection, change: str) -> None:
    wanted = policy(tmp_path, suppression=0.3)
    duckanon.run(wanted, db)
    before = (tmp_path / "out.parquet").read_bytes()
    db.execute(change)
    add(db, 60, seed=3)
    result = again(wanted, db)
    assert result.status == "infeasible"
    assert "not in the source any more" in result.reasons[0]
    assert (tmp_path / "out.parquet").read_bytes() == before
    assert duckanon.run(wanted, db).status == "released"


def test_the_budget_is_the_policy_s(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    wanted = policy(tmp_path, suppression=0.05)
    duckanon.run(wanted, db)
    db.execute("INSERT INTO people SELECT 5000 + i, 100 + 20 * i, 'A', 'flu', 0 FROM range(60) AS r (i)")
    result = again(wanted, db)
    assert result.status == "infeasible"
    assert "do not fit into the classes of the last release, the budget is 13" in result.reasons[0]


def test_a_rule_on_the_whole_table_is_verified(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    """ALP belongs to the table: classes that hold can break it together."""
    alp = "alp = 0.9\nvalues.rare = { alp = 0.5 }"
    wanted = policy(tmp_path, sensitive=alp)
    duckanon.run(wanted, db)
    before = (tmp_path / "out.parquet").read_bytes()
    insert(db, (85, "A", "rare", 0), times=9)
    result = again(wanted, db)
    assert result.status == "violated"
    assert (tmp_path / "out.parquet").read_bytes() == before


def test_the_first_run_releases_everything(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    result = again(policy(tmp_path), db)
    assert result.status == "released"
    assert "new" not in result.rows


def test_an_empty_folder_is_no_release(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    (tmp_path / "out").mkdir()
    wanted = policy(tmp_path, to="out", release='mode = "monotone"\npartition_by = ["disease"]')
    assert again(wanted, db).status == "released"
    add(db, 30, seed=2)
    assert again(wanted, db).rows["new"] > 0


def test_nothing_new(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    wanted = policy(tmp_path)
    duckanon.run(wanted, db)
    before = released(db, wanted)
    assert again(wanted, db).rows["new"] == 0
    assert released(db, wanted) == before
    assert again(wanted, db, if_changed=True).status == "unchanged"
    assert again(wanted, db, dry_run=True).status == "holds"


def test_few_new_rows_are_told_apart(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    duckanon.run(policy(tmp_path), db)
    db.execute("INSERT INTO people SELECT 7000, age, city, disease, ward FROM people WHERE id = 1000")
    refused = again(policy(tmp_path, release='difference = "refuse"'), db)
    assert refused.status == "violated"
    assert "fewer than k = 4 rows" in refused.reasons[0]
    warned = again(policy(tmp_path, release='difference = "warn"'), db)
    assert any("fewer than k = 4 rows" in warning for warning in warned.warnings)


def test_with_people(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    wanted = policy(tmp_path, privacy='entity = "id"')
    first = duckanon.run(wanted, db)
    add(db, 40, seed=2)
    result = again(wanted, db)
    assert result.status == "released"
    assert result.people is not None
    assert first.people is not None
    assert (result.people["released"] or 0) > (first.people["released"] or 0)
    assert duckanon.check(wanted, db, release=True).status == "holds"
    break_the_smallest(db, released(db, wanted))
    broken = again(wanted, db)
    assert broken.status == "infeasible"
    assert "do not hold any more" in broken.reasons[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "view", "to": "v"}, "a view shows all rows"),
        ({"method": "climb"}, "has no levels that all rows share"),
    ],
)
def test_what_it_does_not_go_with(
    tmp_path: Path, db: duckdb.DuckDBPyConnection, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ReleaseError, match=message):
        again(policy(tmp_path, **changed), db)


def test_without_a_ledger(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    text = POLICY.replace('[ledger]\ndatabase = "ledger.duckdb"', "")
    wanted = Policy.parse(
        text.format(suppression=0.2, privacy="", sensitive="", method="greedy", kind="csv", to="o.csv", release=""),
        tmp_path,
    )
    with pytest.raises(ReleaseError, match="--incremental needs a ledger"):
        again(wanted, db)


def test_a_release_that_is_gone_or_broken(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    wanted = policy(tmp_path)
    duckanon.run(wanted, db)
    (tmp_path / "out.parquet").rename(tmp_path / "elsewhere.parquet")
    with pytest.raises(ReleaseError, match="not in its place any more"):
        again(wanted, db)
    (tmp_path / "elsewhere.parquet").rename(tmp_path / "out.parquet")
    assert again(wanted, db).status == "released"


def test_a_release_that_the_ledger_does_not_know(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    """Moved, or the ledger is lost: nothing is searched anew in silence."""
    wanted = policy(tmp_path)
    duckanon.run(wanted, db)
    before = (tmp_path / "out.parquet").read_bytes()
    (tmp_path / "ledger.duckdb").unlink()
    add(db, 50, seed=4)
    with pytest.raises(ReleaseError, match="does not know the release that is in the place; run without it"):
        again(wanted, db)
    for mode in ("fixed", "monotone"):
        with pytest.raises(ReleaseError, match="does not know the release"):
            duckanon.run(policy(tmp_path, release=f'mode = "{mode}"'), db)
    assert (tmp_path / "out.parquet").read_bytes() == before
    assert duckanon.run(wanted, db).status == "released"
    assert again(wanted, db).rows["new"] == 0


def test_the_first_dry_run_makes_no_ledger(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    assert again(policy(tmp_path), db, dry_run=True).status == "holds"
    assert not (tmp_path / "ledger.duckdb").exists()


def test_other_columns_than_the_last_release(tmp_path: Path, db: duckdb.DuckDBPyConnection) -> None:
    duckanon.run(policy(tmp_path), db)
    db.execute("ALTER TABLE people ADD COLUMN room INTEGER")
    text = POLICY.replace('keep = ["ward"]', 'keep = ["ward", "room"]')
    usual = {"suppression": 0.2, "privacy": "", "sensitive": "", "method": "greedy", "release": ""}
    wanted = Policy.parse(text.format(**usual, kind="parquet", to="out.parquet"), tmp_path)
    with pytest.raises(ReleaseError, match=r"has no column room.*run without it"):
        again(wanted, db)
    with pytest.raises(ReleaseError, match="does not go with --replace"):
        again(wanted, db, replace=True)


def test_pseudonyms_and_empty_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUCKANON_KEY", "0123456789abcdef0123456789abcdef")
    text = POLICY.replace('identifiers = ["id"]', 'pseudonyms = ["id"]\n[pseudonyms]\nkey_env = "DUCKANON_KEY"')
    usual = {"suppression": 0.2, "privacy": "", "sensitive": "", "method": "greedy", "release": ""}
    with duckdb.connect() as db:
        db.execute("CREATE TABLE people AS SELECT i AS id, 20 + i % 4 AS age, 'A' AS city, CASE i % 3 WHEN 0 THEN '' "
                   "WHEN 1 THEN 'x' END AS disease, i / 7 AS ward FROM range(100) AS r (i)")  # fmt: skip
        for kind in ("csv", "parquet"):
            wanted = Policy.parse(text.format(**usual, kind=kind, to=f"o.{kind}"), tmp_path)
            duckanon.run(wanted, db)
            db.execute("INSERT INTO people SELECT id + 1000, age, city, disease, ward + 0.1 FROM people WHERE id < 90")
            result = again(wanted, db)
            assert result.status == "released", result.reasons
            assert result.rows["new"] == 90
