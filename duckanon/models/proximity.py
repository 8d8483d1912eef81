"""(ε, m): of a class, at most one in m lies within ε of any of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.models.keys import Key, TableKey
from duckanon.models.model import ClassModel, Numbers
from duckanon.models.questions import ReleasedColumn, only_figure
from duckanon.models.rules import ClassRule, Constraint, Windows
from duckanon.models.wanted import Wanted
from duckanon.query.counts import ValueCounts
from duckanon.query.expressions import TOLERANCE, column, double, sql, table
from duckanon.query.steps import select
from duckanon.toml.checks import number, whole


@dataclass(frozen=True)
class Proximity:
    epsilon: float
    m: int


class ProximityModel(ClassModel):
    """Merging may break it: what is far apart in two classes is near in their union."""

    name, order = "proximity", 60
    key = TableKey(
        "proximity",
        (
            Key(
                "epsilon",
                number(least=0),
                True,
                "numbers: at most one in m of a class lies within ε of any of its values",
                example=500,
            ),
            Key("m", whole(1), True, "its m", example=3),
        ),
        Proximity,
        "(ε, m) of numbers: how many of a class may lie close to each other",
    )
    numbers = Numbers.NEEDED
    counts_people = False

    def constraints(self, column: str, value: str | None, threshold: Any) -> Iterator[Constraint]:
        yield Constraint(self.name, column, value, 1 / threshold.m)

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        figure = sql("MAX(CASE WHEN number IS NOT NULL THEN near_ ELSE 0 END) / :size")
        return ClassRule(constraint, figure, windows=_near(wanted.thresholds["proximity"].epsilon))

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | None:
        query = _nearest(released.counts, released.wanted.thresholds["proximity"].epsilon)
        share: float | None = only_figure(released.rows.ask(query, "verify: proximity"))
        return share


MODEL = ProximityModel()


def _near(epsilon: float) -> Windows:
    def windows(over):  # type: ignore[no-untyped-def]
        window = over("SUM(y)", "number NULLS LAST")
        bound = double(epsilon + TOLERANCE)
        spec = exp.WindowSpec(kind="RANGE", start=bound, start_side="PRECEDING", end=bound.copy(), end_side="FOLLOWING")
        window.set("spec", spec)
        return {"near_": window}

    return windows


# -- asked of a release ----------------------------------------------------------------------------


def _nearest(counts: ValueCounts, epsilon: float) -> exp.Select:
    """The largest share of a class that lies within ε of one of its numbers; NULL without any."""
    numbers = select(*counts.groups, column("y"), column("x"), number="CAST(v AS DOUBLE)").from_(table("shares"))
    reach = double(epsilon + TOLERANCE)
    around = exp.WindowSpec(kind="RANGE", start=reach, start_side="PRECEDING", end=reach.copy(), end_side="FOLLOWING")
    within = counts.over_class("SUM(y)", column("number"))
    within.set("spec", around)
    share = "MAX(CAST(near AS DOUBLE) / CAST(x AS DOUBLE))"
    return counts.asked(
        select(share=share).from_(table("neighbours")),
        shares=counts.shares,
        numbers=numbers.where(sql("v IS NOT NULL")),
        neighbours=select(column("x"), near=within).from_(table("numbers")),
    )
