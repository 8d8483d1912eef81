"""The pandas tools from PyPI, in an environment of their own (they pin old numpy and pandas), on the same file."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path

import duckanon
from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import SENSITIVE, Data, invented
from bench.policies import Wanted, policy
from bench.stopwatch import best, fastest

QUASI_IDENTIFIERS = 5  # what the pandas tools finish within minutes
ENVIRONMENT = Path(__file__).parents[1] / ".venv-peers"
PACKAGES = ["pycanon>=1.3,<2", "anjana>=1.2,<2", "pyarrow>=15"]


def against_peers(setting: Setting) -> list[Figure]:
    data = invented(setting.folder, setting.peer_rows).first(QUASI_IDENTIFIERS)
    heading(f"Peers from PyPI, {data.name}, {len(data.names)} quasi-identifiers")
    if not _installed():
        print("(pycanon and anjana cannot be installed here; skipped)")
        return []
    released = policy(data, setting.folder, Wanted())
    found = _peer_seconds(data, _hierarchy_tables(released))
    metrics, run = _our_seconds(data, released, setting.times)
    table("task", "peer", "seconds", "duckanon", "ratio")
    for task, peer, seconds in found:
        ours = metrics if peer == "pycanon" else run
        line(task, peer, shown(seconds), shown(ours), times_as(seconds / ours))
    checks = sum(seconds for _, peer, seconds in found if peer == "pycanon")
    runs = sum(seconds for _, peer, seconds in found if peer == "anjana")
    return [
        compared(f"pycanon's five figures / duckanon.metrics, {data.name}", checks, metrics),
        compared(f"anjana's k = 5 / duckanon run, {data.name}", runs, run),
    ]


def _installed() -> bool:
    mark = ENVIRONMENT / "installed"
    if mark.exists() and mark.read_text() == repr(PACKAGES):
        return True
    venv.create(ENVIRONMENT, with_pip=True)
    ended = subprocess.run(
        [str(ENVIRONMENT / "bin" / "pip"), "install", "--quiet", *PACKAGES], capture_output=True, check=False
    )
    if ended.returncode == 0:
        mark.write_text(repr(PACKAGES))
    return ended.returncode == 0


def _hierarchy_tables(released: Path) -> dict[str, dict[str, list[str]]]:
    """Each hierarchy as {value: its label at every level}: what the peers take is taken from ours."""
    from duckanon.census.counting import take_census
    from duckanon.census.source import bind_source
    from duckanon.engine.duckdb.warehouse import DuckDB
    from duckanon.engine.scratch import Scratch

    wanted = duckanon.Policy.load(released)
    tables: dict[str, dict[str, list[str]]] = {}
    with DuckDB.open(None, writable=True) as engine:
        scratch = Scratch(engine)
        census = take_census(wanted, bind_source(wanted, engine, scratch), scratch)
        for hierarchy in census.hierarchies:
            labels = ", ".join(["value::VARCHAR", *(f"label_{level}" for level in range(1, hierarchy.height))])
            rows = engine.connection.execute(f"SELECT {labels} FROM {hierarchy.mapping.sql('duckdb')}").fetchall()
            tables[hierarchy.column.name] = {row[0]: [*map(str, row), hierarchy.top] for row in rows}
    return tables


def _peer_seconds(data: Data, hierarchies: dict[str, dict[str, list[str]]]) -> list[tuple[str, str, float]]:
    """Task, peer and seconds."""
    script = Path(__file__).parent / "peer_script.py"
    ended = subprocess.run(
        [str(ENVIRONMENT / "bin" / "python"), str(script), str(data.file), json.dumps(data.names)],
        input=json.dumps(hierarchies),
        capture_output=True,
        text=True,
        check=True,
    )
    return [(task, peer, seconds) for task, peer, seconds in json.loads(ended.stdout.splitlines()[-1])]


def _our_seconds(data: Data, released: Path, times: int) -> tuple[float, float]:
    """All metrics in the process, as pycanon is timed; and a whole run of the command, its start included."""

    def metrics() -> None:
        with duckanon.connect() as db:
            duckanon.metrics(db, str(data.file), qi=data.names, sensitive=SENSITIVE)

    return best(metrics, times), fastest(times, "duckanon", "run", str(released)).seconds
