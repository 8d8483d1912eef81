"""Keys that are set for one run: checked, named and remembered as if the file said so."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

from duckanon.errors import PolicyError, UsageError
from duckanon.policy import Policy
from duckanon.policy.load import parse_policy
from duckanon.policy.overrides import given
from duckanon.toml.writing import written
from tests.support.people import PEOPLE

pytestmark = pytest.mark.unit


def overridden(*texts: str, **short: str) -> Policy:
    overrides = given({f"--{word}": value for word, value in short.items()}, texts)
    return parse_policy(PEOPLE, Path(), "people.toml", overrides)


def said(*texts: str, **short: str) -> str:
    with pytest.raises(PolicyError) as error:
        overridden(*texts, **short)
    return str(error.value)


def test_the_policy_is_what_a_file_with_these_keys_would_be() -> None:
    policy = overridden("sensitive.disease.l=3", k="7", suppression="0.25", method="optimal")
    text = PEOPLE.replace("k = 3", "k = 7").replace("0.1", "0.25").replace("l = 2", "l = 3")
    same = Policy.parse(text + '[search]\nmethod = "optimal"\n')
    assert policy.hash == same.hash
    assert Policy.parse(policy.text).hash == same.hash
    assert policy.text.startswith("# as it was run, with --k, --suppression, --method, --set sensitive.disease.l;")


def test_without_any_the_text_is_that_of_the_file() -> None:
    assert overridden().text == PEOPLE


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("sensitive.diagnosis.l=2", ("sensitive", "diagnosis", "l"), 2),
        ('quasi_identifiers."odd name".at_least=1', ("quasi_identifiers", "odd name", "at_least"), 1),
        ("""sensitive.'a=b."c'.t = 0.30""", ("sensitive", 'a=b."c', "t"), Decimal("0.30")),
        ("sensitive.ünï.l=2", None, None),
        ('sensitive."ünï".recursive={ c = 3, l = 2 }', ("sensitive", "ünï", "recursive"), {"c": 3, "l": 2}),
        ('columns.keep=["a", "b"]', ("columns", "keep"), ["a", "b"]),
        ("release.to=out/a=b.csv", ("release", "to"), "out/a=b.csv"),
        ('name="7"', ("name",), "7"),
        ("name", None, None),
        ("=3", None, None),
        ("name=", None, None),
        ("[privacy]\nk=3", None, None),
        ("privacy.k=3\nname='x'", None, None),
        ('columns.keep=["a"', None, None),
    ],
)
def test_a_key_and_its_value(text: str, key: tuple[str, ...] | None, value: Any) -> None:
    if key is None:
        with pytest.raises(UsageError, match="--set"):
            given({}, [text])
    else:
        (override,) = given({}, [text])
        assert (override.key, override.value) == (key, value)


def test_a_fault_is_named_after_the_override_that_it_is_due_to() -> None:
    assert said(k="0") == "--k: must be a whole number of at least 1, found 0"
    assert said("sensitive.disease.l=few").startswith("--set sensitive.disease.l: must be a whole number")
    assert said("privacy.kk=3").startswith("--set privacy.kk: unknown key — did you mean 'k'?")
    assert said("sensitive.Disease.l=3").startswith("--set sensitive.Disease.l: sensitive: names 'Disease' twice")
    assert said('columns.drop=["name"]').startswith("--set columns.drop: name: has two roles")
    assert said("name.first=3") == "--set name.first: name must be a table"
    assert said("privacy.k=3", k="3") == "--set privacy.k: privacy.k is set twice"


def test_faults_of_the_file_stay_the_files() -> None:
    broken = PEOPLE.replace("l = 2", "l = 0")
    with pytest.raises(PolicyError) as error:
        parse_policy(broken, Path(), "people.toml", given({"--k": "0"}, []))
    first, *faults = str(error.value).splitlines()
    assert first == "people.toml: 2 faults"
    assert [fault.split(":")[0].strip() for fault in faults] == ["--k", "sensitive.disease.l"]


def test_what_the_file_lacks_may_be_given() -> None:
    assert parse_policy(PEOPLE.replace("k = 3", ""), Path(), None, given({"--k": "4"}, [])).k == 4


def test_a_password_does_not_show() -> None:
    (override,) = given({}, ["source.database=postgresql://me:secret@host/db"])
    assert "secret" not in override.said


def test_values_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PEOPLE, encoding="utf-8")
    policy = Policy.load(tmp_path / "p.toml", {"privacy.suppression": 0.29, 'sensitive."disease".l': 3})
    assert policy.budget(100) == 29
    assert policy.sensitive[0].threshold("l") == 3
    with pytest.raises(PolicyError, match=r"^override privacy.k: must be"):
        Policy.load(tmp_path / "p.toml", {"privacy.k": 0})
    with pytest.raises(UsageError, match="'privacy k' is no key"):
        Policy.load(tmp_path / "p.toml", {"privacy k": 3})


TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.dates()
    | st.times()
    | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@tried(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_reads_the_same(document: dict[str, Any]) -> None:
    again = tomllib.loads(written(document), parse_float=Decimal)
    assert again == document


def test_a_number_that_is_no_whole_one_stays_so() -> None:
    assert written({"a": Decimal(5), "b": 5}) == "a = 5.0\nb = 5\n"
