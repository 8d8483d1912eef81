"""Whole runs in a server's own tables, against what the same server needs at the least: one GROUP BY and one CREATE
TABLE AS SELECT of the same columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckanon
from bench.bare import database
from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import Data, invented
from bench.policies import Wanted, written
from bench.stopwatch import Spent, best, process
from duckanon.engine.far import FarWarehouse
from duckanon.engine.opening import open_warehouse
from duckanon.policy import Policy
from duckanon.policy.database import database_of
from duckanon.query.expressions import drop, sql
from duckanon.query.expressions import table as named

SCHEMA, PEOPLE, FLOOR, RELEASED = "duckanon_bench", "people", "floor", "released"
RUNS = {
    "greedy": Wanted("greedy", kind="table"),
    "optimal": Wanted("optimal", kind="table"),
    "climb": Wanted("climb", kind="table"),
    "greedy, to Parquet": Wanted("greedy"),
    "greedy, searched there": Wanted("greedy", kind="table", where="warehouse"),
}


@dataclass(frozen=True)
class Server:
    """A server of our own, for the time of the measurement."""

    name: str
    running: Callable[[], AbstractContextManager[str]]  # its address
    aim: str


@contextmanager
def _postgres() -> Iterator[str]:
    from tests.support.postgres import programs_of_the_wheel, running

    with running(programs_of_the_wheel()) as server, server.new_database() as address:
        yield address


@contextmanager
def _spark(master: str = "local[2]") -> Iterator[str]:
    """As it comes, not as the tests have it, where nothing is worth compiling; but with more than the gigabyte of
    memory that it comes with, in which the labels of a climb may or may not find room."""
    from tests.support.spark import spark

    with spark(master, {"spark.driver.memory": "4g"}) as server, server.lake() as lake:
        yield lake.address


SERVERS = (Server("PostgreSQL", _postgres, "≤ 2×"), Server("Spark", _spark, "≤ 2.5×"))
CLUSTER = Server("Spark in two executors", partial(_spark, "local-cluster[2,1,1024]"), "≤ 2.5×")


def against_their_own_floor(setting: Setting) -> list[Figure]:
    return [figure for server in SERVERS for figure in _measured(server, setting)]


def of_a_cluster(setting: Setting) -> list[Figure]:
    """Spark with executors that are processes of their own, between which rows are shuffled."""
    return _measured(CLUSTER, setting)


def _measured(server: Server, setting: Setting) -> list[Figure]:
    data = invented(setting.folder, setting.rows)
    heading(f"A whole run in {server.name}, {data.name}, {len(data.names)} quasi-identifiers, k = 5, 2 %")
    with server.running() as address:
        with _open(address) as warehouse:
            size = _load(warehouse, data)
        came = _came_down(address, _policy(server, data, RUNS["greedy"], setting.folder))
        share = f"{came / 1e6:,.0f} MB of a table of {size / 1e6:,.0f} MB ({came / size:.0%})"
        print(f"came down: {share}, both as Arrow\n")
        table("run", "seconds", "CPU here", "floor: GROUP BY", "CREATE TABLE", "ratio", "parts")
        figures = [Figure(f"{server.name}, came down, {data.name}", f"{came / 1e6:,.0f} / {size / 1e6:,.0f} MB")]
        return figures + [_compared(server, address, data, name, setting) for name in RUNS]


def _compared(server: Server, address: str, data: Data, name: str, setting: Setting) -> Figure:
    """A run and the floor in turn, so that whatever else the machine does falls upon both."""
    wanted, floors, runs = RUNS[name], list[tuple[float, float]](), list[Spent]()
    path = _policy(server, data, wanted, setting.folder)
    for _ in range(setting.times):
        with _open(address) as warehouse:
            floors.append(_floor(warehouse, data, 1))
        runs.append(_first_run(address, path, wanted))
    floor, spent = min(floors, key=sum), min(runs, key=lambda spent: spent.seconds)
    told = json.loads(spent.output.splitlines()[-1])
    parts = ", ".join(f"{part} {seconds:.2f}" for part, seconds in told["seconds"].items())
    line(name, shown(spent.seconds), shown(spent.cpu), *map(shown, floor), times_as(spent.seconds / sum(floor)), parts)
    return compared(f"{server.name}, {name}, {data.name}", spent.seconds, sum(floor), server.aim)


def _open(address: str) -> FarWarehouse:
    warehouse = open_warehouse(database_of(address), writable=True)
    assert isinstance(warehouse, FarWarehouse)
    return warehouse


def _load(warehouse: FarWarehouse, data: Data) -> int:
    """The people, as a table there; says how many bytes they are, as Arrow."""
    warehouse.execute(sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    warehouse.execute(drop("TABLE", named(SCHEMA, PEOPLE)))
    rows = f"SELECT {data.columns} FROM '{data.file}'"
    if warehouse.dialect_name == "spark":  # it reads the file itself: what is sent to it must be small
        file = f"SELECT {data.columns} FROM parquet.`{data.file}`".replace('"', "`")
        warehouse.fetch(f"CREATE TABLE {warehouse.said(named(SCHEMA, PEOPLE))} AS {file}")
        with database() as connection:
            return sum(batch.nbytes for batch in connection.sql(rows).to_arrow_reader())
    warehouse.workbench.define_view(named("people"), rows, temporary=True)
    warehouse.keep(named(SCHEMA, PEOPLE), sql("SELECT * FROM people"), "")  # type: ignore[arg-type]
    return warehouse.went_up


def _floor(warehouse: FarWarehouse, data: Data, times: int) -> tuple[float, float]:
    quoted = warehouse.said(sql(f"SELECT {data.columns}")).removeprefix("SELECT ")
    people = warehouse.said(named(SCHEMA, PEOPLE))
    group = f"SELECT COUNT(*) FROM (SELECT {quoted}, COUNT(*) AS n FROM {people} GROUP BY {quoted}) AS grouped"

    def make() -> None:
        warehouse.execute(drop("TABLE", named(SCHEMA, FLOOR)))
        warehouse.execute(sql(f'CREATE TABLE "{SCHEMA}"."{FLOOR}" AS SELECT {data.columns} FROM "{SCHEMA}"."{PEOPLE}"'))

    seconds = best(lambda: warehouse.fetch(group), times), best(make, times)
    warehouse.execute(drop("TABLE", named(SCHEMA, FLOOR)))
    return seconds


def _policy(server: Server, data: Data, wanted: Wanted, folder: Path) -> Path:
    path = folder / f"{server.name}_{wanted.method}_{wanted.kind}_{wanted.where}.toml"
    to = f"{SCHEMA}.{RELEASED}_{wanted.method}" if wanted.kind == "table" else path.with_suffix(".parquet").name
    text = written(replace(data, others=()), wanted, to)
    lines = [line for line in text.splitlines() if not line.startswith("file = ")]
    lines[lines.index("[source]")] = f'[source]\ntable = "{SCHEMA}.{PEOPLE}"'
    path.write_text("\n".join(lines).replace('name = "bench"', f'name = "bench_{wanted.method}"'), encoding="utf-8")
    return path


def _first_run(address: str, path: Path, wanted: Wanted) -> Spent:
    """A run with nothing in its place yet: to compare with what stands there is more than the floor does."""
    if wanted.kind == "table":
        with _open(address) as warehouse:
            warehouse.execute(drop("TABLE", named(SCHEMA, f"{RELEASED}_{wanted.method}")))
    return process("duckanon", "run", str(path), "--db", address, "--json")


def _came_down(address: str, policy: Path) -> int:
    with _open(address) as warehouse:
        duckanon.run(Policy.load(policy), warehouse)
        return warehouse.came_down
