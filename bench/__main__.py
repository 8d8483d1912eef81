"""`make bench`: duckanon against bare DuckDB and against its peers.

Every figure is the best of several, and every ratio is of figures of one run: they, not seconds, are what to compare
between machines. Each part runs in a process of its own, so that none finds what another has left in memory.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from subprocess import CalledProcessError

import duckdb

import duckanon
from bench import (
    exports,
    growth,
    local,
    macros,
    memory,
    peers,
    repetition,
    rules,
    scale,
    search,
    thresholds,
    warehouses,
    whole,
)
from bench.figures import Figure, Setting, summary

PARTS: dict[str, Callable[[Setting], list[Figure]]] = {
    "search": search.of_adult,
    "hard": search.of_hard_cases,
    "rules": rules.with_budgets,
    "thresholds": thresholds.of_values,
    "local": local.against_arx,
    "whole": whole.against_the_floor,
    "cold": whole.cold,
    "exports": exports.against_a_copy,
    "rows": growth.with_rows,
    "columns": growth.with_columns,
    "values": growth.with_values,
    "memory": memory.within_a_limit,
    "macros": macros.against_plain_sql,
    "repetition": repetition.of_rows,
    "scale": scale.of_runs,
    "warehouses": warehouses.against_their_own_floor,
    "cluster": warehouses.of_a_cluster,
    "peers": peers.against_peers,
}


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        setting = Setting(folder, options.rows, options.peer_rows, options.times, options.adult, options.huge)
        versions = f"duckdb {duckdb.__version__}, python {sys.version.split()[0]}, {os.cpu_count()} cores"
        print(f"{versions}, best of {options.times}", flush=True)
        # An installed package is compiled; a checkout is not, where Python may not write.
        compileall.compile_dir(Path(duckanon.__file__).parent, quiet=1)
        summary(measured(setting, options.only or list(PARTS)))


def measured(setting: Setting, names: list[str]) -> list[Figure]:
    """What all parts have measured; one that breaks off says why, and the others go on."""
    figures = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for name in names:
            try:
                figures += pool.submit(PARTS[name], setting).result()
            except CalledProcessError as failed:
                figures.append(Figure(name, f"broken off: exit {failed.returncode} of {' '.join(failed.cmd)}"))
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="Measure duckanon against bare DuckDB and its peers.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large tables (default 1,000,000)")
    parser.add_argument("--peer-rows", type=int, default=30_000, help="rows given to the pandas tools (default 30,000)")
    parser.add_argument("--times", type=int, default=3, help="best of how many (default 3)")
    parser.add_argument(
        "--adult", type=Path, help="folder with adult.csv and adult_hierarchy_*.csv (default: invented)"
    )
    parser.add_argument("--huge", action="store_true", help="the part memory also runs a hundred million rows")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)} (default: all)"
    )
    parser.add_argument("--folder", type=Path, help="where the data is kept between runs (default: nowhere)")
    return parser


if __name__ == "__main__":
    main()
