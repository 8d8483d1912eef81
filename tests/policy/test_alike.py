"""Values that look alike: one has a threshold of its own, the others have not, and nobody sees why."""

from __future__ import annotations

import pytest

from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE

POLICY = PEOPLE + "[sensitive.disease.values.HIV]\nalpha = 0.9\n"
ALIKE = {
    "case": "hiv",
    "a space behind": "HIV ",
    "a space before": " HIV",
    "no-break space": "HIV\u00a0",
    "zero width": "H\u200bIV",
    "byte order mark": "\ufeffHIV",
    "soft hyphen": "HI\u00adV",
    "tab": "HIV\t",
}


def told_of(people: Folder, duckanon: Command, text: str = POLICY) -> list[str]:
    told = duckanon("run", people.policy(text), "--json", "--replace")
    assert told.code == 0, told.err
    warnings: list[str] = told.json["warnings"]
    return warnings


def test_values_that_look_like_one_with_a_threshold(people: Folder, duckanon: Command) -> None:
    for place, other in enumerate(ALIKE.values()):
        people.sql(f"UPDATE people SET disease = '{other}' WHERE name = 'person {20 * place}'")
    (warning,) = told_of(people, duckanon)
    assert warning.startswith("sensitive.disease.values.HIV: 8 other values (8 rows) look like it")
    assert not any(other in warning.replace("values.HIV:", "") for other in ALIKE.values())


@pytest.mark.parametrize("other", [ALIKE["case"], ALIKE["zero width"]])
def test_a_value_that_the_data_spells_otherwise(other: str, people: Folder, duckanon: Command) -> None:
    people.sql(f"UPDATE people SET disease = '{other}' WHERE disease = 'HIV'")
    (warning,) = told_of(people, duckanon)
    assert "sensitive.disease.values.HIV: the data has no value 'HIV', but 1 other value (" in warning
    assert other not in warning.replace("values.HIV:", "").replace("'HIV'", "")


def test_accents_of_one_sign_and_of_two(people: Folder, duckanon: Command) -> None:
    people.sql(
        "UPDATE people SET disease = 'diabe\u0301tes' WHERE disease = 'flu' AND age < 40",
        "UPDATE people SET disease = 'Diab\u00e9tes' WHERE disease = 'flu' AND age < 50",
        "UPDATE people SET disease = 'diab\u00e9tes' WHERE disease = 'flu'",
    )
    (warning,) = told_of(people, duckanon, PEOPLE + '[sensitive.disease.values."diab\u00e9tes"]\nalpha = 0.9\n')
    assert "2 other values (" in warning
    assert "Diab" not in warning


def test_a_value_with_its_own_threshold_is_no_other(people: Folder, duckanon: Command) -> None:
    people.sql("UPDATE people SET disease = 'hiv' WHERE disease = 'HIV' AND age < 40")
    assert told_of(people, duckanon, POLICY + "[sensitive.disease.values.hiv]\nalpha = 0.9\n") == []


def test_values_that_are_not_there(people: Folder, duckanon: Command) -> None:
    text = POLICY.replace("values.HIV", "values.ebola") + '[search]\nmethod = "greedy"\n'
    assert told_of(people, duckanon, text) == ["sensitive.disease.values.ebola: the data has no value 'ebola'"]
    levels = PEOPLE.replace("l = 2", 'l = 2\nlevels = { 1 = ["hiv"], 2 = ["flu"] }')
    less, warning = told_of(people, duckanon, levels)
    assert less.startswith("the policy asks for less")
    assert "sensitive.disease.levels.1: the data has no value 'hiv', but 1 other value (" in warning
    assert "HIV" not in warning


def test_numbers_do_not_look_alike(people: Folder, duckanon: Command) -> None:
    people.sql("ALTER TABLE people ALTER disease TYPE INTEGER USING length(disease)")
    assert told_of(people, duckanon, PEOPLE + '[sensitive.disease.values."3"]\nalpha = 0.9\n') == []
