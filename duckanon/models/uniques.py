"""How many people are alone in the population, estimated from the classes of a sample.

Zayatz (1991) asks how likely it is that somebody who is alone in the sample is so in the population, if that has
classes of the sizes that the sample has. Pitman's model of class sizes (Hoshino 2001) is fitted to the sample and
carried on to the size of the population. Dankar et al. (2012) found the latter to be the better one for samples of up
to a tenth of the population. Above, they choose between Zayatz and a third model, which is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, isfinite, lgamma, log
from typing import Any

Sizes = Sequence[tuple[int, int]]  # of a class, and how many have it

_SMALL_SAMPLE = 0.1  # of the population: Dankar et al.'s rule
_STEPS = 45  # of a search for the best of a parameter, each of which leaves 0.62 of where it can be


def population_uniques(sizes: Sizes, people: int) -> dict[str, Any]:
    """The estimates for a population of so many people, of whom the classes are a sample, and the one to choose; None:
    the sample does not tell."""
    rows = sum(size * classes for size, classes in sizes)
    alone = dict(sizes).get(1, 0)
    fraction = rows / people
    if people <= rows or not alone:
        # In a sample of everybody, or one in which nobody is alone, there is nothing to estimate.
        found: dict[str, float | None] = dict.fromkeys(("zayatz", "pitman"), float(alone))
    else:
        found = {"zayatz": _zayatz(sizes, rows, people), "pitman": _pitman(sizes, rows, people)}
    chosen = "pitman" if fraction <= _SMALL_SAMPLE and found["pitman"] is not None else "zayatz"
    estimate = found[chosen]
    share = estimate / people if estimate is not None else None
    return {"fraction": fraction, "people": people, **found, "chosen": chosen, "estimate": estimate, "share": share}


def _zayatz(sizes: Sizes, rows: int, people: int) -> float:
    """By Bayes: how likely a class of each size in the population is to leave one row in the sample."""
    seen = {size: classes * _one_of(size, rows, people) for size, classes in sizes}
    likely = seen[1] / sum(seen.values())
    return min(float(people), dict(sizes)[1] * likely * people / rows)


def _one_of(size: int, rows: int, people: int) -> float:
    """The probability that a sample of so many rows has exactly one of a class of the population (hypergeometric)."""
    if size > people or size - 1 > people - rows:
        return 0.0
    others = _choices(people - size, rows - 1) - _choices(people, rows)
    return exp(log(size) + others)


def _choices(of: int, some: int) -> float:
    """The logarithm of the binomial coefficient."""
    return lgamma(of + 1) - lgamma(some + 1) - lgamma(of - some + 1)


@dataclass(frozen=True)
class _Pitman:
    """The likelihood of class sizes by the two parameters of Pitman's sampling formula (Hoshino 2001, eq. 4)."""

    sizes: Sizes
    rows: int
    classes: int

    def likelihood(self, alpha: float) -> float:
        """Its logarithm by the best of the other parameter, up to what no parameter changes."""
        grown = sum(n * (lgamma(size - alpha) - lgamma(1 - alpha)) for size, n in self.sizes)
        return grown + self._of_classes(alpha, self.best_theta(alpha))

    def _of_classes(self, alpha: float, theta: float) -> float:
        """That there are so many, whatever their sizes."""
        started = (self.classes - 1) * log(alpha) + lgamma(theta / alpha + self.classes) - lgamma(theta / alpha + 1)
        return started - lgamma(theta + self.rows) + lgamma(theta + 1)

    def best_theta(self, alpha: float) -> float:
        """On a scale of logarithms."""
        lowest, highest = log(1e-6), log(1e3 * self.rows)
        return exp(_highest(lambda at: self._of_classes(alpha, exp(at)), lowest, highest))


def _pitman(sizes: Sizes, rows: int, people: int) -> float | None:
    """Those who are alone among so many people, as expected by the parameters that fit the sample best."""
    classes = sum(count for _, count in sizes)
    if classes in (1, rows):
        return None  # all alone, or all alike: any larger parameter fits better
    model = _Pitman(sizes, rows, classes)
    alpha = _highest(model.likelihood, 1e-6, 1 - 1e-6)
    theta = model.best_theta(alpha)
    alone = exp(
        log(people)
        + lgamma(theta + alpha + people - 1)
        - lgamma(theta + alpha)
        + lgamma(theta + 1)
        - lgamma(theta + people)
    )
    return min(float(people), alone) if isfinite(alone) else None


_GOLDEN = (5**0.5 - 1) / 2


def _highest(figure: Callable[[float], float], low: float, high: float) -> float:
    """Where a figure with one peak is highest, by golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = figure(left), figure(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = figure(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = figure(left)
    return (low + high) / 2
