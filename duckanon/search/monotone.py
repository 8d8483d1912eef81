"""What one node tells of others: where failing is monotone, and where the top is the best there is."""

from __future__ import annotations

from duckanon.census.people import ROWS
from duckanon.search.measure import Measurer

# Rules that merging classes may break, even with nothing suppressed. (It may raise DIF, too, but not at the top.)
_NEVER_MONOTONE = ("proximity",)


def is_monotone(measurer: Measurer) -> bool:
    """Whether a node that fails its class rules proves that every finer one fails. With a budget that is so for k
    alone; and of two classes that share people the whole may break a rule that both of them hold."""
    if not measurer.judged:
        return True
    rules = [rule.constraint.name for part in measurer.judged for rule in part.rules]
    return _merging_is_safe(measurer) and not any(name in _NEVER_MONOTONE for name in rules)


def top_is_best(measurer: Measurer) -> bool:
    """Whether no node holds if the top does not. Of all rows together ALP is least and DIF is 0 (wang, theorem 2); but
    with a budget other nodes suppress other rows."""
    return is_monotone(measurer) and (not measurer.table_rules or _merging_is_safe(measurer))


def _merging_is_safe(measurer: Measurer) -> bool:
    return measurer.unit is ROWS and measurer.problem.budget == 0
