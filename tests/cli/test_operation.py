"""Exports that run every night: unchanged sources, locks, logs, signals, and the examples for schedulers."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckanon as api
from duckanon.cli.demo import demo
from duckanon.cli.words import parser
from duckanon.engine.lock import one_at_a_time
from duckanon.ledger import ReleaseAddress
from duckanon.policy import Policy
from tests.support.command import Command
from tests.support.folder import Folder
from tests.support.ledgers import lock_of, outcomes
from tests.support.paths import ROOT
from tests.support.people import EXPORT, NAMED, PEOPLE, UNCOMPARED

EXAMPLES, GUIDE = ROOT / "integrations" / "exports", ROOT / "docs" / "exports.md"
PARQUET = EXPORT.replace('kind = "csv"', 'kind = "parquet"').replace("people.csv", "people.parquet")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# -- only what has changed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        PEOPLE,
        PEOPLE.replace('"table"', '"view"'),
        EXPORT + NAMED,
        PARQUET + NAMED,
        PARQUET.replace('"people.parquet"', '"people"\npartition_by = ["sex"]') + NAMED,
    ],
)
def test_an_unchanged_source_is_left_alone(people: Folder, duckanon: Command, text: str) -> None:
    policy = people.policy(text)
    ledger = people.path / "ledger.duckdb" if NAMED in text else people.database
    assert duckanon("run", policy, "--if-changed", "--json").json["status"] == "released"
    before = [part for part in people.dump() if "releases" not in part[0]]
    told = duckanon("run", policy, "--if-changed", "--json")
    assert told.code == 0
    assert told.json["status"] == "unchanged"
    assert told.json["rows"]["source"] == 200
    assert [part for part in people.dump() if "releases" not in part[0]] == before
    assert outcomes(ledger) == ["released", "unchanged"]
    if text == PEOPLE:
        assert "unchanged since the release of" in duckanon("run", policy, "--if-changed").out


@pytest.mark.parametrize("kind", ["table", "csv"])
def test_any_change_is_seen(people: Folder, duckanon: Command, kind: str) -> None:
    text = PEOPLE + UNCOMPARED if kind == "table" else EXPORT + UNCOMPARED + NAMED
    text = text.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "sex.csv"')
    (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\n")

    def status(text: str = text) -> str:
        told = duckanon("run", people.policy(text), "--if-changed", "--json")
        assert told.code == 0, told.err
        return str(told.json["status"])

    assert [status(), status()] == ["released", "unchanged"]
    people.sql("DELETE FROM people WHERE name = 'person 3'")
    assert [status(), status()] == ["released", "unchanged"]
    if kind == "table":
        (people.path / "sex.csv").write_text("level_0,level_1\nF,*\nM,*\nX,*\n")
        assert [status(), status()] == ["released", "unchanged"]
        assert [status(text.replace("k = 3", "k = 4")), status(), status()] == ["released", "released", "unchanged"]
        people.sql("DROP TABLE people_anonymous")
    else:
        (people.path / "people.csv").unlink()
    assert [status(), status()] == ["released", "unchanged"]


def test_what_is_not_ours_is_not_unchanged(people: Folder, duckanon: Command) -> None:
    policy = people.policy(PEOPLE)
    assert duckanon("run", policy).code == 0
    people.sql("DROP TABLE people_anonymous", "CREATE TABLE people_anonymous AS SELECT 1 AS x")
    assert duckanon("run", policy, "--if-changed").code == 2
    told = duckanon("run", policy, "--if-changed", "--replace", "--json")
    assert told.json["status"] == "released"


@pytest.mark.parametrize("text", [PEOPLE + NAMED, EXPORT + NAMED])
def test_a_run_that_died_before_it_wrote_into_the_ledger_does_no_harm(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The ledger knows the release before it; when the source is again as it was then, what stands is still another."""
    from duckanon.ledger import FileLedger

    policy = people.policy(text)
    assert duckanon("run", policy).code == 0
    people.sql("CREATE TABLE before AS FROM people", "DELETE FROM people WHERE age < 30")
    with monkeypatch.context() as dying:
        dying.setattr(FileLedger, "settled", lambda *_: None)
        assert duckanon("run", policy).code == 0
    people.sql("DELETE FROM people", "INSERT INTO people FROM before")
    assert duckanon("run", policy, "--if-changed", "--json").json["status"] == "released"


def test_without_a_ledger_nobody_knows_what_has_changed(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(EXPORT), "--if-changed")
    assert told.code == 2
    assert "[ledger]" in told.err
    assert "people.csv" not in people.files()
    told = duckanon("run", people.policy(EXPORT + NAMED), "--if-changed", "--dry-run")
    assert told.code == 2
    assert "--dry-run" in told.err


def test_a_new_key_for_pseudonyms_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    import duckanon
    from duckanon.query.expressions import table
    from duckanon.release.fingerprints import source_fingerprint

    text = PEOPLE.replace('identifiers = ["name"]', 'pseudonyms = ["name"]') + '[pseudonyms]\nkey_env = "SOME_KEY"\n'
    policy = Policy.parse(text)
    found = set()
    with duckanon.connect() as db:
        db.workbench.connection.execute("CREATE TABLE people AS SELECT 1 AS name")
        for key in ("a" * 32, "b" * 32):
            monkeypatch.setenv("SOME_KEY", key)
            found.add(source_fingerprint(policy, table("people"), db))
    assert len(found) == 2


# -- one run at a time ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [PEOPLE, EXPORT])
def test_a_second_run_is_told_of_the_first(people: Folder, duckanon: Command, text: str) -> None:
    policy = people.policy(text)
    place = ReleaseAddress.of(Policy.load(policy), people.database)
    with one_at_a_time(place.key, 0):
        told = duckanon("run", policy)
        assert told.code == 2
        to = "people_anonymous" if text == PEOPLE else people.path / "people.csv"
        under_way = f"another run that releases to {to} is under way (process {os.getpid()}, since 20"
        assert under_way in told.err
        assert duckanon("run", policy, "--dry-run").code == 0
        other = people.policy(text.replace('name = "people"', 'name = "other"'), "other.toml")
        assert under_way in duckanon("run", other).err
    assert not lock_of(policy, people).exists()
    assert duckanon("run", policy, "--replace").code == 0
    assert not lock_of(policy, people).exists()


def test_databases_in_memory_do_not_meet(people: Folder) -> None:
    policy = Policy.load(people.policy(PEOPLE))
    assert ReleaseAddress.of(policy, None).key is None
    with duckdb.connect() as connection, one_at_a_time(("people_anonymous", ""), 0):
        connection.execute(f"ATTACH '{people.database}' AS w; CREATE TABLE people AS FROM w.people; DETACH w")
        assert api.run(policy, connection).status == "released"


def test_a_second_run_may_wait(people: Folder, duckanon: Command) -> None:
    policy = people.policy(EXPORT)
    place = ReleaseAddress.of(Policy.load(policy), people.database)
    held = threading.Event()

    def hold() -> None:
        with one_at_a_time(place.key, 0):
            held.set()
            time.sleep(0.5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    assert duckanon("run", policy, "--wait", 30).code == 0
    holder.join()
    assert duckanon("run", policy, "--wait", "soon").code == 2


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_database_in_use_is_waited_for(people: Folder, duckanon: Command, command: str) -> None:
    code = f"import duckdb, time; c = duckdb.connect({str(people.database)!r}); print(1, flush=True); time.sleep(0.7)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        policy = people.policy(PEOPLE)
        assert "in use" in duckanon(command, policy).err
        assert duckanon(command, policy, "--wait", 30).code == {"run": 0, "check": 1}[command]


# -- logs -----------------------------------------------------------------------------------------


def test_the_log_of_a_release(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE), "--log", "json", "--json")
    steps = lines(told.err)
    assert [s["step"] for s in steps] == ["started", "source", "census", "search", "release", "verify", "settled"]
    assert {s["policy"] for s in steps} == {"people"}
    assert all(s["time"].endswith("+00:00") for s in steps)
    assert all(s["seconds"] >= 0 for s in steps[1:])
    assert steps[2]["rows"] == 200
    assert steps[-1]["rows"] == told.json["rows"]
    assert lines(duckanon("run", people.policy(PEOPLE), "--log", "json", "--if-changed").err)[-1]["step"] == "unchanged"


def test_the_log_of_a_failure(people: Folder, duckanon: Command) -> None:
    told = duckanon("run", people.policy(PEOPLE.replace("k = 3", "k = 201")), "--log", "json")
    assert told.code == 1
    *_, last = lines(told.err)
    assert (last["step"], last["outcome"]) == ("failed", "infeasible")
    assert "201" in last["reasons"][0]
    assert "no feasible release" in told.out
    for wrong in (people.policy(PEOPLE.replace('"people"\nd', '"gone"\nd')), people.path / "gone.toml"):
        told = duckanon("run", wrong, "--log", "json")
        assert told.code == 2
        *_, last = lines(told.err)
        assert (last["step"], last["outcome"]) == ("failed", "error")
        assert last["message"]


# -- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stop", "text"), [(signal.SIGTERM, PARQUET + NAMED), (signal.SIGINT, PEOPLE)])
def test_a_stopped_run_leaves_a_line_in_the_ledger_and_nothing_else(
    people: Folder, duckanon: Command, stop: signal.Signals, text: str
) -> None:
    policy = people.policy(text)
    ledger = people.path / "ledger.duckdb" if NAMED in text else people.database
    place = f"'{people.path}/people.parquet'" if NAMED in text else "people_anonymous"
    assert duckanon("run", policy).code == 0
    relations = people.sql("SELECT schema_name, table_name FROM duckdb_tables()")
    released = people.sql(f"FROM {place}")
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(4000)")
    files = people.files()
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--log", "json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    while json.loads(process.stderr.readline())["step"] != "search":
        pass
    process.send_signal(stop)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert (lines(err)[-1]["step"], lines(err)[-1]["outcome"]) == ("failed", "interrupted")
    assert outcomes(ledger) == ["released", "interrupted"]
    assert people.files() == files
    assert people.sql(f"FROM {place}") == released
    assert people.sql("SELECT schema_name, table_name FROM duckdb_tables()") == relations
    assert not lock_of(policy, people).exists()
    assert list(Path(tempfile.gettempdir()).glob(f"duckanon-*-spill-{process.pid}-*")) == []


# -- the examples for schedulers ------------------------------------------------------------------


def command_lines(path: Path) -> list[list[str]]:
    """The arguments of every duckanon command in an example."""
    if path.suffix == ".py":
        constants = [ast.literal_eval(n) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.List)]
        return [words[1:] for words in constants if words and words[0] == "duckanon"]
    found = re.findall(
        r"^(?!\s*#).*?(?:^|[\s=/])duckanon ((?:run|history|status|check) [^)\n]*)",
        path.read_text(encoding="utf-8"),
        re.M,
    )
    return [shlex.split(re.sub(r"\s(>>|2>).*", "", words)) for words in found]


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("crontab", ["run", "status"]),
        ("duckanon@.service", ["run", "status"]),
        ("airflow_dag.py", ["run"]),
        ("github-actions.yml", ["run", "status", "check"]),
        ("dbt.sh", ["run"]),
    ],
)
def test_the_commands_of_the_examples(name: str, commands: list[str]) -> None:
    found = command_lines(EXAMPLES / name)
    assert [words[0] for words in found] == commands
    for words in found:
        options = parser().parse_args(words)
        named = options.policies if words[0] == "status" else [options.policy]
        assert named in (["patients.toml"], ["%i.toml"])


def test_every_example_is_in_the_documentation_and_the_other_way_round() -> None:
    named = re.findall(r"\(\.\./integrations/exports/([^)]+)\)", GUIDE.read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.name for path in EXAMPLES.iterdir())


@pytest.mark.parametrize("name", ["duckanon@.service", "duckanon@.timer"])
def test_the_units_of_systemd_are_well_formed(name: str) -> None:
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(EXAMPLES / name)
    known = {"duckanon@.service": ["Unit", "Service"], "duckanon@.timer": ["Unit", "Timer", "Install"]}
    assert unit.sections() == known[name]


@pytest.mark.parametrize("name", ["github-actions.yml", "dbt_project.yml"])
def test_the_yaml_of_the_examples(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert "\t" not in text
    assert all((len(line) - len(line.lstrip(" "))) % 2 == 0 for line in text.splitlines())
    if importlib.util.find_spec("yaml"):
        assert isinstance(importlib.import_module("yaml").safe_load(text), dict)


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the examples expect it: the demo's warehouse, the policy of the examples."""
    folder = tmp_path_factory.mktemp("exports")
    demo(folder, lambda _: None)
    shutil.copy(EXAMPLES / "patients.toml", folder)
    return folder


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    programs = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": programs, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["sh", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_crontab_end_to_end(exports: Path) -> None:
    jobs = [line.split(" ", 5)[5] for line in (EXAMPLES / "crontab").read_text().splitlines() if line[0].isdigit()]
    run, told = (
        job.replace("/srv/exports", str(exports)).replace("/opt/duckanon/bin/duckanon", f"{sys.executable} -m duckanon")
        for job in jobs
    )
    for _ in range(2):
        ended = shell(run, exports)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    log = lines((exports / "patients.log").read_text())
    assert [line["step"] for line in log if "step" in line if line["step"] in ("settled", "unchanged")] == [
        "settled",
        "unchanged",
    ]
    assert [line["status"] for line in log if "status" in line] == ["released", "unchanged"]
    ended = shell(told, exports)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", ""), "no news is good news"
    (exports / "ledger.duckdb").unlink()
    ended = shell(told, exports)
    assert ended.stdout.startswith("patients → parquet ")
    assert "NOT WELL, missing" in ended.stdout


def test_dbt_end_to_end(exports: Path) -> None:
    for program, script in {"dbt": "echo built", "duckanon": f'exec {sys.executable} -m duckanon "$@"'}.items():
        (exports / program).write_text(f"#!/bin/sh\n{script}\n")
        (exports / program).chmod(0o755)
    ended = shell((EXAMPLES / "dbt.sh").read_text(), exports)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("built\npatients: ")


def test_the_hook_for_dbt_stops_a_build(people: Folder, duckanon: Command) -> None:
    written = (EXAMPLES / "dbt_project.yml").read_text().split(">-\n")[1]
    hook = written.replace("'patients'", "'people'")
    assert duckanon("run", people.policy(PEOPLE)).code == 0
    with pytest.raises(duckdb.Error, match="ended as: never run"):
        people.sql(written)
    assert people.sql(hook) == [(None,)]
    assert duckanon("run", people.policy(PEOPLE.replace("k = 3", "k = 201"))).code == 1
    with pytest.raises(duckdb.Error, match="ended as: infeasible"):
        people.sql(hook)


def test_the_questions_of_an_auditor(people: Folder, duckanon: Command) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for command in re.findall(r"^\$ duckanon (.*)$", text, re.M):
        parser().parse_args(shlex.split(command))
    policy = people.policy(PEOPLE)
    assert duckanon("run", policy).code == 0
    assert duckanon("run", people.policy(EXPORT + '[ledger]\ndatabase = "warehouse.duckdb"\n')).code == 2
    assert duckanon("run", people.policy(PEOPLE.replace("_anonymous", "_again"))).code == 0
    late = PEOPLE.replace("k = 3", "k = 201").replace('name = "people"', 'name = "late"')
    late = late.replace("people_anonymous", "late")
    assert duckanon("run", people.policy(late)).code == 1
    questions = re.findall(r"```sql\n(.*?)```", text, re.S)
    answers = [len(people.sql(question)) for question in questions]
    #          released, measured, policies, twice, not released, late, warnings, by month
    assert answers == [2, 4, 3, 1, 1, 1, 1, 1]
