"""Which choices are worth a thought: those to which no other is better in every way."""

from __future__ import annotations

from collections.abc import Iterable

from duckanon.comparison.choices import Choice

_DIGITS = 9  # sums of doubles differ in the last of them


def front(choices: Iterable[Choice]) -> frozenset[Choice]:
    """The Pareto front: no other choice is at least as good in k, in suppressed rows and in NCP, and better in one.
    Equal ones are all on it; what is infeasible never is."""
    costs = {choice: _costs(choice) for choice in choices if choice.status == "holds"}
    return frozenset(choice for choice in costs if not any(_dominates(cost, costs[choice]) for cost in costs.values()))


def _costs(choice: Choice) -> tuple[float, ...]:
    """The less the better."""
    assert choice.suppressed is not None
    assert choice.ncp is not None
    return -choice.wanted.policy.k, choice.suppressed, round(choice.ncp, _DIGITS)


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))
