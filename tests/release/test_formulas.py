"""CSV files for spreadsheets: no cell is run, and every cell is read back as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from duckanon.engine import Column
from duckanon.engine.duckdb.formulas import escaped_cell, unescaped_cell
from duckanon.engine.types import TEXT
from duckanon.query.formulas import like_a_formula
from tests.support.command import Command
from tests.support.folder import Folder

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "=", "-"]
TEXTS = ["'quoted", "plain", "a=b", " =1", "", "'", '"=1"']
NUMBERS = ["-5", "+3.25", "-1e-3", "-.5", "+491701234"]

POLICY = """
name = "t"
[source]
table = "t"
database = "warehouse.duckdb"
[privacy]
k = 2
[quasi_identifiers.q]
[quasi_identifiers.age]
hierarchy = { intervals = [10] }
[sensitive.s]
t = 0.99
[columns]
keep = ["note", "bytes", "amount"]
[release]
kind = "csv"
to = "out.csv"
"""


def tell(folder: Folder) -> None:
    """Three rows for each of the odd texts, in columns of every role."""
    with duckdb.connect(str(folder.database)) as connection:
        connection.execute(
            "CREATE TABLE t (q VARCHAR, age INTEGER, s VARCHAR, note VARCHAR, bytes BLOB, amount DECIMAL(9, 2))"
        )
        for text in (*FORMULAS, *TEXTS, *NUMBERS):
            insert = "INSERT INTO t SELECT $1, -7, $1, $1, encode($1), -1.5 FROM range(3)"
            connection.execute(insert, [text])


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("more", ["", 'partition_by = ["q"]\n', 'compression = "none"\nnull = "NULL"\nheader = true\n'])
def test_no_cell_is_run(folder: Folder, duckanon: Command, more: str) -> None:
    tell(folder)
    policy = folder.policy(POLICY + "escape_formulas = true\n" + more)
    told = duckanon("run", policy, "--json")
    assert told.code == 0, told.err
    out = folder.path / "out.csv"
    found = [row for file in ([out] if out.is_file() else out.rglob("*.csv")) for row in cells(file)]
    assert len(found) == 3 * len((*FORMULAS, *TEXTS, *NUMBERS))
    for name in {"q", "s", "note"} & found[0].keys():
        expected = {f"'{text}" for text in FORMULAS} | {*TEXTS, *NUMBERS}
        assert {row[name] for row in found} == expected
    assert {(row["age"], row["amount"]) for row in found} == {("-7", "-1.50")}
    checked = duckanon("check", policy, "--release", "--json")
    assert (checked.code, checked.json["privacy"]) == (0, told.json["privacy"])
    assert duckanon("run", policy).code == 0  # compares with what stands


def test_without_it_cells_are_as_they_are(folder: Folder, duckanon: Command) -> None:
    tell(folder)
    assert duckanon("run", folder.policy(POLICY)).code == 0
    assert {row["s"] for row in cells(folder.path / "out.csv")} == {*FORMULAS, *TEXTS, *NUMBERS}


def test_what_is_added_meets_what_stands(folder: Folder, duckanon: Command) -> None:
    tell(folder)
    policy = folder.policy(POLICY + 'escape_formulas = true\n[ledger]\ndatabase = "ledger.duckdb"\n')
    assert duckanon("run", policy).code == 0
    folder.sql("INSERT INTO t SELECT * FROM t WHERE s LIKE '=%'")
    told = duckanon("run", policy, "--incremental", "--json")
    assert (told.code, told.json["rows"]["new"]) == (0, 6), told.err


def test_a_column_must_not_be_named_like_a_formula(folder: Folder, duckanon: Command) -> None:
    tell(folder)
    folder.sql('ALTER TABLE t RENAME note TO "=note"')
    text = POLICY.replace('"note"', '"=note"')
    told = duckanon("run", folder.policy(text + "escape_formulas = true\n"))
    assert (told.code, "'=note' begins like a formula" in told.err) == (2, True)
    assert duckanon("run", folder.policy(text)).code == 0


@settings(deadline=None, max_examples=30)
@given(some.lists(some.text(alphabet="'=+-@\t\r a1.e\n"), min_size=1, max_size=20))
def test_every_text_comes_back(texts: list[str]) -> None:
    column = Column("x", TEXT)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS x", [texts])
        written = connection.execute(f"SELECT {escaped_cell(column)} FROM t").fetchall()
        back = connection.execute(f"SELECT {unescaped_cell(column)} FROM (SELECT {escaped_cell(column)} FROM t)")
        assert [text for (text,) in back.fetchall()] == texts
    assert not any(like_a_formula(text) and not text.startswith("'") for (text,) in written)
