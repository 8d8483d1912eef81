"""The (α, k)-clustering of han fig. 1, word for word and in plain Python: O(n²), for comparison only.

A hierarchy is a dictionary: raw value → its labels from level 0 (itself) to the top.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

Hierarchy = Mapping[str, Sequence[str]]
Row = tuple[tuple[str, ...], str]  # quasi-identifiers, sensitive value


def weighted_distance(height: int, low: int, high: int, beta: float = 0.0) -> float:
    """WHD, eq. 2, in the paper's own count: layers 1 (the top) … h (raw); from layer p up to layer q."""
    layers, p, q = height + 1, height + 1 - low, height + 1 - high
    weight: dict[int, float] = {j: 1 / (j - 1) ** beta for j in range(2, layers + 1)}
    return sum(weight[j] for j in range(q + 1, p + 1)) / sum(weight.values())


@dataclass
class Class:
    """An equivalence class: a value it stands for and a level, per quasi-identifier; the rows; the sensitive values."""

    values: tuple[str, ...]
    levels: tuple[int, ...]
    rows: list[int]
    sensitive: Counter[str]


class Clustering:
    def __init__(
        self,
        rows: Sequence[Row],
        hierarchies: Sequence[Hierarchy],
        k: int,
        alpha: Mapping[str, float],
        beta: float = 0.0,
    ) -> None:
        self.rows, self.hierarchies, self.k, self.alpha = rows, hierarchies, k, alpha
        heights = [len(next(iter(h.values()))) - 1 for h in hierarchies]
        self.whd = [[weighted_distance(height, 0, level, beta) for level in range(height + 1)] for height in heights]
        self.attributes = range(len(hierarchies))
        self.lowest_common = cache(self._lowest_common)
        self.rises = cache(self._rises)

    def _lowest_common(self, attribute: int, one: str, other: str) -> int:
        """The level of the nearest common generalization of two raw values, eq. 5."""
        pairs = zip(self.hierarchies[attribute][one], self.hierarchies[attribute][other], strict=True)
        return next(level for level, (left, right) in enumerate(pairs) if left == right)

    def common_levels(self, one: Class, other: Class) -> tuple[int, ...]:
        return tuple(
            max(l1, l2, self.lowest_common(attribute, v1, v2))
            for attribute, (v1, l1, v2, l2) in enumerate(
                zip(one.values, one.levels, other.values, other.levels, strict=True)
            )
        )

    def distortion(self, low: Sequence[int], high: Sequence[int]) -> float:
        """Eq. 3: of one row generalized from some levels to others."""
        return sum(whd[h] - whd[lo] for whd, lo, h in zip(self.whd, low, high, strict=True))

    def _rises(self, attribute: int, v1: str, l1: int, v2: str, l2: int) -> tuple[float, float]:
        """What each of two values loses in one attribute on the way to their nearest common generalization."""
        whd = self.whd[attribute]
        common = whd[max(l1, l2, self.lowest_common(attribute, v1, v2))]
        return common - whd[l1], common - whd[l2]

    def distance(self, one: Class, other: Class) -> float:
        """Eq. 7, attribute by attribute."""
        n1, n2, total = len(one.rows), len(other.rows), 0.0
        parts = zip(self.attributes, one.values, one.levels, other.values, other.levels, strict=True)
        for attribute, v1, l1, v2, l2 in parts:
            rise1, rise2 = self.rises(attribute, v1, l1, v2, l2)
            total += n1 * rise1 + n2 * rise2
        return total

    def compatible(self, one: Class, other: Class) -> bool:
        """Constraint 1."""
        n = max(self.k, len(one.rows) + len(other.rows))
        values = one.sensitive.keys() | other.sensitive.keys()
        return all((one.sensitive[x] + other.sensitive[x]) / n <= self.alpha.get(x, 1.0) + 1e-9 for x in values)

    def merged(self, one: Class, other: Class) -> Class:
        levels = self.common_levels(one, other)
        return Class(one.values, levels, one.rows + other.rows, one.sensitive + other.sensitive)

    def single(self, row: int) -> Class:
        values, sensitive = self.rows[row]
        return Class(values, (0,) * len(values), [row], Counter([sensitive]))

    def run(self, seed: int = 0) -> tuple[list[Class], list[int]]:
        """The classes, and the rows that must be suppressed."""
        choice = random.Random(seed)
        # Step 1: every row is a class.
        classes = [self.single(row) for row in range(len(self.rows))]
        small = [c for c in classes if len(c.rows) < self.k]
        hopeless: list[Class] = []  # small, and not to be merged with any other
        # Step 2: until no class is too small, or those that are cannot be merged.
        while small:
            one = small.pop(choice.randrange(len(small)))
            classes = [c for c in classes if c is not one]
            by_distance = sorted(classes, key=partial(self.distance, one))
            nearest = next((c for c in by_distance if self.compatible(one, c)), None)
            if nearest is None:
                classes.append(one)
                hopeless.append(one)
                continue
            both = self.merged(one, nearest)
            classes = [c for c in classes if c is not nearest] + [both]
            small = [c for c in small if c is not nearest] + ([both] if len(both.rows) < self.k else [])
            # Where a class has grown there may be room again.
            small += [c for c in hopeless if c is not nearest and self.compatible(c, both)]
            hopeless = [c for c in hopeless if c is not nearest and not self.compatible(c, both)]
        # Step 3: what is still too small is suppressed.
        kept = [c for c in classes if len(c.rows) >= self.k]
        return kept, [row for c in hopeless for row in c.rows]

    def total_distortion(self, classes: Sequence[Class], suppressed: Sequence[int]) -> float:
        """Eq. 4; a suppressed row counts as generalized to the top."""
        bottom = (0,) * len(self.hierarchies)
        return sum(len(c.rows) * self.distortion(bottom, c.levels) for c in classes) + len(suppressed) * len(bottom)
