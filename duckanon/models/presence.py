"""δ-presence (Nergiz et al. 2007): whether somebody of the population is in the release at all can be told no better
than within bounds.

The presence of a label is its released rows for every row of the population that it covers. People whom no released
label covers are not there, and everybody sees it: their presence is 0, which no `least` above 0 allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from duckanon.models.keys import Key, TableKey
from duckanon.models.model import SizeModel
from duckanon.models.questions import CountedSizes, ReleasedSizes
from duckanon.models.rules import Constraint, SizeRule, TotalRule
from duckanon.query.expressions import TOLERANCE, double, sql
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select
from duckanon.toml import Section
from duckanon.toml.checks import number, share


@dataclass(frozen=True)
class Bounds:
    least: float
    most: float


# A label below which the population has nobody is that of people whom it lacks: as if it had one of them.
_PRESENCE = ":x / GREATEST(:population, 1)"


class Presence(SizeModel):
    """A class that shows too surely who is there is suppressed. Nobody can be suppressed for being shown as absent."""

    name, order = "presence", 2
    key = TableKey(
        "presence",
        (
            Key("least", number(least=0, most=1), True, "least released rows for every row of the population", 0.0),
            Key("most", share, False, "most released rows for every row of the population that a label covers", 0.5),
        ),
        Bounds,
        "how surely one may know of somebody in the population whether the release has them",
    )
    needs_population = True

    def rules(self, threshold: Bounds) -> Iterator[SizeRule | TotalRule]:
        # Parts that hold have at most so many rows for all that the label covers.
        within = sql(":x - :most * :population", most=double(threshold.most))
        most = Constraint("presence_most", None, None, threshold.most)
        yield SizeRule(most, sql(_PRESENCE), lasting=within)
        least = Constraint("presence_least", None, None, threshold.least, at_least=True)
        yield TotalRule(least, sql(f"CASE WHEN SUM(:population) < :everybody THEN 0 ELSE MIN({_PRESENCE}) END"))

    def measured(self, constraint: Constraint, threshold: Bounds, released: ReleasedSizes) -> float | None:
        covered = released.covered
        if covered is None:
            return None
        if constraint.name == "presence_most":
            return covered.most_presence
        return covered.least_presence if covered.covered == covered.everybody else 0.0

    def must_fit(self, threshold: Bounds, section: Section) -> None:
        if threshold.least > threshold.most:
            section.fault("presence", f"least = {threshold.least:g} is above most = {threshold.most:g}")

    def out_of_reach(self, threshold: Bounds, counted: CountedSizes) -> Iterator[str]:
        if not counted.population:
            return
        # Of all labels together the presence is that of the table.
        highest, lowest = (rows / counted.population for rows in (counted.rows, counted.rows - counted.budget))
        whole = "the share of the population that is in the source"
        if highest < threshold.least - TOLERANCE:
            yield f"privacy.presence.least: {threshold.least:g} is above {whole}, {highest:.6g}"
        if lowest > threshold.most + TOLERANCE:
            yield f"privacy.presence.most: {threshold.most:g} is below {whole}, {lowest:.6g}"

    def metrics(self, request: MetricRequest) -> Iterator[Metric]:
        if request.population is not None:
            question = "how surely is it known of somebody in the population whether the table has them?"
            yield Metric(self.name, None, question, request.beside(select(**_PRESENCES)))


MODEL = Presence()

_SHARE = "CAST(x AS DOUBLE) / CAST(CASE WHEN m > 0 THEN m ELSE 1 END AS DOUBLE)"
_PRESENCES = {"least_presence": f"MIN({_SHARE})", "most_presence": f"MAX({_SHARE})"}
