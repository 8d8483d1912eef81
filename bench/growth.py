"""How the time grows: with rows, with quasi-identifiers, with distinct values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import linear_regression

from bench.bare import answer
from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import SENSITIVE, Data, invented, made, wide
from bench.policies import Wanted, policy
from bench.search import Searched, effort
from bench.stopwatch import best
from bench.whole import floor, run

FEWEST = 100_000
MOST_FOR_COLUMNS = 300_000
COUNTS = (4, 8, 12, 16, 20)
TIME_LIMIT = 5.0  # seconds, for the optimal search of wide tables
DISTINCT = 1_000_000
MANY = {
    "intervals": "{ intervals = [100, 10000, 100000] }",
    "mask": "{ mask = [5, 3, 1, 0] }",
    "dates": '{ dates = ["day", "month", "year"] }',
}


def with_rows(setting: Setting) -> list[Figure]:
    heading("Growth with rows: whole greedy runs, Parquet to Parquet, 8 quasi-identifiers, k = 5, 2 %")
    table("rows", "seconds", "floor", "ratio", "parts")
    seconds: dict[int, float] = {}
    for rows in takewhile(lambda size: size <= setting.rows, sizes()):
        data = invented(setting.folder, rows)
        base = sum(floor(data, setting.times))
        whole = run(policy(data, setting.folder, Wanted()), setting.times)
        seconds[rows] = whole.seconds
        line(f"{rows:,}", shown(whole.seconds), shown(base), times_as(whole.seconds / base), whole.parts)
    return list(_slopes(seconds))


def sizes() -> Iterator[int]:
    """100 thousand, 300 thousand, 1 million …"""
    power = FEWEST
    while True:
        yield from (power, 3 * power)
        power *= 10


def _slopes(seconds: dict[int, float]) -> Iterator[Figure]:
    """On a log–log scale: over all sizes, and between the two largest, where the start counts least."""
    points = [(math.log(rows), math.log(taken)) for rows, taken in seconds.items()]
    if len(points) < 2:
        return
    slope = linear_regression(*zip(*points, strict=True)).slope
    (x, y), (right, top) = list(pairwise(points))[-1]
    last = (top - y) / (right - x)
    print(f"\nslope of the log–log line by least squares: {slope:.2f}; between the two largest: {last:.2f}")
    yield Figure(f"slope, {min(seconds):,} to {max(seconds):,} rows", f"{slope:.2f}", "≤ 1")
    yield Figure("slope between the two largest", f"{last:.2f}", "≤ 1")


def with_columns(setting: Setting) -> list[Figure]:
    data = wide(setting.folder, min(setting.rows, MOST_FOR_COLUMNS))
    heading(f"Growth with quasi-identifiers: search alone, {data.name}, k = 5, 2 %, optimal within {TIME_LIMIT:.0f} s")
    table("quasi-identifiers", "nodes", "GROUP BY", "greedy", "ratio", "optimal", "effort")
    figures = []
    for count in COUNTS:
        with Searched(data.first(count)) as searched:
            base = searched.group_by(f"'{data.file}'", setting.times)
            greedy, _ = searched.timed(Wanted("greedy"), setting.times)
            optimal, found = searched.timed(Wanted("optimal", time_limit=TIME_LIMIT), 1)
        assert found.effort is not None
        nodes = f"{found.effort['nodes']:,}"
        line(count, nodes, shown(base), shown(greedy), times_as(greedy / base), shown(optimal), effort(found))
        figures.append(compared(f"greedy search, {count} quasi-identifiers, {nodes} nodes", greedy, base))
        figures.append(compared(f"optimal search, {count} quasi-identifiers, {effort(found)}", optimal, base))
    return figures


def with_values(setting: Setting) -> list[Figure]:
    """Intervals, a mask and dates over columns with a million distinct values: each alone, and all together."""
    distinct = min(DISTINCT, setting.rows)
    heading(f"Quasi-identifiers with {distinct:,} distinct values, {setting.rows:,} rows")
    table("hierarchies", "run", "floor", "ratio", "census", "SELECT DISTINCT", "ratio", "levels", "parts")
    figures = []
    for data in many_values(setting.folder, setting.rows):
        base = sum(floor(data, setting.times))
        whole = run(policy(data, setting.folder, Wanted()), setting.times)
        levels = ", ".join(f"{name} {level}" for name, level in whole.result["levels"].items())
        census = whole.result["seconds"]["census"]
        asked = [f"SELECT count(*) FROM (SELECT DISTINCT {name} FROM '{data.file}')" for name in data.names]
        once = sum(best(partial(answer, query), setting.times) for query in asked)
        ratios = (times_as(whole.seconds / base), shown(census), shown(once), times_as(census / once))
        line(data.name, shown(whole.seconds), shown(base), *ratios, levels, whole.parts)
        figures.append(compared(f"whole run, {distinct:,} values, {data.name}", whole.seconds, base))
    return figures


def many_values(folder: Path, rows: int) -> Iterator[Data]:
    """A column per kind of hierarchy: each in a file of its own, and all in one.

    The first million rows hold every value once; of the others low values are more frequent.
    """
    skewed = f"floor({DISTINCT} * pow((i * $step % 4294967296) / 4294967296.0, 2))"
    draw = f"(CASE WHEN i < {DISTINCT} THEN i * $step % {DISTINCT} ELSE {skewed} END)::INTEGER"
    first, second, third = (draw.replace("$step", str(step)) for step in (2654435761, 2246822519, 3266489917))
    query = f"""SELECT {first} AS intervals, lpad(({second})::VARCHAR, 7, '0') AS mask,
        TIMESTAMP '2020-01-01' + to_minutes({third}) AS dates, i % 2 = 0 AS member,
        ['a', 'b', 'c', 'd', 'e'][1 + i % 5] AS {SENSITIVE} FROM range({rows}) AS r (i)"""
    for names in (*([name] for name in MANY), list(MANY)):
        hierarchies = {**{name: MANY[name] for name in names}, "member": None}
        columns = ", ".join((*hierarchies, SENSITIVE))
        file = made(folder / f"many_{'_'.join(names)}_{rows}.parquet", f"SELECT {columns} FROM ({query})")
        yield Data(", ".join(names), file, hierarchies)
