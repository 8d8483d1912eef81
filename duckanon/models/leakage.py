"""(ALP, DIF), wang: the average leakage probability of a value, and how far a class may lie above it.

Both are measured on the whole table. DIF can grow when classes merge (wang's theorem 3 is wrong), so a search must
never prune on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.models import Constraint, TableRule
from duckanon.policy import Sensitive


def leakage_rules(wanted: Sensitive) -> Iterator[TableRule]:
    for name in ("alp", "dif"):
        own = {
            ordinal: (value, getattr(thresholds, name))
            for ordinal, (value, thresholds) in enumerate(wanted.values.items(), start=1)
            if getattr(thresholds, name) is not None
        }
        for ordinal, (value, threshold) in own.items():
            yield TableRule(Constraint(name, wanted.column, value, threshold), (ordinal,))
        column_wide = getattr(wanted, name)
        if column_wide is not None:
            others = tuple(ordinal for ordinal in range(len(wanted.values) + 1) if ordinal not in own)
            yield TableRule(Constraint(name, wanted.column, None, column_wide), others)
