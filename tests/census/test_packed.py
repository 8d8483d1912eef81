"""A source on the workbench is read twice, for its values and by their codes: what comes of it is the source."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest
from sqlglot import exp

import duckanon
from duckanon.census.packed import PackedRows
from duckanon.census.words import CensusWords
from duckanon.errors import EngineError
from duckanon.query.dialects import WORKBENCH

COLUMNS = [f"c{at}" for at in range(7)]
# Codes of 7 columns with 2,000 values each take 77 bits, and two rows each are alike.
ROWS = f"""SELECT {", ".join(f"'v' || (hash(i // 2, {at}) % 2000) AS c{at}" for at in range(7))},
    CASE WHEN i // 2 % 7 > 0 THEN i // 2 % 7 END AS secret FROM range(8000) AS r (i)"""


def policy(folder: Path, source: str) -> duckanon.Policy:
    sections = "\n".join(f"[quasi_identifiers.{name}]" for name in COLUMNS)
    text = f"""name = "people"
        [source]
        {source}
        [privacy]
        k = 2
        {sections}
        [sensitive.secret]
        [release]
        kind = "table"
        to = "out"
        """
    return duckanon.Policy.parse(text, folder)


@pytest.mark.parametrize("many", [0, 10**9])
def test_codes_of_many_columns_take_several_words(many: int, tmp_path: Path) -> None:
    with duckdb.connect() as db, patch("duckanon.census.coding.MANY_ROWS", many):
        db.execute(f"CREATE TABLE people AS {ROWS}")
        result = duckanon.run(policy(tmp_path, 'table = "people"'), db)
        assert result.levels == dict.fromkeys(COLUMNS, 0)
        assert (
            db.execute("(FROM people EXCEPT ALL FROM out) UNION ALL (FROM out EXCEPT ALL FROM people)").fetchall() == []
        )


@pytest.mark.parametrize(
    "second", [f"{ROWS} WHERE i <> 5", f"SELECT * REPLACE ('other' AS c0) FROM ({ROWS})"], ids=["fewer rows", "a value"]
)
def test_a_file_that_changes_between_two_looks_is_not_released(second: str, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    duckdb.sql(f"COPY ({ROWS}) TO '{file}'")

    rows = PackedRows.rows

    def exchanged(packed: PackedRows) -> exp.Select:
        file.unlink()
        duckdb.sql(f"COPY ({second}) TO '{file}'")
        return rows(packed)

    with duckdb.connect() as db, patch.object(PackedRows, "rows", exchanged):
        with pytest.raises((EngineError, duckdb.Error)):
            duckanon.run(policy(tmp_path, f"file = '{file}'"), db)
        assert db.execute("SELECT COUNT(*) FROM duckdb_tables()").fetchall() == [(0,)]


@pytest.mark.parametrize("many", [0, 10**9])
def test_a_value_that_gets_lost_on_the_way_to_its_code_ends_the_run(many: int, tmp_path: Path) -> None:
    """Of what a query gives: it is counted by values."""
    coded = CensusWords.coded

    def forgetful(words: CensusWords, rows: str, query: exp.Select, by_code: bool = False) -> exp.Select:
        db.execute(f"DELETE FROM {words.hierarchies[3].mapping.sql(WORKBENCH, identify=True)} WHERE value = 'v7'")
        return coded(words, rows, query, by_code)

    with duckdb.connect() as db, patch("duckanon.census.coding.MANY_ROWS", many):
        db.execute(f"CREATE TABLE people AS {ROWS}")
        with patch.object(CensusWords, "coded", forgetful), pytest.raises(EngineError, match="nothing can be trusted"):
            duckanon.run(policy(tmp_path, 'query = "SELECT * FROM people"'), db)
        assert db.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]
