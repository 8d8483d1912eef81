"""Whoever embeds a run catches what he can do something about, and lets the rest go by."""

from __future__ import annotations

import pytest

import duckanon
from tests.support.folder import Folder
from tests.support.people import PEOPLE


@pytest.mark.parametrize(
    ("was", "now", "kind"),
    [
        ("k = 3", "k = 0", duckanon.PolicyError),
        ('table = "people"', 'table = "gone"', duckanon.SourceError),
        ('identifiers = ["name"]', "identifiers = []", duckanon.SourceError),
        ("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "gone.csv"', duckanon.HierarchyError),
        ('to = "people_anonymous"', 'to = "people"', duckanon.ReleaseError),
        ('to = "people_anonymous"', 'to = "nowhere.people_anonymous"', duckanon.EngineError),
    ],
)
def test_what_stops_a_run_has_a_kind_of_its_own(people: Folder, was: str, now: str, kind: type[Exception]) -> None:
    assert was in PEOPLE
    with duckanon.connect(people.database) as db, pytest.raises(kind) as caught:
        duckanon.run(people.policy(PEOPLE.replace(was, now)), db)
    assert type(caught.value) is kind
    assert isinstance(caught.value, duckanon.DuckanonError)


def test_a_question_that_means_nothing_is_a_usage_error(people: Folder) -> None:
    with duckanon.connect(people.database) as db:
        with pytest.raises(duckanon.UsageError, match="there is no column 'agee'"):
            duckanon.metrics(db, "people", qi="agee")
        with pytest.raises(duckanon.SourceError, match="there is no table or view 'poeple'"):
            duckanon.metrics(db, "poeple", qi="age")
