"""Metrics of how many values a class has, and how evenly."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.steps import Metric, MetricRequest, over_class, select, value_counts, with_steps


def diversity_metrics(request: MetricRequest, sensitive: str) -> Iterator[Metric]:
    yield _l_diversity(request, sensitive)
    yield _recursive_diversity(request, sensitive)
    yield _homogeneity(request, sensitive)


def _l_diversity(request: MetricRequest, sensitive: str) -> Metric:
    classes = select(l="COUNT(v)", e=_ENTROPY).from_(table("counts")).group_by(*request.groups)
    final = select(distinct_l="MIN(l)", entropy_l="MIN(e)", classes="COUNT(*)").from_(table("diversities"))
    query = with_steps(final, **value_counts(request, sensitive), diversities=classes)
    question = "how many distinct values, and how many evenly spread ones, has the least diverse class?"
    return Metric("l_diversity", sensitive, question, query)


# exp(-Σ p ln p) with p = y/Y is exp(ln Y - Σ y ln y / Y); a class without any value has no diversity.
_ENTROPY = """COALESCE(EXP(
    LN(CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE))
    - SUM(CASE WHEN v IS NOT NULL THEN CAST(y AS DOUBLE) * LN(CAST(y AS DOUBLE)) END)
    / CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE)
), CAST(0 AS DOUBLE))"""


def _recursive_diversity(request: MetricRequest, sensitive: str) -> Metric:
    by_size = [sql("CASE WHEN v IS NULL THEN 1 ELSE 0 END"), exp.Ordered(this=column("y"), desc=True)]
    rank = over_class(request, "ROW_NUMBER()", *by_size)
    ranked = select(*request.groups, column("v"), column("y"), rank_=rank).from_(table("counts"))
    rest = sql("SUM(CASE WHEN v IS NOT NULL AND rank_ >= :l THEN y END)", l=literal(request.l))
    rests = select(top="MAX(CASE WHEN v IS NOT NULL THEN y END)", rest=rest).from_(table("ranked"))
    least = "CASE WHEN COUNT(*) = COUNT(rest) THEN MAX(CAST(top AS DOUBLE) / CAST(rest AS DOUBLE)) END"
    query = with_steps(
        select(c=least).from_(table("rests")),
        **value_counts(request, sensitive),
        ranked=ranked,
        rests=rests.group_by(*request.groups),
    )
    question = f"above which c does recursive (c, {request.l})-diversity hold? NULL: for none."
    return Metric("recursive_diversity", sensitive, question, query)


def _homogeneity(request: MetricRequest, sensitive: str) -> Metric:
    classes = select(x="SUM(y)", one="CASE WHEN COUNT(*) = 1 AND COUNT(v) = 1 THEN 1 END")
    query = with_steps(
        select(**_HOMOGENEOUS, expected_classes=_EXPECTED)
        .from_(table("uniform"))
        .join(table("domain"), join_type="cross"),
        **value_counts(request, sensitive),
        uniform=classes.from_(table("counts")).group_by(*request.groups),
        domain=select(log_values=_LOG_VALUES).from_(table("counts")),
    )
    question = "in how many classes do all rows share one value, and how many would chance make?"
    return Metric("homogeneity", sensitive, question, query)


_HOMOGENEOUS = {
    "homogeneous_classes": "COUNT(one)",
    "homogeneous_rows": "CAST(COALESCE(SUM(CASE WHEN one = 1 THEN x END), 0) AS BIGINT)",
}

_LOG_VALUES = "LN(CAST(NULLIF(COUNT(DISTINCT v), 0) AS DOUBLE))"

# mohapatra eq. 1 of classes that need not be equal, Σ K^(1−x); 0 without any value, NULL without any row. PostgreSQL
# refuses a result too small for a double: past e^-700 it is 0.
_EXPECTED = """SUM(CASE
    WHEN log_values IS NULL THEN CAST(0 AS DOUBLE)
    WHEN CAST(x - 1 AS DOUBLE) * log_values > CAST(700 AS DOUBLE) THEN CAST(0 AS DOUBLE)
    ELSE EXP(CAST(1 - x AS DOUBLE) * log_values)
END)"""
