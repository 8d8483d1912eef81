"""What one node tells of others: where failing is monotone, and where the top is the best there is."""

from __future__ import annotations

from duckanon.models import ClassModel, ColumnModel, TableModel
from duckanon.models.registry import models_of
from duckanon.models.unit import ROWS
from duckanon.policy import Sensitive
from duckanon.search.measure import Measurer


def is_monotone(measurer: Measurer) -> bool:
    """Whether a node that fails its class rules proves that every finer one fails. With a budget that is so for k, and
    what is closed under growing as it is; and of two classes that share people the whole may break a rule that both of
    them hold."""
    if not measurer.judged and all(rule.closed_under_growing for rule in measurer.size_rules):
        return True
    of_classes = [(model, wanted) for model, wanted in _asked(measurer) if isinstance(model, ClassModel)]
    return _merging_is_safe(measurer) and all(model.holds_merged(wanted) for model, wanted in of_classes)


def top_is_best(measurer: Measurer) -> bool:
    """Whether no node holds if the top does not. What is best of all rows together (ALP and DIF are) need not be with a
    budget: other nodes suppress other rows; nor where the policy ends the lattice before all rows are one class."""
    of_table = [model for model, _ in _asked(measurer) if isinstance(model, TableModel)]
    together = all(h.highest == h.height for h in measurer.census.hierarchies)
    best = together and _merging_is_safe(measurer) and all(model.best_at_top for model in of_table)
    return is_monotone(measurer) and (best or not measurer.asks_everything)


def _asked(measurer: Measurer) -> list[tuple[ColumnModel, Sensitive]]:
    return [(model, v.wanted) for v in measurer.census.sensitive for model in models_of(v.wanted)]


def _merging_is_safe(measurer: Measurer) -> bool:
    return measurer.unit is ROWS and measurer.problem.budget == 0
