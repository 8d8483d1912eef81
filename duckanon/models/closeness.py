"""t-closeness: how far a class's distribution lies from that of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from duckanon.models.keys import Key
from duckanon.models.model import ClassModel, Numbers
from duckanon.models.questions import ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint
from duckanon.models.wanted import Wanted
from duckanon.query.expressions import column, sql, table
from duckanon.query.steps import Metric, MetricRequest, over_class, select, value_counts, with_steps
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
        return ClassRule(constraint, sql(_EQUAL), windows=_total)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        return released.t

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "how far does a class's distribution lie from the table's, at most?"
        query, note = _equal_distance(request, sensitive), "(Equal distance.)"
        if ordered:
            query, note = _ordered_distance(request, sensitive), _ORDERED_NOTE
        yield Metric("t_closeness", sensitive, f"{question} {note}", query, order=70)


MODEL = Closeness()


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


# -- for analysts ---------------------------------------------------------------------------------

_ORDERED_NOTE = "(Ordered distance; it joins every class with every distinct value.)"


def _valued(request: MetricRequest, sensitive: str) -> dict[str, exp.Query]:
    """The counts of the values proper, and how many rows have one."""
    valued = exp.select(*request.groups, column("v"), column("y")).from_(table("counts")).where(sql("v IS NOT NULL"))
    totals = select(n="SUM(y)").from_(table("valued"))
    return {**value_counts(request, sensitive), "valued": valued, "totals": totals}


def _equal_distance(request: MetricRequest, sensitive: str) -> exp.Select:
    """Half of Σ|p − q| is the sum of the differences above 0, and a value that a class lacks has none."""
    of_value = exp.Window(this=sql("SUM(y)"), partition_by=[column("v")])
    shares = select(
        *request.groups,
        p=_ratio(column("y"), over_class(request, "SUM(y)")),
        q=_ratio(of_value, column("n")),
    )
    distances = select(distance="SUM(CASE WHEN p > q THEN p - q ELSE CAST(0 AS DOUBLE) END)").from_(table("shares"))
    return with_steps(
        _FARTHEST.copy(),
        **_valued(request, sensitive),
        shares=shares.from_(table("valued")).join(table("totals"), join_type="cross"),
        distances=distances.group_by(*request.groups),
    )


def _ordered_distance(request: MetricRequest, sensitive: str) -> exp.Select:
    """1/(m−1) · Σ|Σ(p − q)| over the m values in order; a class has a cell for every value, also for those it lacks."""
    keys = [*request.groups, column("v")]
    domain = select(column("v"), q=sql("CAST(SUM(y) AS DOUBLE) / CAST(MAX(n) AS DOUBLE)")).from_(table("valued"))
    cells = select(*keys, y="SUM(y)", q="SUM(q)").from_(_cells(request).subquery("united")).group_by(*keys)
    share = _ratio(column("y"), over_class(request, "SUM(y)"))
    gaps = select(*keys, gap=exp.Sub(this=share, expression=column("q"))).from_(table("cells"))
    running = over_class(request, "SUM(gap)", exp.Ordered(this=column("v"), nulls_first=True))
    return with_steps(
        _FARTHEST.copy(),
        **_valued(request, sensitive),
        domain=domain.join(table("totals"), join_type="cross").group_by(column("v")),
        cells=cells,
        gaps=gaps,
        running=select(*request.groups, moved=exp.Abs(this=running)).from_(table("gaps")),
        distances=select(distance=_MOVED).from_(table("running")).group_by(*request.groups),
    )


def _cells(request: MetricRequest) -> exp.Query:
    """The counts, and for every class and every value a count of 0 with the value's share q of the table."""
    counted = select(*request.groups, column("v"), column("y"), q="CAST(0 AS DOUBLE)").from_(table("valued"))
    classes = exp.select(*request.groups).from_(table("valued")).group_by(*request.groups).subquery("classes")
    empty = select(*request.groups, column("v"), y="CAST(0 AS BIGINT)").select(column("q")).from_(classes)
    return exp.union(counted, empty.join(table("domain"), join_type="cross"), distinct=False)


def _ratio(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return sql("CAST(:part AS DOUBLE) / CAST(:whole AS DOUBLE)", part=part, whole=whole)


_FARTHEST = select(t="MAX(distance)").from_(table("distances"))
_MOVED = "SUM(moved) / CAST(CASE WHEN COUNT(*) > 1 THEN COUNT(*) - 1 ELSE 1 END AS DOUBLE)"
