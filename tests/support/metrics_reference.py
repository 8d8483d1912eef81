"""The privacy metrics in plain Python: what every SQL metric is compared with.

A table is a list of rows, a row a mapping from column name to value. Each function is a definition written
out, over the whole table, without regard for speed. NULL is None: a quasi-identifier like any other; as a
sensitive value it counts in the size of its class and is otherwise left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Key = tuple[Any, ...]

TOLERANCE = 1e-9


class Leakage(NamedTuple):
    """wang III.A: average and highest leakage probability of a value, and their difference."""

    alp: float
    highest_lp: float
    dif: float


class Risk(NamedTuple):
    """Re-identification risk of a table."""

    highest: float | None
    average: float | None
    rows_at_risk: int
    unique_rows: int


class Homogeneity(NamedTuple):
    """Classes with one single value, their rows, and how many such classes chance would make."""

    classes: int
    rows: int
    expected: float | None


class Distinction(NamedTuple):
    """How far a set of columns tells rows apart."""

    distinct_values: int
    unique_rows: int


def classes(rows: Iterable[Row], qi: Sequence[str]) -> dict[Key, list[Row]]:
    """The rows of each class, by its quasi-identifier values."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in qi), []).append(row)
    return found


class Beside(NamedTuple):
    """What a table shows of a population with the same columns."""

    k_map: int | None
    covered_rows: int
    least_presence: float | None
    most_presence: float | None
    highest_risk: float | None
    average_risk: float | None
    rows_at_risk: int


def beside(rows: Sequence[Row], population: Sequence[Row], qi: Sequence[str], k: int) -> Beside:
    """A class that the population lacks counts as if that had one of it; a class of nobody in the table, as absent."""
    ours, theirs = classes(rows, qi), classes(population, qi)
    below = {key: len(theirs.get(key, ())) for key in ours}
    presences = [len(ours.get(key, ())) / max(1, len(theirs.get(key, ()))) for key in {**ours, **theirs}]
    risks = [1 / max(1, below[key]) for key, members in ours.items() for _ in members]
    return Beside(
        min(below.values(), default=None),
        sum(below.values()),
        min(presences, default=None),
        max(presences, default=None),
        max(risks, default=None),
        sum(risks) / len(risks) if risks else None,
        sum(len(members) for key, members in ours.items() if below[key] < k),
    )


def values(rows: Iterable[Row], sensitive: str) -> Counter[Any]:
    """How many rows have each non-NULL value."""
    return Counter(row[sensitive] for row in rows if row[sensitive] is not None)


def k(rows: Sequence[Row], qi: Sequence[str]) -> int | None:
    """The size of the smallest class."""
    return min((len(members) for members in classes(rows, qi).values()), default=None)


def class_sizes(rows: Sequence[Row], qi: Sequence[str]) -> Counter[int]:
    """How many classes there are of each size."""
    return Counter(len(members) for members in classes(rows, qi).values())


def risk(rows: Sequence[Row], qi: Sequence[str], k: int) -> Risk:
    """Highest 1/x, average classes/n, rows in classes smaller than k, rows alone in their class."""
    sizes = [len(members) for members in classes(rows, qi).values()]
    if not sizes:
        return Risk(None, None, 0, 0)
    return Risk(1 / min(sizes), len(sizes) / len(rows), sum(x for x in sizes if x < k), sizes.count(1))


def distinct_l(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> int | None:
    """The least number of distinct values in a class."""
    return min((len(values(members, sensitive)) for members in classes(rows, qi).values()), default=None)


def class_entropy_l(members: Sequence[Row], sensitive: str) -> float:
    """exp of a class's entropy; 0 without any value."""
    counts = values(members, sensitive)
    if not counts:
        return 0.0
    return math.exp(-sum(y / counts.total() * math.log(y / counts.total()) for y in counts.values()))


def entropy_l(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> float | None:
    """The least exp(entropy) of a class."""
    return min((class_entropy_l(members, sensitive) for members in classes(rows, qi).values()), default=None)


def recursive_c(rows: Sequence[Row], qi: Sequence[str], sensitive: str, l: int) -> float | None:  # noqa: E741
    """The greatest r_1 / (r_l + ... + r_m) of a class; None when some class has fewer than l values."""
    ratios = []
    for members in classes(rows, qi).values():
        r = sorted(values(members, sensitive).values(), reverse=True)
        if len(r) < l:
            return None
        ratios.append(r[0] / sum(r[l - 1 :]))
    return max(ratios, default=None)


def association(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> dict[tuple[Any, Key], float]:
    """mohapatra table 4: the weight y_i/x_i of every value in every class, zeros included."""
    return {
        (value, key): values(members, sensitive)[value] / len(members)
        for value in values(rows, sensitive)
        for key, members in classes(rows, qi).items()
    }


def alpha(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> dict[Any, float]:
    """Each value's highest share of a class."""
    matrix = association(rows, qi, sensitive)
    return {value: max(w for (v, _), w in matrix.items() if v == value) for value in values(rows, sensitive)}


def leakage(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> dict[Any, Leakage]:
    """ALP = (sum y_i^2/x_i) / y, the highest y_i/x_i, and DIF, per value."""
    found = {}
    for value, y in values(rows, sensitive).items():
        pairs = [(values(members, sensitive)[value], len(members)) for members in classes(rows, qi).values()]
        alp = sum(y_i * y_i / x_i for y_i, x_i in pairs) / y
        highest = max(y_i / x_i for y_i, x_i in pairs)
        found[value] = Leakage(alp, highest, highest - alp)
    return found


def expected_homogeneous_classes(sizes: Iterable[int], domain: int) -> float:
    """SE, mohapatra eq. 1, of the classes that are there: the sum of K^(1-x), for one sensitive column of K values."""
    return sum(float(domain) ** (1 - x) if domain else 0.0 for x in sizes)


def homogeneity(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> Homogeneity:
    """The classes whose rows all have the same non-NULL value."""
    same = [
        members
        for members in classes(rows, qi).values()
        if len({row[sensitive] for row in members}) == 1 and members[0][sensitive] is not None
    ]
    sizes = [len(members) for members in classes(rows, qi).values()]
    expected = expected_homogeneous_classes(sizes, len(values(rows, sensitive))) if rows else None
    return Homogeneity(len(same), sum(map(len, same)), expected)


def highest_frequency(members: Sequence[Row], sensitive: str) -> float:
    """The share of a class's most frequent value; 0 without any value."""
    return max(values(members, sensitive).values(), default=0) / len(members)


def skewness(rows: Sequence[Row], qi: Sequence[str], sensitive: str, c: float) -> tuple[int, int]:
    """Classes in which some value's frequency exceeds c, and their rows."""
    skewed = [
        members for members in classes(rows, qi).values() if highest_frequency(members, sensitive) > c + TOLERANCE
    ]
    return len(skewed), sum(map(len, skewed))


def equal_distance(p: Counter[Any], q: Counter[Any]) -> float:
    """Half the sum of |p - q| over all values."""
    return sum(abs(p[v] / p.total() - q[v] / q.total()) for v in p.keys() | q.keys()) / 2


def ordered_distance(p: Counter[Any], q: Counter[Any]) -> float:
    """1/(m-1) times the sum of the cumulative differences over the m values in order; 0 for m = 1."""
    domain = sorted(p.keys() | q.keys())
    cumulative = 0.0
    total = 0.0
    for value in domain:
        cumulative += p[value] / p.total() - q[value] / q.total()
        total += abs(cumulative)
    return total / (len(domain) - 1) if len(domain) > 1 else 0.0


def t(
    rows: Sequence[Row],
    qi: Sequence[str],
    sensitive: str,
    *,
    ordered: bool,
    reference: Sequence[Row] | None = None,
) -> float | None:
    """The greatest distance of a class from the table, or from the same column of a reference table."""
    everything = values(rows if reference is None else reference, sensitive)
    if not everything:
        return None
    absent = Counter(dict.fromkeys(values(rows, sensitive), 0))
    absent.update(everything)  # a value that the reference lacks is still one of the m values
    distance = ordered_distance if ordered else equal_distance
    parts = (values(members, sensitive) for members in classes(rows, qi).values())
    return max((distance(part, absent) for part in parts if part), default=None)


def hierarchical_distance(part: Counter[Any], whole: Counter[Any], paths: Mapping[Any, Sequence[Any]]) -> float:
    """Li et al., 2007: what the children of an inner node have too much and too little meets there, and moves over its
    height. `paths` lead from each value up to the top."""
    height = len(next(iter(paths.values())))
    extra = {value: part[value] / part.total() - whole[value] / whole.total() for value in paths}
    cost = 0.0
    for level in range(1, height + 1):
        children: dict[Any, dict[Any, float]] = {}
        for value, path in paths.items():
            child = value if level == 1 else path[level - 2]
            children.setdefault(path[level - 1], {})[child] = extra[child]
        for found in children.values():
            more, less = (sum(max(0.0, sign * one) for one in found.values()) for sign in (1, -1))
            cost += level / height * min(more, less)
        extra = {node: sum(found.values()) for node, found in children.items()}
    return cost


def likeness(
    rows: Sequence[Row], qi: Sequence[str], sensitive: str, reference: Sequence[Row] | None = None
) -> dict[Any, list[tuple[float, float]]]:
    """Of every value of the classes or of the reference its share p of the latter and q of each class; 0 of one that
    has no value."""
    everything = values(rows if reference is None else reference, sensitive)
    parts = [values(members, sensitive) for members in classes(rows, qi).values()]
    return {
        value: [(everything[value] / max(1, everything.total()), part[value] / max(1, part.total())) for part in parts]
        for value in {*everything, *values(rows, sensitive)}
    }


def beta(likenesses: Iterable[tuple[float, float]], enhanced: bool = False) -> float:
    """Cao and Karras: the greatest (q - p) / p; enhanced, none is above -ln p."""
    gains = [(p, math.inf if p == 0 else (q - p) / p) for p, q in likenesses if q > p]
    if enhanced and any(p == 0 or gain > -math.log(p) + TOLERANCE for p, gain in gains):
        return math.inf
    return max((gain for _, gain in gains), default=0.0)


def delta(likenesses: Iterable[tuple[float, float]], present_only: bool = False) -> float:
    """Brickell and Shmatikov: the greatest |ln(q / p)|; a value that a class lacks is infinitely far."""
    asked = [(p, q) for p, q in likenesses if q > 0 or not present_only]
    return max((abs(math.log(q / p)) if p > 0 and q > 0 else math.inf for p, q in asked), default=0.0)


def likeness_figures(
    rows: Sequence[Row], qi: Sequence[str], sensitive: str, reference: Sequence[Row] | None = None
) -> dict[str, float | None]:
    """All of these; None where no threshold will do, or without any value."""
    shares = [share for of_value in likeness(rows, qi, sensitive, reference).values() for share in of_value]
    found = {
        "beta": beta(shares),
        "enhanced_beta": beta(shares, enhanced=True),
        "delta": delta(shares),
        "present_delta": delta(shares, present_only=True),
    }
    present = values(rows, sensitive)
    return {name: figure if present and math.isfinite(figure) else None for name, figure in found.items()}


def proximity(rows: Sequence[Row], qi: Sequence[str], sensitive: str, epsilon: float) -> float | None:
    """The largest share of a class within epsilon of one of its values."""
    shares = []
    for members in classes(rows, qi).values():
        numbers = [row[sensitive] for row in members if row[sensitive] is not None]
        for number in numbers:
            near = sum(abs(other - number) <= epsilon + TOLERANCE for other in numbers)
            shares.append(near / len(members))
    return max(shares, default=None)


def value_diversity(rows: Sequence[Row], qi: Sequence[str], sensitive: str) -> dict[Any, int]:
    """yang: the least number of distinct values in a class that contains the value, per value."""
    found: dict[Any, int] = {}
    for members in classes(rows, qi).values():
        present = values(members, sensitive)
        for value in present:
            found[value] = min(found.get(value, len(present)), len(present))
    return found


def row_risk(rows: Sequence[Row], qi: Sequence[str]) -> list[tuple[Row, int, float]]:
    """Every row with the size of its class, and 1/size."""
    return [(row, len(members), 1 / len(members)) for members in classes(rows, qi).values() for row in members]


def unique_rows(rows: Sequence[Row], qi: Sequence[str]) -> int:
    """How many rows are alone in their class; without quasi-identifiers all are in one."""
    return class_sizes(rows, qi)[1]


def column_risk(rows: Sequence[Row], qi: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Per quasi-identifier: rows that are unique without it, and how many more are with it."""
    without = {name: unique_rows(rows, [other for other in qi if other != name]) for name in qi}
    return {name: (alone, unique_rows(rows, qi) - alone) for name, alone in without.items()}


def distinction(rows: Sequence[Row], columns: Sequence[str], most: int = 3) -> dict[Key, Distinction]:
    """How far every set of up to so many columns tells rows apart."""
    return {
        names: Distinction(len(found), sum(len(members) == 1 for members in found.values()))
        for size in range(1, most + 1)
        for names in combinations(columns, size)
        if (found := classes(rows, names))
    }


def discernibility(rows: Sequence[Row], qi: Sequence[str], suppressed: int = 0) -> int:
    """pan eq. 8: the sum of the squared class sizes, plus the source's rows for each suppressed one."""
    squares = sum(len(members) ** 2 for members in classes(rows, qi).values())
    return squares + suppressed * (len(rows) + suppressed)
