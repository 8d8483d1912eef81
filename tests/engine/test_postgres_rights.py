"""A release takes the place of the old one with its owner, grants and comments, and nobody gets more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from duckanon.engine.postgres.connection import Connection
from tests.support.command import Command
from tests.support.far_people import FAR_UNCOMPARED, FAR_VIEW
from tests.support.far_place import EVERY_SERVER, Place
from tests.support.folder import Folder
from tests.support.postgres import Server

ROLES = ("reader", "other", "team", "member", "stranger")


@pytest.fixture
def peopled(inhabited: Place) -> Iterator[Place]:
    """With roles who may read."""
    inhabited.sql(*(f"CREATE ROLE {role} LOGIN" for role in ROLES), "SELECT 1")
    yield inhabited
    inhabited.sql(*(f"DROP OWNED BY {role} CASCADE" for role in ROLES), *(f"DROP ROLE {role}" for role in ROLES), "SELECT 1")  # fmt: skip  # noqa: E501


def acl(place: Place, relation: str = "people_anonymous") -> list[tuple[object, ...]]:
    return place.sql(
        f"SELECT CAST(relacl AS text), CAST(pg_get_userbyid(relowner) AS text) FROM pg_class WHERE oid = to_regclass('{relation}') "  # noqa: E501
        "UNION ALL SELECT CAST(attacl AS text), CAST(attname AS text) FROM pg_attribute "
        f"WHERE attrelid = to_regclass('{relation}') AND attacl IS NOT NULL ORDER BY 2"
    )


@EVERY_SERVER
def test_owner_grants_and_comments_stay(peopled: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    peopled.sql(
        "GRANT SELECT ON people_anonymous TO reader WITH GRANT OPTION",
        "GRANT SELECT (age, disease), UPDATE (sex) ON people_anonymous TO other",
        "GRANT REFERENCES ON people_anonymous TO PUBLIC",
        "COMMENT ON COLUMN people_anonymous.age IS 'in years; it''s a range'",
        "GRANT CREATE ON SCHEMA public TO team",
        "ALTER TABLE people_anonymous OWNER TO team",
    )
    before = acl(peopled)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    assert acl(peopled) == before
    assert peopled.sql("SELECT col_description(to_regclass('people_anonymous'), 2)") == [(None,)]
    assert peopled.sql(
        "SELECT col_description(attrelid, attnum) FROM pg_attribute "
        "WHERE attrelid = to_regclass('people_anonymous') AND attname = 'age'"
    ) == [("in years; it's a range",)]


def test_nobody_gets_more_by_default_privileges(peopled: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    before = acl(peopled)
    peopled.sql("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO stranger, PUBLIC")
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    assert [cell for row in acl(peopled) for cell in row if "stranger" in str(cell)] == []
    with pytest.raises(Exception, match="permission denied"):
        peopled.of("stranger").sql("SELECT * FROM people_anonymous")
    assert before[0][1] == acl(peopled)[0][1]


def test_what_is_revoked_under_way_stays_revoked(
    peopled: Place, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from duckanon.engine.postgres.warehouse import Postgres

    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    peopled.sql("GRANT SELECT ON people_anonymous TO reader, other", "GRANT SELECT (age) ON people_anonymous TO team")
    let_in = Postgres.let_in

    def revoked_before(self: Postgres, *arguments: object) -> None:
        peopled.sql("REVOKE SELECT ON people_anonymous FROM reader", "REVOKE ALL (age) ON people_anonymous FROM team")
        let_in(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Postgres, "let_in", revoked_before)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    assert "reader" not in str(acl(peopled))
    assert "team" not in str(acl(peopled))
    assert peopled.of("other").sql("SELECT count(*) FROM people_anonymous") == [(190,)]


def test_row_level_security_is_not_lost(peopled: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    peopled.sql("ALTER TABLE people_anonymous ENABLE ROW LEVEL SECURITY")
    told = duckanon("run", policy, "--db", peopled.url)
    assert told.code == 2
    assert "has row-level security, which a new table would not have" in told.err


@EVERY_SERVER
def test_a_member_of_the_owning_role_replaces_its_release(peopled: Place, folder: Folder, duckanon: Command) -> None:
    peopled.sql(
        "GRANT team TO member", "GRANT CREATE ON SCHEMA public TO team", "GRANT SELECT ON people TO team",
        f"GRANT CREATE ON DATABASE {peopled.database} TO team",
    )  # fmt: skip
    policy = folder.policy(FAR_UNCOMPARED)
    as_team = peopled.of("member").url + "&options=-c%20role%3Dteam"
    assert duckanon("run", policy, "--db", as_team).code == 0
    before = acl(peopled)
    assert before[0][1] == "team"
    peopled.sql("GRANT SELECT, INSERT ON duckanon.releases, duckanon.release_constraints TO member")
    told = duckanon("run", policy, "--db", peopled.of("member").url)
    assert (told.code, told.err) == (0, "")
    assert acl(peopled)[0][1] == "team"
    told = duckanon("run", policy, "--db", peopled.of("other").url)
    assert told.code == 2


def test_a_view_is_not_given_away(peopled: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR_VIEW)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    peopled.sql("GRANT SELECT ON people_view TO reader")
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    assert peopled.of("reader").sql("SELECT count(*) FROM people_view") == [(190,)]
    peopled.sql("GRANT CREATE ON SCHEMA public TO team", "ALTER VIEW people_view OWNER TO team")
    told = duckanon("run", policy, "--db", peopled.url)
    assert told.code == 2
    assert 'belongs to "team", with whose rights a view would read the source' in told.err


def test_readers_never_find_nothing_and_wait_for_a_moment_only(
    peopled: Place, folder: Folder, duckanon: Command
) -> None:
    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", peopled.url).code == 0
    peopled.sql("GRANT SELECT ON people_anonymous TO reader")
    seen: set[object] = set()
    waits: list[float] = []
    over = threading.Event()

    def read() -> None:
        with peopled.of("reader").connect() as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})  # a SELECT, as others ask
            while not over.is_set():
                begun = time.monotonic()
                try:
                    cursor.execute("SELECT count(*) FROM people_anonymous")
                    seen.add(cursor.fetchall()[0][0])
                except Exception as fault:
                    seen.add(str(fault))
                waits.append(time.monotonic() - begun)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(2):
            assert duckanon("run", policy, "--db", peopled.url).code == 0
    finally:
        over.set()
        reader.join()
    assert seen == {190}
    assert max(waits) < 2


def test_a_copy_that_waits_before_it_looks_finds_the_new_table(
    postgres: Server, inhabited: Place, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page says; one that looks first finds an empty one."""
    policy = folder.policy(FAR_UNCOMPARED)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    copied: dict[str, int] = {}
    looks = {"first": "", "later": "LOCK TABLE people_anonymous IN ACCESS SHARE MODE; "}

    def copy(how: str) -> None:
        told = f"BEGIN; {looks[how]}COPY (SELECT age FROM people_anonymous) TO STDOUT; COMMIT"
        copied[how] = len(postgres.psql(f"{told};", inhabited.database).splitlines())

    threads = [threading.Thread(target=copy, args=(how,)) for how in looks]
    run = Connection.run

    def held(self: Connection, text: str) -> None:
        if text == "COMMIT":
            for thread in threads:
                thread.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = to_regclass('people_anonymous')"
            while inhabited.sql(waiting) != [(2,)]:
                time.sleep(0.05)
        run(self, text)

    monkeypatch.setattr(Connection, "run", held)
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    for thread in threads:
        thread.join(20)
    assert copied == {"first": 0, "later": 190}
