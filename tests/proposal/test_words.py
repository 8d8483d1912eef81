"""What names of columns and forms of values say."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import pytest

from duckanon.clues.names import meanings_of
from duckanon.clues.patterns import IDENTIFYING, PATTERNS
from duckanon.proposal.numbers import cuts, is_skewed, widths
from duckanon.proposal.spread import _SHARES, Spread

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("first_name", "person"),
        ("lastName", "person"),
        ("Name", "person"),
        ("patient name", "person"),
        ("Nachname", "person"),
        ("prénom", "person"),
        ("apellidos", "person"),
        ("cognome", "person"),
        ("achternaam", "person"),
        ("E-Mail", "email"),
        ("Telefon", "phone"),
        ("Straße", "address"),
        ("SSN", "number"),
        ("código postal", "postal"),
        ("PLZ", "postal"),
        ("Annual Salary", "sensitive"),
        ("Diagnose", "sensitive"),
        ("maladie", "sensitive"),
        ("customer_id", "who"),
        ("Bemerkungen", "notes"),
    ],
)
def test_names_are_understood_in_several_languages(name: str, meaning: str) -> None:
    assert meaning in meanings_of(name)


@pytest.mark.parametrize("name", ["city_name", "product name", "age", "sex", "ward", "education", "capital-gain"])
def test_a_name_that_is_no_persons_names_nobody(name: str) -> None:
    assert not meanings_of(name) & {"person", "email", "phone", "address", "number", "sensitive"}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("ann.lee@mail.example", "email"),
        ("123e4567-e89b-12d3-a456-426614174000", "uuid"),
        ("DE89370400440532013000", "iban"),
        ("DE89 3704 0044 0532 0130 00", "iban"),
        ("4111 1111 1111 1111", "card"),
        ("078-05-1120", "national"),
        ("12345678Z", "national"),
        ("QQ 12 34 56 C", "national"),
        ("+49 151 23456789", "phone"),
        ("(212) 555-0123", "phone"),
        ("192.168.0.1", "ip"),
        ("00:1A:2B:3C:4D:5E", "mac"),
        ("https://a.example/x", "url"),
        ("52.5200,13.4050", "place"),
    ],
)
def test_values_that_name_people_are_known_by_their_form(value: str, name: str) -> None:
    first = next(pattern.name for pattern in IDENTIFYING if re.search(pattern.expression, value))
    assert first == name


@pytest.mark.parametrize("value", ["Berlin", "HS-grad", "<=50K", "10:20:30", "E11.9", "north", "A-12"])
def test_words_and_short_codes_name_nobody(value: str) -> None:
    assert not [pattern.name for pattern in IDENTIFYING if re.search(pattern.expression, value)]


def test_the_patterns_are_such_that_every_engine_reads_them() -> None:
    for pattern in PATTERNS:
        assert "\\" not in pattern.expression
        assert "(?" not in pattern.expression


def spread(values: list[float]) -> Spread:
    lying = sorted(values)

    def at(share: float, numbers: list[float]) -> float:
        return numbers[min(len(numbers) - 1, int(share * len(numbers)))]

    above = [x for x in lying if x > 0]
    common = max(set(lying), key=lying.count)
    whole = all(x == int(x) for x in lying)
    quantiles = {share: at(share, lying) for share in _SHARES}
    positive = {share: at(share, above) for share in _SHARES} if above else {}
    share = lying.count(common) / len(lying)
    return Spread(len(lying), len(set(lying)), whole, 0, common, share, quantiles, positive)


def test_widths_are_round_and_nest() -> None:
    assert widths(spread([float(age) for age in range(17, 91)])) == [5, 10, 20]
    assert widths(spread([x / 100 for x in range(1000)])) == [Decimal("0.5"), 1, 2]
    for reach in (3, 30, 700, 12_345, 10**9):
        chosen = widths(spread([float(x * reach // 500) for x in range(500)]))
        assert chosen
        assert all(wide % narrow == 0 for narrow, wide in pairwise(chosen))


def test_numbers_of_which_a_few_lie_far_above_most_are_cut_at_quantiles_and_at_no_value_of_theirs() -> None:
    incomes = [round(1.01**x * 20_000 + 7, 2) for x in range(500)]
    found = spread(incomes)
    assert is_skewed(found)
    levels = cuts(found, 5)
    assert len(levels) == 3
    assert not {float(cut) for level in levels for cut in level} & set(incomes)
    for finer, coarser in pairwise(levels):
        assert set(coarser) < set(finer)


def test_where_most_have_nothing_those_are_a_range_of_their_own() -> None:
    gains = spread([0.0] * 900 + [float(x) for x in range(1000, 2000, 10)])
    assert is_skewed(gains)
    assert all(level[0] == 1 for level in cuts(gains, 5))


def test_an_eighth_of_fewer_than_k_rows_is_no_range() -> None:
    assert cuts(spread([1.01**x for x in range(39)]), 5) == []
