"""A run needs the privileges that docs/warehouses.md lists, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.far_people import FAR, FAR_FILE, FAR_VIEW
from tests.support.far_place import FAR_PEOPLE, Place
from tests.support.folder import Folder
from tests.support.paths import ROOT

TEXTS = {"file": FAR_FILE, "table": FAR, "view": FAR_VIEW}


def grants(kind: str) -> list[str]:
    """As the documentation has them."""
    page = (ROOT / "docs" / "warehouses.md").read_text(encoding="utf-8")
    named = "file" if kind == "file" else "table or view"
    (block,) = re.findall(rf"```sql\n-- {named}\n(.*?)```", page, re.DOTALL)
    return [statement.strip() for statement in block.split(";") if statement.strip()]


def without_one() -> list[tuple[str, int | None]]:
    """A view takes what a table takes: each that is listed is needed for that."""
    fewer = [(kind, number) for kind in ("file", "table") for number in range(len(grants(kind)))]
    return [*((kind, None) for kind in TEXTS), *fewer]


@pytest.fixture
def closed(place: Place) -> Iterator[Place]:
    """A warehouse in which nobody may do anything, with a schema for the source and one for what is released."""
    place.sql(
        FAR_PEOPLE.replace("CREATE TABLE people", "CREATE TABLE public.people"),
        "CREATE SCHEMA clinic", "ALTER TABLE people SET SCHEMA clinic", "CREATE SCHEMA shared", "DROP SCHEMA public",
        "CREATE SCHEMA duckanon", "CREATE ROLE anonymizer LOGIN",
        f"REVOKE ALL ON DATABASE {place.database} FROM PUBLIC",
    )  # fmt: skip
    yield place
    place.sql("DROP OWNED BY anonymizer CASCADE", "DROP ROLE anonymizer")


@pytest.mark.parametrize(("kind", "missing"), without_one())
def test_the_privileges_of_the_documentation_are_enough_and_none_too_many(
    closed: Place, folder: Folder, duckanon: Command, kind: str, missing: int | None
) -> None:
    listed = grants(kind)
    given = [grant for number, grant in enumerate(listed) if number != missing]
    closed.sql(*(grant.replace("warehouse", closed.database) for grant in given), "SELECT 1")
    text = TEXTS[kind].replace('table = "people"', 'table = "clinic.people"')
    text = re.sub(r'to = "(people_\w+)"', r'to = "shared.\1"', text)
    told = duckanon("run", folder.policy(text), "--db", closed.of("anonymizer").url)
    if missing is None:
        assert (told.code, told.err) == (0, "")
        again = duckanon("run", folder.policy(text), "--db", closed.of("anonymizer").url)
        assert (again.code, again.err) == (0, "")
        return
    assert told.code == 2, f"it does not take: {listed[missing]}"
    assert "permission denied" in told.err
    assert told.err.count("\n") == 1
    assert closed.left() == [("clinic", "people", "r")]


def test_a_query_takes_temporary_objects_and_a_view_in_its_place_does_not(
    closed: Place, folder: Folder, duckanon: Command
) -> None:
    closed.sql(*(grant.replace("warehouse", closed.database) for grant in grants("file")), "SELECT 1")
    url = closed.of("anonymizer").url
    query = FAR_FILE.replace('table = "people"', 'query = "SELECT * FROM clinic.people"')
    told = duckanon("run", folder.policy(query), "--db", url)
    assert told.code == 2
    assert "permission denied to create temporary tables" in told.err
    assert "make it a view, and name that in source.table" in told.err
    closed.sql(
        "CREATE VIEW clinic.adults AS SELECT * FROM clinic.people", "GRANT SELECT ON clinic.adults TO anonymizer",
        "REVOKE SELECT ON clinic.people FROM anonymizer",
    )  # fmt: skip
    view = folder.policy(FAR_FILE.replace('table = "people"', 'table = "clinic.adults"'))
    assert duckanon("run", view, "--db", url).code == 0


def test_without_a_schema_of_ours_it_says_what_to_create(closed: Place, folder: Folder, duckanon: Command) -> None:
    given = [grant for grant in grants("table") if "SCHEMA duckanon" not in grant]
    closed.sql("DROP SCHEMA duckanon", *(grant.replace("warehouse", closed.database) for grant in given), "SELECT 1")
    text = FAR.replace('"people"\n', '"clinic.people"\n').replace('name = "clinic.people"', 'name = "people"')
    policy = folder.policy(text.replace('"people_anonymous"', '"shared.people_anonymous"'))
    told = duckanon("run", policy, "--db", closed.of("anonymizer").url)
    assert told.code == 2
    assert "there is no schema duckanon, and the user may not create it" in told.err
    assert closed.left() == [("clinic", "people", "r")]


def test_what_is_in_another_schema_is_not_even_looked_at(closed: Place, folder: Folder, duckanon: Command) -> None:
    """A role without any privilege learns nothing of the source but that it may not read it."""
    closed.sql(f"GRANT CONNECT ON DATABASE {closed.database} TO anonymizer")
    told = duckanon("check", _to(folder, "clinic.people"), "--db", closed.of("anonymizer").url)
    assert told.code == 2
    assert "permission denied for schema clinic" in told.err


def _to(folder: Folder, source: str) -> Path:
    return folder.policy(FAR_FILE.replace('table = "people"', f'table = "{source}"'))
