"""The place of a release on disk: what it must not be, whose it is, and who may read what stands there."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow.dataset
import pytest

from duckanon.release import file
from tests.support.command import Command
from tests.support.folder import Folder, rows
from tests.support.people import NAMED, PEOPLE, UNCOMPARED, partitioned, released_to

KINDS = {
    "parquet": released_to("parquet", "out") + UNCOMPARED,
    "csv": released_to("csv", "out") + UNCOMPARED,
    "folder": partitioned("parquet", "out") + UNCOMPARED,
    "csv folder": partitioned("csv", "out") + UNCOMPARED,
}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


# -- who may read it ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_release_has_the_mode_that_the_umask_gives(
    people: Folder, duckanon: Command, umask: Callable[[int], int], kind: str
) -> None:
    for mask, expected in ((0o027, 0o640), (0o002, 0o664)):
        umask(mask)
        policy = people.policy(KINDS[kind].replace('to = "out"', f'to = "out{mask}"'))
        assert duckanon("run", policy).code == 0
        out = people.path / f"out{mask}"
        folders = [out, *(path for path in out.rglob("*") if path.is_dir())] if out.is_dir() else []
        files = [path for path in out.rglob("*") if path.is_file()] if folders else [out]
        files += [beside] if (beside := people.path / f".out{mask}.duckanon").exists() else []
        assert {mode(path) for path in files} == {expected}
        assert {mode(path) for path in folders} <= {0o777 & ~mask}


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_keeps_its_mode(
    people: Folder, duckanon: Command, umask: Callable[[int], int], kind: str, replace: bool
) -> None:
    policy, out = people.policy(KINDS[kind]), people.path / "out"
    if replace:
        out.write_text("somebody's")
    else:
        assert duckanon("run", policy).code == 0
    out.chmod(0o604)
    assert duckanon("run", policy, *(["--replace"] if replace else [])).code == 0
    assert mode(out) == 0o604
    if kind == "csv":
        assert mode(people.path / ".out.duckanon") == 0o604


@pytest.mark.parametrize("kind", ["folder", "csv folder"])
def test_a_folder_keeps_its_mode_and_what_is_new_inside_is_no_more_open(
    people: Folder, duckanon: Command, umask: Callable[[int], int], kind: str
) -> None:
    policy, out = people.policy(KINDS[kind]), people.path / "out"
    assert duckanon("run", policy).code == 0
    next((out / "sex=F").iterdir()).chmod(0o604)
    shutil.rmtree(out / "sex=M")
    out.chmod(0o750)
    assert duckanon("run", policy).code == 0
    assert mode(out) == 0o750
    assert {path.relative_to(out).parts[0]: mode(path) for path in out.rglob("data_0.*")} == {
        "sex=F": 0o604,
        "sex=M": 0o640,
    }
    assert {path.name: mode(path) for path in out.iterdir()} == {"sex=F": 0o755, "sex=M": 0o750}


@pytest.mark.root
@pytest.mark.parametrize("kind", ["parquet", "folder"])
def test_owner_and_group_stay_where_possible(people: Folder, duckanon: Command, kind: str) -> None:
    policy, out = people.policy(KINDS[kind]), people.path / "out"
    assert duckanon("run", policy).code == 0
    os.chown(out, 1234, 2345)
    out.chmod(0o750)
    assert duckanon("run", policy).code == 0
    status = out.stat()
    assert (status.st_uid, status.st_gid, mode(out)) == (1234, 2345, 0o750)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_finished_is_for_nobody_else(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, umask: Callable[[int], int], kind: str
) -> None:
    """Not before it is verified."""
    found: list[int] = []

    def look(old: Path, new: Path, usual: int) -> None:
        found.append(mode(new))

    monkeypatch.setattr(file, "pass_on", look)
    umask(0o000)
    assert duckanon("run", people.policy(KINDS[kind])).code == 0
    assert found == [0o700 if "folder" in kind else 0o600]


# -- what is no file ------------------------------------------------------------------------------


def run_apart(*arguments: object, seconds: float = 30) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which must not hang."""
    command = [sys.executable, "-m", "duckanon", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


STRANGE = ["fifo", "link to a fifo", "socket", "device"]
# Every kind of release onto a pipe, and one onto everything else that is no file.
ONTO = [(kind, "fifo") for kind in KINDS] + [("csv folder", what) for what in STRANGE[1:]]


@pytest.mark.parametrize(("kind", "what"), ONTO)
def test_a_pipe_is_no_place_for_a_release(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, kind: str, what: str
) -> None:
    out, policy = people.path / "out", people.policy(KINDS[kind])
    if what == "fifo":
        os.mkfifo(out)
    elif what == "link to a fifo":
        os.mkfifo(people.path / "pipe")
        out.symlink_to("pipe")
    elif what == "socket":
        monkeypatch.chdir(people.path)  # the name of a socket must be short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("out")
    else:
        out.symlink_to("/dev/null")
    files = people.files()
    told = run_apart("run", policy, "--replace")
    assert (told.returncode, "is a pipe, a socket or a device" in told.stderr) == (2, True), told.stderr
    for command in (("run",), ("run", "--dry-run"), ("check", "--release")):
        assert duckanon(command[0], policy, *command[1:]).code == 2
    assert people.files() == files
    assert not out.is_file()


def test_a_pipe_as_the_mark_of_a_release_is_no_mark(people: Folder) -> None:
    (people.path / "out").write_text("somebody's")
    os.mkfifo(people.path / ".out.duckanon")
    told = run_apart("run", people.policy(KINDS["csv"]))
    assert (told.returncode, "not made by this policy" in told.stderr) == (2, True)


@pytest.mark.parametrize("what", ["ledger", "hierarchy", "source", "database"])
def test_a_pipe_is_no_input(people: Folder, what: str) -> None:
    pipe = people.path / "in.csv"
    os.mkfifo(pipe)
    text = KINDS["csv"] + NAMED
    source = 'table = "people"\ndatabase = "warehouse.duckdb"'
    text = {
        "ledger": text.replace("ledger.duckdb", "in.csv"),
        "hierarchy": text.replace("[quasi_identifiers.sex]", '[quasi_identifiers.sex]\nhierarchy = "in.csv"'),
        "source": text.replace(source, 'file = "in.csv"'),
        "database": text.replace('"warehouse.duckdb"', '"in.csv"'),
    }[what]
    told = run_apart("run", people.policy(text))
    assert (told.returncode, "in.csv: is " in told.stderr, "Traceback" in told.stderr) == (2, True, False), told.stderr


# -- two policies, one place ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "folder"])
def test_of_two_policies_at_once_the_second_fails_as_it_would_alone(people: Folder, kind: str) -> None:
    people.sql("INSERT INTO people SELECT p.* FROM people p, range(1000)")
    policies = [
        people.policy(KINDS[kind].replace('name = "people"', f'name = "{name}"'), f"{name}.toml")
        for name in ("one", "other")
    ]
    command = [sys.executable, "-m", "duckanon", "run", "--wait", "60"]
    runs = [
        subprocess.Popen([*command, str(policy)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for policy in policies
    ]
    ended = [(run.communicate()[1], run.returncode) for run in runs]
    assert sorted(code for _, code in ended) == [0, 2]
    assert ["not made by this policy" in said for said, code in ended if code] == [True]


@pytest.mark.parametrize(
    ("kind", "came"), [("parquet", "file"), ("csv", "folder"), ("folder", "folder"), ("csv folder", "file")]
)
def test_who_came_in_the_meantime_keeps_the_place(
    people: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, kind: str, came: str
) -> None:
    """Another user's run, say, whose lock is not ours."""
    out, policy = people.path / "out", people.policy(KINDS[kind])
    settle = file.FileTarget.settle

    def late(target: file.FileTarget, mark: str) -> None:
        if came == "folder":
            out.mkdir()
            (out / "precious").write_text("precious")
        else:
            out.write_text("precious")
        settle(target, mark)

    monkeypatch.setattr(file.FileTarget, "settle", late)
    told = duckanon("run", policy)
    assert (told.code, f"release.to: {out}" in told.err) == (2, True)
    assert (out / "precious" if came == "folder" else out).read_text() == "precious"
    assert people.files() == ["out", "policy.toml", "warehouse.duckdb"]


def test_what_is_left_of_a_longer_name_is_not_ours(people: Folder, duckanon: Command) -> None:
    """`out.new` died between two renames; a run to `out` takes neither its old release nor its new one."""
    policy = people.policy(KINDS["folder"].replace('to = "out"', 'to = "out.new"'))
    assert duckanon("run", policy).code == 0
    before = rows(people.path / "out.new")
    (people.path / "out.new").rename(people.path / ".out.new.0123.previous")
    assert duckanon("run", people.policy(KINDS["folder"].replace("k = 3", "k = 4"), "other.toml")).code == 0
    assert duckanon("run", policy, "--dry-run").code == 0
    assert rows(people.path / "out.new") == before


# -- folders that others read ---------------------------------------------------------------------


def sorted_rows(frame: pandas.DataFrame) -> list[tuple[str, ...]]:
    columns = [frame[name].astype(str) for name in ("age", "zip", "sex", "disease")]
    return sorted(zip(*columns, strict=True))


def test_everybody_can_read_a_folder_of_partitions(people: Folder, duckanon: Command) -> None:
    assert duckanon("run", people.policy(KINDS["folder"])).code == 0
    out = str(people.path / "out")
    expected = rows(people.path / "out")
    with duckdb.connect() as connection:
        assert sorted_rows(connection.execute(f"FROM '{out}/*/*.parquet'").df()) == expected
    assert sorted_rows(pandas.read_parquet(out)) == expected
    assert sorted_rows(polars.read_parquet(out).to_pandas()) == expected
    assert sorted_rows(polars.scan_parquet(out).collect().to_pandas()) == expected
    table = pyarrow.dataset.dataset(out, partitioning="hive").to_table()
    assert sorted_rows(table.to_pandas()) == expected
    assert {path.name for path in Path(out).iterdir()} == {"sex=F", "sex=M"}


def as_earlier_versions_wrote(out: Path) -> None:
    """With the mark inside."""
    beside = out.with_name(f".{out.name}.duckanon")
    said = json.loads(beside.read_text())
    (out / ".duckanon").write_text(json.dumps({"mark": said["mark"], "files": said["files"][0]}))
    beside.unlink()


@pytest.mark.parametrize("kind", ["folder", "csv folder"])
def test_a_folder_of_an_earlier_version_is_ours_and_its_mark_moves(
    people: Folder, duckanon: Command, kind: str
) -> None:
    policy, out = people.policy(KINDS[kind]), people.path / "out"
    told = duckanon("run", policy, "--json")
    as_earlier_versions_wrote(out)
    assert duckanon("check", policy, "--release", "--json").json["levels"] == told.json["levels"]
    other = people.policy(KINDS[kind].replace('name = "people"', 'name = "other"'), "other.toml")
    assert duckanon("run", other).code == 2
    (out / "notes.txt").write_text("precious")
    assert duckanon("run", policy).code == 2
    (out / "notes.txt").unlink()
    assert duckanon("run", policy).code == 0
    assert not (out / ".duckanon").exists()
    assert (people.path / ".out.duckanon").is_file()
    assert duckanon("run", policy).code == 0


# Around the swap of two folders of this version: test_files.py.
KILLED = [("pass_on", False), ("sidecar_of", False), ("sidecar_of", True), ("swap", True), ("swapped", True)]


@pytest.mark.parametrize(("moment", "earlier"), KILLED)
def test_whatever_stands_is_ours_at_every_moment(people: Folder, duckanon: Command, moment: str, earlier: bool) -> None:
    """Killed at any step of the swap, the next run finds a folder of its own."""
    policy, out = people.policy(KINDS["folder"]), people.path / "out"
    assert duckanon("run", policy).code == 0
    if earlier:
        as_earlier_versions_wrote(out)
    before = rows(out)
    people.sql("INSERT INTO people SELECT * FROM people")
    dies = {
        "pass_on": "file.pass_on = die",
        "sidecar_of": "os.replace = die",
        "swap": "folder._exchanged = die",
        "swapped": "swap = folder._exchanged; folder._exchanged = lambda *two: (swap(*two), die())",
    }
    script = (
        "import os, signal\nfrom duckanon.cli.words import main\nfrom duckanon.release import file, folder\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{dies[moment]}\nmain(['run', {str(policy)!r}])"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode == -9
    assert (rows(out) == before) == (moment != "swapped")
    assert duckanon("check", policy, "--release").code == 0
    assert duckanon("run", policy).code == 0
    assert people.files() == [".out.duckanon", "out", "policy.toml", "warehouse.duckdb"]
    assert {path.name for path in out.iterdir()} == {"sex=F", "sex=M"}


def test_a_folder_that_is_no_release_is_not_removed(people: Folder, duckanon: Command) -> None:
    """Not even with --replace; what writers of such folders leave in them is no data."""
    text = PEOPLE.replace('kind = "table"', 'kind = "parquet"\npartition_by = ["sex"]').replace(
        "people_anonymous", "out"
    )
    precious = people.path / "out" / "k" / "precious.txt"
    precious.parent.mkdir(parents=True)
    precious.write_text("precious")
    for options in ([], ["--replace"]):
        told = duckanon("run", people.policy(text), *options)
        assert told.code == 2
        assert "holds 1 file and is no release of any policy" in told.err
        assert "--replace" not in told.err
    assert precious.read_text() == "precious"
    precious.unlink()
    (people.path / "out" / "_SUCCESS").touch()
    assert duckanon("run", people.policy(text), "--replace").code == 0
