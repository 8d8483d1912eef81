"""The warehouse of a random case, and what was released from it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tests.support import metrics_reference as metrics
from tests.support import reference as ref
from tests.support.cases import RELEASE, Case, Generalized
from tests.support.reference import Value


@contextmanager
def warehouse(case: Case) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A database with the case's tables, and a folder with its files."""
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as db:
        folder = Path(name)
        for part in case.hierarchies:
            if part.file:
                (folder / part.file[0]).write_text(part.file[1], encoding="utf-8", newline="")
            if part.table:
                table, lines = part.table
                columns = ", ".join(f"c{level} {case_type(part, level)}" for level in range(len(lines[0])))
                db.execute(f"CREATE TABLE {table} ({columns})")
                insert(db, table, lines)
        columns = ", ".join(f"{quoted(name)} {column.type}" for name, column in case.columns.items())
        db.execute(f"CREATE TABLE people ({columns})")
        insert(db, "people", [tuple(row.values()) for row in case.rows])
        if case.population:
            names = [q.column for q in case.policy.quasi_identifiers]
            columns = ", ".join(f"{quoted(name)} {case.columns[name].type}" for name in names)
            db.execute(f"CREATE TABLE everybody ({columns})")
            insert(db, "everybody", [tuple(row.values()) for row in case.population])
        yield db, folder


def case_type(part: Generalized, level: int) -> str:
    """A dimension table spells its keys as the source does, its labels as text."""
    return part.column.type if level == 0 else "VARCHAR"


def insert(db: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Value]]) -> None:
    if rows:
        marks = ", ".join("?" for _ in rows[0])
        values = ", ".join(f"({marks})" for _ in rows)
        db.execute(f"INSERT INTO {table} VALUES {values}", [cell for row in rows for cell in row])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def released(case: Case, db: duckdb.DuckDBPyConnection) -> list[dict[str, Value]]:
    """The released rows, in the columns that a release must have."""
    rows = db.execute(f"FROM {RELEASE}")
    assert [column[0] for column in rows.description or ()] == case.released
    return [dict(zip(case.released, row, strict=True)) for row in rows.fetchall()]


def counted(rows: ref.Table) -> Counter[frozenset[tuple[str, Value]]]:
    return Counter(frozenset(row.items()) for row in rows)


def exists(db: duckdb.DuckDBPyConnection) -> bool:
    return bool(db.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [RELEASE]).fetchall())


def every_class_holds(problem: ref.Problem, rows: ref.Table) -> None:
    """What anyone can count in the release itself."""
    for members in metrics.classes(rows, problem.qi).values():
        for bound, figure in problem.figures(members).items():
            assert bound.holds(figure), (bound, figure)
