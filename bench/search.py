"""The searches alone, against one bare GROUP BY of the raw rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.figures import Figure, Setting, compared, heading, line, shown, table, times_as
from bench.people import Data, adult, invented
from bench.policies import Wanted, written
from bench.stopwatch import best, least, seconds_of
from duckanon import Policy
from duckanon.census.counting import Census, take_census
from duckanon.census.source import bind_source
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.scratch import Scratch
from duckanon.search import FoundNode, search
from duckanon.search.measure import Measurer
from duckanon.search.problem import Problem

SUPPRESSIONS = (0.02, 0, 0.999999)
AIMS = {"greedy": "≤ 10×", "optimal": "≤ 100×"}
# k grows with the rows, as if Adult's k = 5 had: the answer stays as far up in the lattice.
HARD = {300_000: 50, 3_000_000: 500, 10_000_000: 1658}


class Searched:
    """A census in a database of its own, to be searched by several policies."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.engine = DuckDB.open(None, writable=True)
        self.engine.connection.execute("SET enable_progress_bar = false")

    def __enter__(self) -> Searched:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    @cached_property
    def census(self) -> Census:
        policy = self.policy(Wanted())
        scratch = Scratch(self.engine)
        return take_census(policy, bind_source(policy, self.engine, scratch), scratch)

    def policy(self, wanted: Wanted) -> Policy:
        return Policy.parse(written(self.data, wanted), Path())

    def timed(self, wanted: Wanted, times: int) -> tuple[float, FoundNode]:
        """The seconds of a search with nothing at hand but the census, and how it went."""
        policy, found = self.policy(wanted), []

        def once() -> float:
            census = replace(self.census, scratch=Scratch(self.engine))
            with self.engine.transaction():
                seconds = seconds_of(
                    lambda: found.append(search(Measurer(Problem.of(policy, census)), lambda *_: None))
                )
                census.scratch.clear()
            return seconds

        return least(once, times), found[-1]

    def group_by(self, source: str, times: int) -> float:
        """The seconds of one GROUP BY of the raw rows."""
        query = f"SELECT count(*) FROM (SELECT {self.data.keys}, count(*) FROM {source} GROUP BY ALL)"
        return best(lambda: self.engine.connection.execute(query).fetchall(), times)


def of_adult(setting: Setting) -> list[Figure]:
    """Eight quasi-identifiers, k = 5, three budgets; the raw rows lie in a table in memory."""
    data = adult(setting.adult, setting.folder)
    heading(f"Search alone, {data.name}, {len(data.names)} quasi-identifiers, k = 5")
    figures = []
    with Searched(data) as searched:
        searched.engine.connection.execute(f"CREATE TABLE raw AS SELECT {data.keys} FROM '{data.file}'")
        base = searched.group_by("raw", setting.times)
        print(f"one GROUP BY of the raw rows in memory: {shown(base)}\n")
        table("method", "suppression", "search", "ratio", "effort")
        for method, aim in AIMS.items():
            for suppression in SUPPRESSIONS:
                wanted = Wanted(method, suppression=suppression)
                seconds, found = searched.timed(wanted, setting.times)
                line(method, suppression, shown(seconds), times_as(seconds / base), effort(found))
                what = f"search {method}, {data.name}, suppression {suppression}"
                figures.append(compared(what, seconds, base, aim))
    return figures


def of_hard_cases(setting: Setting) -> list[Figure]:
    """k grows with the rows; the raw rows are grouped straight from Parquet, which is faster than from memory."""
    heading("Optimal search alone, k grows with the rows, 2 %")
    table("rows", "k", "GROUP BY", "search", "ratio", "effort")
    figures = []
    for rows, k in HARD.items():
        if rows > setting.rows:
            continue
        with Searched(invented(setting.folder, rows)) as searched:
            base = searched.group_by(f"'{searched.data.file}'", setting.times)
            seconds, found = searched.timed(Wanted("optimal", k=k), setting.times)
        line(f"{rows:,}", k, shown(base), shown(seconds), times_as(seconds / base), effort(found))
        figures.append(compared(f"optimal search, {rows:,} rows, k = {k}", seconds, base, "≤ 3×"))
    return figures


def effort(found: FoundNode) -> str:
    """How many nodes there were, were measured and were pruned."""
    return f"path of {len(found.path)} nodes" if found.effort is None else effort_of(found.effort)


def effort_of(told: dict[str, Any]) -> str:
    """The same, as a run tells it."""
    nodes, measured = told["nodes"], told["measured"]
    if not told["proven"]:
        return f"{measured:,} of {nodes:,} nodes, cut short"
    pruned = [told[why] for why in ("pruned_by_bound", "pruned_by_failing")]
    by_loss, by_failing = ("uncounted" if count is None else f"{count:,}" for count in pruned)
    return f"{measured:,} of {nodes:,} nodes, pruned {by_loss} by loss, {by_failing} by failing"
