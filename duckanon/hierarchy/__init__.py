"""A hierarchy as a run knows it: a mapping table in the database, and what each level costs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column
from duckanon.hierarchy.kinds import Kind


@dataclass(frozen=True)
class Level:
    """What one level does to the column, summed over the source rows."""

    values: int  # distinct values of the data at this level, NULL included
    loss: float  # Σ (ContainNum − 1) / NUM, wang eq. 9
    ncp: float  # Σ of the cells' NCP, pan eq. 4, 5
    highest_ncp: float  # of a single cell


@dataclass(frozen=True)
class Hierarchy:
    """Mapping table columns: value, n, and per level l: code_l, label_l (l ≥ 1), size_l. NULL has code 0 and no row."""

    index: int  # position in the policy
    column: Column
    importance: float
    top: str
    mapping: exp.Table
    levels: tuple[Level, ...]  # level 0 … the top
    domain: int  # NUM: level-0 values, NULL included where the source has it
    nulls: int  # rows whose value is NULL
    kind: Kind | None  # None: listed in a file or table
    listing: exp.Table | None  # the list: level_0 … level_h
    descriptions: tuple[str, ...]

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    def code(self, level: int) -> str:
        """The census column that holds this hierarchy's codes of one level below the top."""
        return f"q{self.index}_{level}"

    def describe(self, level: int) -> str:
        return self.descriptions[level]
