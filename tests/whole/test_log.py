"""The log of the program that embeds a run: every step, and no value of a row."""

from __future__ import annotations

import logging

import pytest

import duckanon
from tests.support.folder import Folder
from tests.support.people import PEOPLE


def test_every_step_is_a_record_with_its_facts(people: Folder, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "duckanon"), duckanon.connect(people.database) as db:
        duckanon.run(people.policy(PEOPLE), db)
    steps = [record.step for record in caplog.records if record.name == "duckanon"]  # type: ignore[attr-defined]
    assert steps == ["started", "source", "census", "search", "release", "verify", "settled"]
    assert caplog.records[2].facts["rows"] == 200  # type: ignore[attr-defined]
    assert caplog.messages[-1].startswith("people: settled: outcome released")


def test_what_fails_is_an_error_without_the_values(people: Folder, caplog: pytest.LogCaptureFixture) -> None:
    people.path.joinpath("sex.csv").write_text("level_0,level_1\nM,*\n", encoding="utf-8")
    policy = people.policy(PEOPLE.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"'))
    with duckanon.connect(people.database) as db, pytest.raises(duckanon.HierarchyError, match="such as 'F'"):
        duckanon.run(policy, db)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "does not map 1 value of the source (100 rows)" in record.getMessage()
    assert "'F'" not in record.getMessage()


def test_a_program_that_asks_for_no_log_hears_nothing(people: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    with duckanon.connect(people.database) as db:
        assert duckanon.run(people.policy(PEOPLE), db).good
    assert capfd.readouterr() == ("", "")
