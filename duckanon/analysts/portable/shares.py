"""Metrics of the share that a value has of a class."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.query.expressions import TOLERANCE, column, double, sql, table
from duckanon.query.steps import Metric, MetricRequest, over_class, select, value_counts, with_steps


def share_metrics(request: MetricRequest, sensitive: str) -> Iterator[Metric]:
    yield _alpha(request, sensitive)
    yield _leakage(request, sensitive)
    yield _skewness(request, sensitive)


def _alpha(request: MetricRequest, sensitive: str) -> Metric:
    frequency = "CAST(SUM(y) AS DOUBLE) / CAST(MAX(n) AS DOUBLE)"
    query = with_steps(
        _per_value(frequency=frequency, alpha=_HIGHEST).join(table("totals"), join_type="cross"),
        **_shares(request, sensitive),
        totals=select(n="SUM(y)").from_(table("counts")),
    )
    question = "which share of all rows has each value, and which share of a class at most?"
    return Metric("alpha", sensitive, question, query)


def _leakage(request: MetricRequest, sensitive: str) -> Metric:
    query = _per_value(alp=_ALP, highest_lp=_HIGHEST, dif=f"{_HIGHEST} - {_ALP}")
    question = (
        "how sure of each value is one who knows a person's class: on average (alp), at most, and the difference?"
    )
    return Metric("leakage", sensitive, question, with_steps(query, **_shares(request, sensitive)))


def _shares(request: MetricRequest, sensitive: str) -> dict[str, exp.Query]:
    """In every class of x rows, y have the value v."""
    shares = select(column("v"), column("y"), x=over_class(request, "SUM(y)")).from_(table("counts"))
    return {**value_counts(request, sensitive), "shares": shares}


def _per_value(**figures: str) -> exp.Select:
    """One row per value, the most frequent first."""
    figured = select(value="v", row_count="CAST(SUM(y) AS BIGINT)", **figures).from_(table("shares"))
    most_first = exp.Ordered(this=column("row_count"), desc=True)
    return figured.where(sql("v IS NOT NULL")).group_by(column("v")).order_by(most_first)


_HIGHEST = "MAX(CAST(y AS DOUBLE) / CAST(x AS DOUBLE))"
_ALP = "SUM(CAST(y AS DOUBLE) * CAST(y AS DOUBLE) / CAST(x AS DOUBLE)) / CAST(SUM(y) AS DOUBLE)"  # wang


def _skewness(request: MetricRequest, sensitive: str) -> Metric:
    tops = select(x="SUM(y)", top="MAX(CASE WHEN v IS NOT NULL THEN y END)").from_(table("counts"))
    over = {"over": sql("CAST(top AS DOUBLE) / CAST(x AS DOUBLE) > :limit", limit=double(request.c + TOLERANCE))}
    final = select(
        skewed_classes=sql("COUNT(CASE WHEN :over THEN 1 END)", **over),
        skewed_rows=sql("CAST(COALESCE(SUM(CASE WHEN :over THEN x END), 0) AS BIGINT)", **over),
    )
    query = with_steps(
        final.from_(table("tops")), **value_counts(request, sensitive), tops=tops.group_by(*request.groups)
    )
    question = f"in how many classes has some value a share above {request.c}?"
    return Metric("skewness", sensitive, question, query)
