"""Estimates of who is alone in a population, against populations that are known."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import product
from typing import Any

import pytest

from duckanon.models import uniques
from duckanon.models.uniques import population_uniques

pytestmark = pytest.mark.unit

PEOPLE = 40_000
Population = list[Hashable]


def by_the_model(chance: random.Random, alpha: float = 0.3, theta: float = 400.0) -> Population:
    """Drawn by Pitman's process itself: one after the other is of a class of his own, or joins one that is there."""
    drawn: list[int] = []
    sizes: list[int] = []
    for number in range(PEOPLE):
        if chance.random() < (theta + alpha * len(sizes)) / (theta + number):
            drawn.append(len(sizes))
            sizes.append(1)
            continue
        joined = drawn[chance.randrange(number)]
        while chance.random() < alpha / sizes[joined]:
            joined = drawn[chance.randrange(number)]
        drawn.append(joined)
        sizes[joined] += 1
    return list(drawn)


def of_a_town(chance: random.Random) -> Population:
    """Ages, districts of very different sizes, sexes, occupations."""
    people = range(PEOPLE)
    return [
        (int(chance.gauss(45, 18)), int(chance.paretovariate(1.1)) % 300, chance.choice("mf"), chance.choice("abcde"))
        for _ in people
    ]


def alone(population: Population) -> int:
    return sum(1 for size in Counter(population).values() if size == 1)


def estimated(population: Population, fraction: float, chance: random.Random) -> dict[str, Any]:
    sample = chance.sample(population, int(fraction * PEOPLE))
    return population_uniques(sorted(Counter(Counter(sample).values()).items()), PEOPLE)


def off(found: dict[str, Any], which: str, truth: int) -> float:
    return abs(float(found[which]) - truth) / truth


@pytest.mark.parametrize("drawn", [by_the_model, of_a_town])
def test_the_chosen_estimate_is_near_the_truth(drawn: Callable[[random.Random], Population]) -> None:
    """Dankar et al.: below a tenth of the population Pitman's is the better one. Above both are good."""
    chance = random.Random(3)
    population = drawn(chance)
    truth = alone(population)
    for fraction in (0.02, 0.05):
        found = estimated(population, fraction, chance)
        assert found["chosen"] == "pitman"
        assert off(found, "pitman", truth) < 0.65
        assert off(found, "pitman", truth) < off(found, "zayatz", truth)
    for fraction in (0.3, 0.6):
        found = estimated(population, fraction, chance)
        assert found["chosen"] == "zayatz"
        assert found["estimate"] == found["zayatz"]
        assert off(found, "zayatz", truth) < 0.15
        assert found["share"] == pytest.approx(found["zayatz"] / PEOPLE)


def test_pitmans_estimate_finds_pitmans_population() -> None:
    """On average over some samples, from a fiftieth of it on."""
    chance = random.Random(5)
    population = by_the_model(chance)
    truth = alone(population)
    for fraction in (0.02, 0.1):
        mean = sum(estimated(population, fraction, chance)["pitman"] for _ in range(12)) / 12
        assert mean == pytest.approx(truth, rel=0.15)


def test_no_other_parameters_fit_better() -> None:
    sizes = [(1, 300), (2, 90), (3, 40), (5, 20), (40, 2)]
    model = uniques._Pitman(sizes, sum(size * n for size, n in sizes), sum(n for _, n in sizes))
    best = max(model.likelihood(step / 200) for step in range(1, 200))
    found = uniques._highest(model.likelihood, 1e-6, 1 - 1e-6)
    assert model.likelihood(found) >= best
    thetas = [model._of_classes(found, 2.0**power) for power in range(-10, 20)]
    assert model._of_classes(found, model.best_theta(found)) >= max(thetas)


def test_zayatz_is_bayes_over_all_draws() -> None:
    """Of a population of five with classes of two, one, one and one, each triple is as likely: counted out."""
    sizes, rows, people = [(1, 3), (2, 1)], 3, 5
    for size in (1, 2):
        draws = [draw for draw in product(range(people), repeat=rows) if len(set(draw)) == rows]
        one = sum(1 for draw in draws if sum(member < size for member in draw) == 1)
        assert uniques._one_of(size, rows, people) == pytest.approx(one / len(draws))
    seen = {1: 3 * uniques._one_of(1, rows, people), 2: uniques._one_of(2, rows, people)}
    assert uniques._zayatz(sizes, rows, people) == pytest.approx(3 * seen[1] / sum(seen.values()) * people / rows)


@pytest.mark.parametrize(
    ("sizes", "people", "expected"),
    [([], 10, 0), ([(2, 5)], 100, 0), ([(1, 7), (3, 2)], 13, 7)],
    ids=["nobody", "nobody is alone", "everybody was asked"],
)
def test_where_there_is_nothing_to_estimate(sizes: list[tuple[int, int]], people: int, expected: int) -> None:
    found = population_uniques(sizes, people)
    assert (found["zayatz"], found["pitman"], found["estimate"]) == (expected, expected, expected)
    assert found["share"] == expected / people


def test_one_person_of_two() -> None:
    """All that is known is somebody alone: so are all, then."""
    assert population_uniques([(1, 1)], 2)["estimate"] == 2


def test_a_sample_in_which_all_are_alone_tells_pitman_nothing() -> None:
    found = population_uniques([(1, 50)], 1000)
    assert (found["pitman"], found["chosen"], found["zayatz"]) == (None, "zayatz", 1000.0)
