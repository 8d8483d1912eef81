"""Quasi-identifiers that are released as numbers: what a policy may ask for, and what it may not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from duckanon.policy.schema import Cuts, Intervals, MappingFile, MappingTable, Policy, QuasiIdentifier
from duckanon.toml import Section

AGGREGATES = ("mean", "median")  # of the values of a class
RELEASED_AS = ("label", *AGGREGATES, "midpoint")
# Of two people each would know the other's value.
_FEWEST = 3
_ONE_BY_ONE = "leave release_as out, or release a table or a file"


def numbers_can(policy: Policy, top: Section) -> None:
    """A number in place of a label goes with what is released whole, and compared with nothing."""
    for wanted in policy.quasi_identifiers:
        if wanted.is_number:
            where = f"quasi_identifiers.{wanted.column}.release_as"
            faults = (*_hierarchy(wanted), *_release(policy), *(_values(policy, wanted) if _tells(wanted) else ()))
            for what, remedy in faults:
                top.fault(where, f"{wanted.release_as} {what}", remedy)


def _tells(wanted: QuasiIdentifier) -> bool:
    """Whether the number tells of the values themselves, beyond their label."""
    return wanted.release_as in AGGREGATES


def _hierarchy(wanted: QuasiIdentifier) -> Iterator[tuple[str, str]]:
    hierarchy, asked = wanted.hierarchy, wanted.release_as
    if not isinstance(hierarchy, (Intervals, Cuts, MappingFile, MappingTable)) or _has_days(hierarchy):
        yield "needs ranges of numbers", "give the column intervals, or leave release_as out"
    elif isinstance(hierarchy, Cuts) and asked == "mean":
        what = "does not go with cuts: in their outermost ranges, which are open, one extreme value would make it"
        yield what, "use median, or intervals"
    elif not isinstance(hierarchy, Intervals) and asked == "midpoint":
        yield "needs intervals: other labels do not say where they begin and end", "use intervals, or median"


def _has_days(hierarchy: object) -> bool:
    return isinstance(hierarchy, Cuts) and bool(hierarchy.points) and isinstance(hierarchy.points[0][0], date)


def _release(policy: Policy) -> Iterator[tuple[str, str]]:
    if policy.release.kind == "view":
        yield "does not go with a view, which labels every row by itself", _ONE_BY_ONE
    if policy.entity is not None:
        yield "does not go with privacy.entity: who has many rows would make the number", "leave one of them out"
    if policy.unmapped == "top":
        yield 'does not go with privacy.unmapped = "top", which shows texts', 'choose "suppress" or "error"'
    if policy.release.difference == "refuse":
        yield 'does not go with release.difference = "refuse": numbers cannot be compared as labels are', "use warn"


def _values(policy: Policy, wanted: QuasiIdentifier) -> Iterator[tuple[str, str]]:
    """Where the values of a class are not known, or too few."""
    if policy.k < _FEWEST:
        yield f"needs k of at least {_FEWEST}: of two, each would know the other's value", f"raise k to {_FEWEST}"
    if wanted.at_least:
        yield "does not go with at_least: the values themselves are not counted then", "leave one of them out"
    if policy.search.where == "warehouse":
        yield 'does not go with search.where = "warehouse", where the values stay', "leave one of them out"
