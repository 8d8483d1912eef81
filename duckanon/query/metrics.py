"""The metrics that analysts may ask of any warehouse: what is asked of whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.counts import ClassedTable, ValueCounts
from duckanon.query.expressions import column


@dataclass(frozen=True)
class Metric:
    """One metric as a query: its macro's name, the sensitive column it is about, and the question it answers."""

    name: str
    column: str | None
    question: str
    query: exp.Select
    order: int = 1000  # among those of a column


@dataclass(frozen=True)
class MetricRequest:
    """What the metrics are asked of: a table with its classes, and the thresholds."""

    table: ClassedTable
    k: int
    l: int  # noqa: E741
    c: float
    population: Sequence[str] | None = None  # a table of everybody, with the same columns

    def beside(self, final: exp.Select) -> exp.Select:
        """A question to the sizes of the classes of the table and of the population."""
        assert self.population is not None
        return self.table.beside(self.population, final)

    def counts(self, sensitive: str) -> ValueCounts:
        return self.table.counts(column(sensitive))


def most_frequent_first(values: exp.Select) -> exp.Select:
    return values.order_by(exp.Ordered(this=column("row_count"), desc=True))
