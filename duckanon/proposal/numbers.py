"""Round numbers for ranges, so that none is a person's: widths of 1, 2 or 5 times a power of ten, cuts at multiples of
such."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise

from duckanon.proposal.spread import Spread

_RANGES = 20  # at the finest level there are about so many
_SKEWED = 4.0  # times as far above the median as below it
_STEPS = (5, 2, 1)
_EIGHTHS = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)
_HALF = 0.5
_FINEST, _WIDEST = Decimal("1e-9"), Decimal("1e15")  # what a policy may say


def widths(spread: Spread) -> list[Decimal]:
    """Ranges of growing width, each a multiple of the one before: about twenty over most of the values, then fewer."""
    typical = spread.typical or spread.reach
    if typical <= 0:
        return []
    if spread.whole and typical <= 12:
        return [Decimal(width) for width in (2, 4, 8) if width <= max(2.0, typical / 2 + 1)]
    finest = _rounded_up(typical / _RANGES)
    chosen = [max(finest, Decimal(2)) if spread.whole else finest]
    while (wider := _wider(chosen[-1])) <= Decimal(typical) / 2:
        chosen.append(wider)
    return [width for width in chosen if _FINEST <= width < _WIDEST]


def is_skewed(spread: Spread) -> bool:
    """Whether ranges of one width would hold nearly everybody in the first of them."""
    q = spread.quantiles
    below, above = q[0.5] - q[0.01], q[0.99] - q[0.5]
    return q[0.01] >= 0 and spread.values > _RANGES and (above > _SKEWED * below or _is_heaped(spread))


def _is_heaped(spread: Spread) -> bool:
    """Whether most are 0: a column of those who have something, and those who have nothing."""
    return spread.common == 0 and spread.common_share >= _HALF and bool(spread.above)


def cuts(spread: Spread, k: int) -> list[list[Decimal]]:
    """Cuts at the eighths, the quarters and the median, with an eighth of at least k rows. Where most are 0, they are
    the first range, and the eighths those of the others."""
    heaped = _is_heaped(spread)
    rows = spread.rows * (1 - spread.common_share) if heaped else spread.rows
    if rows < 8 * k:
        return []
    rounded = _rounded_eighths(spread.above if heaped else spread.quantiles)
    nothing = [_rounded_down(min(1.0, spread.above[0.01]) if spread.whole else spread.above[0.01])] if heaped else []
    lowest, highest = spread.quantiles[0.0], spread.quantiles[1.0]
    found = {share: cut for share, cut in rounded.items() if lowest < cut <= highest}
    levels = [sorted({*nothing, *(found[share] for share in shares if share in found)}) for shares in _LEVELS]
    nested = [levels[0]]
    nested += [level for finer, level in pairwise(levels) if len(level) < len(finer)]
    return [level for level in nested if level]


_LEVELS = (_EIGHTHS, (0.25, 0.5, 0.75), (0.5,))


def _rounded_eighths(q: Mapping[float, float]) -> dict[float, Decimal]:
    """Each at a multiple of a round number that is at most half as large as the way to the next one."""
    points = [q[0.01], *(q[share] for share in _EIGHTHS), q[0.99]]
    rounded = {}
    for (before, here), (_, after), share in zip(pairwise(points), list(pairwise(points))[1:], _EIGHTHS, strict=False):
        gaps = [gap for gap in (here - before, after - here) if gap > 0]
        unit = _rounded_down(min(gaps) / 2 if gaps else abs(here) / 10 or 1.0)
        rounded[share] = round(Decimal(here) / unit) * unit
    return rounded


def _rounded_down(number: float) -> Decimal:
    """The largest of 1, 2, 5, 10, … that is not above it."""
    power = Decimal(10) ** math.floor(math.log10(number) + 1e-9)
    return next(step * power for step in _STEPS if step == 1 or float(step * power) <= number * (1 + 1e-9))


def _rounded_up(number: float) -> Decimal:
    low = _rounded_down(number)
    return (
        low
        if float(low) >= number * (1 - 1e-9)
        else low * {1: Decimal(2), 2: Decimal("2.5"), 5: Decimal(2)}[_digit(low)]
    )


def _wider(width: Decimal) -> Decimal:
    """The next round number that is a multiple."""
    return width * {1: 2, 2: 5, 5: 2}[_digit(width)]


def _digit(number: Decimal) -> int:
    return int(number.normalize().as_tuple().digits[0])
