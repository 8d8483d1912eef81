"""Whole runs of the command, the start of Python included, against what bare DuckDB needs at the least."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.bare import answer
from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import Data, adult, as_csv, invented
from bench.policies import Wanted, policy
from bench.stopwatch import Clock, Spent, fastest, least, process, seconds_of

AIMS = {"greedy": "≤ 2×", "optimal": "≤ 2.5×"}
# A third of what ARX takes, by rows.
COLD_AIMS = {30_162: 2.5 / 3, 30_000: 2.5 / 3, 10_000_000: 30 / 3}


@dataclass(frozen=True)
class Whole:
    """One run: its seconds, the parts of them, its memory, and the document that it printed."""

    seconds: float
    peak: int
    result: dict[str, Any]

    @property
    def parts(self) -> str:
        return ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.result["seconds"].items())


def floor(data: Data, times: int, clock: Clock = seconds_of) -> tuple[float, float]:
    """Bare DuckDB, straight from the source: one GROUP BY and one COPY of what is released."""
    copied = data.file.with_name(f"floor{data.file.suffix}")
    taken = [least(partial(clock, partial(answer, asked)), times) for asked in _least(data, copied)]
    copied.unlink()
    return taken[0], taken[1]


def _least(data: Data, copied: Path) -> tuple[str, str]:
    """The queries that nobody can do without."""
    group = f"SELECT count(*) FROM (SELECT {data.columns}, count(*) FROM '{data.file}' GROUP BY ALL)"
    return group, f"COPY (SELECT {data.columns} FROM '{data.file}') TO '{copied}'"


def run(path: Path, times: int) -> Whole:
    spent = min((first_run(path, "parquet") for _ in range(times)), key=lambda spent: spent.seconds)
    return Whole(spent.seconds, spent.peak, json.loads(spent.output.splitlines()[-1]))


def against_the_floor(setting: Setting) -> list[Figure]:
    data = invented(setting.folder, setting.rows)
    heading(f"A whole run, Parquet to Parquet, {data.name}, {len(data.names)} quasi-identifiers, k = 5, 2 %")
    grouped, copied = floor(data, setting.times)
    base = grouped + copied
    print(f"floor: GROUP BY {shown(grouped)} + COPY {shown(copied)} = {shown(base)}\n")
    table("method", "run", "ratio", "parts")
    figures = []
    for method, aim in AIMS.items():
        whole = run(policy(data, setting.folder, Wanted(method)), setting.times)
        line(method, shown(whole.seconds), times_as(whole.seconds / base), whole.parts)
        figures.append(compared(f"whole run, {method}, {data.name}", whole.seconds, base, aim))
    return figures


def cold(setting: Setting) -> list[Figure]:
    """A new process each time. The operating system may have the file at hand."""
    heading("The whole command, CSV to CSV, k = 5, 2 %, beside bare DuckDB in a process")
    table("data", "seconds", "bare", "ratio", "CPU", "bare", "ratio", "statements", "parts")
    figures = []
    for data in (adult(setting.adult, setting.folder), as_csv(invented(setting.folder, setting.rows))):
        path = policy(data, setting.folder, Wanted(kind="csv"))
        bare = fastest(setting.times, "bench.bare", *_least(data, setting.folder / "floor.csv"))
        spent = min((first_run(path, "csv") for _ in range(setting.times)), key=lambda spent: spent.seconds)
        whole = Whole(spent.seconds, spent.peak, json.loads(spent.output.splitlines()[-1]))
        statements = first_run(path, "csv", "bench.statements").output.splitlines()[-1]
        seconds = (shown(spent.seconds), shown(bare.seconds), times_as(spent.seconds / bare.seconds))
        cpu = (shown(spent.cpu), shown(bare.cpu), times_as(spent.cpu / bare.cpu))
        line(data.name, *seconds, *cpu, statements, whole.parts)
        figures.append(_against_the_aim(data.name, whole))
        figures.append(compared(f"whole command against bare DuckDB, CPU, {data.name}", spent.cpu, bare.cpu))
        figures.append(Figure(f"statements of the whole command, {data.name}", statements, "≤ 60"))
    return figures


def first_run(path: Path, kind: str, command: str = "duckanon") -> Spent:
    """A run that finds no earlier release, with which it would be compared."""
    path.with_suffix(f".{kind}").unlink(missing_ok=True)
    return process(command, "run", str(path), "--json")


def _against_the_aim(name: str, whole: Whole) -> Figure:
    aim = COLD_AIMS.get(whole.result["rows"]["source"])
    return Figure(f"whole command, CSV to CSV, {name}", shown(whole.seconds), f"≤ {shown(aim)}" if aim else "–")
