"""(α, k): simple, general and complete are one model with thresholds for one, all, or each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from duckanon.models.keys import Key
from duckanon.models.model import ClassModel
from duckanon.models.questions import CountedColumn, ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint
from duckanon.models.shares import above_share, beyond_share, worst_leak
from duckanon.models.wanted import Wanted, ordinal_of, own_thresholds
from duckanon.query.counts import HIGHEST_SHARE, per_value
from duckanon.query.expressions import TOLERANCE, double, literal, sql, table
from duckanon.query.metrics import Metric, MetricRequest, most_frequent_first
from duckanon.query.steps import select
from duckanon.toml.checks import share


class Alpha(ClassModel):
    """No value has more than its share of any class; also yang's c. What a class has at most is never below the value's
    share of all rows (han eq. 1)."""

    name, order = "alpha", 30
    key = Key("alpha", share, False, "highest share of any value in any class", example=0.6)
    value_key = Key("alpha", share, False, "its highest share in any class, over the column's", example=0.2)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        if constraint.value is not None:
            ordinal = literal(ordinal_of(wanted, constraint.value))
            figure = sql("MAX(CASE WHEN named = :ordinal THEN y ELSE 0 END) / :size", ordinal=ordinal)
            return ClassRule(constraint, figure)
        own = own_thresholds(wanted, "alpha")
        if not own:
            figure = sql("MAX(CASE WHEN value IS NOT NULL THEN y ELSE 0 END) / :size")
            return ClassRule(constraint, figure, describes_values=False)
        others = sql("named").isin(*own).not_()
        figure = sql("MAX(CASE WHEN value IS NOT NULL AND :others THEN y ELSE 0 END) / :size", others=others)
        return ClassRule(constraint, figure)

    def together(self, column: str, own: Mapping[int, float]) -> ClassRule:
        """Of x rows no more than α x have a value, for every value, if x is no less than the greatest y / α."""
        bounds = {ordinal: threshold + TOLERANCE for ordinal, threshold in own.items()}
        within = Constraint(self.name, column, None, 1 - TOLERANCE)
        return ClassRule(within, sql("MAX(y / own_alpha) / :size"), own=bounds, lasting=double(1))

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        return beyond_share(rule)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        return worst_leak(constraint, released) or 0.0

    def too_frequent(self, counted: CountedColumn) -> Iterator[str]:
        return above_share(counted, "alpha")

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        yield _alpha(request, sensitive)
        yield _skewness(request, sensitive)


MODEL = Alpha()


# -- for analysts ---------------------------------------------------------------------------------


def _alpha(request: MetricRequest, sensitive: str) -> Metric:
    counts = request.counts(sensitive)
    frequency = "CAST(SUM(y) AS DOUBLE) / CAST(MAX(n) AS DOUBLE)"
    values = per_value(frequency=frequency, alpha=HIGHEST_SHARE).join(table("totals"), join_type="cross")
    totals = select(n="SUM(y)").from_(table("counts"))
    query = most_frequent_first(counts.asked(values, shares=counts.shares, totals=totals))
    question = "which share of all rows has each value, and which share of a class at most?"
    return Metric("alpha", sensitive, question, query, order=40)


def _skewness(request: MetricRequest, sensitive: str) -> Metric:
    counts = request.counts(sensitive)
    tops = select(x=counts.size, top="MAX(CASE WHEN v IS NOT NULL THEN y END)").from_(table("counts"))
    over = {"over": sql("CAST(top AS DOUBLE) / CAST(x AS DOUBLE) > :limit", limit=double(request.c + TOLERANCE))}
    final = select(
        skewed_classes=sql("COUNT(CASE WHEN :over THEN 1 END)", **over),
        skewed_rows=sql("CAST(COALESCE(SUM(CASE WHEN :over THEN x END), 0) AS BIGINT)", **over),
    )
    query = counts.asked(final.from_(table("tops")), tops=tops.group_by(*counts.groups))
    question = f"in how many classes has some value a share above {request.c}?"
    return Metric("skewness", sensitive, question, query, order=60)
