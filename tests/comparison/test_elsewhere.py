"""`compare` and `check --levels` on a server: the same figures as in DuckDB, and nothing is left there."""

from __future__ import annotations

from typing import Any

from tests.support.command import Command
from tests.support.far import PostgresDatabase
from tests.support.far_people import FAR
from tests.support.figures import must_be_alike
from tests.support.folder import Folder, opened
from tests.support.spark import Lake

THERE = FAR + '[search]\nwhere = "warehouse"\n'
PERSONS = FAR.replace("k = 3", 'k = 3\nentity = "name"')


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from time to time, or names the place."""
    told = {name: value for name, value in document.items() if name not in ("seconds", "run")}
    if "choices" in told:
        told["choices"] = [plain(choice) for choice in told["choices"]]
    return told


def must_agree(people: Folder, address: str, duckanon: Command, text: str, methods: str) -> None:
    policy = people.policy(text)
    for words in (("check", policy, "--levels", "age=3,zip=2"), ("compare", policy, "--k", "2", "--method", methods)):
        here, there = (duckanon(*words, "--json", "--db", database) for database in (people.database, address))
        assert there.code == here.code == 0, there.err
        must_be_alike(plain(there.json), plain(here.json))


def test_postgres(people: Folder, postgres_database: PostgresDatabase, duckanon: Command) -> None:
    with opened(people.database) as connection:
        postgres_database.copy(connection, "people")
    for text, methods in ((FAR, "climb"), (THERE, "optimal"), (PERSONS, "greedy,datafly")):
        must_agree(people, postgres_database.address, duckanon, text, methods)
    assert postgres_database.sql(
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
    ) == [("people",)]


def test_spark(people: Folder, lake: Lake, duckanon: Command) -> None:
    with opened(people.database) as connection:
        lake.load("people", "FROM people", connection)
    must_agree(people, lake.address, duckanon, THERE, "greedy,optimal")
    assert lake.tables() == {"people"}
