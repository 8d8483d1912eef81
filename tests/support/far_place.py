"""A database of a PostgreSQL server, as one or another of its users sees it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import pytest

OWNER = "duckanon"  # of every database, and of the server

# A test of a `place` runs on the server of the test extra and on the oldest that the system has.
EVERY_SERVER = pytest.mark.parametrize("place", ["postgres", "old_postgres"], indirect=True)

FAR_PEOPLE = """
CREATE TABLE people AS SELECT 'person ' || i AS name, 20 + (i * 7) % 40 AS age, '021' || (30 + i % 12) AS zip,
    CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
    (ARRAY['flu', 'HIV', 'cancer', 'asthma', 'flu', 'flu', 'cough'])[1 + (i * 3 + i / 7) % 7] AS disease
FROM generate_series(0, 199) AS r (i)
"""

_BUSY = """
SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND application_name = 'duckanon' AND datname = '{}'
    AND query_start < clock_timestamp() - INTERVAL '0.3 seconds' AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True)
class Place:
    """A database of a server, as a user of it sees it."""

    folder: str  # of the socket
    database: str
    user: str = OWNER

    @classmethod
    def at(cls, address: str) -> Place:
        """Where a new database of a test is."""
        (user, database, folder) = re.fullmatch(r"postgresql://(.*)@/(.*)\?host=(.*)", address).groups()  # type: ignore[union-attr]
        return cls(folder, database, user)

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

    @property
    def owner(self) -> Place:
        return self.of(OWNER)

    def running(self) -> list[tuple[Any, ...]]:
        """What other sessions of duckanon do."""
        return self.sql(
            "SELECT CAST(state AS text), query FROM pg_stat_activity "
            "WHERE application_name = 'duckanon' AND pid <> pg_backend_pid()"
        )

    def until_busy(self) -> None:
        """Until a statement of a run takes long; asked over the socket."""
        end = time.monotonic() + 30
        while not self.sql(_BUSY.format(self.database)):
            assert time.monotonic() < end, "it never came to that"
            time.sleep(0.05)
