"""PostgreSQL's types: released as they are or as texts, or refused by name with what to do."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import duckdb
import pytest

from duckanon.engine.types import Family, Type
from duckanon.query.dialects.postgres import PostgresDialect
from duckanon.query.expressions import column
from tests.support.command import Command
from tests.support.far import PostgresDatabase, on_postgres
from tests.support.folder import Folder
from tests.support.postgres import Server

OWN_TYPES = """
CREATE TYPE mood AS ENUM ('sad', 'happy', 'never'); CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN short AS varchar(4); CREATE DOMAIN feeling AS mood; CREATE TYPE pair AS (a int, b text)
"""
# A type, its values, and what a release has for it: the type where it is not the same, the texts where they are others.
RELEASED: dict[str, tuple[list[str], str]] = {
    "numeric(8,2)": (["1.50", "1.5", "-0.00", "123456.78"], "numeric"),
    "numeric": (["1.5", "2.25", "NaN"], "double precision"),
    "numeric(40,2)": (["1.50", "2.25"], "double precision"),
    "char(5)": (["a", "a  ", "b", ""], "text"),
    "varchar(9)": (["a", "a  ", "b", ""], "character varying"),
    "text": (["a", "a  ", "", "x\ny", "é", "e\u0301"], "text"),
    '"char"': (["a", "b"], "text"),
    "name": (["a", "b"], "text"),
    "mood": (["happy", "sad"], "text"),
    "feeling": (["happy", "sad"], "text"),
    "positive": (["1", "2"], "positive"),
    "short": (["a", "b"], "short"),
    "uuid": (["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "uuid"),
    "timestamp": (["2020-06-01 10:00:00.123456", "0044-03-15 00:00:00 BC", "infinity", "-infinity"], "timestamp"),
    "date": (["2020-01-01", "0044-03-15 BC", "12000-01-01", "infinity", "-infinity"], "date"),
    "time": (["10:00:00", "23:59:59.5", "24:00:00"], "time"),
    "timetz": (["10:00:00+02", "10:00:00+03"], "text"),
    "bool": (["true", "false"], "boolean"),
    "json": (['{"a": 1}', '{"a":1}'], "text"),
    "jsonb": (['{"a": 1}', "[1, 2]"], "text"),
    "inet": (["10.0.0.1/32", "10.0.0.1/24"], "text"),
    "interval": (["1 day", "24:00:00", "1 mon", "30 days"], "text"),
    "bytea": (["\\x00ff", "\\x01"], "text"),
    "int4range": (["[1,3)", "[2,3)"], "text"),
    "float8": (["1", "1.5", "0", "-0", "NaN", "Infinity", "1e+16", "1e-07"], "double precision"),
    "float4": (["1", "1.1", "-0", "1e+06"], "real"),
    "bigint": (["1", "9223372036854775807"], "bigint"),
    "oid": (["1", "4294967295"], "bigint"),
    "bit(3)": (["101", "001"], "text"),
}
DOMAINS = ("positive", "short")  # with one of them, a table is made of the source itself, not of cells that are sent
UNSAID = ("interval", "bytea", "timestamptz")  # no view has a label of theirs
ALWAYS = {"table": UNSAID, "view": DOMAINS}  # what the other of the two does not take
KEPT_ONLY = {"int[]": ["{1,2}", "{}", "{NULL}", "{{1,2},{3,4}}"], "text[]": ['{a,"b c"}', "{c}"]}
ZONED = {"timestamptz": ["2020-01-01 10:00:00+02", "1890-01-01 00:00:00Z", "infinity"]}
ROLES = {
    "quasi-identifiers": "[quasi_identifiers]\nCOLUMNS\n[columns]\nkeep = ['z']\n",
    "sensitive": "[quasi_identifiers.z]\n[sensitive]\nCOLUMNS\n",
    "kept": "[quasi_identifiers.z]\n[columns]\nkeep = [NAMES]\n",
}
POLICY = 'name = "p"\nsource = { table = "people" }\nprivacy = { k = 2 }\nrelease = { kind = "KIND", to = "TO" }\n'


def filled(database: PostgresDatabase, types: dict[str, list[str]]) -> list[str]:
    """A table of four rows for each value, in a column for each type, and for none; the names of the columns."""
    names = [f"c{place}" for place in range(len(types))]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    database.sql(*OWN_TYPES.split(";"), f"CREATE TABLE people ({columns}, z text)")
    for number in range(max(map(len, types.values())) + 1):
        cells = [f"'{values[number]}'::{kind}" if number < len(values) else "NULL" for kind, values in types.items()]
        database.sql(f"INSERT INTO people SELECT {', '.join(cells)}, 'z' FROM generate_series(1, 4)")
    return names


def in_turn(types: dict[str, list[str]], kind: str, role: str) -> dict[str, list[str]]:
    """Every second one: each type has each role once where the rows lie and once in a file. Kept are all, everywhere,
    since nothing is counted of them."""
    if role == "kept":
        return types
    first = (kind in ("table", "csv")) == (role == "sensitive")
    always = ALWAYS.get(kind, ())
    return {word: types[word] for place, word in enumerate(types) if (place % 2 == 0) == first or word in always}


def policy(role: str, kind: str, names: list[str]) -> str:
    to = "out" if kind in ("table", "view") else f"out.{kind}"
    # A distance takes a pass over every column's values, which thirty columns need in one place only.
    asked = {"quasi-identifiers": "{}", "sensitive": "{ l = 1, t = 0.9 }" if kind == "table" else "{ l = 1 }"}.get(role)
    columns = "\n".join(f"{name} = {asked}" for name in names)
    listed = ", ".join(f"'{name}'" for name in names)
    return POLICY.replace("KIND", kind).replace("TO", to) + ROLES[role].replace("COLUMNS", columns).replace(
        "NAMES", listed
    )


def counted(
    database: PostgresDatabase, relation: str, names: list[str], zeros: Collection[str] = ()
) -> list[Counter[Any]]:
    """How often each text of each column occurs; -0 is 0 in some."""
    texts = [
        f"CASE WHEN {name} = 0 THEN '0' ELSE CAST({name} AS text) END" if name in zeros else f"CAST({name} AS text)"
        for name in names
    ]
    rows = database.sql(f"SELECT {', '.join(texts)} FROM {relation}")
    return [Counter(values) for values in zip(*rows, strict=True)]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["table", "view"])
def test_released_where_they_lie(
    postgres_database: PostgresDatabase, folder: Folder, duckanon: Command, kind: str, role: str
) -> None:
    """Every value is what it was, but for -0, of a type of PostgreSQL's own."""
    types = {word: values for word, (values, _) in RELEASED.items()} | ZONED | (KEPT_ONLY if role == "kept" else {})
    types = in_turn(types, kind, role)
    unsaid = {"table": DOMAINS, "view": UNSAID if role == "quasi-identifiers" else ()}[kind]
    types = {word: values for word, values in types.items() if word not in unsaid}
    names = filled(postgres_database, types)
    told = duckanon("run", folder.policy(policy(role, kind, names)), "--db", postgres_database.address)
    assert told.code == 0, told.err
    zeros = [name for name, word in zip(names, types, strict=True) if word in ("float4", "float8")]
    released = counted(postgres_database, "out", names)
    source = counted(postgres_database, "people", names, zeros)
    (shown,) = postgres_database.sql(
        f"SELECT {', '.join(f'CAST(pg_typeof({n}) AS text)' for n in names)} FROM out LIMIT 1"
    )
    for word, found, expected, type_ in zip(types, released, source, shown, strict=True):
        if word == "numeric(40,2)":
            expected = Counter({"1.5": 4, "2.25": 4, None: expected[None]})
        assert (word, found) == (word, expected)
        assert type_.startswith(RELEASED[word][1] if word in RELEASED else type_)
    assert duckanon("check", folder.path / "policy.toml", "--release", "--db", postgres_database.address).code == 0


def test_a_domain_a_length_and_a_collation_stay(
    postgres_database: PostgresDatabase, folder: Folder, duckanon: Command
) -> None:
    """A table is made anew, and its columns are still those of the source."""
    words = ("varchar(9)", "timestamp(3)", "short", 'text COLLATE "C"')
    names = filled(postgres_database, {word: ["0044-03-15 BC"] if "time" in word else ["a", "b"] for word in words})
    told = duckanon("run", folder.policy(policy("kept", "table", names)), "--db", postgres_database.address)
    assert told.code == 0, told.err
    declared = (
        "CAST(attname AS text), format_type(atttypid, atttypmod), CAST(CAST(attcollation AS regcollation) AS text)"
    )
    of = "SELECT {} FROM pg_attribute WHERE attrelid = CAST('{}' AS regclass) AND attname LIKE 'c_' ORDER BY 1"
    released, before = (postgres_database.sql(of.format(declared, table)) for table in ("out", "people"))
    assert released == before
    assert len(before) == len(words)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_written_to_files(
    postgres_database: PostgresDatabase, folder: Folder, duckanon: Command, kind: str, role: str
) -> None:
    types = {kind: values for kind, (values, _) in RELEASED.items()} | ZONED
    types |= KEPT_ONLY if role == "kept" else {}
    names = filled(postgres_database, types := in_turn(types, kind, role))
    told = duckanon("run", folder.policy(policy(role, kind, names)), "--db", postgres_database.address)
    assert told.code == 0, told.err
    written = rows_of(folder.path / f"out.{kind}", kind, names)
    for name, word, source in zip(names, types, counted(postgres_database, "people", names), strict=True):
        if word in ("json", "jsonb", "bytea", "inet", "interval", "uuid", "int[]", "text[]", "bool", "mood", "short"):
            assert (word, Counter(row[name] for row in written)) == (word, source)
        merged = len({"1.50", "1.5"} & source.keys()) == 2 or {"0", "-0"} <= source.keys()
        assert len({row[name] for row in written}) == len(source) - merged, word
    assert duckanon("check", folder.path / "policy.toml", "--release", "--db", postgres_database.address).code == 0


def rows_of(path: Path, kind: str, names: list[str]) -> list[dict[str, Any]]:
    """As texts; an empty one of a CSV file is no NULL if it is quoted."""
    options = ", all_varchar = true, allow_quoted_nulls = false" if kind == "csv" else ""
    texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in names)
    with duckdb.connect() as db:
        rows = db.execute(f"SELECT {texts} FROM read_{kind}('{path}'{options})").fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


REFUSED = {
    ("pair", "keep = ['c']"): "c: is of type public.pair, which cannot be released — cast it in source.query",
    ("int[]", "q"): "c: is of type integer[], not a single value — cast it in source.query",
    ("timestamptz", "view"): "c: is of type timestamp with time zone: the readers of a view choose",
    ("interval", "view"): "c: is of type interval, whose text the session of who asks decides",
    ("bytea", "view"): "c: is of type bytea, whose text the session of who asks decides",
    ("float8", "pseudonyms = ['c']"): "c: is of type double precision, whose text can change",
}


@pytest.mark.parametrize(("type_", "role"), REFUSED)
def test_refused_by_name(
    postgres_database: PostgresDatabase,
    folder: Folder,
    duckanon: Command,
    monkeypatch: pytest.MonkeyPatch,
    type_: str,
    role: str,
) -> None:
    monkeypatch.setenv("KEY", "0123456789" * 5)
    postgres_database.sql(*OWN_TYPES.split(";"), f"CREATE TABLE people (c {type_}, z text)")
    kind, quasi = ("view" if role == "view" else "table"), role in ("q", "view")
    text = POLICY.replace("KIND", kind).replace("TO", "out")
    text += "[quasi_identifiers.z]\n" + ("[quasi_identifiers.c]\n" if quasi else f"[columns]\n{role}\n")
    text += "[pseudonyms]\nkey_env = 'KEY'\n" if "pseudonyms" in role else ""
    told = duckanon("run", folder.policy(text), "--db", postgres_database.address)
    assert told.code == 2
    assert REFUSED[type_, role] in told.err


@pytest.mark.parametrize("kind", ["numeric(8,2)"])
def test_what_no_decimal_is(postgres_database: PostgresDatabase, folder: Folder, duckanon: Command, kind: str) -> None:
    names = filled(postgres_database, {kind: ["1", "NaN"]})
    told = duckanon("run", folder.policy(policy("kept", "table", names)), "--db", postgres_database.address)
    assert told.code == 2
    assert "a numeric column of the source holds NaN" in told.err
    assert "cast it in source.query, to double precision" in told.err


def test_what_is_too_late(postgres_database: PostgresDatabase, folder: Folder, duckanon: Command) -> None:
    """For the driver, which would give another moment."""
    names = filled(postgres_database, {"timestamp": ["294276-12-31", "2020-01-01"]})
    told = duckanon("run", folder.policy(policy("kept", "csv", names)), "--db", postgres_database.address)
    assert told.code == 2
    assert "after the year 294246" in told.err
    assert "294276" not in told.err


COLLATED = {
    "citext": "c: is of type public.citext, which cannot be released — cast it in source.query: CAST(column AS text)",
    "text COLLATE ci": 'are equal, which cannot be released — cast it in source.query: column COLLATE "C"',
}


@pytest.mark.parametrize("type_", COLLATED)
def test_texts_that_are_equal_and_look_different(
    old_postgres: Server, folder: Folder, duckanon: Command, type_: str
) -> None:
    with old_postgres.new_database() as address, on_postgres(address) as database:
        database.sql(
            "CREATE EXTENSION citext",
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            f"CREATE TABLE people (c {type_}, z text)",
        )
        told = duckanon("run", folder.policy(policy("quasi-identifiers", "table", ["c"])), "--db", address)
        assert told.code == 2
        assert COLLATED[type_] in told.err
        remedied = POLICY.replace(
            'table = "people"', "query = 'SELECT CAST(c AS text) COLLATE \"C\" AS c, z FROM people'"
        )
        remedied = remedied.replace("KIND", "table").replace("TO", "out") + ROLES["quasi-identifiers"]
        database.sql("INSERT INTO people SELECT x, 'z' FROM unnest(ARRAY['a', 'A']) x, generate_series(1, 3)")
        told = duckanon("run", folder.policy(remedied.replace("COLUMNS", "c = {}")), "--db", address, "--json")
        assert told.code == 0, told.err
        assert told.json["classes"] == 2


def test_a_number_has_one_text(postgres_database: PostgresDatabase) -> None:
    """That of the workbench, of double and of single precision. Of whole numbers beyond 2⁵³, or 2²⁴ of single
    precision, the two may choose different last digits."""
    chance = random.Random(0)
    whole = [float(sign * 10**power + less) for power in range(15) for sign in (1, -1) for less in (0, -1)]
    parts = [float(f"{sign * chance.random() * 10.0**power:.12g}") for power in range(-12, 15) for sign in (1, -1)]
    numbers = [*whole, *parts, 0.0, 0.1, 1e15, 123e14, 1e16, 1e-4, 9.9999e-5, 1.5e300, math.inf, -math.inf, math.nan]
    with duckdb.connect() as db:
        for duck, far in (("DOUBLE", "double precision"), ("FLOAT", "real")):
            fit = numbers if duck == "DOUBLE" else [float(f"{n:.6g}") for n in numbers if not 2**24 < abs(n) < math.inf]
            values = ", ".join(f"({place}, CAST('{n!r}' AS {{kind}}))" for place, n in enumerate(fit))
            query = f"SELECT {{text}} FROM (VALUES {values}) AS t (p, v) ORDER BY p"
            text = Type(Family.FLOAT, far, dialect="postgres").text(column("v")).sql(PostgresDialect, identify=True)
            ours = db.execute(query.format(text="CAST(v AS VARCHAR)", kind=duck)).fetchall()
            assert postgres_database.sql(query.format(text=text, kind=far)) == ours
