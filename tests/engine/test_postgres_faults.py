"""Whatever goes wrong with PostgreSQL: one clear message that says what to do, no value in it, and nothing is left."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from duckanon.engine.postgres.connection import Connection
from tests.support.command import Command
from tests.support.far_people import FAR, FAR_FILE, FAR_VIEW
from tests.support.far_place import EVERY_SERVER, Place
from tests.support.folder import Folder
from tests.support.people import UNCOMPARED
from tests.support.postgres import Server, standby
from tests.support.small_disk import small_disk

LOST = "the connection to the server is lost; what was begun is undone there; run again"
KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'duckanon' AND datname = '{}'"


@pytest.fixture
def just_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Do something before the first statement that begins so, or a table of that name is sent."""

    def arrange(beginning: str, act: Callable[[], object]) -> None:
        waiting = [act]

        def told(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(self: Connection, text: str, *more: Any, **named: Any) -> Any:
                if waiting and beginning in " ".join(text.split())[:200]:
                    waiting.pop()()
                return original(self, text, *more, **named)

            return wrapped

        for name in ("run", "stream", "ingest"):
            monkeypatch.setattr(Connection, name, told(getattr(Connection, name)))

    return arrange


JustBefore = Callable[[str, Callable[[], object]], None]


# -- a connection that ends ---------------------------------------------------------------------------

STEPS = {
    "lock": "pg_try_advisory_lock",
    "source": "SELECT CASE WHEN FALSE THEN",
    "begin": "BEGIN",
    "count": 'SELECT "q0", "q1", "q2", "s0", COUNT(*)',
    "send": "classes",
    "release": "CREATE TABLE",
    "verify": "SELECT * FROM (SELECT",
    "let in": "ALTER TABLE",
    "ledger": "INSERT INTO",
}


def test_a_connection_that_ends_leaves_nothing(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore
) -> None:
    """At whatever step: none finds anything of the one before it."""
    for step, statement in STEPS.items():
        just_before(statement, lambda: inhabited.sql(KILL.format(inhabited.database)))
        told = duckanon("run", folder.policy(FAR), "--db", inhabited.url)
        assert (step, told.code, LOST in told.err, told.err.count("\n")) == (step, 2, True, 1), told.err
        assert (step, inhabited.left()) == (step, [("public", "people", "r")])


def test_a_release_whose_commit_nobody_heard_of_may_stand(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore
) -> None:
    just_before("COMMIT", lambda: inhabited.sql(KILL.format(inhabited.database)))
    told = duckanon("run", folder.policy(FAR), "--db", inhabited.url)
    assert told.code == 2
    assert "may stand or not; `duckanon status` tells, or run again" in told.err


def test_a_connection_that_ends_within_a_statement(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    query = "SELECT p.* FROM people p, pg_sleep(20) s"
    policy = folder.policy(FAR.replace('table = "people"', f'query = "{query}"'))
    threading.Timer(1.5, lambda: inhabited.sql(KILL.format(inhabited.database))).start()
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "the connection to the server is lost" in told.err
    assert inhabited.left() == [("public", "people", "r")]


def test_the_ledger_of_a_file_tells_that_the_server_went(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore
) -> None:
    policy = folder.policy(FAR + '[ledger]\ndatabase = "ledger.duckdb"\n')
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    just_before("BEGIN", lambda: inhabited.sql(KILL.format(inhabited.database)))
    assert duckanon("run", policy, "--db", inhabited.url).code == 2
    runs = duckanon("history", policy, "--json").json
    assert [(run["outcome"], run["message"]) for run in runs] == [
        ("error", f"the database refused: {LOST}"),
        ("released", None),
    ]


# -- a server that does not let us in -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://127.0.0.1:1/d", "Connection refused; is the server there, and the address right?"),
        ("postgresql://nowhere.invalid/d", "is the server there, and the address right?"),
        ("postgresql://u@/d?host=/nowhere", "is the server there, and the address right?"),
        ("postgresql://h/d?nothing=1", "invalid URI query parameter: …"),
        ("postgresql://?service=nobody", 'definition of service "nobody" not found'),
    ],
)
def test_a_server_that_is_not_there(folder: Folder, duckanon: Command, address: str, said: str) -> None:
    told = duckanon("run", folder.policy(FAR), "--db", address)
    assert told.code == 2
    assert "cannot be opened: " in told.err
    assert said in told.err
    assert told.err.count("\n") == 1


def test_a_server_that_does_not_know_the_database_or_the_user(server: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR)
    for url, said in {
        Place(server.folder, "nothing").url: 'database "nothing" does not exist',
        server.of("nobody").url: "role … does not exist",
    }.items():
        told = duckanon("run", policy, "--db", url, "--wait", "60")  # waiting would not help
        assert (told.code, said in told.err) == (2, True)


def test_without_the_driver_it_says_what_to_install(
    folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    told = duckanon("run", folder.policy(FAR), "--db", "postgresql://127.0.0.1:1/d")
    assert told.code == 2
    assert "pip install 'duckanon[postgres]'" in told.err


# -- what the server refuses --------------------------------------------------------------------------

SECRET = "the ward of Ann"
QUOTING = {
    "cast": f"CAST(CASE WHEN age > 58 THEN '{SECRET}' ELSE '1' END AS int)",
    "date": f"CAST(CASE WHEN age > 58 THEN '{SECRET}' ELSE '2024-01-01' END AS date)",
    "overflow": "CAST(471147114 * CASE WHEN age > 58 THEN 471147114 ELSE 0 END AS int)",
    "json": f"CAST(CASE WHEN age > 58 THEN '{SECRET}' ELSE '1' END AS json) IS NULL",
}


def test_what_quotes_a_row_is_not_shown(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    """Neither by a release to the server nor by one to a file; neither to who asks nor to a log."""
    for (fault, odd), kind in product(QUOTING.items(), ("table", "csv")):
        query = f"SELECT name, age, zip, sex, disease, {odd} AS odd FROM people"
        text = (FAR if kind == "table" else FAR_FILE).replace("[columns]", '[columns]\nkeep = ["odd"]')
        policy = folder.policy(text.replace('table = "people"', f'query = """{query}"""'))
        for more in ([], ["--log", "json"]) if fault == "cast" else ([],):
            told = duckanon("run", policy, "--db", inhabited.url, *more)
            assert told.code == 2
            assert SECRET not in told.err + told.out
            assert "471147114" not in told.err + told.out
            assert "SQLSTATE 22" in told.err
            assert "only --debug shows it" in told.err
        assert inhabited.left() == [("public", "people", "r")]
        assert folder.files() == ["policy.toml"]


def test_a_late_row_of_many_is_not_quoted_either(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    """When it fails, the workbench has begun to read."""
    inhabited.sql("CREATE TABLE many AS SELECT i AS age, 'x' || i AS s FROM generate_series(1, 300000) AS g (i)")
    query = f"SELECT age, CASE WHEN age = 299999 THEN '{SECRET}' || CAST(s AS int) ELSE s END AS s FROM many"
    policy = folder.policy(
        f'name = "many"\n[source]\nquery = """{query}"""\n[privacy]\nk = 2\n[quasi_identifiers.age]\n'
        'hierarchy = { intervals = [1000] }\n[sensitive.s]\n[release]\nkind = "csv"\nto = "m.csv"\n'
    )
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "SQLSTATE 22P02" in told.err
    assert "x299999" not in told.err


MANY = "generate_series(1, 200) AS g (i)"
LIMITS = {
    "statement_timeout = '150ms'": "statement_timeout",
    "temp_file_limit = '64kB'": "temp_file_limit",
    "default_transaction_read_only = on": "may only read; release to parquet or csv",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_server_is_named(inhabited: Place, folder: Folder, duckanon: Command, limit: str) -> None:
    inhabited.sql(
        "CREATE TABLE wide AS SELECT p.*, repeat('y', 100) || i AS note FROM people p, generate_series(1, 500) AS g (i)"
    )
    inhabited.sql(f"ALTER DATABASE {inhabited.database} SET {limit}", f"ALTER DATABASE {inhabited.database} SET work_mem = '64kB'")  # fmt: skip  # noqa: E501
    if limit.startswith("statement"):
        inhabited.sql("SET statement_timeout = 0", "CREATE VIEW slow AS SELECT p.* FROM people p, pg_sleep(1) s")
    source = "slow" if limit.startswith("statement") else "wide"
    text = FAR.replace('table = "people"', f'table = "{source}"')
    if source == "wide":
        text = text.replace("[columns]", '[columns]\nkeep = ["note"]')
    told = duckanon("run", folder.policy(text), "--db", inhabited.url)
    assert told.code == 2
    assert LIMITS[limit] in told.err
    assert "people_anonymous" not in str(inhabited.owner.sql("SELECT relname FROM pg_class"))


def test_an_export_takes_a_server_that_may_only_be_read(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    inhabited.sql(f"ALTER DATABASE {inhabited.database} SET default_transaction_read_only = on")
    told = duckanon("run", folder.policy(FAR_FILE), "--db", inhabited.url)
    assert (told.code, told.err) == (0, "")


def test_a_standby_is_read(postgres: Server, inhabited: Place, folder: Folder, duckanon: Command) -> None:
    """And nothing else: neither a release nor a query, which would be a temporary view, goes there."""
    with standby(postgres) as follower:
        there = Place(str(follower.socket), inhabited.database)
        told = duckanon("run", folder.policy(FAR_FILE), "--db", there.url)
        assert (told.code, told.err) == (0, "")
        query = FAR_FILE.replace('table = "people"', 'query = "SELECT * FROM people"')
        for text, said in ((FAR, "may only read; release to parquet or csv"), (query, "make it a view")):
            told = duckanon("run", folder.policy(text), "--db", there.url)
            assert (told.code, said in told.err) == (2, True), told.err
        assert duckanon("metrics", "people", "--qi", "age", "--qi", "sex", "--db", there.url).code == 0


@pytest.mark.root
def test_a_full_disk(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    """The server's: what stood stands, and when there is room again, a run goes on."""
    server = Path(inhabited.folder)
    with small_disk(server / inhabited.database, kilobytes=2048) as small:
        os.chown(small, server.stat().st_uid, server.stat().st_gid)
        inhabited.sql(f"CREATE TABLESPACE {inhabited.database} LOCATION '{small}'")
        inhabited.sql(f"ALTER DATABASE {inhabited.database} SET default_tablespace = '{inhabited.database}'")
        policy = folder.policy(FAR + UNCOMPARED + '[ledger]\ndatabase = "ledger.duckdb"\n')
        assert duckanon("run", policy, "--db", inhabited.url).code == 0
        inhabited.sql("SET default_tablespace = ''", f"INSERT INTO people SELECT p.* FROM people p, {MANY}")
        told = duckanon("run", policy, "--db", inhabited.url)
        assert told.code == 2
        assert told.err == (
            "duckanon: the database refused: the server's disk is full; make room there, and run again\n"
        )
        assert inhabited.sql("SELECT count(*) FROM people_anonymous") == [(190,)]
        inhabited.sql("DELETE FROM people WHERE ctid <> ALL (SELECT min(ctid) FROM people GROUP BY name)")
        assert duckanon("run", policy, "--db", inhabited.url).code == 0
        inhabited.sql("DROP TABLE people_anonymous", f"ALTER DATABASE {inhabited.database} RESET default_tablespace")
        inhabited.sql(f"DROP TABLESPACE {inhabited.database}")


def test_a_lock_that_somebody_holds(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    inhabited.sql(f"ALTER DATABASE {inhabited.database} SET lock_timeout = '300ms'")
    before = inhabited.sql("SELECT CAST(to_regclass('people_anonymous') AS oid)")
    with _holding(inhabited, "SELECT * FROM people_anonymous"):
        told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "somebody holds a lock on the table for longer than lock_timeout" in told.err
    assert inhabited.sql("SELECT CAST(to_regclass('people_anonymous') AS oid)") == before


@contextmanager
def _holding(place: Place, statement: str) -> Iterator[None]:
    with place.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(statement)
        cursor.fetchall()
        yield
        cursor.execute("ROLLBACK")


# -- what others do under way -------------------------------------------------------------------------

UNDER_WAY = {
    "dropped": ("DROP TABLE people", "there is no such table or view"),
    "a column less": ("ALTER TABLE people DROP COLUMN zip", "there is no such column"),
    "another type": ("ALTER TABLE people ALTER COLUMN age TYPE text", "age: was changed under way — run again"),
}


@pytest.mark.parametrize("change", UNDER_WAY)
def test_what_others_change_under_way_ends_the_run(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore, change: str
) -> None:
    statement, said = UNDER_WAY[change]
    just_before("BEGIN", lambda: inhabited.sql(statement))
    told = duckanon("run", folder.policy(FAR), "--db", inhabited.url)
    assert told.code == 2
    assert said in told.err
    assert ("duckanon", "releases", "r") not in inhabited.left()


@EVERY_SERVER
def test_from_the_first_look_on_who_changes_the_source_waits(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore
) -> None:
    tried: list[str] = []

    def change() -> None:
        for statement in ("DROP TABLE people", "ALTER TABLE people DROP COLUMN zip"):
            try:
                inhabited.sql("SET lock_timeout = '100ms'", statement)
            except Exception as refused:
                tried.append(str(getattr(refused, "sqlstate", refused)))
        inhabited.sql("DELETE FROM people WHERE age < 30")  # rows may change: the run does not see it

    just_before("CREATE TABLE", change)
    told = duckanon("run", folder.policy(FAR), "--db", inhabited.url)
    assert (told.code, told.err, tried) == (0, "", ["55P03", "55P03"])
    assert inhabited.sql("SELECT count(*) FROM people_anonymous") == [(190,)]


@pytest.mark.parametrize("step", ["BEGIN", "ALTER TABLE"])
def test_a_table_that_comes_into_the_place_under_way_stays(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore, step: str
) -> None:
    just_before(step, lambda: inhabited.sql("CREATE TABLE people_anonymous (theirs int)"))
    told = duckanon("run", folder.policy(FAR), "--db", inhabited.url)
    assert told.code == 2
    assert "somebody has made one of that name under way" in told.err
    assert inhabited.left() == [("public", "people", "r"), ("public", "people_anonymous", "r")]


@pytest.mark.parametrize("step", ["BEGIN", "LOCK TABLE"])
def test_what_takes_the_place_of_the_old_release_under_way_stays(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore, step: str
) -> None:
    policy = folder.policy(FAR + UNCOMPARED)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    theirs = "CREATE TABLE public.people_anonymous AS SELECT 1 AS theirs"
    just_before(step, lambda: inhabited.sql("DROP TABLE people_anonymous", theirs))
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "by somebody under way; run again" in told.err
    assert inhabited.sql("SELECT * FROM people_anonymous") == [(1,)]


@pytest.mark.parametrize("change", ["OWNER TO heir", "ENABLE ROW LEVEL SECURITY"])
def test_an_old_release_that_is_given_away_or_secured_under_way_stays(
    inhabited: Place, folder: Folder, duckanon: Command, just_before: JustBefore, change: str
) -> None:
    """Outside of the transaction only this can be seen."""
    policy = folder.policy(FAR + UNCOMPARED)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    inhabited.sql("DROP ROLE IF EXISTS heir", "CREATE ROLE heir")
    just_before("LOCK TABLE", lambda: inhabited.sql(f"ALTER TABLE people_anonymous {change}"))
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "by somebody under way; run again" in told.err
    inhabited.sql("REASSIGN OWNED BY heir TO CURRENT_USER", "DROP ROLE heir")


def test_a_release_that_others_lean_on_stays(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    inhabited.sql("CREATE VIEW theirs AS SELECT age FROM people_anonymous")
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "other tables or views depend on what stands there; drop them, or release to another name" in told.err
    assert inhabited.sql("SELECT count(*) FROM theirs") == [(190,)]


def test_what_somebody_else_made_stays(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    inhabited.sql("CREATE TABLE people_anonymous AS SELECT 1 AS theirs")
    policy = folder.policy(FAR)
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 2
    assert "exists and was not made by this policy; choose another name, or replace it with --replace" in told.err
    assert duckanon("run", policy, "--db", inhabited.url, "--replace").code == 0


def test_a_table_becomes_a_view_and_a_table_again(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    view = FAR_VIEW.replace("people_view", "people_anonymous")
    for text, kind in ((FAR, "r"), (view, "v"), (FAR, "r")):
        assert duckanon("run", folder.policy(text), "--db", inhabited.url).code == 0
        assert ("public", "people_anonymous", kind) in inhabited.left()
        assert inhabited.sql("SELECT count(*) FROM people_anonymous") == [(190,)]


def test_a_user_of_our_name_releases_where_others_do(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    """The schema that is ours comes into its search path with the first release."""
    assert inhabited.user == "duckanon"
    assert duckanon("run", folder.policy(FAR), "--db", inhabited.url).code == 0
    second = FAR.replace('name = "people"', 'name = "second"').replace("people_anonymous", "second_anonymous")
    assert duckanon("run", folder.policy(second), "--db", inhabited.url).code == 0
    assert ("public", "second_anonymous", "r") in inhabited.left()


def test_two_runs_at_once_from_two_machines(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR)
    place = 'hashtextextended(\'duckanon "public"."people_anonymous"\', 0)'
    with _holding(inhabited, f"SELECT pg_advisory_lock({place})"):
        told = duckanon("run", policy, "--db", inhabited.url)
        assert told.code == 2
        assert "another run that releases to people_anonymous is under way; wait for it with --wait" in told.err
        assert "waited for 0.3 seconds" in duckanon("run", policy, "--db", inhabited.url, "--wait", "0.3").err
    assert duckanon("run", policy, "--db", inhabited.url, "--wait", "10").code == 0


def test_a_log_tells_no_more_than_the_message(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    inhabited.sql("ALTER TABLE people RENAME TO persons")
    told = duckanon("run", folder.policy(FAR), "--db", inhabited.url, "--log", "json")
    assert json.loads(told.err.splitlines()[-1])["message"].startswith("source.table: there is no table or view")
