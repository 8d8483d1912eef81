"""The policies of people, for a table that lies in a server."""

from __future__ import annotations

from tests.support.people import PEOPLE, UNCOMPARED, released_to

FAR = PEOPLE.replace('database = "warehouse.duckdb"\n', "")
# Where the last release is of no interest, comparing with it would take half of a run.
FAR_UNCOMPARED = FAR + UNCOMPARED
FAR_VIEW = released_to("view", "people_view", FAR)
FAR_FILE = released_to("csv", "people.csv", FAR)
