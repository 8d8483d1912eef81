"""l-diversity: distinct, entropy, recursive (c, l), and yang's l of a single value."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.models import ClassRule, Constraint, Windows
from duckanon.policy import Sensitive
from duckanon.query.expressions import literal, sql


def diversity_rules(wanted: Sensitive) -> Iterator[ClassRule]:
    column = wanted.column
    if wanted.l is not None:
        constraint = Constraint("distinct_l", column, None, wanted.l, at_least=True)
        yield ClassRule(constraint, sql("COUNT(value)"), describes_values=False, homogeneous=sql("1"))
    if wanted.entropy_l is not None:
        constraint = Constraint("entropy_l", column, None, wanted.entropy_l, at_least=True)
        yield ClassRule(constraint, sql(_ENTROPY), describes_values=False, homogeneous=sql("1"))
    if wanted.recursive is not None:
        # Strict: r_1 < c (r_l + … + r_m). With fewer than l values no c will do.
        constraint = Constraint("recursive", column, None, wanted.recursive.c, strict=True)
        figure = sql(_RECURSIVE, l=literal(wanted.recursive.l))
        never = sql("CAST('Infinity' AS DOUBLE)")
        yield ClassRule(constraint, figure, describes_values=False, windows=_BY_SIZE, homogeneous=never)
    for ordinal, (value, thresholds) in enumerate(wanted.values.items(), start=1):
        if thresholds.l is not None:
            constraint = Constraint("value_l", column, value, thresholds.l, at_least=True)
            present = sql(
                "CASE WHEN COUNT(CASE WHEN named = :ordinal THEN 1 END) > 0 THEN COUNT(value) END",
                ordinal=literal(ordinal),
            )
            yield ClassRule(constraint, present, homogeneous=sql("1"))


_BY_SIZE: Windows = lambda over: {  # noqa: E731
    "rank_": over("ROW_NUMBER()", "CASE WHEN value IS NULL THEN 1 ELSE 0 END, y DESC")
}

# exp(-Σ p ln p) with p = y/Y is exp(ln Y - Σ y ln y / Y); a class without any value has no diversity.
_ENTROPY = """COALESCE(EXP(
    LN(SUM(CASE WHEN value IS NOT NULL THEN y END))
    - SUM(CASE WHEN value IS NOT NULL THEN y * LN(y) END) / SUM(CASE WHEN value IS NOT NULL THEN y END)
), 0)"""

_RECURSIVE = """COALESCE(
    MAX(CASE WHEN value IS NOT NULL THEN y END)
    / SUM(CASE WHEN value IS NOT NULL AND rank_ >= :l THEN y END),
    CAST('Infinity' AS DOUBLE)
)"""
