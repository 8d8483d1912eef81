"""The same policy over the same rows: DuckDB and every server come to the same levels, figures and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given

import duckanon
from tests.support.case_warehouse import quoted, warehouse
from tests.support.examples import MORE, examples
from tests.support.far import FarDatabase, on_postgres
from tests.support.figures import must_be_alike
from tests.support.folder import Folder, opened
from tests.support.hostile import HOSTILE
from tests.support.paths import ROOT
from tests.support.postgres import Server
from tests.support.same_release import OF_THE_RUN, counted, released_alike
from tests.support.spark import Lake, SparkServer
from tests.support.variants import KEY, KINDS, Variant, variants

FIXTURES = ROOT / "fixtures"


@pytest.fixture(scope="module")
def far(request: pytest.FixtureRequest) -> Iterator[FarDatabase]:
    """A database of a server, which each test empties."""
    server: Server | SparkServer = request.getfixturevalue(request.param)
    if isinstance(server, SparkServer):
        with server.lake() as lake:
            yield lake
    else:
        with server.new_database() as address, on_postgres(address) as database:
            yield database


def on(*servers: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("far", servers, indirect=True, ids=lambda server: server.removesuffix("_server"))


@pytest.fixture(autouse=True, scope="module")
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY, "a key that is long enough for this test, 0123456789")
        yield


def must_agree(variant: Variant, far: FarDatabase) -> dict[str, Any]:
    with warehouse(variant.case) as (db, folder):
        tables = [
            "people",
            *(["everybody"] if variant.case.population else []),
            *(part.table[0] for part in variant.case.hierarchies if part.table),
        ]
        return released_alike(db, far, folder, variant.toml(), tables, variant.kind, variant.to)


@on("postgres")
@examples(5)
@given(variants())
def test_random_policies(far: FarDatabase, variant: Variant) -> None:
    must_agree(variant, far)


@on("old_postgres", "sail_server")
@examples(3)
@given(variants())
def test_some_on_other_servers(far: FarDatabase, variant: Variant) -> None:
    """Spark has no views that could be trusted."""
    kind = "table" if variant.kind == "view" and isinstance(far, Lake) else variant.kind
    must_agree(replace(variant, kind=kind), far)


@on("postgres", "sail_server")
@pytest.mark.parametrize("where", ["workbench", "warehouse"])
def test_a_release_of_nothing_but_stars(far: FarDatabase, where: str) -> None:
    """There is nothing to sort it by."""
    far.empty()
    with duckdb.connect() as db:
        db.execute("CREATE TABLE people AS SELECT i AS age FROM range(9) r(i)")
        far.copy(db, "people")
    release = 'release = { kind = "table", to = "shown" }'
    text = f'name = "p"\nsource = {{ table = "people" }}\nprivacy = {{ k = 5 }}\n{release}\n'
    text += "quasi_identifiers = { age = {} }"
    with duckanon.connect(far.address) as connected:
        assert duckanon.run(duckanon.Policy.parse(f'{text}\nsearch = {{ where = "{where}" }}'), connected).good
    assert counted(far.sql("SELECT age FROM shown")) == {("*",): 9}


@on("postgres", "sail_server")
def test_thresholds_in_a_table(far: FarDatabase, tmp_path: Path) -> None:
    """Of more values than are figures of every class: searched where the rows lie."""
    far.empty()
    own = "".join(f"[sensitive.ill.values.s{i}]\nalpha = 0.{3 + i % 5}\nl = {2 + i % 3}\n" for i in range(30))
    text = (
        'name = "p"\n[source]\ntable = "people"\n[privacy]\nk = 2\nsuppression = 0.1\n[quasi_identifiers.zip]\n'
        "hierarchy = { mask = [2, 1, 0] }\n[quasi_identifiers.age]\n"
        f'[search]\nwhere = "warehouse"\n{own}[release]\nkind = "table"\nto = "shown"\n'
    )
    rows = "i % 2 AS age, CAST(100 + i * 7 % 60 AS VARCHAR) AS zip, 's' || (i * i % 37) AS ill"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE people AS SELECT {rows} FROM range(400) r(i)")
        said = released_alike(db, far, tmp_path, text, ["people"], "table", "shown")
    assert (said["status"], len(said["constraints"])) == ("released", 61)


@on("postgres", "sail_server")
def test_the_metrics_of_a_table(far: FarDatabase) -> None:
    """Of rows and of people, each column's part in the risk included; NULL is a value."""
    far.empty()
    rows = "i % 7 AS who, CASE WHEN i % 3 > 0 THEN i % 4 END AS age, 'z' || (i % 5) AS zip, 's' || (i % 2) AS ill"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE people AS SELECT {rows} FROM range(23) r(i)")
        far.copy(db, "people")
        with duckanon.connect(far.address) as connected:
            for entity in (None, "who"):
                found, expected = (
                    duckanon.metrics(at, "people", qi=["age", "zip"], sensitive="ill", entity=entity)
                    for at in (connected, db)
                )
                assert (expected[expected.metric == "unique_rows_added"].measured > 0).all()
                assert found.round(9).to_csv() == expected.round(9).to_csv()


# -- the papers -----------------------------------------------------------------------------------


POLICIES = sorted(FIXTURES.glob("*.toml"))
SERVERS = ["postgres", "sail_server"]
# Each on one of the servers in turn; where more is tried, on both.
ASKED = [*zip(cycle(SERVERS), POLICIES, strict=False)] if MORE == 1 else [*product(SERVERS, POLICIES)]


@pytest.mark.parametrize(("far", "policy"), ASKED, indirect=["far"], ids=lambda part: getattr(part, "stem", part))
def test_the_papers_tables(far: FarDatabase, policy: Path, tmp_path: Path) -> None:
    """As tables, since no server reads a file of ours; both by `check` and by `run`."""
    text = policy.read_text(encoding="utf-8")
    (file,) = re.findall(r'^file = "(\w+)\.csv"$', text, re.MULTILINE)
    text = text.replace(f'file = "{file}.csv"', f'table = "{file}"')
    (to,) = re.findall(r'^to = "(.*)"$', text, re.MULTILINE)
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE {file} AS FROM '{FIXTURES}/{file}.csv'")
        released_alike(db, far, tmp_path, text, [file], "csv", to)
        with duckanon.connect(far.address) as connected:
            source = duckanon.Policy.parse(text)
            found, expected = (duckanon.check(source, at).as_json() for at in (connected, db))
    must_be_alike(*({k: v for k, v in said.items() if k not in OF_THE_RUN} for said in (found, expected)))


# -- hostile names and values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("far", "kind"),
    [*product(["postgres"], KINDS), ("sail_server", "table"), ("sail_server", "csv")],
    indirect=["far"],
)
def test_hostile_names_and_values(far: FarDatabase, hostile: Folder, kind: str) -> None:
    """Of a release in Spark, only a plain name can be trusted."""
    to = "Out_put" if isinstance(far, Lake) else '"out; ""put"'
    to = to if kind in ("table", "view") else f'ou;t "--.{kind}'
    text = HOSTILE.format(table='we"ird; drop', kind=kind, to=to).replace('database = "warehouse.duckdb"\n', "")
    with opened(hostile.database) as db:
        said = released_alike(db, far, hostile.path, text, ['"we""ird; drop"', '"dim ""odd""; table"'], kind, to)
    assert said["status"] == "released"


def long_names(kind: str) -> str:
    name, table = "p" * 60, "Tä" * 15 + "t" * 18
    return f"""
    name = "{name}"
    source = {{ query = 'SELECT * FROM "{table}"' }}
    privacy = {{ k = 2 }}
    release = {{ kind = "{kind}", to = "{"r" * 63}" }}
    [quasi_identifiers.{"q" * 63}]
    hierarchy = {{ table = '"{table}"', columns = ["{"q" * 63}", "{"s" * 63}"] }}
    [sensitive.{"s" * 63}]
    """


@on("postgres")
@pytest.mark.parametrize("kind", ["table", "view"])
def test_names_as_long_as_they_may_be(far: FarDatabase, kind: str, tmp_path: Path) -> None:
    """63 bytes; what is kept for a view has a longer name, and is not cut: what a cut name means, nobody knows."""
    table = quoted("Tä" * 15 + "t" * 18)
    with duckdb.connect() as db:
        db.execute(
            f"CREATE TABLE {table} AS SELECT 'v' || i % 4 AS {'q' * 63}, 'w' || i % 4 AS {'s' * 63} FROM range(40) r(i)"
        )
        said = released_alike(db, far, tmp_path, long_names(kind), [table], kind, "r" * 63)
    assert said["status"] == "released"
    kept = [name for (name,) in far.sql("SELECT CAST(relname AS text) FROM pg_class WHERE relname LIKE 'pppp%'")]
    assert [len(name.encode()) <= 63 and name.endswith((": source", ": labels_0")) for name in kept] == [True] * len(
        kept
    )
    assert len(kept) == (2 if kind == "view" else 0)
