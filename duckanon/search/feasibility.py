"""What can never hold, said before any search: with what would be feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.questions import CountedSizes
from duckanon.models.registry import models_of, sizes_asked
from duckanon.policy import Sensitive
from duckanon.search.problem import Problem


@dataclass(frozen=True)
class SourceColumn:
    """A sensitive column of the census, as the models ask about it."""

    values: ValueTable
    census: Census
    budget: int

    @property
    def wanted(self) -> Sensitive:
        return self.values.wanted

    @property
    def table(self) -> exp.Table:
        return self.values.table

    @property
    def distinct(self) -> int:
        return self.values.distinct

    @property
    def rows(self) -> int:
        return self.census.rows

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        return self.census.workbench.fetch(query)


def impossible(problem: Problem) -> list[str]:
    """Every threshold of the policy that no generalization can reach within the budget."""
    policy, census, budget = problem.policy, problem.census, problem.allowed
    found = [str(unmapped) for unmapped in census.unmapped if census.left_out > budget]
    if found:
        found.append(f"privacy.unmapped: {census.left_out:,} rows would be suppressed, the budget is {budget:,}")
    found += K_ANONYMITY.out_of_reach(policy.k, census.rows, census.people)
    population = census.population.rows if census.population else None
    sizes = CountedSizes(census.rows, budget, population)
    for model, threshold in sizes_asked(policy.thresholds):
        found += model.out_of_reach(threshold, sizes)
    for values in census.sensitive:
        models, counted = models_of(values.wanted), SourceColumn(values, census, budget)
        found += [message for model in models for message in model.out_of_reach(counted)]
        # Somebody with rows in several classes counts in each, so no share of people bounds that of a class.
        if census.people is None:
            found += [message for model in models for message in model.too_frequent(counted)]
    return found
