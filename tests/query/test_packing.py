"""Numbers packed into words come out as they went in: in Python, and in the SQL that DuckDB runs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import duckdb
import pytest

from duckanon.query.packing import WORD, Packing

BASES = {
    "one": [7],
    "levels beyond a byte": [301, 257, 4],
    "nothing to tell": [1, 1, 5, 1],
    "beyond 62 bits": [2**20, 2**20, 2**20, 2**20, 300],
    "up to the last bit": [2**31, 2**31, 2],
    "odd": [3**13, 7**9, 11**6, 999_983, 2, 5**11],
}


def some(bases: Sequence[int]) -> list[list[int]]:
    draw = random.Random(7)
    least, greatest = [0] * len(bases), [base - 1 for base in bases]
    return [least, greatest, *([draw.randrange(base) for base in bases] for _ in range(50))]


@pytest.mark.parametrize("in_one", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_there_and_back(name: str, in_one: bool) -> None:
    packing, words = Packing(BASES[name], in_one), set()
    for numbers in some(BASES[name]):
        packed = packing.words_of(numbers)
        assert packing.numbers_of(packed) == tuple(numbers)
        assert in_one or all(0 <= word < 2**WORD for word in packed)
        words.add(tuple(packed))
    assert len(words) == len({tuple(numbers) for numbers in some(BASES[name])})


@pytest.mark.parametrize("in_one", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_as_sql(name: str, in_one: bool) -> None:
    packing = Packing(BASES[name], in_one)
    columns = [f"d{position}" for position in range(len(BASES[name]))]
    words = [f"w{word}" for word in range(packing.words)]
    packed = ", ".join(f"{key} AS {word}" for key, word in zip(packing.packed(columns), words, strict=True))
    for numbers in some(BASES[name]):
        given = ", ".join(f"{number} AS {column}" for number, column in zip(numbers, columns, strict=True))
        query = f"SELECT {', '.join([*words, *packing.unpacked(words)])} FROM (SELECT {packed} FROM (SELECT {given}))"
        (found,) = duckdb.execute(query).fetchall()
        assert list(found) == [*packing.words_of(numbers), *numbers]


@pytest.mark.parametrize("in_one", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_words_have_the_order_of_the_numbers(name: str, in_one: bool) -> None:
    packing = Packing(BASES[name], in_one)
    assert sorted(some(BASES[name])) == sorted(some(BASES[name]), key=packing.words_of)


@pytest.mark.parametrize("name", BASES)
def test_a_number_is_what_the_mask_of_its_slot_leaves(name: str) -> None:
    packing = Packing(BASES[name])
    for numbers in some(BASES[name]):
        words = packing.words_of(numbers)
        for slot, number in zip(packing.slots, numbers, strict=True):
            assert words[slot.word] & slot.mask == number * slot.stride


def test_a_word_is_filled_before_the_next() -> None:
    assert Packing([2**31, 2**31]).words == 1
    assert Packing([2**31, 2**31, 2]).words == 2
    assert Packing([2**31, 2**31, 2], in_one=True).words == 1


def test_how_large_a_number_is_needed() -> None:
    assert Packing([2**31, 2**31], in_one=True).type == "BIGINT"
    assert Packing([2**31, 2**31, 2], in_one=True).type == "HUGEINT"
    assert Packing([2**31, 2**31, 2]).type == "BIGINT"
    assert Packing([2**31, 2**31, 2], in_one=True).bits == 63


def test_what_is_not_told_is_0() -> None:
    packing = Packing([10, 10])
    assert duckdb.execute(f"SELECT {packing.packed([None, '3'])[0]}").fetchall() == [(3,)]
    assert duckdb.execute(f"SELECT {packing.packed(['3', None])[0]}").fetchall() == [(3 * 16,)]
    assert duckdb.execute(f"SELECT {packing.packed([None, None])[0]}").fetchall() == [(0,)]
