"""Sensitivity levels: (α, L)-diversification and (p+, α)-sensitive k-anonymity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from duckanon.models.diversity import l_diversity
from duckanon.models.keys import Key, LevelKey
from duckanon.models.model import ClassModel
from duckanon.models.questions import CountedColumn, ReleasedColumn, only_figure
from duckanon.models.rules import ClassRule, Constraint
from duckanon.models.shares import beyond_share
from duckanon.models.wanted import Wanted
from duckanon.query.counts import HIGHEST_SHARE
from duckanon.query.expressions import TOLERANCE, case_of, column, double, literal, sql, table
from duckanon.query.steps import select
from duckanon.toml import Section
from duckanon.toml.checks import number, share, whole


class LevelDiversity(ClassModel):
    """pan: at least L levels in every class."""

    name, order = "level_l", 50
    key = Key("level_l", whole(1), True, "distinct levels in every class", example=3)
    needs_levels = True
    monotone = closed_under_growing = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, sql("COUNT(DISTINCT level)"), homogeneous=sql("1"), of_levels=True)

    def least_size(self, wanted: Wanted) -> int:
        return int(wanted.thresholds["level_l"])

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> int:
        ((distinct, *_),) = released.rows.ask(l_diversity(released.levels), "verify: level_l")
        return int(distinct or 0)

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        least, levels = counted.wanted.thresholds["level_l"], len(_rows_by_level(counted))
        if least > levels:
            yield f"sensitive.{counted.wanted.column}.level_l: {least} is above the {levels} levels of the data"


class LevelAlpha(ClassModel):
    """pan: no protected level has more than its share of any class."""

    name, order = "level_alpha", 51
    key = LevelKey("level_alpha", share, False, "by level: its highest share in any class", example={"1": 0.25})
    needs_levels = True
    monotone = True

    def must_fit(self, wanted: Wanted, section: Section) -> None:
        for level in wanted.thresholds["level_alpha"]:
            if level not in wanted.levels:
                section.fault(f"level_alpha.{level}", "names a level that 'levels' does not have")

    def constraints(self, column: str, value: str | None, threshold: Any) -> Iterator[Constraint]:
        for level, bound in threshold.items():
            yield Constraint(self.name, column, str(level), bound)

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        level = literal(int(constraint.value or 0))
        figure = sql("SUM(CASE WHEN level = :level THEN y ELSE 0 END) / :size", level=level)
        return ClassRule(constraint, figure, of_levels=True)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        return beyond_share(rule)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        level = sql("v = :level", level=literal(int(constraint.value or 0)))
        query = select(alpha=HIGHEST_SHARE).from_(table("shares")).where(level)
        query = released.levels.asked(query, shares=released.levels.shares)
        return float(only_figure(released.rows.ask(query, "verify: level_alpha")) or 0.0)

    def too_frequent(self, counted: CountedColumn) -> Iterator[str]:
        held, remaining = _rows_by_level(counted), counted.rows - counted.budget
        for level, bound in counted.wanted.thresholds["level_alpha"].items():
            least = (held.get(level, 0) - counted.budget) / remaining if remaining > 0 else 0
            if least > bound + TOLERANCE:
                where, rows = f"sensitive.{counted.wanted.column}.level_alpha.{level}", held[level] / counted.rows
                yield (
                    f"{where}: {bound:g} cannot hold: {rows:.2%} of the rows have that level, "
                    f"so the least feasible bound with the suppression budget is {least:.6f}"
                )


class LevelWeight(ClassModel):
    """(p+, α): the distinct levels of a class weigh at least so much together."""

    name, order = "level_weight", 52
    key = Key(
        "level_weight",
        number(least=0),
        True,
        "least sum of the weights of a class's distinct levels: of n levels the i-th weighs (i − 1) / (n − 1)",
        example=1.0,
    )
    needs_levels = True
    monotone = closed_under_growing = True  # no weight is below 0

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, _weight(wanted), homogeneous=_known_weight(wanted), of_levels=True)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        """The least sum, over the classes, of the weights of the distinct levels in it; where a level is everybody's,
        it is the only one that counts."""
        counts = released.levels
        weights = {level: double(weight) for level, weight in level_weights(released.wanted).items()}
        weighed = select(*counts.groups, column("y"), column("x"), weight=case_of(column("v"), weights, exp.null()))
        total = "COALESCE(MIN(CASE WHEN y >= x THEN weight END), SUM(weight), CAST(0 AS DOUBLE))"
        query = counts.asked(
            select(least="MIN(total)").from_(table("totals")),
            shares=counts.shares,
            weighed=weighed.from_(table("shares")),
            totals=select(total=total).from_(table("weighed")).group_by(*counts.groups),
        )
        least: float | None = only_figure(released.rows.ask(query, "verify: level_weight"))
        return least

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        wanted, held = counted.wanted, _rows_by_level(counted)
        least, most = wanted.thresholds["level_weight"], sum(w for lv, w in level_weights(wanted).items() if lv in held)
        if least > most + TOLERANCE:
            where = f"sensitive.{wanted.column}.level_weight"
            yield f"{where}: {least:g} is above {most:g}, the weight of all levels together"


MODELS = (LevelDiversity(), LevelAlpha(), LevelWeight())


def levelled_rules(wanted: Wanted) -> Iterator[ClassRule]:
    """Every value has a level, where levels are needed: a run refuses data without, a view meets it later."""
    if wanted.needs_levels:
        figure = sql("SUM(CASE WHEN value IS NOT NULL AND level IS NULL THEN y ELSE 0 END)")
        yield ClassRule(Constraint("levelled", wanted.column, None, 0), figure)


def level_weights(wanted: Wanted) -> dict[int, float]:
    """pan eq. 2: the i-th of k levels weighs (i-1)/(k-1)."""
    steps = max(1, len(wanted.levels) - 1)
    return {level: position / steps for position, level in enumerate(wanted.levels)}


def _known_weight(wanted: Wanted) -> exp.Expr:
    """Where everybody has the same level, its weight is all there is; of several such, the least."""
    weights = {level: double(weight) for level, weight in level_weights(wanted).items()}
    return sql("MIN(CASE WHEN y >= people THEN :weight END)", weight=case_of(column("level"), weights, exp.null()))


def _weight(wanted: Wanted) -> exp.Expr:
    present = "MAX(CASE WHEN level = :level THEN :weight ELSE CAST(0 AS DOUBLE) END)"
    terms = [sql(present, level=literal(lv), weight=double(w)) for lv, w in level_weights(wanted).items()]
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total


def shown_level(wanted: Wanted, text: exp.Expr) -> exp.Expr:
    """The level of a value that a release shows, by its text; NULL: it has none."""
    levels = {value: literal(level) for value, level in wanted.level_of.items()}
    if wanted.publish == "level":
        levels = {str(level): literal(level) for level in wanted.levels}
    return case_of(text, levels, exp.cast(exp.null(), "INTEGER"))


def _rows_by_level(counted: CountedColumn) -> dict[int, int]:
    query = exp.select("level", sql("CAST(SUM(rows) AS BIGINT)")).from_(counted.table).group_by("level")
    return dict(counted.fetch(query))
