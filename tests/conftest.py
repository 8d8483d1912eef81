"""What every test may lean on: a folder with a warehouse, and the command line as a user meets it."""

from __future__ import annotations

import gc
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from duckanon.cli.words import main
from tests.support.command import Command, Told
from tests.support.far import PostgresDatabase, on_postgres
from tests.support.folder import Folder
from tests.support.needs import NEEDS, installed_postgres, look_for, missing, required
from tests.support.postgres import Server, programs_of_the_wheel, running
from tests.support.spark import Lake, SparkServer, sail, spark


@pytest.fixture
def duckanon(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process; no traceback may ever show."""

    def command(*arguments: object) -> Told:
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Told(code, out, err)

    return command


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture(scope="session")
def people_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Folder(tmp_path_factory.mktemp("people"))
    folder.sql(
        """
        CREATE TABLE people AS
        SELECT 'person ' || i AS name, (20 + (i * 7) % 40)::INTEGER AS age, '021' || (30 + i % 12) AS zip,
            CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
            ['flu', 'HIV', 'cancer', 'asthma', 'flu', 'flu', 'cough'][1 + (i * 3 + i // 7) % 7] AS disease
        FROM range(200) AS r (i)
        """
    )
    return folder.database


@pytest.fixture
def people(folder: Folder, people_database: Path) -> Folder:
    """200 people: age, zip, sex, disease, name."""
    shutil.copy(people_database, folder.database)
    return folder


@pytest.fixture
def hostile(folder: Folder) -> Folder:
    folder.sql(
        """CREATE TABLE "dim ""odd""; table" AS SELECT * FROM (VALUES
            ('a''a', 'x "1"'), ('b\nb', 'x "1"'), ('ç;--', 'ÿ'), ('', 'ÿ')) AS t ("from", "to where")""",
        """CREATE TABLE "we""ird; drop" AS SELECT i AS "value", (i % 30)::INTEGER AS "select",
            ['ab''c', 'a"bd', 'ab;e', 'ünïc'][1 + i % 4] AS "a b",
            ['a''a', 'b\nb', 'ç;--', '', NULL][1 + i % 5] AS "ünï",
            ['O''Brien''s; DROP TABLE x', 'line\nbreak', '"', 'ß'][1 + (i // 3) % 4] AS "it's",
            i % 2 AS n
        FROM range(120) AS r (i)""",
    )
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server for all tests of a process that need one; it comes with the test extra."""
    with running(programs_of_the_wheel()) as server:
        yield server


@pytest.fixture(scope="session")
def old_postgres() -> Iterator[Server]:
    """The oldest that the system has; skipped where it has none."""
    programs = installed_postgres()
    if programs is None:
        missing("installed_postgres", "PostgreSQL is not installed")
    with running(programs) as server:
        yield server


@pytest.fixture(scope="session")
def sail_server() -> Iterator[SparkServer]:
    """A Spark Connect server for all tests, which needs nothing but its wheel."""
    with sail() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: Server) -> Iterator[PostgresDatabase]:
    """A database of that server, new for every test."""
    with postgres.new_database() as address, on_postgres(address) as database:
        yield database


@pytest.fixture
def lake(sail_server: SparkServer) -> Iterator[Lake]:
    """A Spark of one's own, with an empty catalog."""
    with sail_server.lake() as lake:
        yield lake


@pytest.fixture(scope="session")
def spark_server() -> Iterator[SparkServer]:
    """Spark itself, for tests that are marked so."""
    with spark() as server:
        yield server


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of a unit starts no process."""
    if request.node.get_closest_marker("unit"):
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a unit test starts a process"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole runs first, units last: so that two workers end at the same time."""
    items.sort(key=lambda item: (bool(item.get_closest_marker("unit")), "/whole/" not in item.path.as_posix()))


def pytest_collection_finish() -> None:
    """What is imported by now stays: to look through it for garbage, again and again, takes a tenth of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_unconfigure() -> None:
    """What is left at the end is looked through once more, as Python does: or it would count as lost."""
    gc.unfreeze()


# -- what a test may need -------------------------------------------------------------------------


def pytest_configure() -> None:
    required()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose marker names what is not here is skipped, or fails where that is required."""
    for name in NEEDS:
        if item.get_closest_marker(name):
            look_for(name)
