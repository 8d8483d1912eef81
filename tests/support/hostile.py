"""Names and values with everything in them that could break out of a query."""

from __future__ import annotations

HOSTILE = """
name = "hostile"
[source]
table = '{table}'
database = "warehouse.duckdb"
[privacy]
k = 2
suppression = 0.2
[quasi_identifiers.select]
hierarchy = {{ intervals = [10, 20] }}
[quasi_identifiers."a b"]
hierarchy = {{ mask = [3, 2, 1, 0] }}
[quasi_identifiers."ünï"]
hierarchy = {{ table = 'dim "odd"; table', columns = ["from", "to where"] }}
[sensitive."it's"]
l = 2
[sensitive."it's".values."O'Brien's; DROP TABLE x"]
alpha = 0.9
alp = 0.9
dif = 0.9
l = 2
[columns]
identifiers = ["value"]
keep = ["n"]
[release]
kind = "{kind}"
to = '{to}'
"""
