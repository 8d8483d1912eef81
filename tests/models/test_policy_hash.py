"""The hash of a policy is what ledgers in the field compare: how thresholds are held must never change it."""

from __future__ import annotations

import pytest

from duckanon import Policy
from tests.support.paths import ROOT

POLICY = """
name = "pinned"
[source]
table = "people"
[privacy]
k = 5
suppression = 0.02
[quasi_identifiers.age]
hierarchy = { intervals = [5, 10] }
%s
[release]
kind = "table"
to = "people_anonymous"
"""

# Taken when every threshold was a field of its own.
SECTIONS = {
    "no threshold": (
        """
[sensitive.disease]
""",
        "4ae86fb2030eeb3863f5bbd6d68aaf54ff7683a51fade64ca54f4bcc88539450",
    ),
    "numbers": (
        """
[sensitive.disease]
l = 3
entropy_l = 2.0
t = 0.3
alpha = 0.5
alp = 0.5
dif = 0.4
""",
        "b2ae83c1a8ae870c6e39d6656babd1371989d13bfc50648bc6a3125af3f9ca2d",
    ),
    "least and zero": (
        """
[sensitive.disease]
l = 1
entropy_l = 1
t = 0
alpha = 1
alp = 1
dif = 0
""",
        "8e22fc32892b71e05ac1d7943b65abe65dec6e2e37b2a9c400986b36144fc1d6",
    ),
    "tables": (
        """
[sensitive.wage]
recursive = { c = 3.0, l = 2 }
proximity = { epsilon = 500, m = 3 }
""",
        "243bb9c7209f4e9a79a6d5e1ae78075df2bc9406dd576cd0c39df112f4b6a165",
    ),
    "levels": (
        """
[sensitive.disease]
levels = { 2 = ["flu"], 1 = ["AIDS", "hepatitis"], 10 = ["cough"] }
level_alpha = { 2 = 0.5, 10 = 0.9, 1 = 0.25 }
level_l = 2
level_weight = 1.0
""",
        "6b0d08a9c1104a41cbef30f4e42678e6513dbf3cc589647fabef93e7a3fca5ca",
    ),
    "a published level": (
        """
[sensitive.disease]
publish = "level"
levels = { 1 = ["AIDS"], 2 = ["flu"] }
level_alpha = {}
level_weight = 0
""",
        "e5a03c8ca01b16de4e91d24eeaa3a44820f53963deca552c2087c904572fbf8b",
    ),
    "values": (
        """
[sensitive.disease]
alpha = 0.6
[sensitive.disease.values.HIV]
alpha = 0.2
alp = 0.43
dif = 0.27
l = 6
sensitivity = 0.9
[sensitive.disease.values.flu]
[sensitive.disease.values.cough]
sensitivity = 0
""",
        "81e92bb3bb7a369622ddea9e4f84a79420b6ef73bfdb88e6bf1ced57abbb614c",
    ),
    "two columns": (
        """
[sensitive.wage]
t = 0.25
[sensitive.disease]
l = 2
[sensitive.disease.values.HIV]
l = 4
""",
        "c4227ddae23cc98a9287bf94d8ad7fe042f1a33c13041b46418dbb29d4ccf6ee",
    ),
}

FIXTURES = {
    "fixtures/han_table1.toml": "4f9e0722534d13714bd5d7e25915aebbfc66912d5114bc40786ef6b5905d0c01",
    "fixtures/han_table1_diverse.toml": "6773afbc552d95ce1a83d81b33829012c52a11d5b3e7cc5d1f9df975983221a2",
    "fixtures/han_table2_general.toml": "d1ba0d56fdfd7d918154509d913bdd9f8888890643be98df2dbb6743c6b50ab6",
    "fixtures/han_table2_simple.toml": "17daa4355fa94b9152736b0ed30b782dd9eeacf992cd20dfffd9f1f0496f0537",
    "fixtures/han_table3_complete.toml": "b3914d177abaf990705e99ee9984e6cb7cf0569c4d7f01499b7e4298b5325ce9",
    "fixtures/han_table3_general.toml": "3e5fb352340b9abb45b496c58f7ea3209b7c82a78dadeecb51deee181d0220f5",
    "fixtures/mohapatra_table1.toml": "c19a29e34a01595bbe4ffb5713859b49567c69343f0845f4c75e522cabf1728f",
    "fixtures/mohapatra_table2.toml": "f11f269e8e9947de9e9613415721ac45e43bfb056f8479d6f0e9b6d9ccb1adcf",
    "fixtures/pan_table11.toml": "40d71c3dcdeae07cbc3708cf564f741e68a4fb1a48ae4d8fa102816c1b2b7e78",
    "fixtures/pan_table2.toml": "deaaeaadf605dd89de1af450207840f8125562663eb97cad6424a0fd86e9a491",
    "fixtures/pan_table5.toml": "86d5a4cc666aa846d3a83cfd0a7823130242ba1a0671952dbe5f1db260155883",
    "fixtures/pan_table6.toml": "90da786ad30a57342343d1855d33b5aeefb52663cde5e63de8275ff1384ac350",
    "fixtures/wang_table1.toml": "cd83b10cef7969c56da30e95486f8eb6cccb2e83b7a528187f5a482caf775fc8",
    "fixtures/wang_table1_sensitive.toml": "8730411eecbfe25690f513da7ede81d004be4901527a74e05bd8e2e7157f01d0",
    "fixtures/wang_table2.toml": "b2af724e9fa1c82c5905d91e45742b347de8a4475dc85268bcbf0de7620691ce",
    "fixtures/wang_table3.toml": "cdfe0fe918bb79cbff76fe85c8ecd1883c27bd14960a1042a9d8fce650a0c78b",
    "fixtures/yang_table1.toml": "d8524d826a6823f5de16ff8ca7473308e22c6e6aa2a23150294afd24a753f2ed",
    "fixtures/yang_table2.toml": "8da0eb88e4a9c63a72c5ff2fe89e76947d6bb9b1194aa1b8f0bc9b0adeb44277",
    "fixtures/yang_table2_birth.toml": "8fd9ddbb7ecc7180c7e32ffb740b196cbb090959720f011d1ad4698a868374c2",
    "sql/demo.toml": "a72917cf852f95aa0e637810965bbba5d1db1d9fdec158ff1c9715b64e8784f1",
}


@pytest.mark.parametrize(("section", "pinned"), SECTIONS.values(), ids=SECTIONS)
def test_the_hash_of_thresholds(section: str, pinned: str) -> None:
    assert Policy.parse(POLICY % section).hash == pinned


@pytest.mark.parametrize(("path", "pinned"), FIXTURES.items(), ids=FIXTURES)
def test_the_hash_of_every_policy_that_there_is(path: str, pinned: str) -> None:
    assert Policy.load(ROOT / path).hash == pinned


def test_every_threshold_changes_the_hash() -> None:
    assert len({pinned for _, pinned in SECTIONS.values()}) == len(SECTIONS)
