"""Memory: a run within a limit, and one of a hundred million rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.figures import Figure, Setting, heading, line, shown, table
from bench.people import Data, invented, made
from bench.policies import Wanted, policy
from bench.stopwatch import Spent, process

LIMIT = "2GB"
HUGE_ROWS, HUGE_TUPLES = 100_000_000, 1_000_000
HUGE = {
    "age": "{ intervals = [5, 10, 20] }",
    "zip": "{ intervals = [10, 50] }",
    "sex": None,
    "grade": "{ intervals = [5] }",
    "region": None,
}


def within_a_limit(setting: Setting) -> list[Figure]:
    heading(f"Memory, Parquet to Parquet, k = 5, 2 %, with and without memory_limit = '{LIMIT}'")
    table("data", "method", "limit", "seconds", "peak of the process")
    data = invented(setting.folder, setting.rows)
    figures = []
    for method in ("greedy", "optimal"):
        path = policy(data, setting.folder, Wanted(method))
        figures += [_measured(data, method, path, limit) for limit in (None, LIMIT)]
    if setting.huge:
        data, wanted = huge(setting.folder), Wanted(k=100)
        figures.append(_measured(data, wanted.method, policy(data, setting.folder, wanted), LIMIT))
    return figures


def huge(folder: Path) -> Data:
    """A hundred million rows with a million distinct tuples, the low ones more frequent."""
    query = f"""WITH draws AS (
        SELECT floor({HUGE_TUPLES} * pow((i * 2654435761 % 4294967296) / 4294967296.0, 2))::INTEGER AS t
        FROM range({HUGE_ROWS}) AS r (i)
    )
    SELECT t % 100 AS age, t // 100 % 250 AS zip, t // 25000 % 2 AS sex, t // 50000 % 10 AS grade,
        t // 500000 AS region, t % 7 AS occupation FROM draws"""
    return Data(f"{HUGE_ROWS:,} rows, {HUGE_TUPLES:,} tuples", made(folder / "huge.parquet", query), HUGE)


def _measured(data: Data, method: str, path: Path, limit: str | None) -> Figure:
    spent = _run(path, limit)
    line(data.name, method, limit or "none", shown(spent.seconds), spent.memory)
    return Figure(f"peak memory, {method}, {data.name}, limit {limit or 'none'}", spent.memory)


def _run(path: Path, limit: str | None) -> Spent:
    spent = process("bench.memory", str(path), limit or "")
    assert json.loads(spent.output)["status"] == "released"
    return spent


def limited(path: str, limit: str) -> None:
    """In a process of its own: a run over a connection with that limit, which spills beside the policy."""
    import duckdb

    import duckanon

    config: dict[str, str | bool | int | float | list[str]] = {"temp_directory": str(Path(path).parent / "spill")}
    if limit:
        config["memory_limit"] = limit
    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        print(json.dumps({"status": duckanon.run(path, connection).status}))


if __name__ == "__main__":
    limited(*sys.argv[1:])
