"""How the columns of a file are read: by what the policy makes of them."""

from __future__ import annotations

from duckanon.engine import Reading
from duckanon.models import Numbers
from duckanon.models.registry import models_of
from duckanon.policy import Cuts, Dates, Intervals, MappingFile, MappingTable, Mask, Policy, Sensitive


def reading_of(policy: Policy) -> Reading:
    """Which columns of a file a rule of the policy interprets. What it does not, a CSV file gives as it is written."""
    kinds = [(q.column, q.hierarchy) for q in policy.quasi_identifiers]
    listed = [column for column, hierarchy in kinds if isinstance(hierarchy, (Mask, MappingFile, MappingTable))]
    ranged = [column for column, hierarchy in kinds if isinstance(hierarchy, (Intervals, Cuts))]
    dated = [column for column, hierarchy in kinds if isinstance(hierarchy, Dates)]
    dated += [s.column for s in policy.sensitive if isinstance(s.hierarchy, Dates)]
    measured = [s.column for s in policy.sensitive if any(m.numbers in _numbers(s) for m in models_of(s))]
    return Reading(
        texts=(*hashed_columns(policy), *([policy.entity] if policy.entity is not None else []), *listed),
        numbers=tuple(measured),
        dates=tuple(dated),
        ranges=tuple(ranged),
        figures=tuple(s.column for s in policy.sensitive if s.publish == "value"),
        csv=policy.source.csv,
    )


def hashed_columns(policy: Policy) -> tuple[str, ...]:
    """Those that are released as pseudonyms."""
    return policy.pseudonyms.columns if policy.pseudonyms else ()


def _numbers(wanted: Sensitive) -> tuple[Numbers, ...]:
    """What makes a column one of numbers: a hierarchy of other things than ranges weighs none."""
    ranged = wanted.hierarchy is None or isinstance(wanted.hierarchy, (Intervals, Cuts))
    return (Numbers.NEEDED, Numbers.WEIGHED) if ranged else (Numbers.NEEDED,)
