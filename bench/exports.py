"""An export from a database that is only read: partitioned, and by people."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import QI, Data, people
from bench.policies import Wanted, policy
from bench.stopwatch import best
from bench.whole import run

PARTITION = "race"
_VISITS = 3  # rows of a person, on average


def warehouse(folder: Path, rows: int) -> Data:
    """A DuckDB file with the invented people as a table, and a number that names the person of a row."""
    path = folder / f"people_{rows}.duckdb"
    if not path.exists():
        file = people(folder, rows)
        with duckdb.connect(str(path)) as connection:
            person = f"hash(file_row_number) % {rows // _VISITS}"
            connection.execute(
                f"CREATE TABLE people AS SELECT * EXCLUDE (file_row_number), {person} AS person "
                f"FROM read_parquet('{file}', file_row_number := true)"
            )
    return Data(f"{rows:,} rows", path, QI, others=("income", "person"))


def copied(data: Data, times: int) -> float:
    """Bare DuckDB: the columns of the release, partitioned likewise."""
    folder = data.file.with_name("floor_folder")

    def copy() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with duckdb.connect(str(data.file), read_only=True) as connection:
            connection.execute("SET enable_progress_bar = false")
            options = f"FORMAT parquet, PARTITION_BY ({PARTITION})"
            connection.execute(f"COPY (SELECT {data.columns} FROM people) TO '{folder}' ({options})")

    seconds = best(copy, times)
    shutil.rmtree(folder)
    return seconds


def against_a_copy(setting: Setting) -> list[Figure]:
    data = warehouse(setting.folder, setting.rows)
    heading(f"An export from a read-only database to Parquet by {PARTITION}, {data.name}, k = 5, 2 %")
    base = copied(data, setting.times)
    print(f"bare: COPY … PARTITION_BY {shown(base)}\n")
    table("counted", "run", "ratio", "parts")
    figures = []
    for counted, entity, aim in (("rows", None, "≤ 4×"), ("people", "person", "–")):
        wanted = Wanted(partition_by=PARTITION, entity=entity)
        whole = run(policy(data, setting.folder, wanted), setting.times, ending="")
        line(counted, shown(whole.seconds), times_as(whole.seconds / base), whole.parts)
        figures.append(compared(f"partitioned export, {counted} counted, {data.name}", whole.seconds, base, aim))
    return figures
