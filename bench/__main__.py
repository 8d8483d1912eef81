"""`make bench`: duckanon against bare DuckDB and against its peers, all in one run.

Every figure is the best of several. Ratios, not seconds, are what to compare between machines.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench import macros, peers
from bench.people import NAMES, people, policy
from bench.stopwatch import best


def floor_seconds(source: Path, names: list[str], times: int) -> tuple[float, float]:
    """Bare DuckDB: one GROUP BY and one COPY of the same columns, straight from the source."""
    columns = ", ".join((*names, "occupation"))
    copied = source.with_name("floor.parquet")

    def group() -> None:
        duckdb.connect().execute(f"SELECT count(*) FROM (SELECT {columns}, count(*) FROM '{source}' GROUP BY ALL)")

    def copy() -> None:
        duckdb.connect().execute(f"COPY (SELECT {columns} FROM '{source}') TO '{copied}' (FORMAT parquet)")

    return best(group, times), best(copy, times)


def run_seconds(path: Path, times: int) -> tuple[float, dict[str, float]]:
    """A whole `duckanon run`, the start of Python included; and the parts of the fastest."""
    found: list[tuple[float, dict[str, float]]] = []
    for _ in range(times):
        start = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-m", "duckanon", "run", str(path), "--json"], capture_output=True, text=True, check=True
        )
        found.append((time.perf_counter() - start, json.loads(ended.stdout)["seconds"]))
    return min(found, key=lambda pair: pair[0])


def against_the_floor(folder: Path, rows: int, times: int) -> None:
    print(f"\n## A whole run, Parquet to Parquet, {rows:,} rows, 8 quasi-identifiers, k = 5, 2 %\n")
    source = people(folder, rows)
    grouped, copied = floor_seconds(source, NAMES, times)
    seconds, parts = run_seconds(policy(folder, source, NAMES), times)
    floor = grouped + copied
    print(f"floor: GROUP BY {grouped:.2f} s + COPY {copied:.2f} s = {floor:.2f} s")
    print(f"duckanon run: {seconds:.2f} s ({', '.join(f'{name} {part:.2f}' for name, part in parts.items())})")
    print(f"ratio: {seconds / floor:.2f} × the floor")


def growth_with_rows(folder: Path, most: int, times: int) -> None:
    print("\n## Growth with rows (8 quasi-identifiers)\n")
    print("|      rows | seconds | per floor |\n|---:|---:|---:|")
    points = []
    rows = 100_000
    while rows <= most:
        source = people(folder, rows)
        seconds, _ = run_seconds(policy(folder, source, NAMES), times)
        floor = sum(floor_seconds(source, NAMES, times))
        points.append((math.log(rows), math.log(seconds)))
        print(f"| {rows:>9,} | {seconds:7.2f} | {seconds / floor:9.2f} |")
        rows = rows * 10 if str(rows)[0] == "3" else rows * 3
        rows = int(f"1{'0' * (len(str(rows)) - 1)}") if str(rows)[0] == "9" else rows
    slope = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]) if len(points) > 1 else math.nan
    print(f"\nslope of the log–log line: {slope:.2f}")


def growth_with_columns(folder: Path, rows: int, times: int) -> None:
    print(f"\n## Growth with quasi-identifiers ({rows:,} rows)\n")
    print("| quasi-identifiers | seconds | per floor |\n|---:|---:|---:|")
    source = people(folder, rows)
    for count in (2, 4, 6, 8):
        names = NAMES[:count]
        seconds, _ = run_seconds(policy(folder, source, names), times)
        print(f"| {count} | {seconds:.2f} | {seconds / sum(floor_seconds(source, names, times)):.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description="Measure duckanon against bare DuckDB and its peers.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table (default 1,000,000)")
    parser.add_argument("--peer-rows", type=int, default=30_000, help="rows given to the pandas tools (default 30,000)")
    parser.add_argument("--times", type=int, default=3, help="best of how many (default 3)")
    parser.add_argument("--only", choices=["floor", "rows", "columns", "macros", "peers"], help="one part alone")
    parser.add_argument("--folder", type=Path, help="where the data is kept between runs (default: nowhere)")
    options = parser.parse_args()
    print(
        f"duckdb {duckdb.__version__}, python {sys.version.split()[0]}, {os.cpu_count()} cores, best of {options.times}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        parts: dict[str, Callable[[], None]] = {
            "floor": lambda: against_the_floor(folder, options.rows, options.times),
            "rows": lambda: growth_with_rows(folder, options.rows, options.times),
            "columns": lambda: growth_with_columns(folder, options.rows, options.times),
            "macros": lambda: macros.against_plain_sql(people(folder, options.rows), options.times),
            "peers": lambda: peers.against_peers(folder, people(folder, options.peer_rows), options.times),
        }
        for name, part in parts.items():
            if options.only in (None, name):
                part()


if __name__ == "__main__":
    main()
