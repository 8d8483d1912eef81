"""kill -9 at every step of a release in Spark: a reader finds the last release or the new one, and no litter stays."""

from __future__ import annotations

import subprocess
import sys

from duckanon.engine.spark.connection import wait_no_more
from tests.support.folder import Folder
from tests.support.spark import Lake, sail
from tests.support.spark_kills import POLICY, STEPS, is_killed_and_mended, load


def test_killed_at_every_step(lake: Lake, folder: Folder) -> None:
    """After a statement is before the next one: nothing is written between them."""
    moments = [(statement, moment) for statement in STEPS for moment in ("before", "while")]
    is_killed_and_mended(lake, folder, [*moments, (STEPS[-1], "after")])


GONE = """
import os, signal, sys
from duckanon.cli.words import main
from duckanon.engine.spark.connection import wait_no_more
from duckanon.engine.spark.warehouse import Spark
server, *arguments = sys.argv[1:]
run = Spark._run
def gone(self, text):
    if text.startswith("INSERT INTO"):
        os.kill(int(server), signal.SIGKILL)
        wait_no_more(self.session)
    run(self, text)
Spark._run = gone
sys.exit(main(arguments))
"""


def test_a_server_that_goes_under_way(folder: Folder) -> None:
    policy, script = folder.policy(POLICY), folder.path / "gone.py"
    script.write_text(GONE, encoding="utf-8")
    with sail() as server, server.lake() as lake:
        load(lake, 0)
        command = [sys.executable, str(script), str(server.process), "run", str(policy), "--db", lake.address]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        wait_no_more(lake.session)
    assert ended.returncode == 2
    assert ended.stderr == "duckanon: the server cannot be reached, or the connection is lost\n"
