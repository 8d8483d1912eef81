"""(α, k): simple, general and complete are one model with thresholds for one, all, or each value."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.models import ClassRule, Constraint
from duckanon.policy import Sensitive
from duckanon.query.expressions import literal, sql


def alpha_rules(wanted: Sensitive) -> Iterator[ClassRule]:
    own = []
    for ordinal, (value, thresholds) in enumerate(wanted.values.items(), start=1):
        if thresholds.alpha is not None:
            own.append(ordinal)
            constraint = Constraint("alpha", wanted.column, value, thresholds.alpha)
            figure = sql("MAX(CASE WHEN named = :ordinal THEN y ELSE 0 END) / size", ordinal=literal(ordinal))
            yield ClassRule(constraint, figure)
    if wanted.alpha is None:
        return
    constraint = Constraint("alpha", wanted.column, None, wanted.alpha)
    if not own:
        figure = sql("MAX(CASE WHEN value IS NOT NULL THEN y ELSE 0 END) / size")
        yield ClassRule(constraint, figure, describes_values=False)
    else:
        others = sql("named").isin(*own).not_()
        figure = sql("MAX(CASE WHEN value IS NOT NULL AND :others THEN y ELSE 0 END) / size", others=others)
        yield ClassRule(constraint, figure)
