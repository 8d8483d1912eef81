"""A source and its release side by side: both as cells with codes of the same columns, counted by a few of these."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from duckanon.census.words import CensusWords
from duckanon.query.expressions import column
from duckanon.query.steps import select

# So many counts at once stay near the processor: pairs are counted together while there are no more of them.
_MOST_COUNTS = 65_536


@dataclass(frozen=True)
class Variable:
    """A column by the code v{index} of what it shows, in the source and in the release."""

    index: int
    name: str
    labels: int  # distinct ones of the source
    before: exp.Query | None  # code and number of what the source shows; None: it has no numbers
    after: exp.Query | None

    @property
    def code(self) -> str:
        return f"v{self.index}"


Variables = tuple[Variable, ...]


class Side(Protocol):
    """The source, or the release, as cells of n rows with the codes of the variables."""

    def counts(self, variables: Variables) -> exp.Select:
        """How many rows there are by the codes of these alone."""


@dataclass(frozen=True)
class Cells:
    """In columns."""

    query: exp.Select

    def counts(self, variables: Variables) -> exp.Select:
        codes = [column(v.code) for v in variables]
        return select(*codes, n="SUM(n)").from_(self.query.subquery("cells")).group_by(*codes)


@dataclass(frozen=True)
class PackedCells:
    """In the words of a table; what is not in them is always 0."""

    table: exp.Table
    words: CensusWords
    codes: dict[int, str]

    def counts(self, variables: Variables) -> exp.Select:
        names = {v.code: self.codes[v.index] for v in variables if v.index in self.codes}
        counted = self.words.rolled_up(self.table, names.values())
        codes = {
            v.code: f"COALESCE({self.words.code(names[v.code])}, 0)" if v.code in names else "0" for v in variables
        }
        return select(**codes, n="n").from_(counted.subquery("cells"))


def counted_together(asked: Iterable[Variables]) -> list[Variables]:
    """So few sets of variables that each of those asked about is in one, and none has many more values than these."""
    sets: list[Variables] = []
    for variables in asked:
        for place, others in enumerate(sets):
            together = tuple(dict.fromkeys((*others, *variables)))
            if len(together) == len(others) or math.prod(v.labels + 1 for v in together) <= _MOST_COUNTS:
                sets[place] = together
                break
        else:
            sets.append(variables)
    return sets
