"""What a release says of itself, and whose it is."""

from __future__ import annotations

import json

import pytest

from duckanon import Policy
from duckanon.release.mark import levels_in, made_by, mark_of, metadata_of, policy_hash_in
from tests.support.people import PEOPLE

pytestmark = pytest.mark.unit

POLICY = Policy.parse(PEOPLE)
OTHER = Policy.parse(PEOPLE.replace('name = "people"', 'name = "other"'))
MARK = mark_of(POLICY, "1.2.3", {"age": 2, "zip": 0})


def test_a_mark_is_of_the_policy_that_made_it_and_of_no_other() -> None:
    assert made_by(MARK, POLICY)
    assert not made_by(MARK, OTHER)


@pytest.mark.parametrize("mark", [None, "", "hello", "[]", "{}", '{"policy": "people"}', "1"])
def test_what_is_no_mark_of_ours_is_made_by_nobody(mark: str | None) -> None:
    assert not made_by(mark, POLICY)


def test_a_mark_tells_levels_and_policy() -> None:
    assert levels_in(MARK) == {"age": 2, "zip": 0}
    assert levels_in(mark_of(POLICY, "1.2.3", None)) == {}
    assert (
        policy_hash_in(MARK) == policy_hash_in(mark_of(POLICY, "9", None)) != policy_hash_in(mark_of(OTHER, "9", None))
    )
    assert policy_hash_in("no json") is None


def test_any_reader_is_shown_the_parts_of_a_mark() -> None:
    told = metadata_of(MARK)
    assert told["duckanon"] == MARK
    assert (told["duckanon_policy"], told["duckanon_k"]) == ("people", "3")
    assert json.loads(told["duckanon_levels"]) == {"age": 2, "zip": 0}
