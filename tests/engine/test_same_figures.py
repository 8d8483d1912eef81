"""The same policy over the same rows: DuckDB and PostgreSQL come to the same levels, figures and rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given

import duckanon
from tests.support.case_warehouse import quoted, warehouse
from tests.support.examples import examples
from tests.support.far import FarDatabase, PostgresDatabase, copied, on_postgres
from tests.support.postgres import Server
from tests.support.variants import KEY, Variant, variants

Row = tuple[Any, ...]
# What differs from run to run, or names the place.
_OF_THE_RUN = ("seconds", "started", "policy_hash", "release", "run")


@pytest.fixture(scope="module")
def far(postgres: Server) -> Iterator[PostgresDatabase]:
    with postgres.new_database() as address, on_postgres(address) as database:
        yield database


@pytest.fixture(autouse=True, scope="module")
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        yield


def emptied(far: FarDatabase) -> None:
    far.sql("DROP SCHEMA IF EXISTS duckanon CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def told(policy: duckanon.Policy, db: Any) -> dict[str, Any]:
    """All that a run says; of one that is refused, why."""
    try:
        said = duckanon.run(policy, db).as_json()
    except duckanon.DuckanonError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    return {key: value for key, value in said.items() if key not in _OF_THE_RUN}


def checked(policy: duckanon.Policy, db: Any) -> dict[str, Any]:
    """All that the check of a release says."""
    said = duckanon.check(policy, db, release=True).as_json()
    return {key: value for key, value in said.items() if key not in _OF_THE_RUN}


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, (Decimal, int)) and not isinstance(value, bool) else value


def counted(rows: list[Row]) -> Counter[Row]:
    return Counter(tuple(map(plain, row)) for row in rows)


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(alike(found[key], expected[key]) for key in expected)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == expected)


def must_be_alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys(), (found, expected)
    for part in expected:
        assert alike(found[part], expected[part]), f"{part}: found {found[part]}, expected {expected[part]}"


def of_file(path: Path, kind: str) -> tuple[list[Row], list[Row]]:
    """The columns with their types, and the rows."""
    reader = f"read_parquet('{path}')" if kind == "parquet" else f"read_csv('{path}', all_varchar = true)"
    with duckdb.connect() as db:
        return db.execute(f"DESCRIBE FROM {reader}").fetchall(), db.execute(f"FROM {reader}").fetchall()


def must_agree(variant: Variant, far: FarDatabase) -> dict[str, Any]:
    emptied(far)
    with warehouse(variant.case) as (db, folder):
        tables = [part.table[0] for part in variant.case.generalized if part.table]
        copied(db, ["people", *tables], far)
        there = folder / "there"
        there.mkdir()
        for file in folder.glob("*.csv"):
            (there / file.name).write_bytes(file.read_bytes())
        expected = told(duckanon.Policy.parse(variant.toml(), folder), db)
        with duckanon.connect(far.address) as connected:
            found = told(duckanon.Policy.parse(variant.toml(), there), connected)
            must_be_alike(found, expected)
            if expected.get("status") == "released":
                policies = (duckanon.Policy.parse(variant.toml(), at) for at in (there, folder))
                must_be_alike(*(checked(policy, at) for policy, at in zip(policies, (connected, db), strict=True)))
        if expected.get("status") != "released":
            return expected
        if variant.kind in ("table", "view"):
            names = [quoted(name) for name, *_ in db.execute(f"DESCRIBE {variant.to}").fetchall()]
            ours = db.execute(f"SELECT {', '.join(names)} FROM {variant.to}").fetchall()
            theirs = far.sql(f"SELECT {', '.join(names)} FROM {variant.to}")
        else:
            (types, ours), (other, theirs) = (of_file(at / variant.to, variant.kind) for at in (folder, there))
            assert other == types
        assert counted(theirs) == counted(ours)
        return expected


@examples(40)
@given(variants())
def test_random_policies(far: PostgresDatabase, variant: Variant) -> None:
    must_agree(variant, far)


@pytest.mark.parametrize("where", ["workbench", "warehouse"])
def test_a_release_of_nothing_but_stars(far: PostgresDatabase, where: str) -> None:
    """There is nothing to sort it by."""
    emptied(far)
    far.sql("CREATE TABLE people AS SELECT i AS age FROM generate_series(1, 9) r(i)")
    release = 'release = { kind = "table", to = "shown" }'
    text = f'name = "p"\nsource = {{ table = "people" }}\nprivacy = {{ k = 5 }}\n{release}\n'
    text += "quasi_identifiers = { age = {} }"
    with duckanon.connect(far.address) as connected:
        assert duckanon.run(duckanon.Policy.parse(f'{text}\nsearch = {{ where = "{where}" }}'), connected).good
    assert counted(far.sql("SELECT age FROM shown")) == {("*",): 9}
