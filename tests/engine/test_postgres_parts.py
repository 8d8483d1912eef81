"""A large table of PostgreSQL's is counted in two halves at the same time."""

from __future__ import annotations

import pytest
from sqlglot import exp

from duckanon import Policy, connect
from duckanon.census.counting import take_census
from duckanon.census.source import bind_source
from duckanon.engine import Relation
from duckanon.engine.postgres import session
from duckanon.engine.postgres.catalog import HALVES
from duckanon.engine.scratch import Scratch
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
    with connect(crowd.url) as far:
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
    with connect(crowd.url) as far:
        assert far.parts_of(Relation(("public", "seen"), "view")) == []
        assert far.parts_of(Relation(("public", "people"), "table")) != []
    with connect(crowd.url + "&options=-cmax_parallel_workers_per_gather%3D0") as far:
        assert far.parts_of(Relation(("public", "people"), "table")) == []


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
