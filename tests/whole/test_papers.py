"""The papers' tables: every row of the worked examples, through the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.paths import ROOT

FIXTURES = ROOT / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))


def equal(found: Any, expected: Any) -> None:
    """Every figure that the fixture states, to 1e-9; what it does not state is free."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in found, key
            equal(found[key], value)
    elif isinstance(expected, (int, float)) and not isinstance(expected, bool):
        assert found == pytest.approx(expected, abs=1e-9)
    else:
        assert found == expected


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: f"{case['command']}-{case['policy']}")
def test_worked_example(case: dict[str, Any], duckanon: Command, tmp_path: Path) -> None:
    for file in FIXTURES.iterdir():
        shutil.copy(file, tmp_path)
    told = duckanon(case["command"], tmp_path / case["policy"], "--json")
    assert told.code == case["exit"], told.err
    found = told.json
    assert found["status"] == case["status"]
    equal(found["privacy"], case.get("figures", {}))
    for key in ("rows", "classes", "levels", "heights", "utility"):
        if key in case:
            equal(found[key], case[key])
    if "violated" in case:
        assert sorted({c["name"] for c in found["constraints"] if not c["holds"]}) == sorted(
            {c if isinstance(c, str) else c["name"] for c in case["violated"]}
        )
    for wanted in case.get("constraints", []):
        same = [
            c for c in found["constraints"] if all(c[key] == wanted.get(key) for key in ("name", "column", "value"))
        ]
        assert len(same) == 1, wanted
        equal(same[0], wanted)


def test_every_policy_is_expected_to_do_something() -> None:
    assert {path.name for path in FIXTURES.glob("*.toml")} == {case["policy"] for case in EXPECTED}
