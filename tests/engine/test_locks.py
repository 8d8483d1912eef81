"""Locks: one run to a place at a time, whatever becomes of the others, in a folder that is ours alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from duckanon.engine.lock import hold, lock_path, locked, one_at_a_time
from duckanon.errors import BusyError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.unit
def test_a_lock_is_known_by_its_key_and_by_nothing_else() -> None:
    assert lock_path(("run", "a", "b")) == lock_path(("run", "a", "b"))
    assert len({lock_path(key) for key in (("a", "b"), ("ab",), ("b", "a"), ("a",), ("a", "b", ""))}) == 5


@pytest.mark.unit
def test_what_is_held_is_held_by_one() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        first = hold(path)
        assert first is not None
        assert hold(path) is None
        os.close(first)
        second = hold(path)
        assert second is not None
        os.close(second)
        assert hold(path / "gone") is None


@pytest.mark.unit
def test_where_nobody_else_can_write_nothing_is_locked() -> None:
    with one_at_a_time(None, 0), one_at_a_time(None, 0):
        pass


@pytest.mark.unit
def test_who_holds_a_lock_is_told_to_who_wants_it(tmp_path: Path) -> None:
    key = (str(tmp_path / "place"), "warehouse")
    told = (
        rf"releases to {tmp_path}/place is under way \(process {os.getpid()}, since .* UTC\); wait for it with --wait"
    )
    with one_at_a_time(key, 0), pytest.raises(BusyError, match=told), one_at_a_time(key, 0):
        pass
    with one_at_a_time(key, 0):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    key = ("test", str(tmp_path))
    code = f"from duckanon.engine.lock import locked\nwith locked('x', {key!r}): print(1, flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(BusyError, match=f"process {holder.pid}"), locked("x", key):
        pass
    holder.kill()
    holder.communicate()
    assert lock_path(key).exists()
    with locked("x", key):
        pass
    assert not lock_path(key).exists()


def test_locks_keep_their_word_under_pressure(tmp_path: Path) -> None:
    key, inside, most = ("test", str(tmp_path)), [], []

    def work() -> None:
        for _ in range(10):
            with locked("x", key, wait=60):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == [1] * 40


@pytest.mark.unit
def test_a_lock_is_no_way_into_other_files(tmp_path: Path) -> None:
    key, precious = ("test", str(tmp_path)), tmp_path / "precious"
    precious.write_text("precious")
    lock_path(key).symlink_to(precious)
    try:
        with pytest.raises(BusyError, match="cannot be opened"), locked("x", key):
            pass
        assert precious.read_text() == "precious"
    finally:
        lock_path(key).unlink()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


@pytest.mark.unit
def test_locks_lie_where_nobody_else_can_put_one(temporary: Path) -> None:
    folder = lock_path(("key",)).parent
    assert (folder.parent, mode(folder)) == (temporary, 0o700)
    with one_at_a_time(("key",), 0):
        assert [path.suffix for path in folder.iterdir()] == [".lock"]


@pytest.mark.unit
@pytest.mark.parametrize("taken", ["by a file", "by a link", "open to all", "by somebody"])
def test_a_folder_of_locks_that_is_not_ours_alone_is_refused(
    temporary: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    folder = temporary / f"duckanon-{os.getuid()}"
    if taken == "by a file":
        folder.write_text("")
    elif taken == "by a link":
        folder.symlink_to(tmp_path_factory.mktemp("elsewhere"))
    elif taken == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.mkdir(0o700)
        if os.getuid() == 0:
            os.chown(folder, 1234, 1234)
        else:
            monkeypatch.setattr(os, "getuid", lambda: 1234)
            folder.rename(temporary / "duckanon-1234")
    with pytest.raises(BusyError, match="is no folder of yours"), one_at_a_time(("key",), 0):
        pass
    session = tmp_path_factory.mktemp("session")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    if taken != "by somebody" or os.getuid() == 0:
        assert lock_path(("key",)).parent == session
    session.chmod(0o755)
    with pytest.raises(BusyError, match="is no folder of yours"):
        lock_path(("key",))
