"""t-closeness: how far a class's distribution lies from that of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from duckanon.models.keys import Key
from duckanon.models.model import ClassModel, Numbers
from duckanon.models.questions import ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint, Over
from duckanon.models.shares import with_total
from duckanon.models.wanted import Wanted
from duckanon.query.counts import ValueCounts
from duckanon.query.expressions import TOLERANCE, column, double, sql, table
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select, with_steps
from duckanon.toml.checks import number


class Closeness(ClassModel):
    """Ordered distance for numbers, equal distance for the rest. Both are convex: no union of classes is farther away
    than the farthest of them."""

    name, order = "t", 20
    key = Key(
        "t",
        number(least=0, most=1),
        False,
        "how far a class may lie from the source's distribution (t-closeness): ordered distance for numbers, equal "
        "distance for the rest",
        example=0.3,
    )
    monotone = True
    numbers = Numbers.WEIGHED

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        if numeric:
            return ClassRule(constraint, sql(_ORDERED), windows=_ordered_windows, crossing=True)
        return ClassRule(constraint, sql(_EQUAL), windows=with_total)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        bound = double(rule.constraint.threshold + TOLERANCE)
        return sql(_ORDERED_LASTING if rule.crossing else _EQUAL_LASTING, figure=rule.figure, bound=bound)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        return released.t

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "how far does a class's distribution lie from the table's, at most?"
        note = "(Ordered distance.)" if ordered else "(Equal distance.)"
        counts = request.counts(sensitive)
        query = distance(counts, counts.totals, ordered)
        yield Metric("t_closeness", sensitive, f"{question} {note}", query, order=70)


MODEL = Closeness()


def _ordered_windows(over: Over) -> Mapping[str, exp.Expr]:
    by_code = "code NULLS LAST"
    return {
        **with_total(over),
        "so_far": over("SUM(CASE WHEN value IS NOT NULL THEN y END)", by_code),
        "next_code": over("LEAD(code)", by_code),
        "next_prefix": over("LEAD(prefix)", by_code),
        "nth": over("ROW_NUMBER()", by_code),
    }


# Half the L1 distance. A value that the class lacks adds its share: 1 - Σ share of those present.
_EQUAL = "COALESCE((1 + SUM(CASE WHEN value IS NOT NULL THEN ABS(y / total - share) - share END)) / 2, 0)"

# D of a class of Y rows with a value is P(S) - Q(S) for the values S that it has too many of. When r of the rows go, S
# still has Y P(S) - r at the least, and is within t of its share for r ≥ Y (D - t) / (1 - Q(S) - t).
_EQUAL_LASTING = """(:figure - :bound) * MAX(total)
    / NULLIF(1 - SUM(CASE WHEN value IS NOT NULL AND y / total > share THEN share ELSE 0 END) - :bound, 0)"""


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
    below = exp.select("p", sql("SUM(passed) OVER (ORDER BY at NULLS FIRST, passed NULLS FIRST)").as_("crossed")).from_(
        table("marks")
    )
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

# The distance is convex: of Y rows with a value, what goes is no farther than M, what stays no farther than t, and all
# of them no farther than a mean of both, so that r ≥ Y (D - t) / (M - t) go. M is the distance of the first or the last
# value alone: with W the sum of the cumulated shares of m values, (m - W) / (m - 1) or (W - 1) / (m - 1).
_ORDERED_LASTING = """(:figure - :bound) * MAX(total)
    / NULLIF(MAX(GREATEST(values_ - whole, whole - 1) / NULLIF(values_ - 1, 0)) - :bound, 0)"""


# -- asked of a release, and by analysts -----------------------------------------------------------


def distance(counts: ValueCounts, reference: exp.Query, ordered: bool) -> exp.Select:
    """t, the farthest that a class's distribution lies from that of the reference: n of every value v. NULL without any
    value in either."""
    valued = select(*counts.keys, column("y")).from_(table("counts")).where(sql("v IS NOT NULL"))
    steps = _ordered_distance(counts) if ordered else _equal_distance(counts)
    farthest = select(t="MAX(distance)").from_(table("distances"))
    return counts.asked(farthest, reference=reference, valued=valued, **steps)


def _equal_distance(counts: ValueCounts) -> dict[str, exp.Query]:
    """Half of Σ|p − q| is the sum of the differences above 0, and a value that a class lacks has none."""
    keys = [column(key.name, "valued") for key in counts.groups]
    of_class = exp.Window(this=sql("SUM(valued.y)"), partition_by=[key.copy() for key in keys])
    p, q = _ratio(column("y", "valued"), of_class), _ratio(sql("COALESCE(reference.n, 0)"), column("total"))
    gaps = (
        select(*keys, p=p, q=q)
        .from_(table("valued"))
        .join(table("reference"), on=sql("valued.v = reference.v"), join_type="left")
        .join(table("totals"), join_type="cross")
    )
    apart = "SUM(CASE WHEN q >= p THEN CAST(0 AS DOUBLE) ELSE p - q END)"
    return {
        "totals": select(total="SUM(n)").from_(table("reference")),
        "gaps": gaps,
        "distances": select(distance=apart).from_(table("gaps")).group_by(*counts.groups),
    }


def _ordered_distance(counts: ValueCounts) -> dict[str, exp.Query]:
    """1/(m−1) · Σ|P − Q| over the m values in order, with P and Q the cumulated shares of the class and the reference.

    P changes only at the values that a class has. Between the i-th value and the next that it has, |P − Q| falls until
    Q reaches P, at the value `turn`, and rises from there. With B(i) the sum of all Q before the i-th, such a stretch
    sums to P (2 turn − i − next) + B(i) + B(next) − 2 B(turn), the one before the first value to B(first). Over a class
    the B(next) and B(first) are the B(i) and the sum of all Q.
    """
    return {**_ladder(), **_stretches(counts), **_turns(), **_summed(counts)}


def _ladder() -> dict[str, exp.Query]:
    """The values of both in order, the i-th of them with its Q. `reached` is how many of the reference have a value up
    to it, `before` the sum of these over all values before it: whole numbers, which a double holds exactly."""
    both = exp.union(
        select(column("v"), column("n")).from_(table("reference")),
        select(column("v"), n="0").distinct().from_(table("valued")),
        distinct=False,
    )
    reached = select(
        column("v"),
        i="ROW_NUMBER() OVER (ORDER BY v NULLS FIRST)",
        reached="CAST(SUM(n) OVER (ORDER BY v NULLS FIRST) AS DOUBLE)",
    )
    ladder = select(
        *map(column, ("v", "i", "reached")),
        before="SUM(reached) OVER (ORDER BY i NULLS FIRST) - reached",
        q="reached / total",
    )
    whole = select(values_="COUNT(*)", total="NULLIF(MAX(reached), CAST(0 AS DOUBLE))", area="SUM(reached)")
    return {
        "domain": select(column("v"), n="SUM(n)").from_(both.subquery("both_")).group_by(column("v")),
        "reached": reached.from_(table("domain")),
        "whole": whole.from_(table("reached")),
        "ladder": ladder.from_(table("reached")).join(table("whole"), join_type="cross"),
    }


def _stretches(counts: ValueCounts) -> dict[str, exp.Query]:
    """From every value of a class to its next: c of its n have one up to here."""
    placed = select(*counts.groups, column("y"), column("i"), column("before")).from_(table("valued"))
    placed = placed.join(table("ladder"), on=sql("valued.v = ladder.v"))
    by_value = exp.Ordered(this=column("i"), nulls_first=True)
    stretches = select(
        *counts.groups,
        column("i"),
        column("before"),
        next_=counts.over_class("LEAD(i)", by_value),
        c=sql("CAST(:c AS BIGINT)", c=counts.over_class("SUM(y)", by_value.copy())),
        n=sql("CAST(:n AS BIGINT)", n=counts.over_class("SUM(y)")),
    )
    return {"placed": placed, "stretches": stretches.from_(table("placed"))}


def _turns() -> dict[str, exp.Query]:
    """Of every share c / n the first value whose Q reaches it: counted in one order of both."""
    asked = select(column("c"), column("n"), at=_ratio(column("c"), column("n")), passed="0").distinct()
    passed = select(c="CAST(NULL AS BIGINT)", n="CAST(NULL AS BIGINT)", at="q", passed="1").from_(table("ladder"))
    turns = select(
        column("c"),
        column("n"),
        column("at"),
        turn="1 + SUM(passed) OVER (ORDER BY at NULLS FIRST, passed NULLS FIRST)",
    )
    return {
        "marks": exp.union(asked.from_(table("stretches")), passed, distinct=False),
        "turns": turns.from_(table("marks")),
    }


def _summed(counts: ValueCounts) -> dict[str, exp.Query]:
    keys = [column(key.name, "stretches") for key in counts.groups]
    end = "COALESCE(next_, values_ + 1)"
    turned = (
        select(
            *keys,
            *map(column, ("i", "before", "at", "values_", "total", "area")),
            end_=end,
            turn_=f"GREATEST(i, LEAST({end}, turn))",
        )
        .from_(table("stretches"))
        .join(table("turns"), on=sql("stretches.c = turns.c AND stretches.n = turns.n"))
        .join(table("whole"), join_type="cross")
    )
    distances = select(
        distance="""(
            SUM(turned.at * CAST(2 * turn_ - turned.i - end_ AS DOUBLE))
            + (SUM(2 * (turned.before - ladder.before)) + MAX(area)) / MAX(total)
        ) / CAST(GREATEST(MAX(values_) - 1, 1) AS DOUBLE)"""
    )
    distances = distances.from_(table("turned")).join(table("ladder"), on=sql("ladder.i = turned.turn_"))
    return {"turned": turned, "distances": distances.group_by(*counts.groups)}


def _ratio(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return sql("CAST(:part AS DOUBLE) / CAST(:whole AS DOUBLE)", part=part, whole=whole)
