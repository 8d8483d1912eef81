"""Columns are counted together as far as that makes few counts."""

from __future__ import annotations

from itertools import combinations

import pytest

from duckanon.recoding.sides import Variable, counted_together

pytestmark = pytest.mark.unit


def variables(*labels: int) -> list[Variable]:
    return [Variable(index, f"c{index}", n, None, None) for index, n in enumerate(labels)]


def test_few_values_are_counted_in_one_scan() -> None:
    pairs = [*combinations(variables(73, 9, 5, 2), 2)]
    (together,) = counted_together(pairs)
    assert {v.index for v in together} == {0, 1, 2, 3}


def test_many_values_are_counted_by_themselves() -> None:
    age, sex, zip_, place = variables(73, 2, 90_000, 1_000)
    assert counted_together([(age, sex), (zip_,), (zip_, place), (age, zip_)]) == [
        (age, sex),
        (zip_,),
        (zip_, place),
        (age, zip_),
    ]


def test_what_is_counted_already_is_not_counted_again() -> None:
    zip_, place = variables(90_000, 1_000)
    assert counted_together([(zip_, place), (place,), (zip_,), (place, zip_)]) == [(zip_, place)]
