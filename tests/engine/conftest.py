"""Databases of a PostgreSQL server for the tests of faults, rights and views."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.far_place import FAR_PEOPLE, Place
from tests.support.postgres import Server


@pytest.fixture(scope="session")
def server(postgres: Server) -> Place:
    return Place(str(postgres.socket), "postgres")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty database; of the oldest server, too, where a test asks for `EVERY_SERVER`."""
    server: Server = request.getfixturevalue(getattr(request, "param", "postgres"))
    with server.new_database() as address:
        yield Place.at(address)


@pytest.fixture
def inhabited(place: Place) -> Place:
    """Two hundred people."""
    place.sql(FAR_PEOPLE)
    return place
