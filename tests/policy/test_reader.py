"""The reader of policies: what is wrong with the text alone, before any database is opened."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from duckanon import Policy, PolicyError
from duckanon.errors import Fault
from duckanon.policy import Intervals, Mask
from duckanon.toml import Section
from duckanon.toml.checks import number, one_of, share, text, texts, truth, whole
from tests.support.people import PEOPLE

pytestmark = pytest.mark.unit

WRONG: dict[str, tuple[str, str, list[str]]] = {
    "broken TOML": ("k = 3", "k = = 3", ["TOML", "line"]),
    "unknown key": ("suppression", "supression", ["privacy.supression", "did you mean 'suppression'"]),
    "unknown section": ("[columns]", "[privcy]\nk = 2\n[columns]", ["privcy", "did you mean 'privacy'"]),
    "wrong type": ("k = 3", 'k = "3"', ["privacy.k", "whole number"]),
    "a yes for a number": ("k = 3", "k = true", ["privacy.k", "whole number", "true"]),
    "a threshold to decide": ("l = 2", 'l = "TODO: 2 or 3?"', ["sensitive.disease.l: is not decided yet", "— 2 or 3?"]),
    "a key to decide": ("k = 3", 'k = "TODO"', ["privacy.k: is not decided yet (TODO)", "in the place of TODO"]),
    "a question": (
        "[columns]",
        '[sensitive]\ndecide = "TODO: which?"\n[columns]',
        ["sensitive.decide: is not decided yet (TODO) — which?"],
    ),
    "k of zero": ("k = 3", "k = 0", ["privacy.k", "at least 1"]),
    "no k": ("k = 3", "", ["privacy.k", "missing"]),
    "a budget of all rows": ("suppression = 0.1", "suppression = 1.0", ["privacy.suppression", "below 1"]),
    "a budget below zero": ("suppression = 0.1", "suppression = -1", ["privacy.suppression"]),
    "not a number": ("suppression = 0.1", "suppression = nan", ["privacy.suppression"]),
    "alpha above 1": ("l = 2", "alpha = 1.5", ["sensitive.disease.alpha", "at most 1"]),
    "t below 0": ("l = 2", "t = -0.1", ["sensitive.disease.t"]),
    "entropy l below 1": ("l = 2", "entropy_l = 0.5", ["sensitive.disease.entropy_l"]),
    "infinite importance": ("[quasi_identifiers.sex]", "[quasi_identifiers.sex]\nimportance = inf", ["importance"]),
    "unknown method": ("[columns]", '[search]\nmethod = "magic"\n[columns]', ["search.method", "greedy"]),
    "no name": ('name = "people"', "", ["name", "missing"]),
    "a name that is a path": ('name = "people"', 'name = "../x"', ["name", "letters"]),
    "two sources": ('table = "people"', 'table = "people"\nquery = "FROM people"', ["source", "exactly one"]),
    "no source": ('table = "people"', "", ["source", "exactly one"]),
    "no release": ('kind = "table"\nto = "people_anonymous"', "", ["release.kind", "release.to"]),
    "two roles": ('["name"]', '["name", "AGE"]', ["AGE", "two roles"]),
    "intervals that do not nest": ("[5, 10, 20]", "[5, 12]", ["quasi_identifiers.age", "nest", "12"]),
    "cuts of one level": ("intervals = [5, 10, 20]", "cuts = [18, 65]", ["age.hierarchy.cuts", "list of lists"]),
    "cuts that do not nest": ("intervals = [5, 10, 20]", "cuts = [[18, 65], [18, 66]]", ["age.hierarchy.cuts", "nest"]),
    "the same cuts twice": ("intervals = [5, 10, 20]", "cuts = [[18, 65], [18, 65]]", ["age.hierarchy.cuts", "nest"]),
    "cuts that fall": ("intervals = [5, 10, 20]", "cuts = [[65, 18]]", ["age.hierarchy.cuts", "do not rise"]),
    "no cuts": ("intervals = [5, 10, 20]", "cuts = [[]]", ["age.hierarchy.cuts", "list of lists"]),
    "numbers and dates": ("intervals = [5, 10, 20]", "cuts = [[18, 2024-05-31]]", ["age.hierarchy.cuts", "not both"]),
    "a moment to cut at": (
        "intervals = [5, 10, 20]",
        "cuts = [[2024-05-31T10:00:00]]",
        ["age.hierarchy.cuts", "dates"],
    ),
    "a day that is none": ("intervals = [5, 10, 20]", 'cuts = [["2024-02-30"]]', ["age.hierarchy.cuts", "dates"]),
    "a cut too fine": ("intervals = [5, 10, 20]", "cuts = [[1e-10]]", ["age.hierarchy.cuts", "9 decimals"]),
    "a mask that grows": ("[4, 3, 0]", "[3, 4]", ["quasi_identifiers.zip.hierarchy.mask", "falling"]),
    "units that do not nest": ("{ intervals = [5, 10, 20] }", '{ dates = ["week", "month"] }', ["age", "nest"]),
    "two kinds of hierarchy": ("{ mask = [4, 3, 0] }", '{ mask = [4], dates = ["day"] }', ["zip", "exactly one"]),
    "unknown builtin": ("{ mask = [4, 3, 0] }", '{ builtin = "planets" }', ["zip", "countries"]),
    "level bounds without levels": ("l = 2", "level_l = 2", ["sensitive.disease.levels", "missing"]),
    "a value in two levels": (
        "l = 2",
        'levels = { 1 = ["flu"], 2 = ["flu", "HIV"] }\nlevel_l = 2',
        ["sensitive.disease.levels", "level 1", "level 2"],
    ),
    "bounds on values that are not published": (
        "l = 2",
        'publish = "level"\nlevels = { 1 = ["HIV"] }\n[sensitive.disease.values.HIV]\nalpha = 0.2',
        ["sensitive.disease.values", "level_alpha"],
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_text_is_refused(fault: str) -> None:
    old, new, words = WRONG[fault]
    assert old in PEOPLE
    with pytest.raises(PolicyError) as caught:
        Policy.parse(PEOPLE.replace(old, new))
    for word in words:
        assert word in str(caught.value)


def test_several_faults_come_together_in_the_name_of_the_file(tmp_path: Path) -> None:
    wrong = PEOPLE.replace("k = 3", "k = 0").replace("l = 2", "alpha = 2\ntypo = 1").replace("[5, 10, 20]", "[5, 7]")
    (tmp_path / "policy.toml").write_text(wrong)
    with pytest.raises(PolicyError) as caught:
        Policy.load(tmp_path / "policy.toml")
    assert str(caught.value).startswith(f"{tmp_path / 'policy.toml'}: 4 faults\n")
    for key in ("privacy.k", "sensitive.disease.alpha", "sensitive.disease.typo", "quasi_identifiers.age"):
        assert key in str(caught.value)


def test_what_is_right_is_read_as_it_is_written() -> None:
    policy = Policy.parse(PEOPLE)
    assert (policy.name, policy.k) == ("people", 3)
    assert [q.column for q in policy.quasi_identifiers] == ["age", "zip", "sex"]
    age, code, _ = (q.hierarchy for q in policy.quasi_identifiers)
    assert age == Intervals((Decimal(5), Decimal(10), Decimal(20)))
    assert code == Mask((4, 3, 0))


@pytest.mark.parametrize(
    ("suppression", "rows", "budget"),
    [("0.1", 200, 20), ("0.1", 209, 20), ("0.29", 100, 29), ("7", 200, 7), ("7", 5, 5), ("0", 200, 0)],
)
def test_a_budget_is_a_share_rounded_down_or_a_number_of_rows(suppression: str, rows: int, budget: int) -> None:
    """0.29 of 100 is 29, though 0.29 * 100 is less in floating point."""
    found = Policy.parse(PEOPLE.replace("suppression = 0.1", f"suppression = {suppression}")).budget(rows)
    assert min(found, rows) == budget


# -- keys and checks ------------------------------------------------------------------------------


def test_a_key_is_asked_for_once_and_the_others_are_unknown() -> None:
    faults: list[Fault] = []
    section = Section({"k": 3, "kk": 1, "other": 2}, "privacy", faults)
    assert section.get("k", whole(1)) == 3
    assert section.get("gone", truth, default=False) is False
    section.finish()
    assert [fault.where for fault in faults] == ["privacy.kk", "privacy.other"]
    assert [fault.remedy for fault in faults] == ["did you mean 'k'?", "known keys: gone, k"]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (whole(1), [1, 7], [0, True, 1.0, "1", 2**53, None]),
        (share, [Decimal("0.5"), 1, Decimal("1.0")], [0, Decimal("1.01"), "1", True, Decimal("nan")]),
        (number(least=0), [0, Decimal("0.0"), 5], [-1, Decimal("inf"), False]),
        (text, ["a"], ["", "  ", 1]),
        (texts, [[], ["a"]], ["a", [""], [1]]),
        (one_of("a", "b"), ["a"], ["c", ["a"]]),
        (truth, [True, False], [0, "yes"]),
    ],
)
def test_checks_let_through_what_they_say(check: Any, good: list[Any], bad: list[Any]) -> None:
    assert [check(value) for value in good] == [None] * len(good)
    assert all(check(value) for value in bad)
