"""t-closeness: how far a class's distribution lies from the table's."""

from __future__ import annotations

from sqlglot import exp

from duckanon.query.expressions import column, sql, table
from duckanon.query.steps import Metric, MetricRequest, over_class, select, value_counts, with_steps


def closeness_metric(request: MetricRequest, sensitive: str, ordered: bool) -> Metric:
    question = "how far does a class's distribution lie from the table's, at most?"
    if ordered:
        note = "(Ordered distance; it joins every class with every distinct value.)"
        return Metric("t_closeness", sensitive, f"{question} {note}", _ordered_distance(request, sensitive))
    return Metric("t_closeness", sensitive, f"{question} (Equal distance.)", _equal_distance(request, sensitive))


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
