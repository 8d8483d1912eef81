"""Types in words of our own, from DuckDB's."""

from __future__ import annotations

import duckdb
import pytest

from duckanon.engine.duckdb.types import type_of
from duckanon.engine.types import Family
from duckanon.engine.workbench import Workbench
from duckanon.query.expressions import column, table

FAMILIES = {
    "TINYINT": Family.WHOLE,
    "UHUGEINT": Family.WHOLE,
    "DECIMAL(9, 3)": Family.DECIMAL,
    "FLOAT": Family.FLOAT,
    "DOUBLE": Family.FLOAT,
    "VARCHAR": Family.TEXT,
    "DATE": Family.DATE,
    "TIMESTAMP": Family.MOMENT,
    "TIMESTAMP_NS": Family.MOMENT,
    "TIMESTAMP WITH TIME ZONE": Family.MOMENT,
    "TIME": Family.TIME_OF_DAY,
    "BOOLEAN": Family.BOOLEAN,
    "ENUM('a', 'it''s, (b)')": Family.ENUMERATION,
    "INTEGER[]": Family.LIST,
    "DECIMAL(9, 3)[]": Family.LIST,
    "INTEGER[3]": Family.LIST,
    "STRUCT(a INTEGER)": Family.RECORD,
    "UUID": Family.OTHER,
    "BLOB": Family.OTHER,
    "INTERVAL": Family.OTHER,
    "MAP(INTEGER, VARCHAR)": Family.OTHER,
}


@pytest.mark.parametrize("word", FAMILIES)
def test_the_family_of_a_word(word: str) -> None:
    """As a column has it, so as DuckDB itself says it."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (c {word})")
        (found,) = Workbench(connection).columns(table("t"))
    assert found.type.family is FAMILIES[word]
    assert found.type.word.replace(" ", "") == word.replace(" ", "")
    assert str(found.type) == found.type.word


def test_decimals() -> None:
    assert (type_of("DECIMAL(9,3)").scale, type_of("INTEGER").scale) == (3, 0)


def test_what_no_class_can_be_made_of() -> None:
    words = ["INTERVAL", "INTEGER[3]", "INTEGER[2][]", "MAP(INTEGER, VARCHAR)", "UNION(a INTEGER)", "DATE", "INTEGER[]"]
    assert [type_of(word).comparable for word in words] == [False] * 5 + [True] * 2


def test_what_is_written_by_the_clock_of_who_asks() -> None:
    assert type_of("TIMESTAMP WITH TIME ZONE").zoned
    assert type_of("TIMESTAMPTZ_NS").zoned
    assert not type_of("TIMESTAMP").zoned


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("ENUM('a', 'b')", "VARCHAR"),
        ("ENUM('a', 'it''s')[]", "VARCHAR[]"),
        ("STRUCT(e ENUM('a'), n INTEGER)", "STRUCT(e VARCHAR, n INTEGER)"),
        ("DATE", "DATE"),
    ],
)
def test_a_release_has_no_enumerations(word: str, shown: str) -> None:
    """Their types would list values that no released row has."""
    released = type_of(word).released
    assert released.word == shown
    assert released.released == released
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (c {word})")
        cast = released.cast(column("c")).sql("duckdb")
        assert connection.execute(f"DESCRIBE SELECT {cast} AS c FROM t").fetchall()[0][1] == shown


def test_a_moment_of_nanoseconds_and_a_zone_has_no_pseudonym_of_its_own() -> None:
    kind = type_of("TIMESTAMPTZ_NS")
    assert kind.is_day
    assert not kind.one_text
