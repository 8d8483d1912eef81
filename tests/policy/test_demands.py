"""Whether a policy demands less than the one before it."""

from __future__ import annotations

import pytest

from duckanon import Policy
from duckanon.models.keys import Demand
from duckanon.policy.demands import weaker
from tests.support.people import PEOPLE

pytestmark = pytest.mark.unit


def said(before: str, now: str) -> list[str]:
    return list(weaker(Policy.parse(now), Policy.parse(before)))


def test_nothing_is_less_than_something_and_not_the_other_way_round() -> None:
    nothing, something = Demand(None, True), Demand(3, True)
    assert nothing.is_less_than(something)
    assert not something.is_less_than(nothing)
    assert not nothing.is_less_than(nothing)


def test_which_way_is_less_depends_on_the_demand() -> None:
    assert Demand(2, True).is_less_than(Demand(3, True))
    assert not Demand(3, True).is_less_than(Demand(3, True))
    assert Demand(0.5, False).is_less_than(Demand(0.4, False))
    assert not Demand(0.3, False).is_less_than(Demand(0.4, False))


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ("k = 3", "k = 2", "privacy.k was 3, is 2"),
        ("l = 2", "", "sensitive.disease.l was 2, is gone"),
        ("l = 2", "t = 0.2", "sensitive.disease.l was 2, is gone"),
    ],
)
def test_a_threshold_that_is_lower_or_gone(before: str, now: str, words: str) -> None:
    assert said(PEOPLE, PEOPLE.replace(before, now)) == [words]
    assert words not in said(PEOPLE.replace(before, now), PEOPLE)


@pytest.mark.parametrize(
    ("key", "stricter", "looser"),
    [
        ("t", "0.2", "0.3"),
        ("alpha", "0.2", "0.3"),
        ("alp", "0.2", "0.3"),
        ("dif", "0.2", "0.3"),
        ("entropy_l", "1.5", "1.4"),
        ("recursive", "{ c = 2.0, l = 3 }", "{ c = 2.0, l = 2 }"),
        ("recursive", "{ c = 2.0, l = 3 }", "{ c = 3.0, l = 3 }"),
        ("proximity", "{ epsilon = 2, m = 2 }", "{ epsilon = 1, m = 2 }"),
        ("proximity", "{ epsilon = 2, m = 2 }", "{ epsilon = 2, m = 1 }"),
    ],
)
def test_every_model_has_its_own_way_up(key: str, stricter: str, looser: str) -> None:
    strict, loose = (PEOPLE.replace("l = 2", f"{key} = {bound}") for bound in (stricter, looser))
    assert len(said(strict, loose)) == 1
    assert said(loose, strict) == []


def test_a_value_falls_back_to_its_column() -> None:
    column = PEOPLE.replace("l = 2", "alpha = 0.5")
    own = column + "[sensitive.disease.values.HIV]\nalpha = 0.2\n"
    assert said(own, column) == ["sensitive.disease.values.HIV.alpha was 0.2, is 0.5"]
    assert said(column, own) == []


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ('keep = ["name"]', "name was not released, is kept"),
        ("[quasi_identifiers.name]", "name was not released, is a quasi-identifier"),
    ],
)
def test_a_column_that_shows_more(roles: str, words: str) -> None:
    now = PEOPLE.replace('identifiers = ["name"]', roles)
    assert said(PEOPLE, now) == [words]
    assert said(now, PEOPLE) == []


def test_people_who_are_no_longer_counted() -> None:
    people = PEOPLE.replace("k = 3", 'k = 3\nentity = "name"')
    assert said(people, PEOPLE) == ["privacy.entity was name, is gone: rows are counted, not people"]


FULL = """
    l = 3
    entropy_l = 2.0
    recursive = { c = 3.0, l = 3 }
    t = 0.3
    alpha = 0.5
    alp = 0.5
    dif = 0.4
    levels = { 1 = ["HIV"], 2 = ["flu"] }
    level_alpha = { 1 = 0.25 }
    level_l = 2
    level_weight = 1.0
    [sensitive.disease.values.HIV]
    alpha = 0.2
    l = 4
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("k = 3", "k = 2", ["privacy.k was 3, is 2"]),
        ("k = 3", "k = 4", []),
        ("    l = 3\n    e", "    e", ["sensitive.disease.l was 3, is gone"]),
        ("entropy_l = 2.0", "entropy_l = 1.5", ["sensitive.disease.entropy_l was 2, is 1.5"]),
        ("c = 3.0, l = 3", "c = 4.0, l = 2", ["recursive.c was 3, is 4", "recursive.l was 3, is 2"]),
        ("t = 0.3", "t = 0.2", []),
        ("t = 0.3", "t = 0.4", ["sensitive.disease.t was 0.3, is 0.4"]),
        ("    alpha = 0.5\n", "", ["sensitive.disease.alpha was 0.5, is gone"]),
        ("dif = 0.4", "dif = 0.41", ["sensitive.disease.dif was 0.4, is 0.41"]),
        ("{ 1 = 0.25 }", "{ 2 = 0.25 }", ["level_alpha.1 was 0.25, is gone"]),
        ("    alpha = 0.2\n", "", ["values.HIV.alpha was 0.2, is 0.5"]),
        ("    alpha = 0.2\n", "    alpha = 0.1\n    alp = 0.4\n", []),
        ("    l = 4\n", "", ["values.HIV.l was 4, is 3"]),
        ('["name"]', '["name"]\nkeep = ["sex"]', ["sex was a quasi-identifier, is kept"]),
        ('identifiers = ["name"]', 'keep = ["name"]', ["name was not released, is kept"]),
    ],
)
def test_what_a_policy_asks_for_less(old: str, new: str, said: list[str]) -> None:
    text = PEOPLE.replace("    l = 2", "").replace("l = 2", FULL)
    assert old in text
    then = Policy.parse(text)
    changed = text.replace(old, new, 1)
    if 'keep = ["sex"]' in new:
        changed = changed.replace("[quasi_identifiers.sex]\n", "")
    found = list(weaker(Policy.parse(changed), then))
    assert len(found) == len(said), found
    for words in said:
        assert any(words in line for line in found), found
    assert list(weaker(then, then)) == []


def test_a_finer_level_is_less() -> None:
    section = "[quasi_identifiers.sex]\n"
    bounded = PEOPLE.replace(section, f"{section}at_least = 1\n")
    assert said(bounded, PEOPLE) == ["quasi_identifiers.sex.at_least was 1, is gone"]
    assert not said(PEOPLE, bounded)
    assert not said(PEOPLE, PEOPLE.replace(section, f"{section}at_most = 0\n"))
