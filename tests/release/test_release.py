"""What a release looks like, and when it may take its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import duckdb
import pytest

from duckanon import Policy
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.release import targets
from duckanon.release.disk_place import DiskPlace
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.people import PEOPLE, released_to


def test_released_columns_are_those_with_a_public_role(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(PEOPLE)).code == 0
    assert [row[0] for row in people.sql("DESCRIBE people_anonymous")] == ["age", "zip", "sex", "disease"]


@pytest.mark.parametrize("kind", ["table", "parquet", "csv", "view"])
def test_row_order_says_nothing_of_the_source(people: Folder, duckanon: Command, kind: str) -> None:
    """Peers' bug 5: a release must not carry the position of a row, not even by its order."""
    to = {"table": "a", "view": "b", "parquet": "a.parquet", "csv": "a.csv"}[kind]
    read = {"table": "a", "view": "b", "parquet": f"'{people.path}/a.parquet'", "csv": f"'{people.path}/a.csv'"}[kind]
    policy = people.policy(released_to(kind, to))
    assert duckanon("run", policy).code == 0
    first = people.sql(f"FROM {read}")
    people.sql(
        "CREATE TABLE shuffled AS FROM people ORDER BY md5(name)",
        "DELETE FROM people",
        "INSERT INTO people FROM shuffled",
    )
    assert duckanon("run", policy).code == 0
    assert people.sql(f"FROM {read}") == first


def test_a_view_guards_itself(people: Folder, duckanon: Command) -> None:
    policy = people.policy(released_to("view", "people_view"))
    assert duckanon("run", policy).code == 0
    classes = "SELECT count(*) AS x, count(DISTINCT disease) AS l FROM people_view GROUP BY age, zip, sex"
    people.sql("DELETE FROM people WHERE random() < 0.7", "INSERT INTO people VALUES ('new', 99, '99999', 'X', 'HIV')")
    assert people.sql(f"SELECT coalesce(min(x), 3) >= 3, coalesce(min(l), 2) >= 2 FROM ({classes})") == [(True, True)]
    assert people.sql("SELECT count(*) FROM people_view WHERE sex = 'X'") == [(0,)]


def test_a_view_of_a_query_and_a_listed_hierarchy_lives_in_the_database_alone(
    people: Folder, duckanon: Command
) -> None:
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")
    text = released_to("view", "people_view").replace('table = "people"', 'query = "SELECT * FROM people -- all"')
    text = text.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    assert duckanon("run", people.policy(text)).code == 0
    (people.path / "sex.csv").unlink()
    people.database.rename(people.path / "renamed.duckdb")
    with duckdb.connect(str(people.path / "renamed.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) > 100 FROM people_view").fetchall() == [(True,)]


def test_a_release_of_this_policy_is_replaced(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    assert duckanon("run", policy).code == 0
    people.sql("DELETE FROM people WHERE age < 30")
    assert duckanon("run", policy).code == 0
    assert duckanon("run", people.policy(released_to("view", "people_anonymous"))).code == 0
    assert duckanon("run", policy).code == 0


@pytest.mark.parametrize(
    ("kind", "to"), [("table", "theirs"), ("view", "theirs"), ("parquet", "theirs.parquet"), ("csv", "theirs.csv")]
)
def test_what_is_not_ours_is_refused_and_replaced_only_on_request(
    people: Folder, duckanon: Command, kind: str, to: str
) -> None:
    if "." in to:
        (people.path / to).write_text("precious\n")
    else:
        people.sql("CREATE TABLE theirs AS SELECT 'precious' AS x")
    before = people.dump()
    policy = people.policy(released_to(kind, to))
    told = duckanon("run", policy)
    assert told.code == 2
    assert "--replace" in told.err
    assert people.dump() == before
    other = people.policy(released_to(kind, to).replace('name = "people"', 'name = "other"'), "other.toml")
    assert duckanon("run", policy, "--replace").code == 0
    assert duckanon("run", policy).code == 0
    assert duckanon("run", other).code == 2


def test_the_source_is_never_replaced(people: Folder, duckanon: Command) -> None:
    people.sql("CREATE VIEW over AS FROM people")
    before = people.dump()
    straight = people.policy(released_to("table", "people"))
    through = people.policy(released_to("table", "people").replace('table = "people"', 'table = "over"'), "view.toml")
    query = people.policy(
        released_to("table", "people").replace('table = "people"', 'query = "FROM people"'), "query.toml"
    )
    for policy in (straight, through, query):
        told = duckanon("run", policy, "--replace")
        assert told.code == 2
        assert "source" in told.err
        assert people.dump() == before


def test_the_source_file_is_never_replaced(folder: Folder, duckanon: Command) -> None:
    (folder.path / "p.csv").write_text("a,s\n" + "1,x\n2,y\n" * 5)
    policy = folder.policy(
        'name = "p"\n[source]\nfile = "*.csv"\n[privacy]\nk = 2\n[quasi_identifiers.a]\n[sensitive.s]\n'
        '[release]\nkind = "csv"\nto = "./p.csv"\n'
    )
    told = duckanon("run", policy, "--replace")
    assert told.code == 2
    assert "source itself" in told.err
    assert folder.files() == ["p.csv", "policy.toml"]


def test_a_dry_run_writes_nothing(people: Folder, duckanon: Command) -> None:
    before, files = people.dump(), None
    for kind, to in (("table", "t"), ("view", "v"), ("parquet", "t.parquet"), ("csv", "t.csv")):
        policy = people.policy(released_to(kind, to))
        files = files or people.files()
        told = duckanon("run", policy, "--dry-run", "--json")
        assert told.code == 0, told.err
        assert told.json["status"] == "holds"
        assert people.dump() == before
        assert people.files() == files


def test_a_release_that_does_not_verify_leaves_nothing(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the search ever wrong, the verification must catch it: here the search is made to believe that all holds."""
    from duckanon.search.measure import Measurer

    class_steps = Measurer.class_steps

    def blind(self: Measurer, node: tuple[int, ...]) -> object:
        object.__setattr__(self.policy, "k", 1)
        try:
            return class_steps(self, node)
        finally:
            object.__setattr__(self.policy, "k", 3)

    monkeypatch.setattr(Measurer, "class_steps", blind)
    before = people.dump()
    for kind, to in (("table", "t"), ("parquet", "t.parquet")):
        policy = people.policy(released_to(kind, to))
        files = people.files()
        told = duckanon("run", policy, "--json")
        assert told.code == 1
        assert told.json["status"] == "violated"
        assert [c["holds"] for c in told.json["constraints"] if c["name"] == "k"] == [False]
        assert people.dump() == before
        assert people.files() == files


def test_publish_level_releases_the_level(people: Folder, duckanon: Command) -> None:
    text = PEOPLE.replace(
        "l = 2\n",
        'publish = "level"\nlevels = { 1 = ["HIV", "cancer"], 2 = ["asthma"], 3 = ["flu", "cough"] }\nlevel_l = 2\n',
    )
    told = duckanon("run", people.policy(text), "--json")
    assert told.code == 0, told.err
    assert people.sql("SELECT DISTINCT disease FROM people_anonymous ORDER BY 1") == [(1,), (2,), (3,)]
    assert duckanon("check", people.policy(text), "--release").code == 0


def test_a_parquet_release_says_what_it_is(people: Folder, duckanon: Command) -> None:
    policy = people.policy(released_to("parquet", "p.parquet"))
    assert duckanon("run", policy).code == 0
    rows = people.sql(f"SELECT decode(value) FROM parquet_kv_metadata('{people.path}/p.parquet')")
    mark = json.loads(rows[0][0])
    assert mark["policy"] == "people"
    assert mark["k"] == 3
    assert targets.made_by(rows[0][0], Policy.load(policy))


def test_a_read_only_database_is_exported(people: Folder, duckanon: Command) -> None:
    with duckdb.connect(str(people.database), read_only=True):
        assert duckanon("run", people.policy(released_to("csv", "p.csv"))).code == 0


def test_a_killed_run_leaves_nothing_that_stays(people: Folder, duckanon: Command) -> None:
    """In files: tests/whole/test_kills.py."""
    people.sql(
        "CREATE TABLE big AS SELECT p.* FROM people p, range(1500)",
        "DROP TABLE people",
        "ALTER TABLE big RENAME TO people",
    )
    policy = people.policy(released_to("table", "out"))
    for delay in (0.4, 0.7, 1.0):
        process = subprocess.Popen([sys.executable, "-m", "duckanon", "run", str(policy)], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
        tables = [row[0] for row in people.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1")]
        if "out" in tables:
            # Killed after its work was done: then the release is whole.
            assert duckanon("check", policy, "--release").code == 0
            break
        assert tables == ["people"]
    assert duckanon("run", policy).code == 0
    left = [name for name in people.files() if "unfinished" in name or name.endswith(".tmp")]
    assert left == []


HOLD = (
    "import sys; from pathlib import Path; from duckanon.engine.lock import hold; "
    "hold(Path(sys.argv[1])); print(flush=True)"
)


@pytest.mark.parametrize(("by", "what"), [("", "sidecar"), ('partition_by = ["sex"]\n', "unfinished")])
def test_what_the_dead_left_is_swept_and_of_the_living_left(
    people: Folder, duckanon: Command, by: str, what: str
) -> None:
    """A process is told by its lock: its number means nothing in another container of the same volume."""
    dead, living = (people.path / f".p.csv.{number}.{what}" for number in (os.getpid(), 999_999_999))
    for left in (dead, living):
        left.mkdir() if by and what == "unfinished" else left.write_text("")
    command = [sys.executable, "-c", f"{HOLD}; input()", str(living)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        policy = people.policy(released_to("csv", "p.csv") + by)
        assert duckanon("run", policy).code == 0
        assert (dead.exists(), living.exists()) == (False, True)
        holder.kill()
    assert duckanon("run", policy).code == 0
    assert not living.exists()


def test_two_runs_of_one_number_do_not_meet(people: Folder) -> None:
    """In two containers a process can have the same number: what they write beside one place is theirs alone."""
    policy = Policy.load(people.policy(released_to("csv", "p.csv")))
    with DuckDB.open(people.database, writable=False) as engine:
        one, other = DiskPlace(policy, engine), DiskPlace(policy, engine)
        assert one.begin(folder=False) == other.begin(folder=False)
        one.sweep()
        assert other.unfinished.exists()
        other.let_go()
        one.sweep()
        assert (one.unfinished.exists(), other.unfinished.exists()) == (True, False)
        one.let_go()
