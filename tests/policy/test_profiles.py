"""A profile makes a policy stricter, or refuses it; it never weakens it."""

from __future__ import annotations

import pytest

from duckanon import Policy, PolicyError
from duckanon.policy import Dates, MappingFile
from duckanon.policy.demands import weaker
from duckanon.policy.profiles import PROFILES, profile_told

pytestmark = pytest.mark.unit

PATIENTS = """
name = "patients"
[source]
table = "patients"
[privacy]
k = 5
profile = "hipaa_safe_harbor"
[quasi_identifiers.zip]
[quasi_identifiers.age]
[quasi_identifiers.born]
hierarchy = { dates = ["month", "year", "decade"] }
[quasi_identifiers.sex]
[sensitive.disease]
[columns]
identifiers = ["name", "mrn"]
[release]
kind = "table"
to = "shown"
"""


def asked(**changes: str) -> Policy:
    text = PATIENTS
    for old, new in changes.items():
        assert BITS[old] in text
        text = text.replace(BITS[old], new)
    return Policy.parse(text)


BITS = {
    "profile": 'profile = "hipaa_safe_harbor"',
    "k": "k = 5",
    "zip": "[quasi_identifiers.zip]",
    "born": 'hierarchy = { dates = ["month", "year", "decade"] }',
    "sex": "[quasi_identifiers.sex]",
    "columns": 'identifiers = ["name", "mrn"]',
    "sensitive": "[sensitive.disease]",
}


def faults(**changes: str) -> list[str]:
    with pytest.raises(PolicyError) as refused:
        asked(**changes)
    return [str(fault) for fault in refused.value.faults]


def test_the_risk_of_ema_0070_takes_classes_of_twelve() -> None:
    policy = asked(profile='profile = "ema_0070"')
    assert policy.k == 12  # 1/11 is above 0.09
    assert policy.raised == ("privacy.k: 12, where the policy says 5",)
    assert asked(profile='profile = "ema_0070"', k="").k == 12
    assert asked(profile='profile = "ema_0070"', k="k = 20").k == 20
    assert 1 / (PROFILES["ema_0070"].k or 1) <= 0.09 < 1 / ((PROFILES["ema_0070"].k or 1) - 1)


def test_safe_harbor_asks_for_no_k_of_its_own() -> None:
    assert [fault.split(":")[0] for fault in faults(k="")] == ["privacy.k"]


def test_what_a_policy_leaves_open_is_set_by_the_names_of_its_columns() -> None:
    zip_, age, born, sex = asked().quasi_identifiers
    assert isinstance(zip_.hierarchy, MappingFile)
    assert zip_.hierarchy.path.stem == "us_zip3"
    assert zip_.at_least == 1
    assert isinstance(age.hierarchy, MappingFile)
    assert age.hierarchy.path.stem == "age_hipaa"
    assert age.at_least == 1
    assert isinstance(born.hierarchy, Dates)
    assert born.at_least == 2
    assert sex.at_least == 0


def test_what_a_policy_asks_for_beyond_the_profile_stays() -> None:
    born = 'hierarchy = { dates = ["year", "decade"] }\nat_least = 2'
    assert asked(born=born).quasi_identifiers[2].at_least == 2
    assert not any("born" in said for said in asked(born=born).raised)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"born": 'hierarchy = { dates = ["month"] }'}, ["born.hierarchy", "no level of years", '"year"']),
        ({"born": 'hierarchy = { dates = ["month", "year"] }\nat_most = 1'}, ["born.at_most", "level 2"]),
        ({"zip": "[quasi_identifiers.zip]\nhierarchy = { mask = [3, 0] }"}, ["zip.hierarchy", "us_zip3"]),
        ({"sex": "[quasi_identifiers.surname]"}, ["surname", "name of a person", "columns.identifiers"]),
        ({"sex": "[quasi_identifiers.latitude]"}, ["latitude", "a place on the map"]),
        ({"columns": 'keep = ["e-mail"]'}, ["e-mail", "an e-mail address"]),
        ({"columns": 'keep = ["patient_id"]'}, ["patient_id", "the number of a person"]),
        ({"columns": 'keep = ["city"]'}, ["city", "smaller than a state", "columns.keep"]),
        ({"sensitive": "[sensitive.notes]"}, ["notes", "free text"]),
        (
            {"columns": 'pseudonyms = ["mrn"]\n[pseudonyms]\nkey_env = "KEY"'},
            ["columns.pseudonyms", "164.514(c)", "columns.identifiers"],
        ),
    ],
)
def test_a_policy_that_breaks_safe_harbor_is_told_what_and_how_to_mend_it(
    changes: dict[str, str], said: list[str]
) -> None:
    (fault,) = faults(**changes)
    assert all(word in fault for word in said), fault
    asked(**changes, profile="")  # which is its own affair without the profile


def test_an_unknown_profile_is_refused() -> None:
    (fault,) = faults(profile='profile = "gdpr"')
    assert "privacy.profile" in fault
    assert "hipaa_safe_harbor" in fault


def test_a_result_tells_every_clause_and_what_is_left_to_do() -> None:
    told = profile_told(asked())
    assert told is not None
    met = " ".join(clause["met"] for clause in told["clauses"])
    assert all(name in met for name in ("name, mrn", "zip", "born (years)", "together: age"))
    assert any("legal advice" in said for said in told["left"])
    assert profile_told(asked(profile="")) is None


def test_a_profile_that_is_gone_asks_for_less() -> None:
    assert "privacy.profile was hipaa_safe_harbor, is gone" in list(weaker(asked(profile=""), asked()))
    assert not list(weaker(asked(), asked()))


def test_what_a_profile_sets_is_the_same_policy_as_what_is_written() -> None:
    ema = 'profile = "ema_0070"'
    assert asked(profile=ema).hash == asked(profile=ema, k="k = 12").hash != asked(profile="", k="k = 12").hash
