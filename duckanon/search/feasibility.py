"""What can never hold, said before any search: with what would be feasible."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.errors import Message, examples_of
from duckanon.models.levels import level_weights
from duckanon.query.expressions import TOLERANCE, case_of, column, double, literal, sql, text_of
from duckanon.search.problem import Problem

_MOST_NAMED = 5  # values listed per threshold


def impossible(problem: Problem) -> list[str]:
    """Every threshold of the policy that no generalization can reach within the budget."""
    policy, census, budget = problem.policy, problem.census, problem.allowed
    found = [str(unmapped) for unmapped in census.unmapped if census.left_out > budget]
    if found:
        found.append(f"privacy.unmapped: {census.left_out:,} rows would be suppressed, the budget is {budget:,}")
    if policy.k > census.rows:
        found.append(f"privacy.k: {policy.k} is above the {census.rows} rows of the source")
    elif census.people is not None and policy.k > census.people:
        found.append(f"privacy.k: {policy.k} is above the {census.people} people of the source")
    for values in census.sensitive:
        found += _too_diverse(values, census, budget)
        found += _levels_out_of_reach(values, census)
        # Somebody with rows in several classes counts in each, so no share of people bounds that of a class.
        if census.people is None:
            found += _too_frequent(values, census, budget)
            found += _levels_too_frequent(values, census, budget)
    return found


def _too_diverse(values: ValueTable, census: Census, budget: int) -> Iterator[str]:
    wanted = values.wanted
    asked = {
        "l": wanted.l,
        "entropy_l": wanted.entropy_l,
        "recursive.l": wanted.recursive.l if wanted.recursive else None,
    }
    for key, threshold in asked.items():
        if threshold is not None and threshold > values.distinct + TOLERANCE:
            where = f"sensitive.{wanted.column}.{key}"
            yield f"{where}: {threshold:g} is above the {values.distinct} distinct values of the column"
    for ordinal, (value, thresholds) in enumerate(wanted.values.items(), start=1):
        if thresholds.l is None or thresholds.l <= values.distinct:
            continue
        if _rows(values, census, sql("named = :ordinal", ordinal=literal(ordinal))) > budget:
            yield (
                f"sensitive.{wanted.column}.values.{value}.l: {thresholds.l} is above the {values.distinct} "
                "distinct values of the column"
            )


def _too_frequent(values: ValueTable, census: Census, budget: int) -> Iterator[str]:
    """α_s and alp_s are never below the value's share (han eq. 1, wang theorem 2); the budget can lower it a little."""
    wanted = values.wanted
    for name in ("alpha", "alp"):
        own = {
            ordinal: getattr(thresholds, name)
            for ordinal, thresholds in enumerate(wanted.values.values(), start=1)
            if getattr(thresholds, name) is not None
        }
        column_wide = getattr(wanted, name)
        if column_wide is None and not own:
            continue
        default = exp.null() if column_wide is None else double(column_wide)
        bound = case_of(column("named"), {ordinal: double(threshold) for ordinal, threshold in own.items()}, default)
        yield from _above_bound(values, census, budget, name, bound)


def _above_bound(values: ValueTable, census: Census, budget: int, name: str, bound: exp.Expr) -> Iterator[str]:
    remaining = census.rows - budget
    if remaining <= 0:
        return
    query = (
        exp.select(text_of(column("value")), sql("CAST(rows AS BIGINT)"), bound)
        .from_(values.table)
        .where(
            sql(
                "(CAST(rows AS DOUBLE) - :budget) / :remaining > :bound + :tolerance",
                budget=literal(budget),
                remaining=double(remaining),
                bound=bound,
                tolerance=double(TOLERANCE),
            )
        )
        .order_by("rows DESC", "code")
    )
    rows = census.workbench.fetch(query.limit(_MOST_NAMED + 1))
    for text, count, threshold in rows[:_MOST_NAMED]:
        least = (count - budget) / remaining
        yield Message.of(
            f"sensitive.{values.wanted.column}: {name} {threshold:g} cannot hold for ",
            examples_of([text]),
            f": {count / census.rows:.2%} of the rows have it, so the least feasible {name} "
            f"with the suppression budget is {least:.6f}",
        )
    if len(rows) > _MOST_NAMED:
        yield f"sensitive.{values.wanted.column}: {name} cannot hold for further values either"


def _rows_by_level(values: ValueTable, census: Census) -> dict[int, int]:
    query = exp.select("level", sql("CAST(SUM(rows) AS BIGINT)")).from_(values.table).group_by("level")
    return dict(census.workbench.fetch(query))


def _levels_out_of_reach(values: ValueTable, census: Census) -> Iterator[str]:
    wanted = values.wanted
    if not wanted.needs_levels:
        return
    held, where = _rows_by_level(values, census), f"sensitive.{wanted.column}"
    if wanted.level_l is not None and wanted.level_l > len(held):
        yield f"{where}.level_l: {wanted.level_l} is above the {len(held)} levels of the data"
    if wanted.level_weight is not None:
        most = sum(weight for level, weight in level_weights(wanted).items() if level in held)
        if wanted.level_weight > most + TOLERANCE:
            yield f"{where}.level_weight: {wanted.level_weight:g} is above {most:g}, the weight of all levels together"


def _levels_too_frequent(values: ValueTable, census: Census, budget: int) -> Iterator[str]:
    wanted = values.wanted
    held, where = _rows_by_level(values, census), f"sensitive.{wanted.column}"
    remaining = census.rows - budget
    for level, bound in wanted.level_alpha.items():
        least = (held.get(level, 0) - budget) / remaining if remaining > 0 else 0
        if least > bound + TOLERANCE:
            share = held[level] / census.rows
            yield (
                f"{where}.level_alpha.{level}: {bound:g} cannot hold: {share:.2%} of the rows have that level, "
                f"so the least feasible bound with the suppression budget is {least:.6f}"
            )


def _rows(values: ValueTable, census: Census, condition: exp.Expr) -> int:
    query = exp.select(sql("CAST(COALESCE(SUM(rows), 0) AS BIGINT)")).from_(values.table).where(condition)
    ((rows,),) = census.workbench.fetch(query)
    return int(rows)
