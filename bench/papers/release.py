"""One release of an experiment, and what is measured of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import duckdb

import duckanon
from bench.papers.data import Data
from duckanon import Policy


@dataclass(frozen=True)
class Release:
    """What is released: the first rows of a table of a sample, under a model that a policy writes as `model`."""

    model: str
    method: str
    k: int
    quasi_identifiers: tuple[str, ...]
    rows: int
    sensitive: str = "occupation"
    table: str = "people"
    c: float = 1.0  # the share of a class from which on a value is skewed

    def policy(self, data: Data) -> Policy:
        sections = [
            f"[quasi_identifiers.{name}]\n" + (f"hierarchy = {h}\n" if (h := data.hierarchies[name]) else "")
            for name in self.quasi_identifiers
        ]
        columns = ", ".join(f'"{name}"' for name in (*self.quasi_identifiers, self.sensitive))
        query = f"SELECT {columns} FROM {self.table} LIMIT {self.rows}"
        # One node for all rows needs a budget to be of any use.
        suppression = 0.02 if self.method == "greedy" else 0
        return Policy.parse(
            f"name = \"papers\"\n[source]\nquery = '{query}'\n[privacy]\nk = {self.k}\nsuppression = {suppression}\n"
            f'[search]\nmethod = "{self.method}"\n[release]\nkind = "table"\nto = "released"\ndifference = "ignore"\n'
            f"{''.join(sections)}{self.model}\n",
            data.folder,
        )


@dataclass(frozen=True)
class Outcome:
    """What is measured of a release."""

    distortion: float
    ncp: float
    precision: float
    skewed_rows: float
    homogeneous_rows: float
    homogeneous_classes: float
    expected_classes: float  # of one value, mohapatra eq. 1 over the classes that there are
    seconds: float  # of the processor, of the census and the search


def outcome(release: Release, data: Data, connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Make the release, and measure it."""
    wanted = release.policy(data)
    start = time.process_time()
    result = duckanon.run(wanted, connection, replace=True)
    seconds = time.process_time() - start
    assert result.utility is not None, result.reasons
    asked = f"'released', {list(release.quasi_identifiers)}, '{release.sensitive}'"
    ((skewed,),) = connection.execute(
        f"SELECT skewed_rows FROM duckanon.skewness({asked}, c := {release.c})"
    ).fetchall()
    ((classes, rows, expected),) = connection.execute(
        f"SELECT homogeneous_classes, homogeneous_rows, expected_classes FROM duckanon.homogeneity({asked})"
    ).fetchall()
    utility = result.utility
    return Outcome(
        utility.get("distortion", 0.0), utility["ncp"], utility["precision"], skewed, rows, classes, expected, seconds
    )
