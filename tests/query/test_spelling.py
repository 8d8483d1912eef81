"""Names as SQL spells them, and cells as a spreadsheet reads them."""

from __future__ import annotations

import duckdb
import pytest

from duckanon.query.formulas import like_a_formula
from duckanon.query.names import folded, quoted, quoted_if_odd, split_name

pytestmark = pytest.mark.unit

NAMES = ["plain", "two words", 'a "quote"', "select", "é", "a.b", "1st", "semi;colon", "line\nbreak", "'"]


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_name_is_one_name_to_the_database(name: str) -> None:
    result = duckdb.execute(f"SELECT 1 AS {quoted(name)}")
    assert [column[0] for column in result.description] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_quoted_name_is_read_back(name: str) -> None:
    assert split_name(quoted("main", name)) == ["main", name]


@pytest.mark.parametrize(
    ("spelled", "parts"),
    [
        ("people", ["people"]),
        ("main.people", ["main", "people"]),
        ('main."two words"', ["main", "two words"]),
        ('"a.b"', ["a.b"]),
        ('"a""b"', ['a"b']),
        ("two words", None),
        ("main.", None),
        ('"open', None),
        ("1st", None),
        ("", None),
    ],
)
def test_a_name_is_split_as_sql_does_or_not_at_all(spelled: str, parts: list[str] | None) -> None:
    assert split_name(spelled) == parts


def test_only_the_letters_a_to_z_have_a_case() -> None:
    assert folded("AbcÉ") == "abcÉ"


def test_a_person_quotes_only_what_is_odd() -> None:
    assert quoted_if_odd("main", "odd one") == 'main."odd one"'
    assert quoted_if_odd("Upper") == '"Upper"'


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@sum", "\tx", "\rx", "'=1", "''=1", "-1+1"])
def test_a_cell_that_a_spreadsheet_would_run(cell: str) -> None:
    assert like_a_formula(cell)


@pytest.mark.parametrize("cell", ["-1", "+1.5", "-.5e3", "1+1", "x=1", "", "'x", "*"])
def test_a_cell_that_is_none(cell: str) -> None:
    assert not like_a_formula(cell)
