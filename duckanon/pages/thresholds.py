"""The constraints of a policy as a page tells them: which way each bounds, and how far it is from breaking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from duckanon.models import Constraint
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import asked, sizes_asked
from duckanon.pages.report import Threshold
from duckanon.policy import Policy
from duckanon.result import plain_figures


def constraints_of(policy: Policy) -> Iterator[Constraint]:
    """In the order in which they are told."""
    yield K_ANONYMITY.constraint(policy.k)
    for model, threshold in sizes_asked(policy.thresholds):
        yield from model.constraints(threshold)
    for wanted in policy.sensitive:
        yield from (constraint for _, constraint in asked(wanted))


def threshold_of(told: Mapping[str, Any], constraint: Constraint | None) -> Threshold:
    """A finding as JSON has it; `constraint`: the policy's, where it is known."""
    threshold, measured, margin, sign = told["threshold"], told["measured"], None, ""
    if constraint is not None:
        sign = "≥" if constraint.at_least else "<" if constraint.strict else "≤"
        if measured is not None and threshold is not None:
            margin = plain_figures(measured - threshold if constraint.at_least else threshold - measured)
    return Threshold(told["name"], told["column"], told["value"], sign, threshold, measured, margin, told["holds"])
