"""Class sizes as a person looks at them: few bins, and the risk that goes with a size."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

from duckanon.pages.looking import Sizes
from duckanon.pages.report import AtRisk, Bin, Risk, Seeker, SizeRange

_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000)


def risk_of(sizes: Sizes) -> Risk:
    members, classes = _members(sizes), sum(count for _, count in sizes)
    if not members:
        return Risk()
    least = min(size for size, _ in sizes)
    alone = sum(count for size, count in sizes if size == 1)
    return Risk(least, 1 / least, classes / members, alone)


def bins(before: Sizes | None, after: Sizes | None, k: int | None) -> tuple[Bin, ...]:
    """The bins that there are classes for. One begins at k: what is left of it may not be released."""
    known = [sizes for sizes in (before, after) if sizes]
    if not known:
        return ()
    return tuple(
        Bin(*edge, _share(before, *edge), _share(after, *edge), *_classes(before, after, *edge))
        for edge in _edges(max(size for sizes in known for size, _ in sizes), k)
    )


def parted(released: Sizes, failing: Sizes, k: int) -> tuple[tuple[SizeRange, float, float], ...]:
    """The same bins of one set of classes: which share of all is released by them, and which fails."""
    every = (*released, *failing)
    total = _members(every)
    return tuple(
        (SizeRange(*edge), _members(_within(released, *edge)) / total, _members(_within(failing, *edge)) / total)
        for edge in (_edges(max(size for size, _ in every), k) if every else ())
    )


def _edges(largest: int, k: int | None) -> list[tuple[int, int | None]]:
    bounds = sorted({bound for bound in (*_BOUNDS, k or 1) if bound <= largest})
    edges: list[tuple[int, int | None]] = [(least, above - 1) for least, above in pairwise(bounds)]
    return [*edges, (bounds[-1], None if bounds[-1] < largest else largest)]


def at_risk(before: Sizes | None, after: Sizes | None) -> tuple[AtRisk, ...]:
    """The curves at every size there is, to two digits: more cannot be seen."""
    sizes = {_two_digits(size) for part in (before, after) for size, _ in part or ()}
    points = sorted({1, *sizes}) if sizes else []
    curves = zip(points, _curve(before, points), _curve(after, points), strict=True)
    return tuple(AtRisk(1 / size, then, now) for size, then, now in curves)


def _curve(sizes: Sizes | None, points: list[int]) -> list[float | None]:
    """The share of who is in a class of at most so many."""
    if not sizes:
        return [None] * len(points)
    known = [size for size, _ in sorted(sizes)]
    up_to = [0, *accumulate(size * count for size, count in sorted(sizes))]
    return [up_to[bisect_right(known, point)] / up_to[-1] for point in points]


def _two_digits(size: int) -> int:
    """Rounded up."""
    unit: int = 10 ** max(0, len(str(size)) - 2)
    return -(-size // unit) * unit


def _members(sizes: Sizes) -> int:
    return sum(size * count for size, count in sizes)


def _within(sizes: Sizes, least: int, most: int | None) -> Sizes:
    return tuple((size, count) for size, count in sizes if least <= size and (most is None or size <= most))


def _share(sizes: Sizes | None, least: int, most: int | None) -> float | None:
    if not sizes:
        return None
    return _members(_within(sizes, least, most)) / _members(sizes)


def _classes(before: Sizes | None, after: Sizes | None, least: int, most: int | None) -> tuple[int | None, int | None]:
    counts = [sum(count for _, count in _within(s, least, most)) if s is not None else None for s in (before, after)]
    return counts[0], counts[1]


def seekers_of(risk: Mapping[str, Any]) -> tuple[Seeker, ...]:
    """By `privacy.risk`: who of them is known of."""
    parts = [_seeker("prosecutor", "who is in the release", risk["prosecutor"])]
    if risk["journalist"]:
        parts.append(_seeker("journalist", "who is in the population", risk["journalist"]))
        looked = {"highest": None, "average": risk["marketer"], "share_at_risk": None}
        parts.append(_seeker("marketer", "everybody in the population, and looks for all", looked))
    return tuple(parts)


def _seeker(name: str, knows: str, figures: Mapping[str, Any]) -> Seeker:
    return Seeker(name, knows, figures["highest"], figures["average"], figures["share_at_risk"])
