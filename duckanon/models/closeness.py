"""t-closeness: how far a class's distribution lies from that of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sqlglot import exp

from duckanon.models.distances import distance
from duckanon.models.keys import Option, OptionKey
from duckanon.models.model import ClassModel, Numbers
from duckanon.models.questions import ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint, Over
from duckanon.models.shares import with_total
from duckanon.models.wanted import Wanted, ancestors
from duckanon.query.expressions import TOLERANCE, column, double, sql, table
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import with_steps
from duckanon.toml.checks import number


class Closeness(ClassModel):
    """Ordered distance for numbers, equal distance for the rest, or that of a hierarchy. All are convex: no union of
    classes is farther away than the farthest of them."""

    name, order = "t", 20
    key = OptionKey(
        "t",
        number(least=0, most=1),
        False,
        "how far a class may lie from the source's distribution (t-closeness): ordered distance for numbers, equal "
        "distance for the rest",
        0.3,
        Option(
            "hierarchy",
            lambda value: None,  # it is read as those of quasi-identifiers are
            "a hierarchy of the values, given as that of a quasi-identifier: two are as far apart as the level is high "
            "at which they meet, by the height of the top",
            {"$ref": "#/properties/quasi_identifiers/additionalProperties/properties/hierarchy"},
        ),
        lambda t, hierarchy: t,
    )
    monotone = True
    numbers = Numbers.WEIGHED

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        if wanted.height:
            known, windows = _nodes(wanted), partial(_masses, wanted)
            return ClassRule(constraint, _hierarchical(wanted), known=known, windows=windows)
        if numeric:
            return ClassRule(constraint, sql(_ORDERED), windows=_ordered_windows, crossing=True)
        return ClassRule(constraint, sql(_EQUAL), windows=with_total)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        bound = double(rule.constraint.threshold + TOLERANCE)
        if wanted.height:
            shares, height = _sum(["share", *(f"share_{up}" for up in ancestors(wanted))]), double(wanted.height)
            return sql(_HIERARCHICAL_LASTING, figure=rule.figure, bound=bound, shares=shares, height=height)
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


# The distance of a hierarchy is that of moving mass along its edges: two for every level up to where values meet. What
# enters or leaves a node passes the one above it, so that all levels below the top pay their equal distances, and the
# whole is the mean of these (Li et al., 2007, sum the same over the inner nodes).
def placed_rules(wanted: Wanted) -> Iterator[ClassRule]:
    """Every value is in the hierarchy by which they lie apart: a run refuses data without, a view meets it later."""
    for up in ancestors(wanted)[:1]:
        figure = sql(
            "SUM(CASE WHEN value IS NOT NULL AND :above IS NULL THEN y ELSE 0 END)", above=column(f"node_{up}")
        )
        yield ClassRule(Constraint("placed", wanted.column, None, 0), figure, known=_nodes(wanted))


def _nodes(wanted: Wanted) -> dict[str, exp.Expr]:
    """The nodes above a value, and their shares of the source."""
    known: dict[str, exp.Expr] = {}
    for up in ancestors(wanted):
        known[f"node_{up}"] = column(up)
        known[f"share_{up}"] = sql("SUM(share) OVER (PARTITION BY :above)", above=column(up))
    return known


def _masses(wanted: Wanted, over: Over) -> Mapping[str, exp.Expr]:
    """How many of a class are below a node, and how many values these have."""
    windows = dict(with_total(over))
    for up in ancestors(wanted):
        windows[f"y_{up}"] = over("SUM(y)", within=f"node_{up}")
        windows[f"values_{up}"] = over("COUNT(value)", within=f"node_{up}")
    return windows


def _hierarchical(wanted: Wanted) -> exp.Expr:
    levels = [sql(_EQUAL)]
    for up in ancestors(wanted):
        below, share, times = (column(f"{name}_{up}") for name in ("y", "share", "values"))
        levels.append(sql(_EQUAL_NODES, below=below, share=share, times=times))
    return sql(":sum / :height", sum=exp.paren(_total_of(levels)), height=double(wanted.height))


def _sum(names: list[str]) -> exp.Expr:
    return exp.paren(_total_of([column(name) for name in names]))


def _total_of(parts: Sequence[exp.Expr]) -> exp.Expr:
    total, *others = parts
    for part in others:
        total = exp.Add(this=total, expression=part)
    return total


# As of values; a node adds its gap once, in parts for each of its values that the class has.
_EQUAL_NODES = """COALESCE(
    (1 + SUM(CASE WHEN value IS NOT NULL THEN (ABS(:below / total - :share) - :share) / :times END)) / 2, 0)"""

# As of ordered values; M is the farthest of the class's own values alone, which go: 1 less the mean share above it.
_HIERARCHICAL_LASTING = """(:figure - :bound) * MAX(total)
    / NULLIF(MAX(CASE WHEN value IS NOT NULL THEN 1 - :shares / :height END) - :bound, 0)"""
