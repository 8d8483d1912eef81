"""(ε, m): of a class, at most one in m lies within ε of any of its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.models import ClassRule, Constraint, Windows
from duckanon.policy import Sensitive
from duckanon.query.expressions import TOLERANCE, double, sql


def proximity_rules(wanted: Sensitive) -> Iterator[ClassRule]:
    if wanted.proximity is None:
        return
    constraint = Constraint("proximity", wanted.column, None, 1 / wanted.proximity.m)
    figure = sql("MAX(CASE WHEN number IS NOT NULL THEN near_ ELSE 0 END) / size")
    yield ClassRule(constraint, figure, windows=_near(wanted.proximity.epsilon))


def _near(epsilon: float) -> Windows:
    def windows(over):  # type: ignore[no-untyped-def]
        window = over("SUM(y)", "number NULLS LAST")
        bound = double(epsilon + TOLERANCE)
        spec = exp.WindowSpec(kind="RANGE", start=bound, start_side="PRECEDING", end=bound.copy(), end_side="FOLLOWING")
        window.set("spec", spec)
        return {"near_": window}

    return windows
