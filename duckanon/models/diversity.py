"""l-diversity: distinct, entropy, recursive (c, l), and yang's l of a single value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.models.keys import Key, TableKey
from duckanon.models.model import ClassModel
from duckanon.models.questions import CountedColumn, ReleasedColumn, only_figure
from duckanon.models.rules import ClassRule, Constraint, Windows
from duckanon.models.wanted import Wanted, ordinal_of
from duckanon.query.counts import ValueCounts, per_value
from duckanon.query.expressions import TOLERANCE, column, double, greatest, literal, sql, table
from duckanon.query.metrics import Metric, MetricRequest, most_frequent_first
from duckanon.query.steps import select
from duckanon.toml.checks import number, whole


class DistinctDiversity(ClassModel):
    """Distinct l-diversity, or p-sensitivity: at least l values in every class."""

    name, order = "distinct_l", 10
    key = Key("l", whole(1), True, "distinct l-diversity: so many values in every class", example=3)
    monotone = closed_under_growing = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, sql("COUNT(value)"), describes_values=False, homogeneous=sql("1"))

    def least_size(self, wanted: Wanted) -> int:
        return int(wanted.thresholds["l"])

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> int:
        return released.distinct_l or 0

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "l", counted.wanted.thresholds["l"])

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "how many distinct values, and how many evenly spread ones, has the least diverse class?"
        yield Metric("l_diversity", sensitive, question, l_diversity(request.counts(sensitive)), order=10)
        question = "in how many classes do all rows share one value, and how many would chance make?"
        yield Metric("homogeneity", sensitive, question, homogeneity(request.counts(sensitive)), order=30)


class EntropyDiversity(ClassModel):
    """Entropy l-diversity: the values of a class tell as little as l that are equally frequent."""

    name, order = "entropy_l", 11
    key = Key("entropy_l", number(least=1), True, "entropy l-diversity, at least 1", example=2.0)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, sql(_ENTROPY), describes_values=False, homogeneous=sql("1"))

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        least = rule.constraint.threshold - TOLERANCE
        if least <= 1:
            return sql(":size")  # only a class without any value fails
        return sql(_ENTROPY_LASTING, figure=rule.figure, least=double(least), log=double(math.log(least)))

    def least_size(self, wanted: Wanted) -> int:
        return math.ceil(float(wanted.thresholds["entropy_l"]) - TOLERANCE)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        return released.entropy_l if released.entropy_l is not None else 0

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "entropy_l", counted.wanted.thresholds["entropy_l"])


# exp(-Σ p ln p) with p = y/Y is exp(ln Y - Σ y ln y / Y); a class without any value has no diversity.
_ENTROPY = """COALESCE(EXP(
    LN(SUM(CASE WHEN value IS NOT NULL THEN y END))
    - SUM(CASE WHEN value IS NOT NULL THEN y * LN(y) END) / SUM(CASE WHEN value IS NOT NULL THEN y END)
), 0)"""

# Entropy is concave: if the Y rows with a value have H, and those that stay ln l or more, then r of them with
# H ≥ (1 - r / Y) ln l go. No part of a class with fewer than l values has l.
_ENTROPY_LASTING = """CASE WHEN COUNT(value) < :least THEN :size
    ELSE (1 - LN(GREATEST(:figure, 1)) / :log) * SUM(CASE WHEN value IS NOT NULL THEN y END) END"""


@dataclass(frozen=True)
class Recursive:
    c: float
    l: int  # noqa: E741 - the papers' letter


class RecursiveDiversity(ClassModel):
    """Recursive (c, l)-diversity: r_1 < c (r_l + … + r_m) of the values' numbers in falling order."""

    name, order = "recursive", 12
    key = TableKey(
        "recursive",
        (
            Key(
                "c",
                number(above=0),
                False,
                "recursive (c, l)-diversity: the most frequent value is less than c times all from the l-th on",
                example=3.0,
            ),
            Key("l", whole(2), True, "its l, at least 2", example=2),
        ),
        Recursive,
        "recursive (c, l)-diversity",
    )
    monotone = True

    def constraints(self, column: str, value: str | None, threshold: Any) -> Iterator[Constraint]:
        yield Constraint(self.name, column, value, threshold.c, strict=True)

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        figure = sql(_RECURSIVE, l=literal(wanted.thresholds["recursive"].l))
        never = sql("CAST('Infinity' AS DOUBLE)")  # with fewer than l values no c will do
        return ClassRule(constraint, figure, describes_values=False, windows=_BY_SIZE, homogeneous=never)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        """r_l + … does not grow when rows go: of the j most frequent values each keeps less than c times that. No part
        of a class with fewer than l values has l."""
        recursive = wanted.thresholds["recursive"]
        tail = sql(_TAIL, l=literal(recursive.l))
        beyond = [
            sql(_BEYOND, j=literal(j), most=double(j * recursive.c), tail=tail)
            for j in range(1, min(recursive.l, _MOST_FREQUENT + 1))
        ]
        return sql("CASE WHEN :tail IS NULL THEN :size ELSE :most END", tail=tail, most=greatest(beyond))

    def least_size(self, wanted: Wanted) -> int:
        return int(wanted.thresholds["recursive"].l)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        query = _recursive_diversity(released.counts, released.wanted.thresholds["recursive"].l)
        c: float | None = only_figure(released.rows.ask(query, "verify: recursive_diversity"))
        return c if c is not None else float("inf")

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "recursive.l", counted.wanted.thresholds["recursive"].l)

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = f"above which c does recursive (c, {request.l})-diversity hold? NULL: for none."
        query = _recursive_diversity(request.counts(sensitive), request.l)
        yield Metric("recursive_diversity", sensitive, question, query, order=20)


_BY_SIZE: Windows = lambda over: {  # noqa: E731
    "rank_": over("ROW_NUMBER()", "CASE WHEN value IS NULL THEN 1 ELSE 0 END, y DESC")
}

_TAIL = "SUM(CASE WHEN value IS NOT NULL AND rank_ >= :l THEN y END)"

_RECURSIVE = f"""COALESCE(
    MAX(CASE WHEN value IS NOT NULL THEN y END)
    / {_TAIL},
    CAST('Infinity' AS DOUBLE)
)"""

_MOST_FREQUENT = 5  # values of a class that are asked how far they are beyond
_BEYOND = "SUM(CASE WHEN value IS NOT NULL AND rank_ <= :j THEN y ELSE 0 END) - :most * :tail"


class ValueDiversity(ClassModel):
    """yang: a class with a value of which so much is asked has at least l values. It fails where that value joins."""

    name, order = "value_l", 13
    value_key = Key("l", whole(1), True, "a class with this value has at least so many distinct values", example=4)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        present = sql(
            "CASE WHEN COUNT(CASE WHEN named = :ordinal THEN 1 END) > 0 THEN COUNT(value) END",
            ordinal=literal(ordinal_of(wanted, constraint.value)),
        )
        return ClassRule(constraint, present, homogeneous=sql("1"))

    def together(self, column: str, own: Mapping[int, float]) -> ClassRule:
        """As many values as the most that one which is there asks for."""
        enough = Constraint(self.name, column, None, 0, at_least=True)
        return ClassRule(enough, sql("COUNT(value) - MAX(own_value_l)"), own=own, lasting=double(1))

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        """Every row with that value: no part of the class has more values."""
        ordinal = literal(ordinal_of(wanted, rule.constraint.value))
        return sql("SUM(CASE WHEN named = :ordinal THEN y ELSE 0 END)", ordinal=ordinal)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> int | None:
        return released.value_l.get(constraint.value or "")

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        for value, least in self.thresholds(counted.wanted):
            if least > counted.distinct and _rows_with(value, counted) > counted.budget:
                where = f"sensitive.{counted.wanted.column}.values.{value}.l"
                yield f"{where}: {least} is above the {counted.distinct} distinct values of the column"

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "how many distinct values, at least, has a class that contains each value?"
        query = most_frequent_first(value_diversity(request.counts(sensitive)))
        yield Metric("value_diversity", sensitive, question, query, order=35)


MODELS = (DistinctDiversity(), EntropyDiversity(), RecursiveDiversity(), ValueDiversity())


def _too_many(counted: CountedColumn, key: str, least: float) -> Iterator[str]:
    if least > counted.distinct + TOLERANCE:
        where = f"sensitive.{counted.wanted.column}.{key}"
        yield f"{where}: {least:g} is above the {counted.distinct} distinct values of the column"


def _rows_with(value: str | None, counted: CountedColumn) -> int:
    named = sql("named = :ordinal", ordinal=literal(ordinal_of(counted.wanted, value)))
    query = exp.select(sql("CAST(COALESCE(SUM(rows), 0) AS BIGINT)")).from_(counted.table).where(named)
    return int(only_figure(counted.fetch(query)))


# -- asked of a release, and by analysts -----------------------------------------------------------


def l_diversity(counts: ValueCounts) -> exp.Select:
    """distinct_l, entropy_l, classes."""
    l = counts.unless_homogeneous("COUNT(v)", "1")  # noqa: E741
    e = counts.unless_homogeneous(_SPREAD, "CAST(1 AS DOUBLE)")
    classes = select(l=l, e=e).from_(table("counts")).group_by(*counts.groups)
    final = select(distinct_l="MIN(l)", entropy_l="MIN(e)", classes="COUNT(*)").from_(table("diversities"))
    return counts.asked(final, diversities=classes)


_SPREAD = """COALESCE(EXP(
    LN(CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE))
    - SUM(CASE WHEN v IS NOT NULL THEN CAST(y AS DOUBLE) * LN(CAST(y AS DOUBLE)) END)
    / CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE)
), CAST(0 AS DOUBLE))"""


def value_diversity(counts: ValueCounts) -> exp.Select:
    """Of every value: value, row_count, distinct_l, which is that of the least diverse class that contains it."""
    known: exp.Expr = counts.over_class("COUNT(v)")
    if counts.people:
        most = counts.over_class("MAX(CASE WHEN v IS NOT NULL THEN y END)")
        known = sql("CASE WHEN :most = x THEN 1 ELSE :known END", most=most, known=known)
    shares = select(column("v"), column("y"), l=known).from_(table("counts"))
    return counts.asked(per_value(distinct_l="MIN(l)"), shares=shares)


def _recursive_diversity(counts: ValueCounts, least: int) -> exp.Select:
    """c; NULL: some class has too few values, or one that is everybody's."""
    by_size = [sql("CASE WHEN v IS NULL THEN 1 ELSE 0 END"), exp.Ordered(this=column("y"), desc=True)]
    x = [column("x")] if counts.sized else []
    ranked = select(*counts.keys, column("y"), *x, rank_=counts.over_class("ROW_NUMBER()", *by_size))
    rest = counts.unless_homogeneous("SUM(CASE WHEN v IS NOT NULL AND rank_ >= :l THEN y END)", "NULL")
    rests = select(top="MAX(CASE WHEN v IS NOT NULL THEN y END)", rest=sql(rest, l=literal(least)))
    c = "CASE WHEN COUNT(*) = COUNT(rest) THEN MAX(CAST(top AS DOUBLE) / CAST(rest AS DOUBLE)) END"
    return counts.asked(
        select(c=c).from_(table("rests")),
        ranked=ranked.from_(table("counts")),
        rests=rests.from_(table("ranked")).group_by(*counts.groups),
    )


def homogeneity(counts: ValueCounts) -> exp.Select:
    """homogeneous_classes, homogeneous_rows, expected_classes."""
    classes = select(x=counts.size, one=f"CASE WHEN {counts.homogeneous} THEN 1 END").from_(table("counts"))
    final = select(**_HOMOGENEOUS, expected_classes=_EXPECTED).from_(table("uniform"))
    return counts.asked(
        final.join(table("domain"), join_type="cross"),
        uniform=classes.group_by(*counts.groups),
        domain=select(log_values=_LOG_VALUES).from_(table("counts")),
    )


_HOMOGENEOUS = {
    "homogeneous_classes": "COUNT(one)",
    "homogeneous_rows": "CAST(COALESCE(SUM(CASE WHEN one = 1 THEN x END), 0) AS BIGINT)",
}

_LOG_VALUES = "LN(CAST(NULLIF(COUNT(DISTINCT v), 0) AS DOUBLE))"

# mohapatra eq. 1 of classes that need not be equal, Σ K^(1−x); 0 without any value, NULL without any row. PostgreSQL
# refuses a result too small for a double: past e^-700 it is 0.
_EXPECTED = """SUM(CASE
    WHEN log_values IS NULL THEN CAST(0 AS DOUBLE)
    WHEN CAST(x - 1 AS DOUBLE) * log_values > CAST(700 AS DOUBLE) THEN CAST(0 AS DOUBLE)
    ELSE EXP(CAST(1 - x AS DOUBLE) * log_values)
END)"""
