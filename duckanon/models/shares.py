"""What the models of a value's share have in common: a bound for every value of a column, or for some of their own."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.errors import Message, examples_of
from duckanon.models.questions import CountedColumn, ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint
from duckanon.models.wanted import ordinal_of, ordinals_without, own_thresholds
from duckanon.query.expressions import TOLERANCE, case_of, column, double, literal, sql, text_of

_MOST_NAMED = 5  # values listed per threshold


def beyond_share(rule: ClassRule) -> exp.Expr:
    """Rows of a class that must go before a value's share y / x is within its bound α: of r rows that go, all may have
    the value, and y - r ≤ α (x - r) for r ≥ (y - α x) / (1 - α)."""
    bound = rule.constraint.threshold + TOLERANCE
    if bound >= 1:
        return double(1)  # never above it
    return sql("(:figure - :bound) * :size / :rest", figure=rule.figure, bound=double(bound), rest=double(1 - bound))


def above_share(counted: CountedColumn, key: str) -> Iterator[str]:
    """Values whose share of the source is above their bound, also with as many of their rows suppressed as may be."""
    remaining = counted.rows - counted.budget
    if remaining <= 0:
        return
    rows = counted.fetch(_above_bound(counted, _bound(counted, key), remaining).limit(_MOST_NAMED + 1))
    where = f"sensitive.{counted.wanted.column}"
    for text, count, threshold in rows[:_MOST_NAMED]:
        least = (count - counted.budget) / remaining
        yield Message.of(
            f"{where}: {key} {threshold:g} cannot hold for ",
            examples_of([text]),
            f": {count / counted.rows:.2%} of the rows have it, so the least feasible {key} "
            f"with the suppression budget is {least:.6f}",
        )
    if len(rows) > _MOST_NAMED:
        yield f"{where}: {key} cannot hold for further values either"


def _bound(counted: CountedColumn, key: str) -> exp.Expr:
    """The bound of a value: its own, or the column's, or NULL."""
    own = {ordinal: double(bound) for ordinal, bound in own_thresholds(counted.wanted, key).items()}
    of_column = counted.wanted.thresholds.get(key)
    return case_of(column("named"), own, exp.null() if of_column is None else double(of_column))


def _above_bound(counted: CountedColumn, bound: exp.Expr, remaining: int) -> exp.Select:
    above = sql(
        "(CAST(rows AS DOUBLE) - :budget) / :remaining > :bound + :tolerance",
        budget=literal(counted.budget),
        remaining=double(remaining),
        bound=bound,
        tolerance=double(TOLERANCE),
    )
    found = exp.select(text_of(column("value")), sql("CAST(rows AS BIGINT)"), bound).from_(counted.table)
    return found.where(above).order_by("rows DESC", "code")


def worst_leak(constraint: Constraint, released: ReleasedColumn) -> float | None:
    """The highest figure of the constraint's name over the values that it is for."""
    wanted, name = released.wanted, constraint.name
    ordinals = ordinals_without(wanted, name) if constraint.value is None else [ordinal_of(wanted, constraint.value)]
    found = (released.worst_leaks.get(ordinal, {}).get(name) for ordinal in ordinals)
    return max((figure for figure in found if figure is not None), default=None)
