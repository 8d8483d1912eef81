"""What a run costs by how often its rows repeat: from ten possible tuples for every row to a hundred rows for every
tuple, where the quasi-identifiers tell rows apart and where a kept column does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, Setting, heading, line, shown, table, times_as
from bench.people import KEPT, QI, SENSITIVE, Data, as_csv, invented, made, with_kept_zip
from bench.policies import Wanted, policy
from bench.stopwatch import cpu_of
from bench.whole import first_run, floor

ROWS_PER_TUPLE = (0.1, 1, 10, 100)
AIMS = {"parquet": "≤ 1.3×", "csv": "≤ 1.5×"}
BY_KEPT = f"kept {KEPT}"
_TUPLES_BESIDE_KEPT = 20_000
# The digits of a number are the values of a tuple.
_VALUES = {
    "education": ["HS-grad", "Some-college", "Bachelors", "Masters", "11th", "Assoc-voc", "10th", "Doctorate", "9th"],
    "marital_status": ["Never-married", "Married-civ-spouse", "Divorced", "Separated", "Widowed"],
    "country": ["United States", "Mexico", "Germany", "Canada", "India", "Cuba", "China", "Italy", "Japan", "Peru"],
    "race": ["White", "Black", "Asian", "Native", "Other"],
    "salary_class": ["above", "below"],
    "sex": ["Male", "Female"],
    "workclass": ["Private", "Self-employed", "Local", "State", "Federal", "Unpaid"],
    SENSITIVE: ["Sales", "Craft-repair", "Exec-managerial", "Tech-support", "Other-service", "Farming-fishing"],
}
_AGES = 73


def of_rows(setting: Setting) -> list[Figure]:
    heading(f"Repetition: greedy, {setting.rows:,} rows, 8 quasi-identifiers, k = 5, 2 %, from and to the same kind")
    table("rows differ by", "rows per tuple", "kind", "run", "floor", "ratio", "CPU", "floor", "ratio", "peak", "parts")
    return [
        _measured(differ, repetition, source, setting)
        for differ, repetition, data in tables(setting.folder, setting.rows)
        for source in (data, as_csv(data))
    ]


def tables(folder: Path, rows: int) -> Iterator[tuple[str, str, Data]]:
    for differ in ("quasi-identifiers", BY_KEPT):
        for repetition in ROWS_PER_TUPLE:
            yield differ, f"{repetition:g}", drawn(folder, rows, repetition, differ)
    yield "people", "–", invented(folder, rows)
    yield f"people, {BY_KEPT}", "–", with_kept_zip(folder, rows)


def drawn(folder: Path, rows: int, repetition: float, differ: str) -> Data:
    """Rows that are drawn evenly from so many tuples."""
    tuples, kept = int(rows / repetition), (KEPT,) if differ == BY_KEPT else ()
    number, step = (f"(t % {_TUPLES_BESIDE_KEPT})" if kept else "t"), _AGES
    columns = [f"17 + {number} % {_AGES} AS age"]
    for name, values in _VALUES.items():
        listed = ", ".join(f"'{value}'" for value in values)
        columns.append(f"[{listed}][1 + {number} // {step} % {len(values)}] AS {name}")
        step *= len(values)
    columns += [f"lpad((t // {_TUPLES_BESIDE_KEPT})::VARCHAR, 5, '0') AS {name}" for name in kept]
    query = f"SELECT {', '.join(columns)} FROM (SELECT (hash(i) % {tuples})::BIGINT AS t FROM range({rows}) AS r (i))"
    path = folder / f"repeated_{rows}_{repetition:g}{'_kept' if kept else ''}.parquet"
    return Data(f"{rows:,} rows", made(path, query), QI, kept=kept)


def _measured(differ: str, repetition: str, data: Data, setting: Setting) -> Figure:
    kind = data.file.suffix[1:]
    base, base_cpu = sum(floor(data, setting.times)), sum(floor(data, setting.times, cpu_of))
    path = policy(data, setting.folder, Wanted(kind=kind))
    spent = min((first_run(path, kind) for _ in range(setting.times)), key=lambda spent: spent.seconds)
    taken = json.loads(spent.output.splitlines()[-1])["seconds"]
    ratio, cpu_ratio = times_as(spent.seconds / base), times_as(spent.cpu / base_cpu)
    line(differ, repetition, kind, shown(spent.seconds), shown(base), ratio, shown(spent.cpu), shown(base_cpu),
         cpu_ratio, spent.memory, ", ".join(f"{part} {seconds:.2f}" for part, seconds in taken.items()))  # fmt: skip
    what = f"rows differ by {differ}, {repetition} per tuple, {kind}"
    return Figure(what, f"{shown(spent.seconds)} / {shown(base)}", AIMS[kind], ratio)
