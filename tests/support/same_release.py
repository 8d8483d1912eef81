"""A policy over the same rows on DuckDB and on another engine: all that is told and released is compared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

import duckanon
from duckanon.query.names import unquoted
from duckanon.result import Result
from tests.support.case_warehouse import quoted
from tests.support.far import FarDatabase
from tests.support.figures import must_be_alike

Row = tuple[Any, ...]
# What differs from run to run, or names the place.
OF_THE_RUN = ("seconds", "started", "policy_hash", "release", "run")


def told(ask: Callable[[], Result]) -> dict[str, Any]:
    """All that a run or a check says; of one that is refused, why."""
    try:
        said = ask().as_json()
    except duckanon.DuckanonError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    return {key: value for key, value in said.items() if key not in OF_THE_RUN}


def plain(value: Any) -> Any:
    """Numbers of whatever kind; NaN, which equals nothing, as a text."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return float(value) if isinstance(value, (Decimal, int)) and not isinstance(value, bool) else value


def counted(rows: list[Row]) -> Counter[Row]:
    return Counter(tuple(map(plain, row)) for row in rows)


def of_file(path: Path, kind: str) -> tuple[list[Row], list[Row]]:
    """The columns with their types, and the rows."""
    reader = f"read_parquet('{path}')" if kind == "parquet" else f"read_csv('{path}', all_varchar = true)"
    with duckdb.connect() as db:
        return db.execute(f"DESCRIBE FROM {reader}").fetchall(), db.execute(f"FROM {reader}").fetchall()


# What PostgreSQL cannot say within a view: a text that may be a date or a number, or not; and texts of numbers and days
# that every reader has written otherwise.
_UNSAID = ("PostgreSQL has no words for a cast that may fail", "whose text the session of who asks decides")


def released_alike(
    db: duckdb.DuckDBPyConnection, far: FarDatabase, folder: Path, text: str, tables: list[str], kind: str, to: str
) -> dict[str, Any]:
    """Run a policy over tables of a DuckDB and over copies of them; all that is told and released is the same."""
    far.empty()
    for table in tables:
        far.copy(db, table)
    there = folder / "there"
    there.mkdir()
    for file in folder.glob("*.csv"):
        (there / file.name).write_bytes(file.read_bytes())
    ours, theirs = (duckanon.Policy.parse(text, at) for at in (folder, there))
    expected = told(lambda: duckanon.run(ours, db))
    with duckanon.connect(far.address) as connected:
        found = told(lambda: duckanon.run(theirs, connected))
        if kind == "view" and any(why in str(found.get("refused")) for why in _UNSAID):
            return found
        must_be_alike(found, expected)
        if expected.get("status") == "released":
            found = told(lambda: duckanon.check(theirs, connected, release=True))
            must_be_alike(found, told(lambda: duckanon.check(ours, db, release=True)))
            same_rows(db, far, (folder, there), kind, to)
    return expected


def same_rows(db: duckdb.DuckDBPyConnection, far: FarDatabase, folders: tuple[Path, Path], kind: str, to: str) -> None:
    if kind in ("table", "view"):
        names = [name for name, *_ in db.execute(f"DESCRIBE {to}").fetchall()]
        ours = db.execute(f"SELECT {', '.join(map(quoted, names))} FROM {to}").fetchall()
        theirs = far.sql(f"SELECT {', '.join(map(far.said, names))} FROM {far.said(unquoted(to))}")
    else:
        (types, ours), (other, theirs) = (of_file(at / to, kind) for at in folders)
        assert other == types
    assert counted(theirs) == counted(ours)
