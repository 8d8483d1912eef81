"""What the models say of their keys stands in docs/policy.md and docs/policy.schema.json as they say it."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from duckanon.errors import Fault
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.keys import ThresholdKey
from duckanon.models.registry import column_keys, value_keys
from duckanon.policy.documentation import guide_with_thresholds, schema_with_thresholds, written_schema
from duckanon.toml import Section
from tests.support.paths import ROOT

KEYS: list[ThresholdKey] = [K_ANONYMITY.key, *(key for _, key in column_keys()), *(key for _, key in value_keys())]


def must_be(path: Path, generated: str) -> None:
    if os.environ.get("DUCKANON_UPDATE_GOLDEN"):
        path.write_text(generated, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == generated, "DUCKANON_UPDATE_GOLDEN=1 writes it anew"


def test_the_guide_has_the_thresholds_as_the_models_tell_them() -> None:
    path = ROOT / "docs" / "policy.md"
    guide = path.read_text(encoding="utf-8")
    assert guide.count("<!-- thresholds: ") == 2
    must_be(path, guide_with_thresholds(guide))


def test_the_schema_has_the_thresholds_as_the_models_check_them() -> None:
    path = ROOT / "docs" / "policy.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    generated = schema_with_thresholds(schema)
    assert json.loads(written_schema(generated)) == generated
    must_be(path, written_schema(generated) + "\n")


def as_in_toml(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: as_in_toml(inner) for name, inner in value.items()}
    return Decimal(repr(value)) if isinstance(value, float) else value


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_example_is_good(key: ThresholdKey) -> None:
    example = key.example if isinstance(key.example, float | int) else dict(key.example)
    faults: list[Fault] = []
    section = Section({key.name: as_in_toml(example)}, "sensitive.s", faults)
    assert key.read(section) is not None
    section.finish()
    assert faults == []
    assert key.schema["examples"] == [example]
