"""How likely it is to find a person of the release, over all of its rows: on average, and for how many it is likely.

Both are measured on the whole table, and no table is better than all rows as one class. The risk of a row is the
prosecutor's: one in the rows of its class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duckanon.models.keys import Demand, Key, TableKey, sentence
from duckanon.models.model import SizeModel
from duckanon.models.questions import CountedSizes, ReleasedSizes, Sample
from duckanon.models.rules import Constraint, TotalRule
from duckanon.models.uniques import population_uniques
from duckanon.query.expressions import TOLERANCE, literal, sql
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select
from duckanon.toml import Section
from duckanon.toml.checks import number, share

USUAL_RISK = 0.2  # of a row in a class of five: the macros' own


class AverageRisk(SizeModel):
    """On average one finds so many of the rows whose people one looks for: classes for every row."""

    name, order = "average_risk", 3
    key = Key("average_risk", share, False, "highest average risk of a row: classes for every row", example=0.1)
    counts_people = True

    def rules(self, threshold: float) -> Iterator[TotalRule]:
        constraint = Constraint(self.name, None, None, threshold)
        yield TotalRule(constraint, sql("CAST(COUNT(*) AS DOUBLE) / SUM(:x)"))

    def measured(self, constraint: Constraint, threshold: float, released: ReleasedSizes) -> float | None:
        return released.classes / released.rows if released.rows else None

    def out_of_reach(self, threshold: float, counted: CountedSizes) -> Iterator[str]:
        if 1 / counted.rows > threshold + TOLERANCE:
            yield f"privacy.average_risk: {threshold:g} is below that of all {counted.rows} rows in one class"

    def metrics(self, request: MetricRequest) -> Iterator[Metric]:
        if request.population is not None:
            question = (
                f"how likely is it to find one of the population, and how many rows are among fewer than {request.k}?"
            )
            risks = select(**_JOURNALIST, rows_at_risk=sql(_AT_RISK, k=literal(request.k)))
            yield Metric("journalist_risk", None, question, request.beside(risks))


_AMONG = "CAST(CASE WHEN m > 0 THEN m ELSE 1 END AS DOUBLE)"
_JOURNALIST = {
    "highest_risk": f"CAST(1 AS DOUBLE) / MIN(CASE WHEN x > 0 THEN {_AMONG} END)",
    "average_risk": f"SUM(CAST(x AS DOUBLE) / {_AMONG}) / CAST(NULLIF(SUM(x), 0) AS DOUBLE)",
}
_AT_RISK = "CAST(COALESCE(SUM(CASE WHEN m < :k THEN x END), 0) AS BIGINT)"


@dataclass(frozen=True)
class RowsAtRisk:
    """The highest share of rows with a higher risk than this."""

    share: float
    risk: float = USUAL_RISK

    @property
    def size(self) -> int:
        """The rows of the smallest class that is not at risk."""
        return enough_rows(self.risk)


def enough_rows(risk: float) -> int:
    """The least rows of which one is found by no higher risk."""
    return max(1, math.ceil(1 / risk - TOLERANCE))


_FROM_0 = number(least=0, most=1)
_PARTS = TableKey(
    "rows_at_risk",
    (
        Key("share", _FROM_0, False, "highest share of rows at risk", example=0.05),
        Key("risk", share, False, "the risk above which a row is", example=0.1),
    ),
    RowsAtRisk,
    "highest share of rows above a risk",
)


def risk_asked(thresholds: Mapping[str, Any]) -> float:
    """The risk above which a row is told to be at risk."""
    asked = thresholds.get("rows_at_risk")
    return asked.risk if isinstance(asked, RowsAtRisk) else USUAL_RISK


@dataclass(frozen=True)
class ShareAtRiskKey(Key):
    """A share by itself or, in a table, with the risk that it is of."""

    def read(self, section: Section, required: str | None = None) -> RowsAtRisk | None:
        if isinstance(section.data.get(self.name), dict):
            told: RowsAtRisk | None = _PARTS.read(section)
            return told
        value = super().read(section, required)
        return None if value is None else RowsAtRisk(value)

    def demands(self, mine: Any, others: Any) -> dict[str, Demand]:
        return _PARTS.demands(mine, others)

    @property
    def schema(self) -> dict[str, Any]:
        both = {name: told for name, told in _PARTS.schema.items() if name not in ("description", "examples")}
        said = {"description": sentence(self.meaning), "anyOf": [self.bounds.schema, both]}
        return said | {"examples": [self.example, _PARTS.example]}


class ShareAtRisk(SizeModel):
    """Only so many rows are in small classes."""

    name, order = "rows_at_risk", 4
    key = ShareAtRiskKey(
        "rows_at_risk",
        _FROM_0,
        False,
        f"highest share of rows whose risk is above {USUAL_RISK:g}; with another risk `{{ share = 0.05, risk = 0.1 }}`",
        example=0.05,
    )
    counts_people = True

    def rules(self, threshold: RowsAtRisk) -> Iterator[TotalRule]:
        constraint = Constraint(self.name, None, None, threshold.share)
        above = "COALESCE(SUM(CASE WHEN :x < :enough THEN :x END), 0) / SUM(:x)"
        yield TotalRule(constraint, sql(above, enough=literal(threshold.size)))

    def measured(self, constraint: Constraint, threshold: RowsAtRisk, released: ReleasedSizes) -> float | None:
        return released.share_below(threshold.size)

    def out_of_reach(self, threshold: RowsAtRisk, counted: CountedSizes) -> Iterator[str]:
        if threshold.share < 1 and counted.rows < threshold.size:
            told = f"rows, of which one is found by a risk of {1 / counted.rows:.6g}"
            yield f"privacy.rows_at_risk: the source has {counted.rows} {told}"


MODELS = (AverageRisk(), ShareAtRisk())


def risk_figures(released: ReleasedSizes, risk: float, sample: Sample | None) -> dict[str, Any]:
    """What each of three who look for people of a release may hope for: the prosecutor knows that somebody is in it,
    the journalist that somebody is in the population, and the marketer looks for everybody there (El Emam 2013).

    Without a population nobody knows of more people than the release has. Of one that the source is a `sample` of they
    are estimated: for x rows there are as many people as for all rows, in proportion.
    """
    average = released.classes / released.rows if released.rows else None
    least = min((size for size, _ in released.sizes), default=None)
    prosecutor = _seeker(1 / least if least else None, average, released.share_below(enough_rows(risk)))
    found = {"threshold": risk, "prosecutor": prosecutor, "journalist": None, "marketer": average}
    covered = released.covered
    if covered is not None and released.rows:
        highest = 1 / max(1, covered.fewest)
        found["journalist"] = _seeker(highest, covered.average_risk, covered.at_risk / released.rows)
        found["marketer"] = covered.average_risk
    elif sample is not None and least and average is not None:
        fraction = sample.fraction
        at_risk = released.share_below(enough_rows(risk / fraction)) if risk < fraction else 0.0
        found["journalist"] = _seeker(fraction / least, fraction * average, at_risk)
        found["marketer"] = fraction * average
    if sample is not None:
        found["population_uniques"] = population_uniques(released.sizes, sample.people)
    return found


def _seeker(highest: float | None, average: float | None, share_at_risk: float | None) -> dict[str, float | None]:
    return {"highest": highest, "average": average, "share_at_risk": share_at_risk}
