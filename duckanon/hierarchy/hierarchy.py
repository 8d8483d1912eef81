"""A hierarchy as a run knows it: a mapping table in the database, and what each level costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.engine import Column
from duckanon.hierarchy.computed import CutsKind, IntervalsKind, Kind, MaskKind
from duckanon.hierarchy.matching import EXACTLY, Matching
from duckanon.query.expressions import column, double, literal, sql
from duckanon.query.functions import cast_or_null


@dataclass(frozen=True)
class Level:
    """What one level does to the column, summed over the source rows."""

    values: int  # distinct values of the data at this level, NULL included
    loss: float  # Σ (ContainNum − 1) / NUM, wang eq. 9
    ncp: float  # Σ of the cells' NCP, pan eq. 4, 5
    highest_ncp: float  # of a single cell
    range_ncp: float | None = None  # of every range of a level of intervals


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
    matching: Matching = EXACTLY  # how a value finds its row there
    starred: bool = False  # values are texts, and what the hierarchy does not know is shown as the top at every level
    strangers: int = 0  # rows that are shown so
    lowest: int = 0  # the finest level that the policy allows, and that is counted
    cap: int | None = None  # the most general level that the policy allows; None: the top
    release_as: str = "label"  # what a class shows of it: its label, or a number

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    @property
    def highest(self) -> int:
        return self.height if self.cap is None else self.cap

    @property
    def allowed(self) -> range:
        """The levels at which a cell may be released."""
        return range(self.lowest, self.highest + 1)

    @property
    def coded(self) -> range:
        """Those of them that tell values apart: below the top. The census has their codes, and no others."""
        return range(self.lowest, min(self.highest + 1, self.height))

    @property
    def base(self) -> int:
        """What no code of its is as large as, at any level; 0 is NULL, or the top."""
        return self.levels[0].values + 1

    def code(self, level: int) -> str:
        """The census column that holds this hierarchy's codes of one level below the top."""
        return f"q{self.index}_{level}"

    @staticmethod
    def label(level: int) -> str:
        """The column of the mapping table that holds what one level below the top shows."""
        return "value" if level == 0 else f"label_{level}"

    def ncp(self, level: int) -> exp.Expr:
        """The NCP of a cell that shows a label of a level below the top, as SQL over the mapping table."""
        cost, each = double(0), self.levels[level].range_ncp
        if each is not None:
            cost = double(each)
        elif level > 0:
            size = sql("CAST(:size AS DOUBLE)", size=column(f"size_{level}"))
            cost = sql(
                "CASE WHEN :size > 1 THEN :size / :num ELSE CAST(0 AS DOUBLE) END", size=size, num=double(self.domain)
            )
        return self._or_top(level, cost, self.levels[-1].highest_ncp)

    def loss(self, level: int) -> exp.Expr:
        """(ContainNum − 1) / NUM of such a cell."""
        num = self.domain
        if level == 0:
            return self._or_top(0, double(0), (num - 1) / num)
        size = sql("CAST(:size AS DOUBLE)", size=column(f"size_{level}"))
        return sql("(:size - 1) / :num", size=size, num=double(num))

    def _or_top(self, level: int, cost: exp.Expr, top: float) -> exp.Expr:
        if not self.strangers:
            return cost
        label = column(self.label(level))
        return sql(
            "CASE WHEN :label = :name THEN :top ELSE :cost END",
            label=label,
            name=literal(self.top),
            top=double(top),
            cost=cost,
        )

    def describe(self, level: int) -> str:
        if not self.is_number or level == 0:
            return self.descriptions[level]
        return f"{self.release_as} of {self.descriptions[level]}" if level < self.height else "removed (NULL)"

    @property
    def is_number(self) -> bool:
        """Whether numbers are released in place of labels."""
        return self.release_as != "label"

    @property
    def number(self) -> exp.Expr | None:
        """The number that a value of the mapping table is, or says; None: its values are no numbers."""
        value = column("value")
        if self.column.type.is_number and not self.starred:
            return sql("CAST(:value AS DOUBLE)", value=value)
        if self.column.type.is_number or self.is_number or isinstance(self.kind, (IntervalsKind, CutsKind)):
            return cast_or_null(value, "DOUBLE")  # a text that says one, or the top beside such
        return None

    @property
    def removed(self) -> exp.Expr:
        """What is shown of the column where nothing of it is left."""
        return exp.cast(exp.null(), "DOUBLE") if self.is_number else literal(self.top)

    @property
    def tells_length(self) -> bool:
        """Whether the top is as long as the longest value."""
        return isinstance(self.kind, MaskKind) and self.kind.kept[-1] == 0

    def of_length(self, longest: int) -> Hierarchy:
        """The same for a longest value of so many characters."""
        assert isinstance(self.kind, MaskKind)
        kind = replace(self.kind, longest=longest)
        return replace(self, kind=kind, top=kind.top, descriptions=(*self.descriptions[:-1], removed(kind.top)))


def removed(top: str) -> str:
    """What the top does to a column, in words."""
    return f"removed ({top})"


def named_levels(hierarchies: Iterable[Hierarchy], node: tuple[int, ...]) -> dict[str, int]:
    """The level of each quasi-identifier at a node, by its name."""
    return {h.column.name: level for h, level in zip(hierarchies, node, strict=True)}
