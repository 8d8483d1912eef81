"""Sensitivity levels: (α, L)-diversification and (p+, α)-sensitive k-anonymity."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.models import ClassRule, Constraint
from duckanon.policy import Sensitive
from duckanon.query.expressions import case_of, column, double, literal, sql


def level_rules(wanted: Sensitive) -> Iterator[ClassRule]:
    if wanted.level_l is not None:
        constraint = Constraint("level_l", wanted.column, None, wanted.level_l, at_least=True)
        yield ClassRule(constraint, sql("COUNT(DISTINCT level)"), homogeneous=sql("1"), of_levels=True)
    for level, bound in wanted.level_alpha.items():
        figure = sql("SUM(CASE WHEN level = :level THEN y ELSE 0 END) / size", level=literal(level))
        yield ClassRule(Constraint("level_alpha", wanted.column, str(level), bound), figure, of_levels=True)
    if wanted.level_weight is not None:
        constraint = Constraint("level_weight", wanted.column, None, wanted.level_weight, at_least=True)
        yield ClassRule(constraint, _weight(wanted), homogeneous=_known_weight(wanted), of_levels=True)


def levelled_rules(wanted: Sensitive) -> Iterator[ClassRule]:
    """Every value has a level, where levels are needed: a run refuses data without, a view meets it later."""
    if wanted.needs_levels:
        figure = sql("SUM(CASE WHEN value IS NOT NULL AND level IS NULL THEN y ELSE 0 END)")
        yield ClassRule(Constraint("levelled", wanted.column, None, 0), figure)


def level_weights(wanted: Sensitive) -> dict[int, float]:
    """pan eq. 2: the i-th of k levels weighs (i-1)/(k-1)."""
    steps = max(1, len(wanted.levels) - 1)
    return {level: position / steps for position, level in enumerate(wanted.levels)}


def _known_weight(wanted: Sensitive) -> exp.Expr:
    """Where everybody has the same level, its weight is all there is; of several such, the least."""
    weights = {level: double(weight) for level, weight in level_weights(wanted).items()}
    return sql("MIN(CASE WHEN y >= people THEN :weight END)", weight=case_of(column("level"), weights, exp.null()))


def _weight(wanted: Sensitive) -> exp.Expr:
    present = "MAX(CASE WHEN level = :level THEN :weight ELSE CAST(0 AS DOUBLE) END)"
    terms = [sql(present, level=literal(lv), weight=double(w)) for lv, w in level_weights(wanted).items()]
    total = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    return total
