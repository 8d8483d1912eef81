"""HIPAA Safe Harbor, 45 CFR 164.514(b)(2), as far as a policy by itself tells. What the columns hold is looked at where
the source is bound (`duckanon/census/safe_harbor.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from duckanon import resources
from duckanon.clues.names import NAMING, meanings_of
from duckanon.policy.profiles.profile import Clause, Profile, raised
from duckanon.policy.schema import (
    Cuts,
    Dates,
    Flat,
    HierarchySpec,
    MappingFile,
    Policy,
    QuasiIdentifier,
)
from duckanon.toml import Section

OLDEST = 90  # this age and all above it are one
YEARS = ("year", "decade", "century")  # what may be shown of a date
NO_SUCH = "list it under columns.identifiers or columns.drop; if it is no such thing, rename it in source.query"
_RULE = "45 CFR 164.514(b)(2)(i)"
_ZIP, _AGE = "us_zip3", "age_hipaa"
_OTHER_NAMES = {
    "person": "the name of a person",
    "latitude": "a place on the map",
    "longitude": "a place on the map",
    "notes": "free text",
}
# States and what is larger may be shown as they are.
_LARGE = ("us_states", "us_states_name", "countries_alpha2", "countries_alpha3", "countries_name")


class SafeHarbor(Profile):
    """The 18 identifiers are removed, or generalized as far as the rule says."""

    name = "hipaa_safe_harbor"
    title = "HIPAA Safe Harbor, 45 CFR 164.514(b)(2)"
    left = (
        "Columns are known by their names, their types and the look of the first 20,000 rows: one that is none of this "
        "may still hold an identifier. Look at the roles above with somebody who knows the table.",
        "Free text, pictures, voices and biometric data are not read: they belong under columns.drop.",
        "Actual knowledge (164.514(b)(2)(ii)): that what is left could identify somebody, alone or with other data, is "
        "for the covered entity to know.",
        "The areas shown as 000 are those of the lists that hierarchies/README.md names: compare them with the current "
        "census. Of a hierarchy of your own, that it shows nothing smaller than a state is yours to see to.",
        "It is no legal advice.",
    )

    def stricter(self, policy: Policy, top: Section) -> Policy:
        if policy.pseudonyms:
            what = "are made of the identifiers that they stand for, which 164.514(c) does not allow a code to be"
            top.fault("columns.pseudonyms", f"{what} ({self.name})", "list them under columns.identifiers")
        for column in released_names(policy):
            if said := named_as(column):
                top.fault(column, f"is by its name {said}, which {self.name} does not release", NO_SUCH)
        for role, names in (("sensitive", [s.column for s in policy.sensitive]), ("columns.keep", policy.keep)):
            for column in names:
                if where := _place_of(column):
                    remedy = f"make it a quasi-identifier with hierarchy = {where}, or list it under columns.drop"
                    top.fault(column, f"is by its name smaller than a state, and under {role}: it is released", remedy)
        bounded = tuple(_bounded(asked, top) for asked in policy.quasi_identifiers)
        pairs = zip(policy.quasi_identifiers, bounded, strict=True)
        changes = [change for asked, now in pairs for change in _changes(asked, now)]
        return raised(replace(policy, quasi_identifiers=bounded), *changes)

    def clauses(self, policy: Policy) -> Iterator[Clause]:
        removed = [*policy.identifiers, *policy.drop, *([policy.entity] if policy.entity else [])]
        yield Clause(
            f"{_RULE}(A), (D)–(R)",
            "names, numbers, addresses and codes of a person's own are removed",
            f"not released: {_listed(dict.fromkeys(removed))}",
        )
        by = {q.column: meanings_of(q.column) for q in policy.quasi_identifiers}
        zips = [q.column for q in policy.quasi_identifiers if _builtin(q.hierarchy) == _ZIP]
        places = [q for q in policy.quasi_identifiers if "place" in by[q.column] and q.column not in zips]
        yield Clause(
            f"{_RULE}(B)",
            "nothing smaller than a state, but the first three digits of a ZIP code, 000 for areas of 20,000 or fewer",
            f"three digits at most, or 000: {_listed(zips)}; "
            f"never as they are: {_listed(f'{q.column} (level {q.at_least} or above)' for q in places)}",
        )
        dates = [
            f"{q.column} ({q.hierarchy.units[q.at_least - 1]}s)"
            for q in policy.quasi_identifiers
            if isinstance(q.hierarchy, Dates) and 0 < q.at_least <= len(q.hierarchy.units)
        ]
        yield Clause(f"{_RULE}(C)", "of dates, nothing but the year", f"years or coarser: {_listed(dates)}")
        ages = [q.column for q in policy.quasi_identifiers if is_open_at_the_top(q)]
        yield Clause(f"{_RULE}(C)", f"ages of {OLDEST} and over are one", f"together: {_listed(ages)}")


SAFE_HARBOR = SafeHarbor()


def named_as(column: str) -> str | None:
    """Which identifier a column is by its name, in words."""
    said = meanings_of(column)
    for meaning, words in (_OTHER_NAMES | NAMING).items():
        if meaning in said:
            return words
    return "the number of a person" if {"id", "who"} <= said else None


def is_open_at_the_top(wanted: QuasiIdentifier) -> bool:
    """Whether all ages from 90 on are shown as one, at every level that is allowed."""
    if not wanted.at_least:
        return False
    hierarchy = wanted.hierarchy
    if isinstance(hierarchy, Cuts) and wanted.at_least <= len(hierarchy.points):
        last = hierarchy.points[wanted.at_least - 1][-1]
        return isinstance(last, Decimal) and last <= OLDEST
    return _builtin(hierarchy) == _AGE


def released_names(policy: Policy) -> list[str]:
    """The columns that are shown, as they are or generalized; pseudonyms aside."""
    return [*(q.column for q in policy.quasi_identifiers), *(s.column for s in policy.sensitive), *policy.keep]


def _place_of(column: str) -> str | None:
    """The hierarchy that a place needs, as a policy writes it."""
    said = meanings_of(column)
    if "postal" in said:
        return f'{{ builtin = "{_ZIP}" }}'
    return "one of states" if "place" in said else None


def _bounded(wanted: QuasiIdentifier, top: Section) -> QuasiIdentifier:
    """With the hierarchy that its name asks for, where it has none, and at no finer level than is allowed."""
    said, where = meanings_of(wanted.column), f"quasi_identifiers.{wanted.column}"
    hierarchy = _usual(said) if isinstance(wanted.hierarchy, Flat) else wanted.hierarchy
    least = _least_level(said, hierarchy)
    if isinstance(hierarchy, Dates) and not least:
        remedy = f"hierarchy = {{ dates = {[*hierarchy.units, 'year']} }}".replace("'", '"')
        top.fault(f"{where}.hierarchy", "has no level of years, and nothing finer may be released", remedy)
    elif "postal" in said and _builtin(hierarchy) != _ZIP:
        what = "shows areas of 20,000 people or fewer, or nobody can tell that it does not"
        top.fault(f"{where}.hierarchy", what, f'hierarchy = {{ builtin = "{_ZIP}" }}')
    if wanted.at_most is not None and wanted.at_most < least:
        what = f"is {wanted.at_most}, and {SAFE_HARBOR.name} allows nothing finer than level {least}"
        top.fault(f"{where}.at_most", what, f"raise it to {least}, or leave it out")
    return replace(wanted, hierarchy=hierarchy, at_least=max(wanted.at_least, least))


def _least_level(said: frozenset[str], hierarchy: HierarchySpec) -> int:
    """The finest level that may be released of a column whose name says so; 0: any, as far as can be told here."""
    if isinstance(hierarchy, Dates):
        return next((at for at, unit in enumerate(hierarchy.units, start=1) if unit in YEARS), 0)
    if _builtin(hierarchy) in (_ZIP, _AGE) or ("age" in said and isinstance(hierarchy, Cuts)):
        return 1
    return int("place" in said and _builtin(hierarchy) not in _LARGE)


def _usual(said: frozenset[str]) -> HierarchySpec:
    """What a column of this name is generalized by, where the policy leaves that open."""
    if "postal" in said:
        return MappingFile(resources.builtin_hierarchies()[_ZIP], ready_made=True)
    if "age" in said:
        return MappingFile(resources.builtin_hierarchies()[_AGE], ready_made=True)
    return Dates(("year",)) if "date" in said or "birth" in said else Flat()


def _builtin(hierarchy: HierarchySpec) -> str | None:
    return hierarchy.path.stem if isinstance(hierarchy, MappingFile) and hierarchy.ready_made else None


def _changes(asked: QuasiIdentifier, now: QuasiIdentifier) -> Iterator[str]:
    where = f"quasi_identifiers.{now.column}"
    if asked.hierarchy != now.hierarchy:
        yield f"{where}.hierarchy: {_builtin(now.hierarchy) or 'years'}, where the policy has none"
    if asked.at_least != now.at_least:
        yield f"{where}.at_least: {now.at_least}, where the policy says {asked.at_least}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "no column"
