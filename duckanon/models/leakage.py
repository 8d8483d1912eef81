"""(ALP, DIF), wang: the average leakage probability of a value, and how far a class may lie above it.

Both are measured on the whole table. DIF can grow when classes merge (wang's theorem 3 is wrong), so a search must
never prune on it; but of all rows in one class DIF is 0, and ALP the value's share, which is the least there is (wang,
theorem 2).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.models.keys import Key
from duckanon.models.model import TableModel
from duckanon.models.questions import CountedColumn, ReleasedColumn
from duckanon.models.rules import Constraint, TableRule, ValueMeasure
from duckanon.models.shares import above_share, worst_leak
from duckanon.models.wanted import Wanted, ordinal_of, ordinals_without
from duckanon.query.counts import HIGHEST_SHARE, ValueCounts, per_value
from duckanon.query.expressions import TOLERANCE, double, sql
from duckanon.query.metrics import Metric, MetricRequest, most_frequent_first
from duckanon.toml.checks import number, share

_LEAKAGE = ValueMeasure(
    "leakage",
    {"alp": "SUM(y * y / :size) / SUM(y)", "lp": "MAX(y / :size)"},  # wang eq. 2
    {"alp": "alp", "dif": "lp - alp"},
)


class AverageLeakage(TableModel):
    """How sure of a value one is, on average, who knows the class of somebody who has it."""

    name, order = "alp", 40
    key = Key("alp", share, False, "highest average leakage probability of a value", example=0.5)
    value_key = Key("alp", share, False, "its highest average leakage probability, over the column's", example=0.1)
    best_at_top = True

    def rule(self, constraint: Constraint, wanted: Wanted) -> TableRule:
        # Every class above the average lifts it; to merge all of them at once would be more than it takes.
        above = sql("s.y / s.x > l.alp - :tolerance", tolerance=double(TOLERANCE))
        return TableRule(constraint, _LEAKAGE, _values_of(constraint, wanted), above, gradually=True)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        return worst_leak(constraint, released)

    def too_frequent(self, counted: CountedColumn) -> Iterator[str]:
        return above_share(counted, "alp")

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = (
            "how sure of each value is one who knows a person's class: on average (alp), at most, and the difference?"
        )
        query = most_frequent_first(leakage(request.counts(sensitive)))
        yield Metric("leakage", sensitive, question, query, order=50)


_ALP = "SUM(CAST(y AS DOUBLE) * CAST(y AS DOUBLE) / CAST(x AS DOUBLE)) / CAST(SUM(y) AS DOUBLE)"  # wang


def leakage(counts: ValueCounts) -> exp.Select:
    """Of every value: value, row_count, alp, highest_lp, dif."""
    figures = per_value(alp=_ALP, highest_lp=HIGHEST_SHARE, dif=f"{HIGHEST_SHARE} - {_ALP}")
    return counts.asked(figures, shares=counts.shares)


_FROM_0 = number(least=0, most=1)


class LeakageDifference(TableModel):
    """How much surer one may be in a class than on average."""

    name, order = "dif", 41
    key = Key("dif", _FROM_0, False, "how far a class may lie above the average leakage probability", example=0.5)
    value_key = Key("dif", _FROM_0, False, "how far a class may lie above its average, over the column's", example=0.2)
    best_at_top = True

    def rule(self, constraint: Constraint, wanted: Wanted) -> TableRule:
        too_far = sql("s.y / s.x - l.alp > :bound", bound=double(constraint.threshold + TOLERANCE))
        return TableRule(constraint, _LEAKAGE, _values_of(constraint, wanted), too_far)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        return worst_leak(constraint, released)


MODELS = (AverageLeakage(), LeakageDifference())


def _values_of(constraint: Constraint, wanted: Wanted) -> tuple[int, ...]:
    if constraint.value is not None:
        return (ordinal_of(wanted, constraint.value),)
    return tuple(ordinals_without(wanted, constraint.name))
