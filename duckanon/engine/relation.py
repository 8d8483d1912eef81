"""Tables and views as a catalog spells them, and how files become one."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.policy import CsvOptions
from duckanon.query.expressions import column, sql, table
from duckanon.query.names import quoted


@dataclass(frozen=True)
class Relation:
    """A table or view, spelled as the catalog spells it: `parts` is what a statement needs to name it."""

    parts: tuple[str, ...]
    kind: str  # table | view
    comment: str | None = None
    written: frozenset[str] = frozenset()  # the columns that are texts of a CSV file, as they stand there
    copies: str | None = None  # the column that says how many rows each of its rows stands for; None: it is one

    @property
    def spelled(self) -> str:
        return quoted(*self.parts)

    @property
    def table(self) -> exp.Table:
        return table(*self.parts)

    @property
    def number(self) -> exp.Expr:
        """How many rows there are, in a GROUP BY."""
        if self.copies is None:
            return sql("COUNT(*)")
        return sql("CAST(SUM(:copies) AS BIGINT)", copies=column(self.copies))


@dataclass(frozen=True)
class Reading:
    """How the columns of a file are read that no catalog gives a type: names in any case."""

    texts: tuple[str, ...] = ()  # folders' names say them as they are written, so that 02139 keeps its zero
    numbers: tuple[str, ...] = ()  # of a CSV file: a rule needs them as numbers, if they are all written as such
    dates: tuple[str, ...] = ()  # likewise as dates, if source.csv.dateformat says how they are written; else as texts
    ranges: tuple[str, ...] = ()  # numbers, as texts; or dates, likewise
    figures: tuple[str, ...] = ()  # numbers, if reading them so changes no field
    csv: CsvOptions = field(default_factory=CsvOptions)


@dataclass(frozen=True)
class ReadFile:
    """What came of the columns of a CSV file; of other files nothing is to be said."""

    misfits: dict[str, int] = field(default_factory=dict)  # so many fields are not written as a rule needs them
    texts: frozenset[str] = frozenset()  # columns that are what stands in the file, and of no type that was asked for
