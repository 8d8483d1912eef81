"""By what rows are known again: the same whether they are read or were counted."""

from __future__ import annotations

import duckdb
import pytest

from duckanon.engine import Relation
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import table
from duckanon.release.fingerprints import relation_fingerprint

pytestmark = pytest.mark.unit

ROWS = "(1, 'a'), (1, 'a'), (2, NULL), (2, NULL), (2, NULL), (NULL, 'b'), (3, '')"
TWICE = "(1, 'a'), (1, 'a'), (NULL, 'b'), (NULL, 'b')"  # of which nothing is left in an XOR
PEOPLE = Relation(("memory", "main", "people"), "table")


def fingerprints(rows: str, names: dict[str, str]) -> tuple[str, str]:
    """Of the rows, and of their counts."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS FROM (VALUES {rows}) t(age, city)")
        connection.execute(
            "CREATE TABLE counts AS SELECT age AS q0, city AS q1, count(*) AS n FROM people GROUP BY 1, 2"
        )
        warehouse = DuckDB.wrap(connection)
        counts = RowCounts(table("counts"), names)
        return relation_fingerprint(PEOPLE, warehouse), relation_fingerprint(PEOPLE, warehouse, counts, warehouse)


@pytest.mark.parametrize("rows", [ROWS, TWICE])
def test_counts_tell_what_their_rows_do(rows: str) -> None:
    read, counted = fingerprints(rows, {"age": "q0", "city": "q1"})
    assert counted == read


def test_one_row_more_is_noticed_in_either() -> None:
    names = {"age": "q0", "city": "q1"}
    assert len({*fingerprints(ROWS, names), *fingerprints(f"{ROWS}, (1, 'a')", names)}) == 2


def test_where_a_column_was_not_counted_the_rows_are_read() -> None:
    read, counted = fingerprints(ROWS, {"age": "q0"})
    assert counted == read
