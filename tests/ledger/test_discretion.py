"""What the log and the ledger keep of an error: its words, whole, and none of the values in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from duckanon.engine.duckdb.client_errors import without_partitions
from duckanon.errors import DuckanonError, Fault, Message, PolicyError, Value, discreet, examples_of, said_of
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.ledgers import rows_of
from tests.support.people import EXPORT, NAMED

PARTITIONED = (
    EXPORT.replace('kind = "csv"', 'kind = "parquet"\npartition_by = ["city"]')
    .replace("people.csv", "people")
    .replace('identifiers = ["name"]', 'identifiers = ["name"]\nkeep = ["city", "note"]')
)


# -- messages -------------------------------------------------------------------------------------


def test_a_message_keeps_its_values_apart_from_its_words() -> None:
    message = Message.of("it doesn't map ", examples_of(["Alice", "O'Hara"]), "; clean the source")
    assert message == "it doesn't map 'Alice', 'O'Hara'; clean the source"
    assert message.discreet == "it doesn't map '…', '…'; clean the source"
    assert Message.of("--incremental: ", message).discreet.startswith("--incremental: it doesn't map '…'")


def test_what_forgets_that_a_value_is_one_does_not_show_it() -> None:
    assert f"such as {Value('Alice')}" == "such as …"
    assert f"{Message.of('such as ', Value('Alice'))} and more" == "such as … and more"
    assert discreet(Value("Alice")) == "…"


def test_errors_carry_both() -> None:
    fault = Fault("age", Message.of("does not map ", Value("Alice")), "add it")
    one, two = PolicyError([fault], "p.toml"), PolicyError([fault, fault], "p.toml")
    assert str(one) == "p.toml: age: does not map Alice — add it"
    assert str(two).count("Alice") == 2
    for error in (one, two, DuckanonError(fault.message)):
        assert "Alice" not in said_of(error)
        assert "does not map … — add it" in said_of(error)
    assert said_of(OSError(28, "No space left on device", "/city=Rome/x")) == "No space left on device"
    assert said_of(ValueError("Alice")) == "unexpected ValueError"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('write "/r/city=O\'Hare "X"/data_0.csv": full', 'write "/r/city=…/data_0.csv": full'),
        ('make "/r/a=1/city=Rome"!', 'make "/r/a=…/city=…"!'),
        ("/r/a.csv has x=1", "/r/a.csv has x=1"),
    ],
)
def test_a_path_without_what_its_partitions_say(text: str, shown: str) -> None:
    assert without_partitions(text) == shown


# -- runs -----------------------------------------------------------------------------------------


# Python ignores SIGXFSZ by itself. Nothing is to be done between fork and exec: a client of Spark that an earlier test
# has started would not stand it.
SMALL_FILES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
os.execv(sys.executable, [sys.executable, "-m", "duckanon", *sys.argv[1:]])
"""


def test_a_full_disk_names_no_partition(people: Folder, duckanon: Command) -> None:
    people.sql(
        "CREATE TABLE many AS SELECT p.*, 'Patient City ' || (i % 3) AS city, md5(random()::VARCHAR) AS note "
        "FROM people p, range(300) r (i)",
        "DROP TABLE people",
        "ALTER TABLE many RENAME TO people",
    )
    policy = people.policy(PARTITIONED)
    command = [sys.executable, "-c", SMALL_FILES, "run", str(policy)]
    for options in (["--log", "json"], []):
        ended = subprocess.run(command + options, capture_output=True, text=True, check=False)
        assert ended.returncode == 2, ended.stderr
        assert "File too large" in ended.stderr
        assert "Patient" not in ended.stderr
    assert "city=…" in ended.stderr


def test_source_folders_that_disagree_name_nobody(folder: Folder, duckanon: Command) -> None:
    for name, columns in {"Alice Smith": "1 AS age, 'F' AS sex", "Bob Jones": "2 AS age"}.items():
        place = folder.path / "people" / f"name={name}"
        place.mkdir(parents=True)
        duckdb.sql(f"COPY (SELECT {columns}) TO '{place}/data.parquet'")
    text = """
        name = "p"
        [source]
        file = "people"
        [privacy]
        k = 2
        [quasi_identifiers.age]
        [columns]
        identifiers = ["name", "sex"]
        [release]
        kind = "csv"
        to = "o.csv"
    """
    first = folder.policy(
        text.replace('"people"', '"alone.csv"').replace('"o.csv"', '"first.csv"') + NAMED, "first.toml"
    )
    (folder.path / "alone.csv").write_text("name,age,sex\na,1,F\nb,1,M\nc,1,F\n")
    assert duckanon("run", first).code == 0
    told = duckanon("run", folder.policy(text + NAMED))
    assert told.code == 2
    assert "name=…/data.parquet has a column sex" in told.err
    *_, row = rows_of(folder.path / "ledger.duckdb")
    logged = duckanon("run", folder.policy(text + NAMED), "--log", "json").err
    for person in ("Alice", "Bob", "Smith", "Jones"):
        assert person not in told.err + row["message"] + logged


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("s.csv", "Alice Smith,Rome\n" + "a,x\n" * 4),  # without its header
        ("s.csv", "ag,s,Alice Smith\n" + "a,x,1\n" * 4),
        ("s.csv", "age,s,Alice Smith\n" + "a,x,1\n" * 4),
        ("s.csv", "agee,s\n" + "a,x\n" * 4),
        ("s.json", '{"age": "a", "s": "x", "Alice Smith": 1}\n' * 4),
        ("s/one.csv", "Aa Alice Smith,s\n" + "a,x\n" * 4),
        ("s/name=Alice Smith/.Alice/two.csv", "age,s\n" + "a,x\n" * 4),
    ],
)
def test_names_of_columns_that_the_policy_does_not_name_are_values(
    file: str, content: str, folder: Folder, duckanon: Command
) -> None:
    place = folder.path / file
    for each in (folder.path / "s" / "two.csv", folder.path / "s.csv"):
        each.parent.mkdir(exist_ok=True)
        each.write_text("age,s\n" + "a,x\n" * 4)
    text = (
        'name = "p"\n[source]\nfile = "s.csv"\n[privacy]\nk = 2\n[quasi_identifiers.age]\n[columns]\nkeep = ["s"]\n'
        '[release]\nkind = "csv"\nto = "o.csv"\n'
    )
    assert duckanon("run", folder.policy(text + NAMED)).code == 0
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    policy = folder.policy(text.replace("s.csv", file.partition("/")[0]) + NAMED)
    told = duckanon("run", policy)
    assert told.code == 2
    assert "alice" in told.err.lower() or "agee" in told.err  # who runs it sees the data
    logged = duckanon("run", policy, "--log", "json").err
    *_, row = rows_of(folder.path / "ledger.duckdb")
    for kept in (row["message"], json.loads(logged.splitlines()[-1])["message"]):
        assert "…" in kept
        assert not [word for word in ("alice", "smith", "rome", "agee") if word in kept.lower()]


def test_our_own_sentences_are_kept_whole(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(EXPORT + NAMED)).code == 0
    query = 'query = "SELECT * REPLACE (disease::INT AS disease) FROM people"'
    policy = people.policy(EXPORT.replace('table = "people"', query) + NAMED)
    logged = duckanon("run", policy, "--log", "json").err
    *_, row = rows_of(Path(people.path / "ledger.duckdb"))
    for told in (row["message"], json.loads(logged.splitlines()[-1])["message"]):
        assert told.endswith("may hold a person's values, so only --debug shows it")
