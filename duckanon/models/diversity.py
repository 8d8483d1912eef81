"""l-diversity: distinct, entropy, recursive (c, l), and yang's l of a single value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.models.keys import Key, TableKey
from duckanon.models.model import ClassModel
from duckanon.models.questions import CountedColumn, ReleasedColumn, only_figure
from duckanon.models.rules import ClassRule, Constraint, Windows
from duckanon.models.wanted import Wanted, ordinal_of
from duckanon.query.expressions import TOLERANCE, column, literal, sql, table, text_of
from duckanon.query.steps import Metric, MetricRequest, over_class, select, value_counts, with_steps
from duckanon.toml.checks import number, whole


class DistinctDiversity(ClassModel):
    """Distinct l-diversity, or p-sensitivity: at least l values in every class."""

    name, order = "distinct_l", 10
    key = Key("l", whole(1), True, "distinct l-diversity: so many values in every class", example=3)
    monotone = closed_under_growing = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, sql("COUNT(value)"), describes_values=False, homogeneous=sql("1"))

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> int:
        return released.distinct_l or 0

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "l", counted.wanted.thresholds["l"])

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        yield _l_diversity(request, sensitive)
        yield _homogeneity(request, sensitive)


class EntropyDiversity(ClassModel):
    """Entropy l-diversity: the values of a class tell as little as l that are equally frequent."""

    name, order = "entropy_l", 11
    key = Key("entropy_l", number(least=1), True, "entropy l-diversity, at least 1", example=2.0)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        return ClassRule(constraint, sql(_ENTROPY), describes_values=False, homogeneous=sql("1"))

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        return released.entropy_l if released.entropy_l is not None else 0

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "entropy_l", counted.wanted.thresholds["entropy_l"])


# exp(-Σ p ln p) with p = y/Y is exp(ln Y - Σ y ln y / Y); a class without any value has no diversity.
_ENTROPY = """COALESCE(EXP(
    LN(SUM(CASE WHEN value IS NOT NULL THEN y END))
    - SUM(CASE WHEN value IS NOT NULL THEN y * LN(y) END) / SUM(CASE WHEN value IS NOT NULL THEN y END)
), 0)"""


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

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        c = released.rows.recursive(released.column, released.wanted.thresholds["recursive"].l)
        return c if c is not None else float("inf")

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        yield from _too_many(counted, "recursive.l", counted.wanted.thresholds["recursive"].l)

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        yield _recursive_diversity(request, sensitive)


_BY_SIZE: Windows = lambda over: {  # noqa: E731
    "rank_": over("ROW_NUMBER()", "CASE WHEN value IS NULL THEN 1 ELSE 0 END, y DESC")
}

_RECURSIVE = """COALESCE(
    MAX(CASE WHEN value IS NOT NULL THEN y END)
    / SUM(CASE WHEN value IS NOT NULL AND rank_ >= :l THEN y END),
    CAST('Infinity' AS DOUBLE)
)"""


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

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> int | None:
        matches = exp.EQ(this=text_of(column("value")), expression=literal(constraint.value))
        query = released.rows.value_diversity(released.column).where(matches)
        found: int | None = only_figure(released.rows.ask(query, "verify: value_diversity"))
        return found

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        for value, least in self.thresholds(counted.wanted):
            if least > counted.distinct and _rows_with(value, counted) > counted.budget:
                where = f"sensitive.{counted.wanted.column}.values.{value}.l"
                yield f"{where}: {least} is above the {counted.distinct} distinct values of the column"


MODELS = (DistinctDiversity(), EntropyDiversity(), RecursiveDiversity(), ValueDiversity())


def _too_many(counted: CountedColumn, key: str, least: float) -> Iterator[str]:
    if least > counted.distinct + TOLERANCE:
        where = f"sensitive.{counted.wanted.column}.{key}"
        yield f"{where}: {least:g} is above the {counted.distinct} distinct values of the column"


def _rows_with(value: str | None, counted: CountedColumn) -> int:
    named = sql("named = :ordinal", ordinal=literal(ordinal_of(counted.wanted, value)))
    query = exp.select(sql("CAST(COALESCE(SUM(rows), 0) AS BIGINT)")).from_(counted.table).where(named)
    return int(only_figure(counted.fetch(query)))


# -- for analysts ---------------------------------------------------------------------------------


def _l_diversity(request: MetricRequest, sensitive: str) -> Metric:
    classes = select(l="COUNT(v)", e=_PORTABLE_ENTROPY).from_(table("counts")).group_by(*request.groups)
    final = select(distinct_l="MIN(l)", entropy_l="MIN(e)", classes="COUNT(*)").from_(table("diversities"))
    query = with_steps(final, **value_counts(request, sensitive), diversities=classes)
    question = "how many distinct values, and how many evenly spread ones, has the least diverse class?"
    return Metric("l_diversity", sensitive, question, query, order=10)


_PORTABLE_ENTROPY = """COALESCE(EXP(
    LN(CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE))
    - SUM(CASE WHEN v IS NOT NULL THEN CAST(y AS DOUBLE) * LN(CAST(y AS DOUBLE)) END)
    / CAST(SUM(CASE WHEN v IS NOT NULL THEN y END) AS DOUBLE)
), CAST(0 AS DOUBLE))"""


def _recursive_diversity(request: MetricRequest, sensitive: str) -> Metric:
    by_size = [sql("CASE WHEN v IS NULL THEN 1 ELSE 0 END"), exp.Ordered(this=column("y"), desc=True)]
    rank = over_class(request, "ROW_NUMBER()", *by_size)
    ranked = select(*request.groups, column("v"), column("y"), rank_=rank).from_(table("counts"))
    rest = sql("SUM(CASE WHEN v IS NOT NULL AND rank_ >= :l THEN y END)", l=literal(request.l))
    rests = select(top="MAX(CASE WHEN v IS NOT NULL THEN y END)", rest=rest).from_(table("ranked"))
    least = "CASE WHEN COUNT(*) = COUNT(rest) THEN MAX(CAST(top AS DOUBLE) / CAST(rest AS DOUBLE)) END"
    query = with_steps(
        select(c=least).from_(table("rests")),
        **value_counts(request, sensitive),
        ranked=ranked,
        rests=rests.group_by(*request.groups),
    )
    question = f"above which c does recursive (c, {request.l})-diversity hold? NULL: for none."
    return Metric("recursive_diversity", sensitive, question, query, order=20)


def _homogeneity(request: MetricRequest, sensitive: str) -> Metric:
    classes = select(x="SUM(y)", one="CASE WHEN COUNT(*) = 1 AND COUNT(v) = 1 THEN 1 END")
    query = with_steps(
        select(**_HOMOGENEOUS, expected_classes=_EXPECTED)
        .from_(table("uniform"))
        .join(table("domain"), join_type="cross"),
        **value_counts(request, sensitive),
        uniform=classes.from_(table("counts")).group_by(*request.groups),
        domain=select(log_values=_LOG_VALUES).from_(table("counts")),
    )
    question = "in how many classes do all rows share one value, and how many would chance make?"
    return Metric("homogeneity", sensitive, question, query, order=30)


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
