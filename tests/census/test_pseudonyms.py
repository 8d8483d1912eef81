"""Pseudonyms against Python's own hmac, and a key that is nowhere to be found."""

from __future__ import annotations

import hashlib
import hmac
import json

import duckdb
import pytest

from duckanon import EngineError, Policy
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.paths import ROOT
from tests.support.people import PEOPLE

KEY = "0123456789abcdef-not-for-production"
POLICY = PEOPLE.replace(
    'identifiers = ["name"]', 'identifiers = ["name"]\npseudonyms = ["id"]\n[pseudonyms]\nkey_env = "DUCKANON_KEY"'
)


def pseudonym(value: object, key: str = KEY, policy: str = "people") -> str:
    """As docs/pseudonyms.md says it."""
    policy_key = hmac.new(key.encode(), policy.encode(), hashlib.sha256).digest()
    return hmac.new(policy_key, str(value).encode("utf-8"), hashlib.sha256).hexdigest()


@pytest.fixture
def patients(people: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """The people, each with a number of their own; the key is in the environment."""
    people.sql("ALTER TABLE people ADD COLUMN id BIGINT", "UPDATE people SET id = substr(name, 8)::BIGINT * 1001")
    monkeypatch.setenv("DUCKANON_KEY", KEY)
    return people


def released(folder: Folder, duckanon: Command, policy: str = POLICY) -> set[str | None]:
    told = duckanon("run", folder.policy(policy), "--json")
    assert told.code == 0, told.err
    return {row[0] for row in folder.sql("SELECT id FROM people_anonymous")}


def test_a_pseudonym_is_the_hmac_of_the_text(patients: Folder, duckanon: Command) -> None:
    told = duckanon("run", patients.policy(POLICY.replace("suppression = 0.1", "suppression = 0")), "--json")
    assert told.code == 0
    assert told.json["warnings"] == []
    found = [row[0] for row in patients.sql("SELECT id FROM people_anonymous ORDER BY id")]
    assert found == sorted(pseudonym(i * 1001) for i in range(200))


VALUES: dict[str, list[object]] = {
    "VARCHAR": ["a", "", "0042", "é ü 漢字 🦆", "x" * 200, "it's"],
    "BIGINT": [-1, 0, 2**62],
    "DECIMAL(20, 0)": [7, 12345678901234567890],
    "DATE": ["2024-02-29"],
    "UUID": ["00000000-0000-0000-0000-0000000000ab"],
}


def test_any_text_number_or_date(patients: Folder, duckanon: Command) -> None:
    columns = []
    for place, (kind, values) in enumerate(VALUES.items()):
        listed = ", ".join("'" + str(value).replace("'", "''") + "'" for value in values)
        columns.append(f"CAST([{listed}, NULL][1 + nth % {len(values) + 1}] AS {kind}) AS id_{place}")
    patients.sql(
        "CREATE TABLE numbered AS SELECT * EXCLUDE (id), row_number() OVER () AS nth FROM people",
        f"CREATE OR REPLACE TABLE people AS SELECT * EXCLUDE (nth), {', '.join(columns)} FROM numbered",
    )
    names = [f"id_{place}" for place in range(len(VALUES))]
    told = duckanon("run", patients.policy(POLICY.replace('["id"]', str(names).replace("'", '"'))))
    assert told.code == 0, told.err
    for name, values in zip(names, VALUES.values(), strict=True):
        found = {row[0] for row in patients.sql(f"SELECT {name} FROM people_anonymous")}
        assert found == {*map(pseudonym, values), None}


def test_columns_of_one_policy_stay_joinable(patients: Folder, duckanon: Command) -> None:
    patients.sql(
        "ALTER TABLE people ADD COLUMN mother VARCHAR", "UPDATE people SET mother = ((id + 1001) // 1)::VARCHAR"
    )
    released(patients, duckanon, POLICY.replace('["id"]', '["id", "mother"]'))
    ids, mothers = (
        {row[0] for row in patients.sql(f"SELECT {name} FROM people_anonymous")} for name in ("id", "mother")
    )
    assert ids & mothers
    assert ids | mothers <= {pseudonym(i * 1001) for i in range(201)}


def test_another_key_or_policy_gives_other_pseudonyms(
    patients: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = released(patients, duckanon)
    assert released(patients, duckanon) == first
    other = POLICY.replace('name = "people"', 'name = "others"')
    patients.sql("DROP TABLE people_anonymous")
    assert not released(patients, duckanon, other) & first
    monkeypatch.setenv("DUCKANON_KEY", KEY + "2")
    patients.sql("DROP TABLE people_anonymous")
    assert not released(patients, duckanon) & first


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_and_their_check(kind: str, patients: Folder, duckanon: Command) -> None:
    policy = patients.policy(
        POLICY.replace('kind = "table"', f'kind = "{kind}"').replace("people_anonymous", f"o.{kind}")
    )
    assert duckanon("run", policy).code == 0
    rows = patients.sql(f"SELECT DISTINCT id FROM '{patients.path / f'o.{kind}'}'")
    assert {row[0] for row in rows} <= {pseudonym(i * 1001) for i in range(200)}
    assert duckanon("check", policy, "--release").code == 0


def test_numbers_in_a_csv_file_keep_their_zeros(patients: Folder, duckanon: Command) -> None:
    patients.sql(
        "CREATE OR REPLACE TABLE people AS SELECT * REPLACE (lpad(id::VARCHAR, 9, '0') AS id) FROM people",
        f"COPY people TO '{patients.path / 'people.csv'}'",
    )
    source = 'table = "people"\ndatabase = "warehouse.duckdb"'
    policy = patients.policy(POLICY.replace(source, 'file = "people.csv"\ndatabase = "warehouse.duckdb"'))
    assert duckanon("run", policy).code == 0
    assert patients.sql(f"SELECT count(*) FROM people_anonymous WHERE id = '{pseudonym('000050050')}'") == [(1,)]


@pytest.mark.parametrize("method", ["optimal", "climb"])
def test_every_method_releases_them(method: str, patients: Folder, duckanon: Command) -> None:
    policy = POLICY + f'[search]\nmethod = "{method}"\n'
    assert released(patients, duckanon, policy) <= {pseudonym(i * 1001) for i in range(200)}


def test_nothing_of_the_order_of_the_values_remains(patients: Folder, duckanon: Command) -> None:
    released(patients, duckanon)
    rows = patients.sql("SELECT age, zip, sex, disease, id FROM people_anonymous ORDER BY rowid")
    groups: dict[object, list[str]] = {}
    for *others, found in rows:
        groups.setdefault(tuple(others), []).append(found)
    assert all(found == sorted(found) for found in groups.values())


@pytest.mark.parametrize("key", [None, "", "too short"])
def test_no_run_without_a_good_key(
    key: str | None, patients: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = patients.policy(POLICY)
    monkeypatch.delenv("DUCKANON_KEY")
    if key is not None:
        monkeypatch.setenv("DUCKANON_KEY", key)
    told = duckanon("run", policy)
    assert told.code == 2
    assert "DUCKANON_KEY" in told.err
    assert "openssl rand" in told.err
    assert not key or key not in told.err
    assert patients.sql("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'people_anonymous'") == [(0,)]


def test_what_makes_no_pseudonyms_needs_no_key(
    patients: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DUCKANON_KEY")
    policy = patients.policy(POLICY)
    assert duckanon("check", policy).code == 1
    assert duckanon("sql", policy, "--levels", "age=2").code == 0
    assert duckanon("hierarchy", policy).code == 0


def test_the_key_is_written_nowhere(patients: Folder, duckanon: Command) -> None:
    policy = patients.policy(POLICY)
    told = [duckanon(*line) for line in (("run", policy, "--json"), ("sql", policy), ("check", policy, "--release"))]
    said = "".join(t.out + t.err for t in told)
    written = said.encode() + b"".join(file.read_bytes() for file in patients.path.iterdir() if file.is_file())
    for secret in secrets_of():
        assert secret not in written
        assert secret.hex().encode() not in written.lower()
    assert "$inner_pad" in said


def secrets_of(key: str = KEY, policy: str = "people") -> list[bytes]:
    """The key, the policy's own key, and what HMAC makes of that."""
    policy_key = hmac.new(key.encode(), policy.encode(), hashlib.sha256).digest()
    return [key.encode(), policy_key, *(bytes(byte ^ pad for byte in policy_key) for pad in (0x36, 0x5C))]


def holds_a_secret(written: str) -> bool:
    """Whether a text holds any of them: plain, in hexadecimal digits, or as DuckDB writes a BLOB."""
    folded = written.lower().replace("\\\\", "\\")
    spelled = [spelling for secret in secrets_of() for spelling in (secret.hex(), repr(secret)[2:-1].lower())]
    with duckdb.connect() as connection:
        blobs = [connection.execute("SELECT ?::BLOB::VARCHAR", [secret]).fetchall()[0][0] for secret in secrets_of()]
    return any(spelling in folded for spelling in [*spelled, *(blob.lower() for blob in blobs)])


SPIES = {
    "the old variables": "hex(getvariable('duckanon_inner_pad')::BLOB)",
    "all variables": "(SELECT string_agg(v::VARCHAR, ' ') FROM duckdb_variables() AS v)",
    "all settings": "(SELECT string_agg(s::VARCHAR, ' ') FROM duckdb_settings() AS s)",
    "prepared statements": "(SELECT string_agg(p::VARCHAR, ' ') FROM duckdb_prepared_statements() AS p)",
    "temporary files": "(SELECT string_agg(t::VARCHAR, ' ') FROM duckdb_temporary_files() AS t)",
}


def spied(folder: Folder, source: str, spies: dict[str, str]) -> str:
    """A policy over the people, with what each spy has seen in a column that is kept: note_0, note_1, …"""
    notes = [f"note_{place}" for place in range(len(spies))]
    seen = ", ".join(f"coalesce({spy}, 'nothing') AS {note}" for spy, note in zip(spies.values(), notes, strict=True))
    query = f"SELECT *, {seen} FROM people"
    folder.sql(f"CREATE VIEW spied AS {query}")
    keep = "keep = " + str(notes).replace("'", '"')
    text = POLICY.replace('identifiers = ["name"]', f'identifiers = ["name"]\n{keep}')
    return text.replace('table = "people"', 'table = "spied"' if source == "view" else f'query = """{query}"""')


@pytest.mark.parametrize("source", ["view", "query"])
def test_the_source_cannot_see_the_key(source: str, patients: Folder, duckanon: Command) -> None:
    found = released(patients, duckanon, spied(patients, source, SPIES))
    assert found <= {pseudonym(i * 1001) for i in range(200)}
    for place, name in enumerate(SPIES):
        notes = patients.sql(f"SELECT DISTINCT note_{place} FROM people_anonymous")
        assert not holds_a_secret(str(notes)), name
        assert "variables" not in name or notes == [("nothing",)]


@pytest.mark.parametrize("source", ["view", "query"])
def test_nor_when_rows_are_added(source: str, patients: Folder, duckanon: Command) -> None:
    """Settings are not the same in two runs, and rows that changed are none to add to; variables are."""
    text = spied(patients, source, {name: spy for name, spy in SPIES.items() if "variables" in name})
    released(patients, duckanon, text)
    told = duckanon("run", patients.policy(text), "--incremental")
    assert told.code == 0, told.err
    assert patients.sql("SELECT DISTINCT note_0, note_1 FROM people_anonymous") == [("nothing", "nothing")]


def test_macros_of_the_warehouse_are_not_handed_the_key(patients: Folder, duckanon: Command) -> None:
    """A macro may bear the name of a function or operator, and would stand in its place."""
    patients.sql(
        "CREATE MACRO sha256(x) AS hex(x)",
        "CREATE MACRO encode(x) AS CAST('' AS BLOB)",
        "CREATE MACRO unhex(x) AS CAST('' AS BLOB)",
        "CREATE SCHEMA system",
    )
    assert released(patients, duckanon) <= {pseudonym(i * 1001) for i in range(200)}
    patients.sql("DROP TABLE people_anonymous", 'CREATE MACRO "||"(a, b) AS hex(a)')
    flat = "\n".join(line for line in POLICY.splitlines() if not line.startswith("hierarchy"))  # labels are joined, too
    assert released(patients, duckanon, flat) <= {pseudonym(i * 1001) for i in range(200)}


def test_profiles_logs_and_traces_do_not_hold_the_key(patients: Folder) -> None:
    from duckanon.engine.duckdb.warehouse import DuckDB

    policy = Policy.parse(POLICY.replace('database = "warehouse.duckdb"', ""))
    profile = patients.path / "profile.json"
    with duckdb.connect(str(patients.database)) as connection:
        connection.execute("CALL enable_logging(level = 'trace')")
        connection.execute("SET enable_profiling = 'json'")
        connection.execute(f"SET profiling_output = '{profile}'")
        profiles: list[str] = []
        engine = DuckDB.wrap(connection)
        run = engine.run

        def profiled(*given: object, **named: object) -> object:
            answer = run(*given, **named)  # type: ignore[arg-type]
            profiles.append(profile.read_text() if profile.exists() else "")
            return answer

        engine.run = profiled  # type: ignore[method-assign, assignment]
        from duckanon import run as run_policy

        with engine.traced() as executed:
            assert run_policy(policy, engine).status == "released"
        connection.execute("PRAGMA disable_profiling")
        logs = str(connection.execute("SELECT message FROM duckdb_logs()").fetchall())
        traced = str([str(part.statement) for part in executed])
        variables = connection.execute("SELECT * FROM duckdb_variables()").fetchall()
    assert "inner_pad" in logs  # the statement was logged, its parameters were not
    assert any("pseudonyms" in text for text in profiles)
    assert not any(map(holds_a_secret, (logs, traced, *profiles)))
    assert variables == []


def test_no_pseudonym_without_a_key() -> None:
    from sqlglot import exp

    from duckanon.census.pseudonyms import Pseudonym, pseudonymized
    from duckanon.engine import Column
    from duckanon.engine.duckdb.warehouse import DuckDB
    from duckanon.engine.scratch import Scratch
    from duckanon.engine.types import TEXT

    cells = exp.select("k0").from_("ids")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE ids AS SELECT 1 AS k0")
        engine = DuckDB.wrap(connection)
        scratch = Scratch(engine)
        with pytest.raises(EngineError):
            engine.fetch(pseudonymized(cells, ("k0",), (Pseudonym("id", TEXT),), scratch))
        assert pseudonymized(cells, ("k0",), (Column("id", TEXT),), scratch) == cells
    assert "secret" not in repr(Pseudonym("id", TEXT, b"secret"))


def test_a_view_cannot_hold_a_key(patients: Folder, duckanon: Command) -> None:
    told = duckanon("run", patients.policy(POLICY.replace('kind = "table"', 'kind = "view"')))
    assert told.code == 2
    assert "release.kind: a view cannot hold the key" in told.err


@pytest.mark.parametrize("kind", ["DOUBLE", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]"])
def test_values_without_a_text_of_their_own_are_refused(kind: str, patients: Folder, duckanon: Command) -> None:
    patients.sql("ALTER TABLE people DROP id", f"ALTER TABLE people ADD COLUMN id {kind}")
    told = duckanon("run", patients.policy(POLICY))
    assert told.code == 2
    assert f"id: is of type {kind}" in told.err


def test_a_pseudonym_column_must_be_there(patients: Folder, duckanon: Command) -> None:
    told = duckanon("run", patients.policy(POLICY.replace('["id"]', '["ident"]')))
    assert told.code == 2
    assert "columns.pseudonyms: ident" in told.err


def test_the_recipe_of_the_documentation() -> None:
    """The Python of docs/pseudonyms.md gives what a run gives."""
    text = (ROOT / "docs" / "pseudonyms.md").read_text(encoding="utf-8")
    recipe = text.split("```python\n")[1].split("```")[0]
    known: dict[str, object] = {}
    exec(recipe, known)
    assert known["pseudonym"](KEY, "people", 42) == pseudonym(42)  # type: ignore[operator]
    assert json.dumps(pseudonym(42))[1:-1].isalnum()
