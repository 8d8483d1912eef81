"""Values with thresholds of their own, α and l each: CPU seconds of the whole command, by how many there are."""

from __future__ import annotations

from bench.figures import Figure, Setting, heading, line, shown, table, times_as
from bench.people import SENSITIVE, Data, made
from bench.policies import Wanted, policy
from bench.stopwatch import fastest

ROWS = (5_000, 200_000)
VALUES = (20, 40, 80, 300, 1000)
QI = {"age": "{ intervals = [5, 10, 20] }", "zip": None, "sex": None}


def of_values(setting: Setting) -> list[Figure]:
    heading("Values with thresholds of their own: CPU seconds of `duckanon run`")
    table("rows", *(f"{values:,} values" for values in VALUES))
    figures = []
    for rows in ROWS:
        cpu = [_cpu(rows, values, setting) for values in VALUES]
        line(f"{rows:,}", *map(shown, cpu))
        most, fewest = max(VALUES), min(VALUES)
        what = f"{most:,} values with thresholds against {fewest}, CPU, {rows:,} rows"
        figures.append(Figure(what, f"{shown(cpu[-1])} / {shown(cpu[0])}", "–", times_as(cpu[-1] / cpu[0])))
    return figures


def _cpu(rows: int, values: int, setting: Setting) -> float:
    query = f"""SELECT 20 + (hash(i) % 60)::INTEGER AS age, (hash(7 * i) % 50)::VARCHAR AS zip, hash(11 * i) % 2 AS sex,
        'v' || hash(13 * i) % {values} AS {SENSITIVE} FROM range({rows}) r (i)"""
    file = made(setting.folder / f"thresholds_{rows}_{values}.parquet", query)
    named = "".join(f"[sensitive.{SENSITIVE}.values.v{value}]\nalpha = 0.5\nl = 2\n" for value in range(values))
    wanted = Wanted(suppression=0.05, rules=named)
    return fastest(setting.times, "duckanon", "run", str(policy(Data("", file, QI), setting.folder, wanted))).cpu
