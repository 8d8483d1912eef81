"""What is counted: rows or, where a person may have several, people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CountingUnit:
    """What is counted in a group of cells: its rows, or its people."""

    number: str  # SQL
    size: str  # the column of a class that k bounds
    columns: tuple[str, ...]  # of a cell, beside its rows n


ROWS = CountingUnit("CAST(SUM(n) AS DOUBLE)", "x", ())
# People are not additive: one who is in two cells of a class counts once. Who is in one cell only, or in no two of a
# class that is asked for, is in the number p of each; everybody else has an e there, which is NULL otherwise.
PEOPLE = CountingUnit("CAST(SUM(p) + COUNT(DISTINCT e) AS DOUBLE)", "people", ("e", "p"))
