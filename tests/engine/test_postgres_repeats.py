"""One release after the other on PostgreSQL: nothing to do, told apart, at the same levels, added to."""

from __future__ import annotations

from tests.support.command import Command
from tests.support.far_people import FAR, FAR_UNCOMPARED
from tests.support.far_place import EVERY_SERVER, Place
from tests.support.folder import Folder

MORE = """INSERT INTO people SELECT 'new ' || i, 20 + (i * 7) % 40, '021' || (30 + i % 12),
    CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, (ARRAY['flu', 'HIV', 'cancer'])[1 + i % 3]
    FROM generate_series(0, 199) AS r (i)"""


@EVERY_SERVER
def test_if_nothing_has_changed_there_is_nothing_to_do(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy, oid = folder.policy(FAR_UNCOMPARED), "SELECT CAST(to_regclass('people_anonymous') AS oid)"
    again = ("run", policy, "--db", inhabited.url, "--if-changed", "--json")
    assert duckanon(*again).json["status"] == "released"
    before = inhabited.sql(oid)
    assert duckanon(*again).json["status"] == "unchanged"
    inhabited.sql("CREATE TABLE public.turned AS SELECT * FROM people ORDER BY name DESC", "DROP TABLE people",
                  "ALTER TABLE public.turned RENAME TO people")  # fmt: skip
    assert duckanon(*again).json["status"] == "unchanged"  # in whatever order the rows lie
    assert inhabited.sql(oid) == before
    inhabited.sql("UPDATE people SET disease = 'flu' WHERE name = 'person 1'")
    assert duckanon(*again).json["status"] == "released"
    inhabited.sql("DELETE FROM people_anonymous WHERE age = (SELECT min(age) FROM people_anonymous)")
    assert duckanon(*again).json["status"] == "released"  # somebody has changed the release
    assert duckanon(*again).json["status"] == "unchanged"


def test_two_releases_that_tell_a_person_apart(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR + 'difference = "refuse"\n')
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    before = inhabited.sql("SELECT CAST(to_regclass('people_anonymous') AS oid)")
    inhabited.sql("INSERT INTO people SELECT 'late', age, zip, sex, 'rare' FROM people WHERE name = 'person 5'")
    told = duckanon("run", policy, "--db", inhabited.url)
    assert told.code == 1
    assert "rare" not in told.err
    assert inhabited.sql("SELECT CAST(to_regclass('people_anonymous') AS oid)") == before


def test_fixed_and_monotone_levels(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    for mode in ("fixed", "monotone"):
        policy = folder.policy(FAR_UNCOMPARED.replace('name = "people"', f'name = "{mode}"') + f'mode = "{mode}"\n')
        first = duckanon("run", policy, "--db", inhabited.url, "--replace", "--json").json
        inhabited.sql(MORE)  # finer levels would do
        second = duckanon("run", policy, "--db", inhabited.url, "--json").json
        assert second["status"] == "released"
        assert all(second["levels"][name] >= level for name, level in first["levels"].items())
        if mode == "fixed":
            assert second["levels"] == first["levels"]
        inhabited.sql("DELETE FROM people WHERE name LIKE 'new %'")


def test_new_rows_are_added_and_what_was_released_stays(inhabited: Place, folder: Folder, duckanon: Command) -> None:
    policy = folder.policy(FAR_UNCOMPARED)
    inhabited.sql("CREATE ROLE adds LOGIN")
    assert duckanon("run", policy, "--db", inhabited.url).code == 0
    before = inhabited.sql("SELECT age, zip, sex, disease FROM people_anonymous ORDER BY 1, 2, 3, 4")
    inhabited.sql(MORE, "GRANT SELECT ON people_anonymous TO adds")
    told = duckanon("run", policy, "--db", inhabited.url, "--incremental", "--json")
    assert told.code == 0, told.err
    after = inhabited.of("adds").sql("SELECT age, zip, sex, disease FROM people_anonymous ORDER BY 1, 2, 3, 4")
    for row in before:
        after.remove(row)
    assert 0 < len(after) == told.json["rows"]["new"] <= 210  # with those who were suppressed
    inhabited.sql("DROP OWNED BY adds", "DROP ROLE adds")
