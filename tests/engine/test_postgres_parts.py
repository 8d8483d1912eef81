"""A large table of PostgreSQL's is counted in two halves at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlglot
from sqlglot import exp

from duckanon import Policy, connect
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine import Relation
from duckanon.engine.postgres import session
from duckanon.engine.postgres.catalog import HALVES
from duckanon.engine.postgres.connection import Connection
from duckanon.engine.postgres.session import Session
from duckanon.engine.scratch import Scratch
from duckanon.engine.warehouse import Told
from duckanon.errors import EngineError
from duckanon.query.expressions import table
from tests.support.command import Command
from tests.support.far_place import EVERY_SERVER, Place
from tests.support.folder import Folder

PARTED = """
name = "p"
privacy = { k = 2 }
release = { kind = "table", to = "out" }
quasi_identifiers = { age = { hierarchy = { intervals = [10] } }, size = {} }
sensitive = { ill = { l = 2 } }
[source]
table = "people"
"""


@pytest.fixture
def parted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is large enough."""
    monkeypatch.setattr(session, "HALVES", HALVES.replace("64 * 1024 * 1024", "1"))


@pytest.fixture
def crowd(place: Place) -> Place:
    """On some pages, and those of a half are not like those of the other."""
    place.sql(
        "CREATE TABLE people AS SELECT CASE WHEN i % 7 > 0 THEN i % 90 END AS age, "
        "CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN -0.0 ELSE 0 END :: float8 AS size, "
        "CASE WHEN i < 9000 THEN 'flu' WHEN i % 3 > 0 THEN 'cold ' END AS ill FROM generate_series(1, 20000) AS r (i)"
    )
    return place


@pytest.mark.usefixtures("parted")
@EVERY_SERVER
def test_a_large_table_is_counted_in_halves_and_its_counts_added_up(
    crowd: Place, folder: Folder, duckanon: Command
) -> None:
    """The fingerprint is that of the rows, too: nothing has changed for who reads them."""
    with connect(crowd.url) as far, far.transaction():
        halves = far.parts_of(Relation(("public", "people"), "table"))
        numbers = [far.fetch(exp.select("COUNT(*)").from_(table("public", "people")).where(half)) for half in halves]
        assert len(halves) == 2
        assert all(0 < number < 20_000 for ((number,),) in numbers)
        assert sum(number for ((number,),) in numbers) == 20_000
        policy, scratch, heard = Policy.parse(PARTED), Scratch(far.workbench), list[tuple[int, bool]]()

        def hear(counts: int, more: bool = False) -> None:
            heard.append((counts, more))

        source = bind_source(policy, far, scratch)
        census = take_census(policy, source, scratch, hear)
        expected = far.fetch("SELECT age, size + 0, ill, COUNT(*) FROM public.people GROUP BY age, size + 0, ill")
        shown = {"q0_0": "map_0", "q1_0": "map_1"}
        values = [f"(SELECT value FROM {scratch.name(of)} WHERE code_0 = {code})" for code, of in shown.items()]
        values.append(f"(SELECT value FROM {scratch.name('sensitive_0')} WHERE code = s0)")
        found = far.workbench.fetch(f"SELECT {', '.join(values)}, n FROM {census.table}")
        assert sorted(map(str, found)) == sorted(map(str, expected))
        assert heard[-1] == (len(expected), False)
        assert all(more and counts <= len(expected) for counts, more in heard[:-1])
    path = folder.policy(PARTED)
    assert duckanon("run", path, "--db", crowd.url).code == 0
    told = duckanon("run", path, "--db", crowd.url, "--if-changed", "--json")
    assert told.json["status"] == "unchanged"


@pytest.mark.usefixtures("parted")
def test_what_has_no_pages_of_its_own_is_counted_whole(crowd: Place) -> None:
    crowd.sql("CREATE VIEW seen AS SELECT * FROM people")
    people = Relation(("public", "people"), "table")
    with connect(crowd.url) as far:
        assert far.parts_of(people) == []  # two statements would see two things
        with far.transaction():
            assert far.parts_of(Relation(("public", "seen"), "view")) == []
            assert far.parts_of(people) != []
    with connect(crowd.url + "&options=-cmax_parallel_workers_per_gather%3D0") as far, far.transaction():
        assert far.parts_of(people) == []


@pytest.mark.usefixtures("parted")
def test_who_may_read_some_columns_only_counts_these_whole(crowd: Place, folder: Folder, duckanon: Command) -> None:
    """On which page a row is, is none of them."""
    crowd.sql("CREATE ROLE some_columns LOGIN", "GRANT SELECT (age, size, ill) ON people TO some_columns")
    try:
        export = folder.policy(PARTED.replace('"table", to = "out"', '"csv", to = "out.csv"'))
        told = duckanon("run", export, "--db", Place(crowd.folder, crowd.database, "some_columns").url)
        assert told.code == 0, told.err
    finally:
        crowd.sql("DROP OWNED BY some_columns", "DROP ROLE some_columns")


# -- two connections --------------------------------------------------------------------------------

PART = "SELECT {figure} AS q0, size, COUNT(*) AS n FROM public.people WHERE ctid {side} '(40,0)' GROUP BY q0, size"
ACTIVE = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'duckanon'"


class Counting:
    """What is counted in two parts, and what else happens before the second connection begins."""

    def __init__(self, crowd: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.crowd, another, stream = crowd, Session._another, Connection.stream
        self.asked: list[Connection] = []
        self.before: Callable[[], object] = lambda: None
        self.figure = "age"

        @contextmanager
        def watched(of: Session, snapshot: str) -> Iterator[Connection]:
            self.before()
            with another(of, snapshot) as connection:
                yield connection

        def seen(connection: Connection, text: str) -> object:
            if "ctid" in text:
                self.asked.append(connection)
            return stream(connection, text)

        monkeypatch.setattr(Session, "_another", watched)
        monkeypatch.setattr(Connection, "stream", seen)

    def rows(self, told: Told = lambda *_, **__: None) -> int:
        first, other = (
            sqlglot.parse_one(PART.format(side=side, figure=self.figure), dialect="postgres") for side in ("<", ">=")
        )
        assert isinstance(first, exp.Query)
        assert isinstance(other, exp.Query)
        with connect(self.crowd.url) as far:
            with far.transaction():
                far.collect(table("came"), first, "", told, [other])
            ((rows,),) = far.workbench.fetch("SELECT SUM(n) FROM came")
        return int(rows)

    def nobody_is_left(self) -> bool:
        end = time.monotonic() + 10
        while (left := self.crowd.sql(ACTIVE)) != [(0,)] and time.monotonic() < end:
            time.sleep(0.05)
        return left == [(0,)]


@pytest.fixture
def counting(crowd: Place, monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(crowd, monkeypatch)


def test_each_part_has_a_connection(counting: Counting) -> None:
    assert counting.rows() == 20_000
    assert len(set(counting.asked)) == 2
    assert counting.nobody_is_left()


def test_they_see_the_same(counting: Counting) -> None:
    counting.before = lambda: counting.crowd.sql("INSERT INTO people SELECT 1, 2, 'flu' FROM generate_series(1, 99)")
    assert counting.rows() == 20_000
    assert counting.crowd.sql("SELECT COUNT(*) FROM people") == [(20_099,)]


def test_where_no_other_can_be_had_the_first_counts_both(counting: Counting) -> None:
    counting.crowd.sql("CREATE ROLE alone LOGIN CONNECTION LIMIT 1", "GRANT SELECT ON people TO alone")
    owner = counting.crowd
    counting.crowd = Place(owner.folder, owner.database, "alone")
    try:
        assert counting.rows() == 20_000
        assert len(counting.asked) == 2
        assert len(set(counting.asked)) == 1
    finally:
        owner.sql("DROP OWNED BY alone", "DROP ROLE alone")


def test_who_waits_to_change_the_table_is_not_waited_for(counting: Counting) -> None:
    """He waits for the first, and the second would wait for him."""
    changing = threading.Thread(target=lambda: counting.crowd.sql("ALTER TABLE people ADD COLUMN more int"))

    def change() -> None:
        changing.start()
        while counting.crowd.sql("SELECT COUNT(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
            time.sleep(0.02)

    counting.before = change
    assert counting.rows() == 20_000
    changing.join(10)
    assert counting.crowd.sql("SELECT COUNT(more) FROM people") == [(0,)]


def test_whoever_has_heard_enough_has_both_called_off(counting: Counting) -> None:
    def refuse(counts: int, more: bool = False) -> None:
        raise EngineError("these are too many")

    with pytest.raises(EngineError, match="these are too many"):
        counting.rows(refuse)
    assert counting.nobody_is_left()


@pytest.mark.parametrize("page", ["< '(1,0)'", "> '(50,0)'"], ids=["first", "other"])
def test_what_goes_wrong_in_one_ends_both(counting: Counting, page: str) -> None:
    counting.figure = f"100 / CASE WHEN ctid {page} THEN age * 0 ELSE 1 END"
    with pytest.raises(EngineError, match="SQLSTATE 22012"):  # division by zero
        counting.rows()
    assert counting.nobody_is_left()
