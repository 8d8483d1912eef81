"""k-map: every released label covers at least k rows of the population. The class itself may be smaller."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.models.keys import Key
from duckanon.models.model import SizeModel
from duckanon.models.questions import CountedSizes, ReleasedSizes
from duckanon.models.rules import Constraint, SizeRule
from duckanon.query.expressions import sql
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select
from duckanon.toml.checks import whole


class KMap(SizeModel):
    """Whoever knows of everybody in the population still cannot tell which of k people a row is of."""

    name, order = "k_map", 1
    key = Key(
        "k_map",
        whole(1),
        larger_is_stricter=True,
        meaning="least rows of the population that the label of a class covers",
        example=5,
    )
    needs_population = True
    local_methods = ("climb",)  # which counts everybody for one class only
    stands_alone = True

    def rules(self, threshold: int) -> Iterator[SizeRule]:
        constraint = Constraint(self.name, None, None, threshold, at_least=True)
        # Of a label that covers too few no part covers more.
        yield SizeRule(constraint, sql(":population"), lasting=sql(":x"), closed_under_growing=True)

    def measured(self, constraint: Constraint, threshold: int, released: ReleasedSizes) -> int | None:
        return released.covered.fewest if released.covered else None

    def out_of_reach(self, threshold: int, counted: CountedSizes) -> Iterator[str]:
        if counted.population is not None and threshold > counted.population:
            yield f"privacy.k_map: {threshold} is above the {counted.population} rows of the population"

    def metrics(self, request: MetricRequest) -> Iterator[Metric]:
        if request.population is not None:
            question = "how many rows of the population have the quasi-identifiers of the class with the fewest?"
            yield Metric(self.name, None, question, request.beside(select(**_COVERED)))


MODEL = KMap()

_COVERED = {
    "k_map": "MIN(CASE WHEN x > 0 THEN m END)",
    "classes": "COUNT(CASE WHEN x > 0 THEN 1 END)",
    "row_count": "CAST(COALESCE(SUM(x), 0) AS BIGINT)",
    "population_rows": "CAST(COALESCE(SUM(m), 0) AS BIGINT)",
    "covered_rows": "CAST(COALESCE(SUM(CASE WHEN x > 0 THEN m END), 0) AS BIGINT)",
}
