"""The Python API as its users write it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest

import duckanon
from duckanon.cli.words import main
from tests.support.folder import Folder
from tests.support.paths import ROOT
from tests.support.people import PEOPLE


def test_a_run_on_a_file(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with duckanon.connect(people.database) as db:
        result = duckanon.run(policy, db)
        again = duckanon.run(policy, db)
    assert result.levels == again.levels
    assert result.good
    assert result.constraints[0].constraint.name == "k"
    assert result.path
    assert result.privacy
    assert result.utility


def test_a_run_on_an_open_connection_leaves_it_as_it_was(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with duckdb.connect(str(people.database)) as connection:
        assert duckanon.run(policy, connection).status == "released"
        assert duckanon.check(policy, connection, release=True).status == "holds"
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        assert names == ["people", "people_anonymous", "release_constraints", "releases"]
        assert connection.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]
        with pytest.raises(duckanon.PolicyError):
            duckanon.run(duckanon.Policy.load(people.policy(PEOPLE.replace('"people"\nd', '"gone"\nd'))), connection)
        connection.execute("SELECT 1")


def test_a_policy_is_frozen(people: Folder) -> None:
    policy = duckanon.Policy.load(people.policy(PEOPLE))
    with pytest.raises(AttributeError):
        policy.k = 1  # type: ignore[misc]


def test_the_budget_is_taken_as_written() -> None:

    def budget(written: str, rows: int) -> int:
        return duckanon.Policy.parse(PEOPLE.replace("suppression = 0.1", f"suppression = {written}")).budget(rows)

    assert budget("0.29", 100) == 29
    assert budget("0.02", 30162) == 603
    assert budget("7", 100) == 7
    assert budget("700", 100) == 100


def test_a_database_in_memory_is_refused_only_where_the_release_would_vanish(tmp_path: object) -> None:
    with duckanon.connect() as db, pytest.raises(duckanon.ReleaseError):
        duckanon.run(duckanon.Policy.parse(PEOPLE), db)


def test_a_policy_may_be_a_path(people: Folder) -> None:
    path = people.policy(PEOPLE)
    with duckanon.connect(people.database) as db:
        assert duckanon.run(path, db).good
        assert duckanon.check(str(path), db, release=True).good
        assert len(duckanon.metrics(db, "people", qi="age"))


def test_an_open_transaction_is_refused_and_left_alone(people: Folder) -> None:
    with duckdb.connect(str(people.database)) as connection:
        connection.begin()
        connection.execute("CREATE TABLE mine AS SELECT 1 AS x")
        with pytest.raises(duckanon.EngineError, match="open transaction"):
            duckanon.run(people.policy(PEOPLE), connection)
        connection.commit()
        assert connection.execute("FROM mine").fetchall() == [(1,)]


def test_history_by_policy_file_and_by_name(people: Folder) -> None:
    path = people.policy(PEOPLE)
    with duckanon.connect(people.database) as db:
        duckanon.run(path, db)
        wanted: list[duckanon.Policy | str | Path] = [path, str(path), "people", duckanon.Policy.load(path)]
        assert [len(duckanon.history(db, policy)) for policy in wanted] == [1, 1, 1, 1]
        assert len(duckanon.history(db, "others")) == 0
        with pytest.raises(duckanon.PolicyError):
            duckanon.history(db, "gone.toml")


def test_a_function_stays_a_function_whoever_loads_its_module() -> None:
    code = "import duckanon.run, duckanon as d; assert callable(d.run) and callable(d.check); d.Policy"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- signals --------------------------------------------------------------------------------------

LOOK = """
import signal
before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
import duckanon
from duckanon.cli.words import main
duckanon.Policy, duckanon.connect()
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
"""


@pytest.mark.parametrize("package", [True, False])
def test_a_program_that_imports_us_keeps_its_signals(tmp_path: Path, package: bool) -> None:
    """Also while `python -m` is still loading it; also if it is called as we are."""
    program = tmp_path / "otherprogram"
    program.mkdir()
    (program / "__init__.py").write_text(LOOK if package else "")
    (program / "__main__.py").write_text("" if package else LOOK)
    subprocess.run([sys.executable, "-m", "otherprogram"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", ["duckanon", "duckanon.py"])
def test_so_does_one_of_our_name(tmp_path: Path, name: str) -> None:
    script = tmp_path / "bin" / name
    script.parent.mkdir()
    script.write_text("import sys\nsys.path.pop(0)\n" + LOOK)
    subprocess.run([sys.executable, script], check=True)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [["-m", "duckanon"], ["-c", "from duckanon.__main__ import main; main()"]])
def test_the_command_that_is_stopped_while_loading_leaves_quietly(
    tmp_path: Path, command: list[str], stop: signal.Signals
) -> None:
    """A module of the standard library that the command line needs sends the signal when it is loaded."""
    (tmp_path / "argparse.py").write_text(f"import os, time\nos.kill(os.getpid(), {int(stop)})\ntime.sleep(9)\n")
    told = subprocess.run(
        [sys.executable, *command, "demo"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
    )
    assert (told.returncode, told.stderr) == (130, "duckanon: interrupted; nothing was written\n")


def test_the_command_is_what_the_package_installs() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"duckanon": "duckanon.__main__:main"}


def test_who_wants_an_error_where_nothing_holds_gets_one(people: Folder) -> None:
    policy = people.policy(PEOPLE.replace("l = 2", "l = 90"))
    with duckanon.connect(people.database) as db:
        assert duckanon.run(people.policy(PEOPLE, "good.toml"), db, dry_run=True).or_raise().good
        with pytest.raises(
            duckanon.InfeasibleError, match=r"people: infeasible; .*l: 90 is above the 5 distinct"
        ) as why:
            duckanon.run(policy, db, dry_run=True).or_raise()
        assert isinstance(why.value.result, duckanon.Result)
        with pytest.raises(duckanon.InfeasibleError, match="people: violated; does not hold: k 1"):
            duckanon.check(people.policy(PEOPLE, "good.toml"), db).or_raise()


def test_debug_shows_the_statement_that_the_database_refused(people: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    policy = people.policy(
        PEOPLE.replace(
            'table = "people"', "query = \"SELECT * REPLACE (CAST(zip || 'x' AS INTEGER) AS zip) FROM people\""
        )
    )
    assert main(["run", str(policy)]) == 2
    assert "SELECT" not in capfd.readouterr().err
    assert main(["run", str(policy), "--debug"]) == 2
    assert "the statement was: CREATE TEMPORARY TABLE" in capfd.readouterr().err  # that which counts the source
