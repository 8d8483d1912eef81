"""Policies over two hundred people, to every place that a release may go to."""

from __future__ import annotations

PEOPLE = """
name = "people"
[source]
table = "people"
database = "warehouse.duckdb"
[privacy]
k = 3
suppression = 0.1
[quasi_identifiers.age]
hierarchy = { intervals = [5, 10, 20] }
[quasi_identifiers.zip]
hierarchy = { mask = [4, 3, 0] }
[quasi_identifiers.sex]
[sensitive.disease]
l = 2
[columns]
identifiers = ["name"]
[release]
kind = "table"
to = "people_anonymous"
"""
EXPORT = PEOPLE.replace('kind = "table"', 'kind = "csv"').replace('"people_anonymous"', '"people.csv"')
# Where the last release is of no interest, comparing with it would only take time.
UNCOMPARED = 'difference = "ignore"\n'
NAMED = '[ledger]\ndatabase = "ledger.duckdb"\n'


def released_to(kind: str, to: str, text: str = PEOPLE) -> str:
    return text.replace('kind = "table"', f'kind = "{kind}"').replace('to = "people_anonymous"', f'to = "{to}"')


def partitioned(kind: str = "parquet", to: str = "out", by: str = '["sex"]', more: str = "", text: str = PEOPLE) -> str:
    return released_to(kind, to, text) + f"partition_by = {by}\n{more}\n"
