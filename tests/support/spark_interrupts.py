"""A run in Spark that is told to stop while the server works on its statement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.folder import Folder
from tests.support.spark import Lake, SparkServer
from tests.support.spark_kills import POLICY, load, run, shown

# Hours of work, and nothing to wait for before it begins.
SLOW = "SELECT p.* FROM people p CROSS JOIN RANGE(1000000000) r WHERE r.id >= p.age"


def busy(server: SparkServer) -> float:
    """Seconds that the server has worked."""
    fields = Path(f"/proc/{server.process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


def is_idle(server: SparkServer) -> bool:
    before = busy(server)
    time.sleep(0.5)
    return busy(server) - before < 0.05


def is_interrupted_and_goes_on(server: SparkServer, lake: Lake, folder: Folder, planning: float = 0.5) -> None:
    """Also the statement ends, in a session that goes on; `planning` is what the server works before it counts."""
    load(lake, 0)
    policy = folder.policy(POLICY.replace('table = "people"', f'query = "{SLOW}"'))
    command = [sys.executable, "-m", "duckanon", "run", str(policy), "--db", lake.address, "--log", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ended:
        assert ended.stderr is not None
        while '"step": "source"' not in ended.stderr.readline():
            assert ended.poll() is None
        before = busy(server)
        until(lambda: busy(server) > before + planning)
        assert ended.poll() is None
        ended.send_signal(signal.SIGINT)
        out, err = ended.communicate(timeout=60)
    assert (ended.returncode, out) == (130, ""), err
    assert "interrupted; nothing was written" in err
    until(lambda: is_idle(server))
    assert lake.tables() == {"people"}
    assert [found.name for found in lake.session.catalog.listTables()] == ["people"]
    assert run(folder.policy(POLICY), lake) == 0
    assert shown(lake) == ("d0", 200)
