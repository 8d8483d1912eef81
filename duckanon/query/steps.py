"""Named steps: a query as a WITH whose steps a reader can follow; and those that the metrics share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.expressions import column, sql, table


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
    """What the metrics are asked of: a table, its quasi-identifiers and the thresholds."""

    source: list[str]
    qi: Sequence[str]
    k: int
    l: int  # noqa: E741
    c: float

    @property
    def groups(self) -> list[exp.Column]:
        """The class key under names of our own, which no column of the user's can be mistaken for."""
        return [column(f"g{position}") for position in range(len(self.qi))]

    @property
    def renamed(self) -> str:
        """The first step's name; no WITH may hide the table that it reads."""
        return "renamed_" if self.source[-1].lower() == "renamed" else "renamed"


def with_steps(final: exp.Select, materialized: Collection[str] = (), /, **steps: exp.Query) -> exp.Select:
    """WITH name AS (…), … in the order given, then the final question. The steps become parts of it.

    A step is named by words of ours, and a number where there are several of its kind. The relations of a user that a
    step reads are qualified, or read by the first step, so that no step hides them.
    """
    final = final.copy()
    for name, step in steps.items():
        kept = True if name in materialized else None  # False would be NOT MATERIALIZED
        # With a copy all steps so far would be copied, too: one may have hundreds of figures.
        final.with_(exp.to_identifier(name, quoted=True), as_=step, materialized=kept, copy=False)
    return final


def select(*columns: exp.Expr, **named: str | exp.Expr) -> exp.Select:
    """SELECT with fixed SQL or expressions under output names."""
    given = {name: sql(text) if isinstance(text, str) else text for name, text in named.items()}
    return exp.select(*columns, *(part.as_(name, quoted=True, copy=False) for name, part in given.items()))


def over_class(request: MetricRequest, figure: str, *order: exp.Expr) -> exp.Expr:
    """A window over each class."""
    ordering = exp.Order(expressions=list(order)) if order else None
    return exp.Window(this=sql(figure), partition_by=list(request.groups), order=ordering)


def renamed_columns(request: MetricRequest, **values: str) -> dict[str, exp.Query]:
    """The source's columns under names of our own."""
    keys = [column(name).as_(f"g{position}", quoted=True) for position, name in enumerate(request.qi)]
    chosen = [column(name).as_(ours, quoted=True) for ours, name in values.items()]
    return {request.renamed: exp.select(*keys, *chosen).from_(table(*request.source))}


def value_counts(request: MetricRequest, sensitive: str) -> dict[str, exp.Query]:
    """y rows of every class with every value, NULL included."""
    keys = [*request.groups, column("v")]
    counts = select(*keys, y="COUNT(*)").from_(table(request.renamed)).group_by(*keys)
    return {**renamed_columns(request, v=sensitive), "counts": counts}


def value_shares(request: MetricRequest, sensitive: str) -> dict[str, exp.Query]:
    """In every class of x rows, y have the value v."""
    shares = select(column("v"), column("y"), x=over_class(request, "SUM(y)")).from_(table("counts"))
    return {**value_counts(request, sensitive), "shares": shares}


HIGHEST_SHARE = "MAX(CAST(y AS DOUBLE) / CAST(x AS DOUBLE))"


def per_value(**figures: str) -> exp.Select:
    """Of the step `shares` one row per value, the most frequent first."""
    figured = select(value="v", row_count="CAST(SUM(y) AS BIGINT)", **figures).from_(table("shares"))
    most_first = exp.Ordered(this=column("row_count"), desc=True)
    return figured.where(sql("v IS NOT NULL")).group_by(column("v")).order_by(most_first)
