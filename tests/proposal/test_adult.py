"""Adult as a new user meets it: proposed, decided, released."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.adult import ADULT
from tests.support.command import Command

pytestmark = pytest.mark.adult


def test_adult_is_released_once_its_one_todo_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duckanon: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ADULT / "adult.csv", tmp_path)
    told = duckanon("init", "adult.csv", "--json").json
    columns = {column["name"]: column for column in told["columns"]}
    assert [name for name, column in columns.items() if column["todo"]] == ["salary-class"]
    assert columns["age"]["hierarchy"] == {"intervals": [5, 10, 20]}
    assert columns["education"]["hierarchy"] == {"builtin": "education"}
    assert columns["native-country"]["hierarchy"] == "adult_native_country.csv"
    countries = Path("adult_native_country.csv").read_text("utf-8").splitlines()
    assert "United-States,Northern America,Americas,*" in countries
    assert "Yugoslavia,,,*" in countries
    assert not any(country.startswith("Holand-Netherlands") for country in countries), "one person's"
    policy = Path("adult.toml")
    policy.write_text(policy.read_text("utf-8").replace(todo(policy), "l = 2"), encoding="utf-8")
    released = duckanon("run", "adult.toml", "--json")
    assert released.code == 0
    assert released.json["utility"]["ncp"] < 0.5
    assert any("does not know 7 values (195 rows)" in warning for warning in released.json["warnings"])


def todo(policy: Path) -> str:
    (line,) = (line for line in policy.read_text("utf-8").splitlines() if ' = "TODO' in line)
    return line
