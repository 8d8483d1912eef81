"""The people that the experiments are run on: Adult, or invented ones; and the random samples of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench.people import QI as INVENTED
from bench.people import people
from duckanon import resources

COLUMNS = (
    *("age", "workclass", "education", "marital-status", "race", "sex"),
    *("occupation", "native-country", "salary-class"),
)
_RENAMED = {"marital_status": "marital-status", "country": "native-country", "salary_class": "salary-class"}
_INVENTED_ROWS = 30_000  # about as many as Adult has
# wang's four values; the paper has 21,411 such rows of its Adult, this one 20,045.
_STATUSES = "('Divorced', 'Widowed', 'Married-civ-spouse', 'Separated')"
_LARGEST = 60_000  # rows of mohapatra's tables, more than there are


@dataclass(frozen=True)
class Data:
    """Where the people are, and the hierarchies of their columns as a policy writes them."""

    name: str
    folder: Path
    source: str  # a relation, as SQL says it
    hierarchies: dict[str, str | None]


def adult(folder: Path) -> Data:
    hierarchies: dict[str, str | None] = {name: f'"adult_hierarchy_{name}.csv"' for name in COLUMNS}
    return Data("Adult", folder, f"read_csv('{folder / 'adult.csv'}', delim = ';')", hierarchies)


def invented(folder: Path) -> Data:
    names = {new: old for old, new in _RENAMED.items()}
    hierarchies = {name: INVENTED.get(names.get(name, name)) for name in COLUMNS}
    renamed = ", ".join(f'{old} AS "{new}"' for old, new in _RENAMED.items())
    source = f"(SELECT * RENAME ({renamed}) FROM '{people(folder, _INVENTED_ROWS)}')"
    return Data("invented people", folder, source, hierarchies)


def sampled(data: Data, sample: int) -> duckdb.DuckDBPyConnection:
    """A database with the people in an order of the sample's own, of which any beginning is a random sample: all of
    them, those of wang's `four` statuses, and as many as mohapatra has, `drawn` of these with replacement."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(resources.macros())
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    connection.execute(f"CREATE TABLE everybody AS SELECT {names}, row_number() OVER () AS i FROM {data.source}")
    order = f"ORDER BY md5(i || ' ' || {sample})"
    four = f'"marital-status" IN {_STATUSES}'
    connection.execute(f"CREATE TABLE people AS SELECT {names} FROM everybody {order}")
    connection.execute(f"CREATE TABLE four AS SELECT {names} FROM everybody WHERE {four} {order}")
    connection.execute(
        f"CREATE TABLE drawn AS SELECT {names} FROM (SELECT *, row_number() OVER () - 1 AS nth FROM four) "
        f"JOIN (SELECT d, md5_number_lower(d || ' ' || {sample}) % (SELECT count(*) FROM four) AS nth "
        f"FROM range({_LARGEST}) AS r (d)) USING (nth) ORDER BY d"
    )
    return connection
