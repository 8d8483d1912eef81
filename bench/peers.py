"""The pandas tools from PyPI, in an environment of their own (they pin old numpy and pandas), on the same file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import venv
from pathlib import Path

import duckanon
from bench.people import NAMES, policy

# Five quasi-identifiers: what the pandas tools finish within minutes.
PEER_NAMES = NAMES[:5]
ENVIRONMENT = Path(__file__).parents[1] / ".venv-peers"
PACKAGES = ["pycanon>=1.3,<2", "anjana>=1.2,<2", "pyarrow>=15"]


def against_peers(folder: Path, source: Path, times: int) -> None:
    print(f"\n## Peers from PyPI, {source.stem}, {len(PEER_NAMES)} quasi-identifiers\n")
    if not _installed():
        print("(pycanon and anjana cannot be installed here; skipped)")
        return
    released = policy(folder, source, PEER_NAMES)
    hierarchies = _hierarchy_tables(released)
    peers = _peer_seconds(source, hierarchies)
    ours = _our_seconds(source, released, times)
    print("| task | peer | seconds | duckanon | ratio |\n|---|---|---:|---:|---:|")
    for task, (peer, seconds) in peers.items():
        mine = ours["run" if task == "k = 5, anonymize" else "metrics"]
        print(f"| {task} | {peer} | {seconds:.2f} | {mine:.3f} | {seconds / mine:.0f}× |")
    total = sum(seconds for task, (peer, seconds) in peers.items() if peer == "pycanon")
    print(f"\nall of pycanon's figures together {total:.2f} s, `duckanon.metrics` {ours['metrics']:.3f} s: "
          f"{total / ours['metrics']:.0f}×")  # fmt: skip


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
    from duckanon.census import take_census
    from duckanon.engine.duckdb import DuckDB
    from duckanon.scratch import Scratch
    from duckanon.source import bind_source

    wanted = duckanon.Policy.load(released)
    tables: dict[str, dict[str, list[str]]] = {}
    with DuckDB.open(None, writable=True) as engine:
        scratch = Scratch(engine)
        census = take_census(wanted, bind_source(wanted, scratch), scratch)
        for hierarchy in census.hierarchies:
            labels = ", ".join(["value::VARCHAR", *(f"label_{level}" for level in range(1, hierarchy.height))])
            rows = engine.connection.execute(f"SELECT {labels} FROM {hierarchy.mapping.sql('duckdb')}").fetchall()
            tables[hierarchy.column.name] = {row[0]: [*map(str, row), hierarchy.top] for row in rows}
    return tables


def _peer_seconds(source: Path, hierarchies: dict[str, dict[str, list[str]]]) -> dict[str, tuple[str, float]]:
    script = Path(__file__).parent / "peer_script.py"
    ended = subprocess.run(
        [str(ENVIRONMENT / "bin" / "python"), str(script), str(source), json.dumps(PEER_NAMES)],
        input=json.dumps(hierarchies),
        capture_output=True,
        text=True,
        check=True,
    )
    return {task: (peer, seconds) for task, peer, seconds in json.loads(ended.stdout.splitlines()[-1])}


def _our_seconds(source: Path, released: Path, times: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for _ in range(times):
        start = time.perf_counter()
        with duckanon.connect() as db:
            duckanon.metrics(db, str(source), qi=PEER_NAMES, sensitive="occupation")
        found["metrics"] = min(found.get("metrics", 1e9), time.perf_counter() - start)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "duckanon", "run", str(released)], capture_output=True, check=True)
        found["run"] = min(found.get("run", 1e9), time.perf_counter() - start)
    return found
