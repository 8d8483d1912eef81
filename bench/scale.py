"""What a run costs as a function of its rows and of its distinct tuples: measured over a grid of both, and fitted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

from bench.bare import answer
from bench.figures import Figure, Setting, heading, line, shown, table
from bench.people import SENSITIVE, Data, made
from bench.policies import Wanted, written
from bench.stopwatch import process

# Rows, and the tuples that they are drawn from: rows grow under few tuples, then tuples under many rows.
GRID = (
    *((rows, 100_000) for rows in (100_000, 1_000_000, 10_000_000, 100_000_000)),
    *((50_000_000, tuples) for tuples in (1_000, 100_000, 1_000_000, 10_000_000, 50_000_000)),
)
IN_WAREHOUSE = ((10_000_000, 100_000), (10_000_000, 1_000_000), (10_000_000, 10_000_000))
HIERARCHIES: dict[str, str | None] = {
    "age": "{ intervals = [5, 10, 20] }",
    "area": "{ intervals = [10, 100] }",
    "day": "{ intervals = [10, 100] }",
}
PARTS = ("census", "search", "release", "verify")


def of_runs(setting: Setting) -> list[Figure]:
    heading("Rows and tuples: greedy, Parquet to Parquet, 3 quasi-identifiers, 80 nodes, k = 5, 2 %")
    table("rows", "tuples drawn from", "counts", "search in", *PARTS, "whole", "CPU", "peak")
    points = [_measured(setting.folder, *point, "workbench") for point in _within(GRID, setting.rows)]
    for point in _within(IN_WAREHOUSE, setting.rows):
        for where in ("workbench", "warehouse"):
            _measured(setting.folder, *point, where)
    return list(_fitted(points))


def _within(grid: tuple[tuple[int, int], ...], most: int) -> Iterator[tuple[int, int]]:
    return ((rows, tuples) for rows, tuples in grid if rows <= most)


def people(folder: Path, rows: int, tuples: int) -> Data:
    """Rows that are drawn evenly from so many tuples."""
    query = f"""SELECT t % 100 AS age, t // 100 % 1000 AS area, t // 100000 AS day, t % 7 AS {SENSITIVE}
        FROM (SELECT hash(i) % {tuples} AS t FROM range({rows}) AS r (i))"""
    return Data(f"{rows:,} rows", made(folder / f"drawn_{rows}_{tuples}.parquet", query), HIERARCHIES)


def _measured(folder: Path, rows: int, tuples: int, where: str) -> dict[str, float]:
    data = people(folder, rows, tuples)
    path = folder / f"drawn_{where}.toml"
    path.write_text(written(data, Wanted(where=where), "drawn.parquet"), encoding="utf-8")
    spent = process("duckanon", "run", str(path), "--json")
    told: dict[str, Any] = json.loads(spent.output.splitlines()[-1])
    seconds = {part: float(told["seconds"][part]) for part in PARTS}
    counts = _counts(data.file)
    line(f"{rows:,}", f"{tuples:,}", f"{counts:,}", where, *map(shown, seconds.values()), shown(spent.seconds),
         shown(spent.cpu), spent.memory)  # fmt: skip
    return {"rows": rows, "counts": counts, "peak": spent.peak, **seconds}


def _counts(file: Path) -> int:
    names = ", ".join((*HIERARCHIES, SENSITIVE))
    found: Any = answer(f"SELECT count(*) FROM (SELECT DISTINCT {names} FROM '{file}')")
    return int(found[0][0])


def _fitted(points: list[dict[str, float]]) -> Iterator[Figure]:
    """Each part as so many nanoseconds for a row and for a count, by least squares over what took a second and more."""
    if len(points) < 4:
        return
    heading("Fitted: nanoseconds, and for memory bytes, of a row and of a count")
    table("part", "for a row", "for a count", "once")
    known = numpy.array([[point["rows"], point["counts"], 1] for point in points])
    for part in (*PARTS, "peak"):
        unit = 1 if part == "peak" else 1e9
        measured = numpy.array([point[part] for point in points]) * unit
        row, count, once = numpy.linalg.lstsq(known, measured, rcond=None)[0]
        line(part, f"{row:.1f}", f"{count:.1f}", f"{once / unit:.2f}")
        yield Figure(f"{part}, fitted", f"{row:.1f} a row, {count:.1f} a count")
