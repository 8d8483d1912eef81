"""A network that goes silent: a run ends in bounded time, and hears Ctrl-C at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from duckanon.engine.postgres.connection import _url
from duckanon.policy.database import ServerAddress
from tests.support.far_people import FAR
from tests.support.far_place import Place
from tests.support.folder import Folder
from tests.support.proxy import Proxy, proxy

SLOW = FAR.replace('table = "people"', 'query = "SELECT p.* FROM people p, pg_sleep(60) s"')


def through(between: Proxy, place: Place) -> str:
    return f"postgresql://{place.user}@127.0.0.1:{between.port}/{place.database}"


@contextmanager
def started(policy: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--db", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def test_ctrl_c_while_nothing_arrives_any_more(inhabited: Place, folder: Folder) -> None:
    """The statement cannot be called off, either: the server finds out by itself."""
    with proxy(inhabited.folder) as between, started(folder.policy(SLOW), through(between, inhabited)) as run:
        inhabited.until_busy()
        between.silent.set()
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=25)
    assert (run.returncode, out, err) == (130, "", "duckanon: interrupted; nothing was written\n")


def test_ctrl_c_while_a_server_does_not_answer(inhabited: Place, folder: Folder) -> None:
    with proxy(inhabited.folder) as between:
        between.silent.set()
        with started(folder.policy(FAR), through(between, inhabited)) as run:
            time.sleep(2)
            assert run.poll() is None
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=25)
    assert (run.returncode, out, err) == (130, "", "duckanon: interrupted; nothing was written\n")


def test_a_server_that_does_not_answer_is_not_waited_for(inhabited: Place, folder: Folder) -> None:
    with proxy(inhabited.folder) as between:
        between.silent.set()
        with started(folder.policy(FAR), through(between, inhabited) + "?connect_timeout=2") as run:
            _, err = run.communicate(timeout=25)
    assert run.returncode == 2
    assert "cannot be opened: " in err
    assert "timeout expired" in err


# In a network of its own, whose one device goes down under way: nobody answers that nobody answers.
CUT = """
import fcntl, socket, struct, sys, threading
from duckanon.cli.words import main
from duckanon.engine.postgres import connection
from tests.support.far_place import Place
from tests.support.proxy import Proxy
policy, folder, database = sys.argv[1:]
def device(up):
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", 0x49 if up else 0x8))  # SIOCSIFFLAGS
device(up=True)
between = Proxy(folder)
connection._SAID |= {"keepalives_idle": "1", "keepalives_interval": "1", "tcp_user_timeout": "2000"}
def cut():
    Place(folder, database).until_busy()
    device(up=False)
threading.Thread(target=cut, daemon=True).start()
sys.exit(main(["run", policy, "--db", f"postgresql://duckanon@127.0.0.1:{between.port}/{database}"]))
"""


@pytest.mark.root
@pytest.mark.linux
def test_a_network_that_goes_down_is_noticed(inhabited: Place, folder: Folder) -> None:
    """By the same settings, with a shorter patience than two minutes."""
    script = folder.path / "cut.py"
    script.write_text(CUT, encoding="utf-8")
    command = ["unshare", "--net", sys.executable, str(script), str(folder.policy(SLOW)), inhabited.folder]
    ended = subprocess.run([*command, inhabited.database], capture_output=True, text=True, check=False, timeout=25)
    assert (ended.returncode, "the connection to the server is lost" in ended.stderr) == (2, True), ended.stderr


@pytest.mark.unit
def test_what_an_address_says_of_its_connection_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = "keepalives_idle=60&keepalives_interval=10&keepalives_count=6&tcp_user_timeout=120000"
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    assert _url(ServerAddress("postgresql://h/d")) == (
        f"postgresql://h/d?application_name=duckanon&connect_timeout=30&{patience}"
    )
    assert _url(ServerAddress("postgresql://h/d?keepalives_idle=5")) == (
        "postgresql://h/d?keepalives_idle=5&application_name=duckanon&connect_timeout=30&keepalives_interval=10"
        "&keepalives_count=6&tcp_user_timeout=120000"
    )
    assert _url(ServerAddress("postgresql://?service=nightly")) == (
        "postgresql://?service=nightly&application_name=duckanon"
    )
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    assert "connect_timeout" not in _url(ServerAddress("postgresql://h/d"))
