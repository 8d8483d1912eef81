"""t-closeness: how far a class's distribution lies from that of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from duckanon.models import ClassRule, Constraint
from duckanon.policy import Sensitive
from duckanon.query.expressions import sql, table
from duckanon.query.steps import with_steps


def closeness_rules(wanted: Sensitive, numeric: bool) -> Iterator[ClassRule]:
    if wanted.t is None:
        return
    constraint = Constraint("t", wanted.column, None, wanted.t)
    if numeric:
        yield ClassRule(constraint, sql(_ORDERED), windows=_ordered_windows, crossing=True)
    else:
        yield ClassRule(constraint, sql(_EQUAL), windows=_total)


_Over = Callable[[str, str | None], exp.Expr]


def _total(over: _Over) -> Mapping[str, exp.Expr]:
    return {"total": over("SUM(CASE WHEN value IS NOT NULL THEN y END)", None)}


def _ordered_windows(over: _Over) -> Mapping[str, exp.Expr]:
    by_code = "code NULLS LAST"
    return {
        **_total(over),
        "so_far": over("SUM(CASE WHEN value IS NOT NULL THEN y END)", by_code),
        "next_code": over("LEAD(code)", by_code),
        "next_prefix": over("LEAD(prefix)", by_code),
        "nth": over("ROW_NUMBER()", by_code),
    }


# Half the L1 distance. A value that the class lacks adds its share: 1 - Σ share of those present.
_EQUAL = "COALESCE((1 + SUM(CASE WHEN value IS NOT NULL THEN ABS(y / total - share) - share END)) / 2, 0)"


# Between two values of a class its cumulated share P stays the same while the source's Q_i grows from below P to
# above it. With i* the first value whose Q_i reaches P, the sum of |P - Q_i| over a ≤ i < b comes from prefix sums:
# P (i* - a) - (S_i* - S_a) + (S_b - S_i*) - P (b - i*). Values before the class's first add their own prefix sum.
def with_crossings(rows: exp.Table, values: exp.Expr) -> exp.Select:
    """The value rows, each with its gap [code, b) and the place i in it where the source's distribution crosses."""
    gaps = exp.select(
        "*",
        sql("so_far / total").as_("p"),
        sql("COALESCE(next_code, values_ + 1)").as_("b"),
        sql("COALESCE(next_prefix, whole)").as_("s_b"),
    ).from_(rows)
    # How many values the source's distribution passes below each p: counted in one order of both, which stays fast
    # however many there are of either.
    asked = exp.select("p", sql("p").as_("at"), sql("0").as_("passed")).distinct().from_(table("gaps"))
    known = exp.alias_(values.copy(), "known", table=True)
    passed = exp.select(sql("CAST(NULL AS DOUBLE)"), "cumulated", sql("1")).from_(known)
    below = exp.select("p", sql("SUM(passed) OVER (ORDER BY at, passed)").as_("crossed")).from_(table("marks"))
    crossed = (
        exp.select("gaps.*", "below.crossed", sql("known.prefix + known.cumulated").as_("crossed_prefix"))
        .from_(table("gaps"))
        .join(table("below"), on=sql("gaps.p = below.p"), join_type="left")
        .join(known.copy(), on=sql("known.code = below.crossed"), join_type="left")
    )
    query = exp.select(
        "*",
        sql("LEAST(GREATEST(COALESCE(crossed, 0) + 1, code), b)").as_("i"),
        sql("LEAST(GREATEST(COALESCE(crossed_prefix, 0), prefix), s_b)").as_("s_i"),
    ).from_(table("crossed_gaps"))
    marks = exp.union(asked, passed, distinct=False)
    return with_steps(query, gaps=gaps, marks=marks, below=below, crossed_gaps=crossed)


_ORDERED = """COALESCE(SUM(CASE WHEN value IS NOT NULL THEN
    p * (i - code) - (s_i - prefix) + (s_b - s_i) - p * (b - i) + CASE WHEN nth = 1 THEN prefix ELSE 0 END
END) / NULLIF(MAX(values_) - 1, 0), 0)"""
