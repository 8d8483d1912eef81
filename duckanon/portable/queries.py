"""Each metric as a query over sizes of classes and counts of their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.expressions import TOLERANCE, column, double, literal, sql, table


@dataclass(frozen=True)
class Metric:
    """One metric as a query: its macro's name, the sensitive column it is about, and the question it answers."""

    name: str
    column: str | None
    question: str
    query: exp.Select


@dataclass(frozen=True)
class Asked:
    """What the metrics are asked of: a table, its quasi-identifiers and the thresholds."""

    source: list[str]
    qi: Sequence[str]
    k: int
    l: int  # noqa: E741
    c: float

    @property
    def groups(self) -> list[exp.Column]:
        """The class key under names of our own, which no column of the user's can be mistaken for."""
        return [column(f"g{place}") for place in range(len(self.qi))]

    @property
    def renamed(self) -> str:
        """The first step's name; no WITH may hide the table that it reads."""
        return "renamed_" if self.source[-1].lower() == "renamed" else "renamed"


def _steps(final: exp.Select, **steps: exp.Query) -> exp.Select:
    """WITH name AS (…), … in the order given, then the final question."""
    for name, step in steps.items():
        final = final.with_(exp.to_identifier(name, quoted=True), as_=step)
    return final


def _select(*columns: exp.Expr, **named: str | exp.Expr) -> exp.Select:
    """SELECT with fixed SQL or expressions under output names."""
    given = {name: sql(text) if isinstance(text, str) else text for name, text in named.items()}
    return exp.select(*columns, *(part.as_(name, quoted=True) for name, part in given.items()))


def _over_class(asked: Asked, figure: str, *order: exp.Expr) -> exp.Expr:
    """A window over each class."""
    ordering = exp.Order(expressions=list(order)) if order else None
    return exp.Window(this=sql(figure), partition_by=list(asked.groups), order=ordering)


def _renamed(asked: Asked, **values: str) -> dict[str, exp.Query]:
    """The source's columns under names of our own."""
    keys = [column(name).as_(f"g{place}", quoted=True) for place, name in enumerate(asked.qi)]
    chosen = [column(name).as_(ours, quoted=True) for ours, name in values.items()]
    return {asked.renamed: exp.select(*keys, *chosen).from_(table(*asked.source))}


def _counts(asked: Asked, sensitive: str) -> dict[str, exp.Query]:
    """y rows of every class with every value, NULL included."""
    keys = [*asked.groups, column("v")]
    counts = _select(*keys, y="COUNT(*)").from_(table(asked.renamed)).group_by(*keys)
    return {**_renamed(asked, v=sensitive), "counts": counts}


# -- class sizes --------------------------------------------------------------------------------------


def size_metrics(asked: Asked) -> Iterator[Metric]:
    k = asked.k
    yield _of_sizes(asked, "k_anonymity", "how many rows does the smallest class have?", _select(**_K_ANONYMITY))
    yield _of_sizes(asked, "class_sizes", "how many classes are there of each size?", _HISTOGRAM.copy())
    at_risk = sql(_AT_RISK, k=literal(k))
    question = f"how likely is it to find a person, and how many rows are in classes below {k}?"
    yield _of_sizes(asked, "risk", question, _select(**_RISK, rows_at_risk=at_risk, unique_rows=_UNIQUE))
    question = f"which sizes below {k} are there? No rows: {k}-anonymity holds."
    yield _of_sizes(asked, "k_violations", question, _HISTOGRAM.where(sql("x < :k", k=literal(k))))


def _of_sizes(asked: Asked, name: str, question: str, final: exp.Select) -> Metric:
    """A metric of the classes' sizes x alone."""
    sizes = _select(x="COUNT(*)").from_(table(asked.renamed)).group_by(*asked.groups)
    return Metric(name, None, question, _steps(final.from_(table("sizes")), **_renamed(asked), sizes=sizes))


_UNIQUE = "COUNT(CASE WHEN x = 1 THEN 1 END)"

_K_ANONYMITY = {
    "k": "MIN(x)",
    "classes": "COUNT(*)",
    "row_count": "CAST(COALESCE(SUM(x), 0) AS BIGINT)",
    "unique_rows": _UNIQUE,
    "average_class_size": "AVG(CAST(x AS DOUBLE))",
}

_HISTOGRAM = (
    _select(class_size="x", classes="COUNT(*)", row_count="CAST(SUM(x) AS BIGINT)")
    .group_by(column("x"))
    .order_by(column("class_size"))
)

_RISK = {
    "highest_risk": "CAST(1 AS DOUBLE) / CAST(MIN(x) AS DOUBLE)",
    "average_risk": "CAST(COUNT(*) AS DOUBLE) / CAST(SUM(x) AS DOUBLE)",
}
_AT_RISK = "CAST(COALESCE(SUM(CASE WHEN x < :k THEN x END), 0) AS BIGINT)"


# -- diversity ----------------------------------------------------------------------------------------


def diversity_metrics(asked: Asked, sensitive: str) -> Iterator[Metric]:
    yield _l_diversity(asked, sensitive)
    yield _recursive_diversity(asked, sensitive)
    yield _homogeneity(asked, sensitive)


def _l_diversity(asked: Asked, sensitive: str) -> Metric:
    classes = _select(l="COUNT(v)", e=_ENTROPY).from_(table("counts")).group_by(*asked.groups)
    final = _select(distinct_l="MIN(l)", entropy_l="MIN(e)", classes="COUNT(*)").from_(table("diversities"))
    query = _steps(final, **_counts(asked, sensitive), diversities=classes)
    question = "how many distinct values, and how many evenly spread ones, has the least diverse class?"
    return Metric("l_diversity", sensitive, question, query)


# exp(-Σ p ln p) with p = y/Y is exp(ln Y - Σ y ln y / Y); a class without any value has no diversity.
_ENTROPY = """COALESCE(EXP(
    LN(CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE))
    - SUM(CASE WHEN v IS NOT NULL THEN CAST(y AS DOUBLE) * LN(CAST(y AS DOUBLE)) END)
    / CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE)
), CAST(0 AS DOUBLE))"""


def _recursive_diversity(asked: Asked, sensitive: str) -> Metric:
    by_size = [sql("CASE WHEN v IS NULL THEN 1 ELSE 0 END"), exp.Ordered(this=column("y"), desc=True)]
    place = _over_class(asked, "ROW_NUMBER()", *by_size)
    placed = _select(*asked.groups, column("v"), column("y"), place=place).from_(table("counts"))
    rest = sql("SUM(CASE WHEN v IS NOT NULL AND place >= :l THEN y END)", l=literal(asked.l))
    rests = _select(top="MAX(CASE WHEN v IS NOT NULL THEN y END)", rest=rest).from_(table("placed"))
    least = "CASE WHEN COUNT(*) = COUNT(rest) THEN MAX(CAST(top AS DOUBLE) / CAST(rest AS DOUBLE)) END"
    query = _steps(
        _select(c=least).from_(table("rests")),
        **_counts(asked, sensitive),
        placed=placed,
        rests=rests.group_by(*asked.groups),
    )
    question = f"above which c does recursive (c, {asked.l})-diversity hold? NULL: for none."
    return Metric("recursive_diversity", sensitive, question, query)


def _homogeneity(asked: Asked, sensitive: str) -> Metric:
    classes = _select(x="SUM(y)", one="CASE WHEN COUNT(*) = 1 AND COUNT(v) = 1 THEN 1 END")
    totals = _select(**_HOMOGENEOUS, k="MIN(x)", n="SUM(x)").from_(table("uniform"))
    query = _steps(
        _select(column("homogeneous_classes"), column("homogeneous_rows"), expected_classes=_EXPECTED)
        .from_(table("totals"))
        .join(table("domain"), join_type="cross"),
        **_counts(asked, sensitive),
        uniform=classes.from_(table("counts")).group_by(*asked.groups),
        totals=totals,
        domain=_select(log_values=_LOG_VALUES).from_(table("counts")),
    )
    question = "in how many classes do all rows share one value, and how many would chance make?"
    return Metric("homogeneity", sensitive, question, query)


_HOMOGENEOUS = {
    "homogeneous_classes": "COUNT(one)",
    "homogeneous_rows": "CAST(COALESCE(SUM(CASE WHEN one = 1 THEN x END), 0) AS BIGINT)",
}

_LOG_VALUES = "LN(CAST(NULLIF(COUNT(DISTINCT v), 0) AS DOUBLE))"

# mohapatra eq. 1, K / K^k · n/k; 0 without any value, NULL without any row. PostgreSQL refuses a result too small
# for a double: past e^-700 it is 0.
_EXPECTED = """CASE
    WHEN n > 0 AND log_values IS NULL THEN CAST(0 AS DOUBLE)
    WHEN CAST(k - 1 AS DOUBLE) * log_values > CAST(700 AS DOUBLE) THEN CAST(0 AS DOUBLE)
    ELSE EXP(CAST(1 - k AS DOUBLE) * log_values) * CAST(n AS DOUBLE) / CAST(k AS DOUBLE)
END"""


# -- shares of a class --------------------------------------------------------------------------------


def share_metrics(asked: Asked, sensitive: str) -> Iterator[Metric]:
    yield _alpha(asked, sensitive)
    yield _leakage(asked, sensitive)
    yield _skewness(asked, sensitive)


def _alpha(asked: Asked, sensitive: str) -> Metric:
    frequency = "CAST(SUM(y) AS DOUBLE) / CAST(MAX(n) AS DOUBLE)"
    query = _steps(
        _per_value(frequency=frequency, alpha=_HIGHEST).join(table("totals"), join_type="cross"),
        **_shares(asked, sensitive),
        totals=_select(n="SUM(y)").from_(table("counts")),
    )
    question = "which share of all rows has each value, and which share of a class at most?"
    return Metric("alpha", sensitive, question, query)


def _leakage(asked: Asked, sensitive: str) -> Metric:
    query = _per_value(alp=_ALP, highest_lp=_HIGHEST, dif=f"{_HIGHEST} - {_ALP}")
    question = (
        "how sure of each value is one who knows a person's class: on average (alp), at most, and the difference?"
    )
    return Metric("leakage", sensitive, question, _steps(query, **_shares(asked, sensitive)))


def _shares(asked: Asked, sensitive: str) -> dict[str, exp.Query]:
    """In every class of x rows, y have the value v."""
    shares = _select(column("v"), column("y"), x=_over_class(asked, "SUM(y)")).from_(table("counts"))
    return {**_counts(asked, sensitive), "shares": shares}


def _per_value(**figures: str) -> exp.Select:
    """One row per value, the most frequent first."""
    select = _select(value="v", row_count="CAST(SUM(y) AS BIGINT)", **figures).from_(table("shares"))
    most_first = exp.Ordered(this=column("row_count"), desc=True)
    return select.where(sql("v IS NOT NULL")).group_by(column("v")).order_by(most_first)


_HIGHEST = "MAX(CAST(y AS DOUBLE) / CAST(x AS DOUBLE))"
_ALP = "SUM(CAST(y AS DOUBLE) * CAST(y AS DOUBLE) / CAST(x AS DOUBLE)) / CAST(SUM(y) AS DOUBLE)"  # wang


def _skewness(asked: Asked, sensitive: str) -> Metric:
    tops = _select(x="SUM(y)", top="MAX(CASE WHEN v IS NOT NULL THEN y END)").from_(table("counts"))
    over = {"over": sql("CAST(top AS DOUBLE) / CAST(x AS DOUBLE) > :limit", limit=double(asked.c + TOLERANCE))}
    final = _select(
        skewed_classes=sql("COUNT(CASE WHEN :over THEN 1 END)", **over),
        skewed_rows=sql("CAST(COALESCE(SUM(CASE WHEN :over THEN x END), 0) AS BIGINT)", **over),
    )
    query = _steps(final.from_(table("tops")), **_counts(asked, sensitive), tops=tops.group_by(*asked.groups))
    question = f"in how many classes has some value a share above {asked.c}?"
    return Metric("skewness", sensitive, question, query)


# -- t-closeness --------------------------------------------------------------------------------------


def closeness_metric(asked: Asked, sensitive: str, ordered: bool) -> Metric:
    question = "how far does a class's distribution lie from the table's, at most?"
    if ordered:
        note = "(Ordered distance; it joins every class with every distinct value.)"
        return Metric("t_closeness", sensitive, f"{question} {note}", _ordered_distance(asked, sensitive))
    return Metric("t_closeness", sensitive, f"{question} (Equal distance.)", _equal_distance(asked, sensitive))


def _valued(asked: Asked, sensitive: str) -> dict[str, exp.Query]:
    """The counts of the values proper, and how many rows have one."""
    valued = exp.select(*asked.groups, column("v"), column("y")).from_(table("counts")).where(sql("v IS NOT NULL"))
    totals = _select(n="SUM(y)").from_(table("valued"))
    return {**_counts(asked, sensitive), "valued": valued, "totals": totals}


def _equal_distance(asked: Asked, sensitive: str) -> exp.Select:
    """Half of Σ|p − q| is the sum of the differences above 0, and a value that a class lacks has none."""
    of_value = exp.Window(this=sql("SUM(y)"), partition_by=[column("v")])
    shares = _select(
        *asked.groups,
        p=_ratio(column("y"), _over_class(asked, "SUM(y)")),
        q=_ratio(of_value, column("n")),
    )
    distances = _select(distance="SUM(CASE WHEN p > q THEN p - q ELSE CAST(0 AS DOUBLE) END)").from_(table("shares"))
    return _steps(
        _FARTHEST.copy(),
        **_valued(asked, sensitive),
        shares=shares.from_(table("valued")).join(table("totals"), join_type="cross"),
        distances=distances.group_by(*asked.groups),
    )


def _ordered_distance(asked: Asked, sensitive: str) -> exp.Select:
    """1/(m−1) · Σ|Σ(p − q)| over the m values in order; a class has a cell for every value, also for those it lacks."""
    keys = [*asked.groups, column("v")]
    domain = _select(column("v"), q=sql("CAST(SUM(y) AS DOUBLE) / CAST(MAX(n) AS DOUBLE)")).from_(table("valued"))
    cells = _select(*keys, y="SUM(y)", q="SUM(q)").from_(_cells(asked).subquery("united")).group_by(*keys)
    share = _ratio(column("y"), _over_class(asked, "SUM(y)"))
    gaps = _select(*keys, gap=exp.Sub(this=share, expression=column("q"))).from_(table("cells"))
    running = _over_class(asked, "SUM(gap)", exp.Ordered(this=column("v"), nulls_first=True))
    return _steps(
        _FARTHEST.copy(),
        **_valued(asked, sensitive),
        domain=domain.join(table("totals"), join_type="cross").group_by(column("v")),
        cells=cells,
        gaps=gaps,
        running=_select(*asked.groups, moved=exp.Abs(this=running)).from_(table("gaps")),
        distances=_select(distance=_MOVED).from_(table("running")).group_by(*asked.groups),
    )


def _cells(asked: Asked) -> exp.Query:
    """The counts, and for every class and every value a count of 0 with the value's share q of the table."""
    counted = _select(*asked.groups, column("v"), column("y"), q="CAST(0 AS DOUBLE)").from_(table("valued"))
    classes = exp.select(*asked.groups).from_(table("valued")).group_by(*asked.groups).subquery("classes")
    empty = _select(*asked.groups, column("v"), y="CAST(0 AS BIGINT)").select(column("q")).from_(classes)
    return exp.union(counted, empty.join(table("domain"), join_type="cross"), distinct=False)


def _ratio(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return sql("CAST(:part AS DOUBLE) / CAST(:whole AS DOUBLE)", part=part, whole=whole)


_FARTHEST = _select(t="MAX(distance)").from_(table("distances"))
_MOVED = "SUM(moved) / CAST(CASE WHEN COUNT(*) > 1 THEN COUNT(*) - 1 ELSE 1 END AS DOUBLE)"
