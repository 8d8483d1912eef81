"""The Adult data set, 30,162 rows, and its hierarchies: in the folder DUCKANON_ADULT, or shared beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import duckanon
from tests.support.paths import ROOT

ADULT = Path(os.environ.get("DUCKANON_ADULT") or ROOT.parent / "shared" / "data")
QI = ["age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass"]


def adult(k: int, suppression: str, more: str = "", rules: str = "") -> duckanon.Policy:
    hierarchies = "".join(f'[quasi_identifiers.{name}]\nhierarchy = "adult_hierarchy_{name}.csv"\n' for name in QI)
    return duckanon.Policy.parse(
        f"""
        name = "adult"
        [source]
        file = "adult.csv"
        [privacy]
        k = {k}
        suppression = {suppression}
        {hierarchies}
        [sensitive.occupation]
        {rules}
        [release]
        kind = "table"
        to = "adult_anonymous"
        {more}
        """,
        ADULT,
    )
