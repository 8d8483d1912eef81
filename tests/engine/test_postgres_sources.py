"""Where the rows of a PostgreSQL may lie, and how few of them there may be."""

from __future__ import annotations

from itertools import cycle, product
from pathlib import Path

import duckdb
import pytest

from duckanon import Policy, connect
from duckanon.audit.check import check
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.postgres.connection import Connection
from duckanon.errors import EngineError
from duckanon.query.expressions import sql, table
from tests.support.command import Command
from tests.support.far import PostgresDatabase
from tests.support.folder import Folder
from tests.support.same_release import released_alike

POLICY = """
name = "few"
source = { table = "people" }
privacy = { k = 2, suppression = 0.4, unmapped = "UNMAPPED" }
release = { kind = "KIND", to = "TO" }
[quasi_identifiers]
age = { hierarchy = { intervals = [10, 20] } }
born = { hierarchy = { dates = ["month", "year"] } }
zip = { hierarchy = { mask = [2, 1] } }
[sensitive.ill]
l = 1
"""
WHOLE = "CREATE TABLE people AS SELECT {age} AS age, {born} AS born, {zip} AS zip, {ill} AS ill FROM range({n}) r (i)"
USUAL = {
    "age": "CASE WHEN i % 7 = 0 THEN NULL ELSE (20 + i % 30)::DOUBLE END",
    "born": "DATE '1980-01-01' + (i * 37 % 900)::INTEGER",
    "zip": "['123', '', 'ab  ', NULL][1 + i % 4]",
    "ill": "['flu', 'HIV', NULL][1 + i % 3]",
    "n": "40",
}
FEW = {
    "all NULL in a quasi-identifier": {"age": "NULL::DOUBLE"},
    "all NULL in a sensitive column": {"ill": "NULL::VARCHAR"},
    "no rows": {"n": "0"},
    "one row": {"n": "1"},
    "two rows": {"n": "2"},
    "all the same": {"age": "1.0::DOUBLE", "born": "DATE '2000-02-29'", "zip": "'x'", "ill": "'y'"},
    "what is unknown": {"age": "(ARRAY['inf', 'nan', '1.5', '-0.0'])[1 + i % 4]::DOUBLE", "born": "'infinity'::DATE"},
    "what is partly unknown": {"age": "(ARRAY['inf', '1.5', '2', '-0.0'])[1 + i % 4]::DOUBLE"},
}


# Each once, and what no hierarchy knows by every rule for it.
RULES = ("error", "suppress", "top")
FEW_BY_RULES = [*zip(FEW, cycle(RULES), strict=False), *product(["what is unknown", "what is partly unknown"], RULES)]


@pytest.mark.parametrize(("few", "unmapped"), dict.fromkeys(FEW_BY_RULES))
def test_few_rows_and_no_values(postgres_database: PostgresDatabase, tmp_path: Path, few: str, unmapped: str) -> None:
    kind = {"error": "table", "suppress": "parquet", "top": "table"}[unmapped]
    to = "out" if kind == "table" else "out.parquet"
    text = POLICY.replace("KIND", kind).replace("TO", to).replace("UNMAPPED", unmapped)
    with duckdb.connect() as db:
        db.execute(WHOLE.format(**USUAL | FEW[few]))
        released_alike(db, postgres_database, tmp_path, text, ["people"], kind, to)


@pytest.mark.parametrize(("levels", "come"), [("", True), (", at_least = 3", False)])
def test_counts_are_asked_here_unless_more_would_come_than_the_source_has_sent(
    postgres_database: PostgresDatabase, levels: str, come: bool
) -> None:
    """The source as it is has more different rows than were counted, where it is counted coarser."""
    text = POLICY.replace("KIND", "table").replace("TO", "out").replace("UNMAPPED", "error")
    policy = Policy.parse(text.replace('"year"] }', f'"year"] }}{levels}'))
    with duckdb.connect() as near:
        near.execute(WHOLE.format(**USUAL | {"n": "400"}))
        postgres_database.copy(near, "people")
        with connect(postgres_database.address) as far:
            found, expected = check(policy, far), check(policy, DuckDB.wrap(near))
            with far.workbench.traced() as executed:
                check(policy, far)
    assert (found.privacy, found.constraints) == (expected.privacy, expected.constraints)
    notes = [part.note for part in executed]
    assert "verify: the counts of the release" in notes  # one more than the source has sent, at most
    assert ("verify: the rows that are shown, counted" in notes) is not come


PLACES = """
CREATE SCHEMA "Other"; CREATE SCHEMA shadow;
CREATE TABLE "Other".people (age int, sex text, ill text) PARTITION BY LIST (sex);
CREATE TABLE "Other".women PARTITION OF "Other".people FOR VALUES IN ('F');
CREATE TABLE "Other".men PARTITION OF "Other".people DEFAULT;
INSERT INTO "Other".people SELECT 20 + i % 5, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, 'x' || i % 3
FROM generate_series(1, 60) AS i;
CREATE VIEW seen AS SELECT * FROM "Other".people;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM "Other".people;
CREATE TABLE shadow.sized AS SELECT 1 AS a;
CREATE FUNCTION shadow.count(text) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
CREATE TABLE shadow.pg_class AS SELECT 1 AS oid
"""
SOURCES = {
    "a partitioned table of another schema": ("table = '\"Other\".people'", ""),
    "a view": ('table = "seen"', ""),
    "a materialized view": ('table = "kept"', ""),
    "a query": ("query = 'SELECT age, sex, ill FROM \"Other\".people'", ""),
    "by a search path": ('table = "people"', "&options=-csearch_path%3D%22Other%22,shadow"),
    "with a schema that shadows the catalog": ('table = "public.seen"', "&options=-csearch_path%3Dshadow,pg_catalog"),
}


# Each twice: to the server and to a file where the rows are found, by a view where the reader finds them again.
LIE = [
    ("a partitioned table of another schema", "csv"),
    ("a partitioned table of another schema", "view"),
    ("a view", "view"),
    ("a materialized view", "table"),
    ("a query", "table"),
    ("a query", "view"),
    ("by a search path", "csv"),
    ("by a search path", "view"),
    ("with a schema that shadows the catalog", "table"),
    ("with a schema that shadows the catalog", "view"),
]


@pytest.mark.parametrize(("source", "kind"), LIE)
def test_wherever_the_rows_lie(
    postgres_database: PostgresDatabase, folder: Folder, duckanon: Command, source: str, kind: str
) -> None:
    postgres_database.sql(*PLACES.split(";"))
    said, path = SOURCES[source]
    to = "public.out" if kind != "csv" else "out.csv"
    policy = folder.policy(
        f'name = "p"\n[source]\n{said}\n[privacy]\nk = 3\n[quasi_identifiers]\nage = {{}}\nsex = {{}}\n'
        f'[sensitive.ill]\nl = 2\n[release]\nkind = "{kind}"\nto = "{to}"\n'
    )
    told = duckanon("run", policy, "--db", postgres_database.address + path, "--json")
    assert told.code == 0, told.err
    assert told.json["rows"] == {"source": 60, "released": 60, "suppressed": 0}
    assert told.json["classes"] == 10


@pytest.mark.parametrize("number", [100_000, pytest.param(1_000_000, marks=pytest.mark.many)])
def test_many_values(postgres_database: PostgresDatabase, folder: Folder, duckanon: Command, number: int) -> None:
    """Of a quasi-identifier, none of them twice: the codes and labels of all of them go up."""
    postgres_database.sql(
        f"CREATE TABLE people AS SELECT i AS id, i % 3 AS ill FROM generate_series(0, {number - 1}) AS i"
    )
    policy = folder.policy(
        'name = "p"\nsource = { table = "people" }\nprivacy = { k = 10000 }\nrelease = { kind = "table", to = "out" }\n'
        "[quasi_identifiers.id]\nhierarchy = { intervals = [10, 100, 10000] }\n[sensitive.ill]\nl = 2\n"
    )
    told = duckanon("run", policy, "--db", postgres_database.address, "--json")
    assert told.code == 0, told.err
    assert told.json["levels"] == {"id": 3}
    counts = postgres_database.sql("SELECT COUNT(*), COUNT(DISTINCT id), MIN(id) FROM out")
    assert counts == [(number, number // 10_000, "[0, 10000)")]


def test_names_that_differ_by_case_only(postgres_database: PostgresDatabase, folder: Folder, duckanon: Command) -> None:
    postgres_database.sql('CREATE TABLE people ("Age" int, age int, ill text)')
    policy = folder.policy(
        'name = "p"\nsource = { table = "people" }\nprivacy = { k = 2 }\nrelease = { kind = "table", to = "out" }\n'
        "[quasi_identifiers.age]\n[sensitive.ill]\nl = 1\n"
    )
    told = duckanon("run", policy, "--db", postgres_database.address)
    assert told.code == 2
    assert "Age and age: are columns whose names differ by case only" in told.err.replace('"', "")


@pytest.mark.parametrize("read_only", [True, False])
def test_counts_are_told_as_they_come(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    """They are counted once, and nothing is kept there; who has heard enough does not wait for the others."""
    postgres_database.sql("CREATE TABLE numbers AS SELECT i % 50000 AS q0 FROM generate_series(1, 100000) AS r (i)")
    asked, stream = list[str](), Connection.stream
    monkeypatch.setattr(Connection, "stream", lambda self, text: asked.append(text) or stream(self, text))  # type: ignore[func-returns-value]
    heard = list[tuple[int, bool]]()

    def hear(counts: int, more: bool = False) -> None:
        heard.append((counts, more))

    def refuse(counts: int, more: bool = False) -> None:
        assert more
        raise EngineError("these are too many")

    with connect(postgres_database.address, read_only=read_only) as far:
        for rows, counts in (("public.numbers", 50_000), ("(SELECT * FROM public.numbers WHERE false) AS none", 0)):
            heard.clear()
            asked.clear()
            query = sql(f"SELECT q0, COUNT(*) AS n FROM {rows} GROUP BY q0")
            far.collect(table("came"), query, "", hear)  # type: ignore[arg-type]
            assert heard[-1] == (counts, False)
            assert all(more and 0 < number <= counts for number, more in heard[:-1])
            assert len(asked) == 1
            assert far.workbench.fetch("SELECT COUNT(*), SUM(n) FROM came") == [(counts, counts * 2 or None)]
            far.workbench.run("DROP TABLE came")
        query = sql("SELECT q0, COUNT(*) AS n FROM (SELECT * FROM public.numbers, generate_series(1, 40)) AS many "
                    "GROUP BY q0, generate_series")  # fmt: skip
        with pytest.raises(EngineError, match="these are too many"):
            far.collect(table("came"), query, "", refuse)  # type: ignore[arg-type]
        assert far.fetch("SELECT 1") == [(1,)]


def test_more_counts_than_may_come_end_the_run_as_they_come(
    postgres_database: PostgresDatabase, folder: Folder, duckanon: Command
) -> None:
    postgres_database.sql("CREATE TABLE people AS SELECT i AS age, i % 3 AS ill FROM generate_series(1, 900) AS r (i)")
    text = (
        'name = "p"\nsource = { table = "people" }\nprivacy = { k = 2 }\nrelease = { kind = "table", to = "out" }\n'
        "quasi_identifiers = { age = { hierarchy = { intervals = [100] } } }\nsensitive = { ill = { l = 2 } }\n"
        "search = { census_limit = LIMIT }\n"
    )
    told = duckanon("run", folder.policy(text.replace("LIMIT", "899")), "--db", postgres_database.address)
    assert told.code == 2
    assert "search.census_limit: there are at least 900 counts, more than 899" in told.err
    assert duckanon("run", folder.policy(text.replace("LIMIT", "900")), "--db", postgres_database.address).code == 0
