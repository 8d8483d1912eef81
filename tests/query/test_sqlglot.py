"""sqlglot comes compiled, for speed, or plain: what it says is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlglot.generator

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE


def test_it_is_compiled_here() -> None:
    assert not str(sqlglot.generator.__file__).endswith(".py")


@pytest.mark.parametrize("dialect", [[], ["--dialect", "postgres"]], ids=["duckdb", "postgres"])
def test_a_run_is_the_same_where_it_is_not(people: Folder, duckanon: Command, dialect: list[str]) -> None:
    arguments = ["sql", str(people.policy(PEOPLE)), *dialect]
    plain = subprocess.run(
        [sys.executable, "-m", "tests.support.plain_sqlglot", *arguments],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], timeout=60,
    )  # fmt: skip
    told = duckanon(*arguments)
    assert told.code == 0
    assert told.out == plain.stdout
    assert "SELECT" in told.out
