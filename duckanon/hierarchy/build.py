"""Every hierarchy of the policy becomes a mapping table, checked by SQL before anything is searched."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, HierarchyError
from duckanon.hierarchy import Hierarchy, removed
from duckanon.hierarchy.checked import Unchecked, check_lists, unfilled_fault
from duckanon.hierarchy.computed import VALUE
from duckanon.hierarchy.costs import LevelFigures, level_costs, level_figures, spans
from duckanon.hierarchy.domains import Domains
from duckanon.hierarchy.faults import Faults
from duckanon.hierarchy.kinds import asked_of, kind_of
from duckanon.hierarchy.listed import list_file, list_table
from duckanon.hierarchy.listing import Listing
from duckanon.hierarchy.mapping import mapping_query, with_top
from duckanon.hierarchy.matching import EXACTLY
from duckanon.hierarchy.numbers import must_be_numbers
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import Unmapped, find_unmapped, top_must_be_alone, unmapped_fault
from duckanon.policy import MappingFile, MappingTable, QuasiIdentifier
from duckanon.query.expressions import literal
from duckanon.query.steps import select, united

Wanted = list[tuple[QuasiIdentifier, Column]]


@dataclass(frozen=True)
class Built:
    """The hierarchies, what they do not know, and how many rows of the source they code."""

    hierarchies: tuple[Hierarchy, ...]
    unmapped: tuple[Unmapped, ...]
    rows: int


def build_hierarchies(wanted: Wanted, domains: Domains, warehouse: Warehouse, scratch: Scratch, fate: str) -> Built:
    """Build the hierarchy of each quasi-identifier over its domain. The tables that some are listed in are of the
    warehouse.

    What is asked of all of them is asked in one statement. The faults of all are reported together.
    """
    faults = Faults()
    counted = _count(wanted, domains, scratch.workbench)
    for index, (quasi_identifier, _) in enumerate(wanted):
        with faults.of(index):
            counted[index].must_have_values(quasi_identifier)
    schemes = _schemes(wanted, counted, faults, warehouse, scratch)
    unmapped = _strangers(schemes, counted, faults, scratch.workbench, fate)
    faults.must_be_none()
    starred = [s for s in schemes if fate == "top" and s.unknown(VALUE) is not None]
    if unmapped and fate == "suppress":
        counted = _count_again(wanted, schemes, domains, scratch.workbench)
    elif starred:
        domains.show_tops(starred)
    built = _build(schemes, counted, unmapped, starred, scratch)
    domains.forget()
    return Built(built, tuple(unmapped.values()), counted[0].rows)  # as of all of them


@dataclass(frozen=True)
class _Domain:
    """The values of a column (value, n): how many there are, in how many rows, and how many of these have none."""

    values: exp.Expr
    distinct: int
    rows: int
    nulls: int
    answers: list[int | None]  # to what the kind of a hierarchy depends on

    def must_have_values(self, wanted: QuasiIdentifier) -> None:
        if self.distinct == 0:
            what, remedy = "has no value at all, only NULL", "list it under columns.drop to leave it out"
            raise HierarchyError([Fault(f"quasi_identifiers.{wanted.column}", what, remedy)])


def _count(wanted: Wanted, domains: Domains, workbench: Workbench) -> list[_Domain]:
    values, asked = domains.count(), []
    for index, (quasi_identifier, source_column) in enumerate(wanted):
        spec = quasi_identifier.hierarchy
        answers = [] if isinstance(spec, (MappingFile, MappingTable)) else asked_of(spec, source_column)
        figures = select(
            q=literal(index),
            distinct="COUNT(value)",
            rows="CAST(COALESCE(SUM(n), 0) AS BIGINT)",
            nulls="CAST(COALESCE(SUM(CASE WHEN value IS NULL THEN n END), 0) AS BIGINT)",
            answers=exp.Array(expressions=answers),
        )
        asked.append(figures.from_(values[index].copy()))
    return [_Domain(values[index], *figures) for index, *figures in sorted(workbench.fetch(united(asked)))]


def _count_again(wanted: Wanted, schemes: list[Scheme], domains: Domains, workbench: Workbench) -> list[_Domain]:
    """Without the rows that some hierarchy does not know."""
    domains.leave_out(schemes)
    domains.forget()
    counted = _count(wanted, domains, workbench)
    what = "has no value left, once the rows are gone that a hierarchy does not know"
    for (quasi_identifier, _), domain in zip(wanted, counted, strict=True):
        if domain.distinct == 0:
            where = f"quasi_identifiers.{quasi_identifier.column}"
            raise HierarchyError([Fault(where, what, "complete the hierarchies")])
    return counted


def _schemes(
    wanted: Wanted, counted: list[_Domain], faults: Faults, warehouse: Warehouse, scratch: Scratch
) -> list[Scheme]:
    """How each is generalized; but for those that have faults."""
    lists: dict[int, Unchecked] = {}
    for index, (quasi_identifier, _) in enumerate(wanted):
        spec, where = quasi_identifier.hierarchy, f"quasi_identifiers.{quasi_identifier.column}.hierarchy"
        with faults.of(index):
            if isinstance(spec, MappingFile) and index not in faults:
                lists[index] = list_file(spec, index, where, scratch)
            elif isinstance(spec, MappingTable) and index not in faults:
                lists[index] = list_table(spec, index, where, warehouse, scratch)
    listings = check_lists(lists, faults, scratch.workbench)
    schemes = []
    for index, (quasi_identifier, source_column) in enumerate(wanted):
        if index in faults:
            continue
        with faults.of(index):
            scheme = _scheme(index, quasi_identifier, source_column, listings.get(index), counted[index])
            scheme.must_have_levels()
            schemes.append(scheme)
    return schemes


def _scheme(
    index: int, wanted: QuasiIdentifier, source_column: Column, listing: Listing | None, domain: _Domain
) -> Scheme:
    spec, where = wanted.hierarchy, f"quasi_identifiers.{wanted.column}.hierarchy"
    if isinstance(spec, (MappingFile, MappingTable)):
        return Scheme(index, wanted, source_column, None, listing)
    return Scheme(index, wanted, source_column, kind_of(spec, source_column, domain.answers, where), None)


def _strangers(
    schemes: list[Scheme], counted: list[_Domain], faults: Faults, workbench: Workbench, fate: str
) -> dict[int, Unmapped]:
    """What the hierarchies do not know; which is an error unless the policy says otherwise."""
    found = find_unmapped(schemes, [domain.values for domain in counted], workbench)
    for scheme in schemes:
        domain, unmapped = counted[scheme.index], found.get(scheme.index)
        with faults.of(scheme.index):
            if fate == "error" and scheme.listing is not None and scheme.listing.unfilled:
                raise unfilled_fault(scheme.listing.unfilled, scheme.where)
            # That it knows no value at all is no gap in it: it is the wrong hierarchy.
            if unmapped is not None and (fate == "error" or unmapped.values == domain.distinct):
                raise HierarchyError([unmapped_fault(scheme, unmapped, domain.values, workbench)])
            if unmapped is not None and fate == "top":
                top_must_be_alone(scheme, workbench)
            if scheme.wanted.is_number:
                must_be_numbers(scheme, domain.values, workbench)
    return found


def _build(
    schemes: list[Scheme],
    counted: list[_Domain],
    unmapped: dict[int, Unmapped],
    starred: list[Scheme],
    scratch: Scratch,
) -> tuple[Hierarchy, ...]:
    strangers = {s.index: unmapped[s.index].rows if s in starred and s.index in unmapped else 0 for s in schemes}
    nums = {s.index: (s.listed_values or counted[s.index].distinct) + (counted[s.index].nulls > 0) for s in schemes}
    mappings = {}
    for scheme in schemes:
        index, mapping = scheme.index, mapping_query(scheme, counted[scheme.index].values)
        shown = with_top(mapping, scheme, strangers[index], nums[index]) if scheme in starred else mapping
        mappings[index] = scratch.table(f"map_{index}", shown, f"mapping table of {scheme.column.name}")
    figures = level_figures(schemes, mappings, scratch.workbench)
    ranges = spans(schemes, [domain.values for domain in counted], scratch.workbench)
    built = []
    for scheme in schemes:
        index, domain, wanted = scheme.index, counted[scheme.index], scheme.wanted
        _must_be_whole(figures[index], domain, unmapped.get(index) if scheme in starred else None)
        counts = domain.rows, domain.nulls, strangers[index]
        hierarchy = Hierarchy(
            index=index,
            column=scheme.column,
            importance=wanted.importance,
            top=scheme.top,
            mapping=mappings[index],
            levels=level_costs(scheme, figures[index], counts, nums[index], ranges[index]),
            domain=nums[index],
            nulls=domain.nulls,
            kind=scheme.kind,
            listing=scheme.listing.table if scheme.listing else None,
            matching=scheme.listing.matching if scheme.listing else EXACTLY,
            descriptions=_descriptions(scheme, figures[index]),
            starred=scheme in starred,
            strangers=strangers[index],
            lowest=wanted.at_least,
            cap=wanted.at_most,
            release_as=wanted.release_as,
        )
        built.append(hierarchy)
    return tuple(built)


def _must_be_whole(figures: list[LevelFigures], domain: _Domain, unknown: Unmapped | None) -> None:
    """A value without a row in the mapping table would be taken for NULL."""
    mapped, values = figures[0].labels, domain.distinct - (unknown.values - 1 if unknown else 0)
    if mapped != values:
        raise EngineError(f"a mapping table has {mapped:,} values, the source {values:,}: nothing can be trusted")


def _descriptions(scheme: Scheme, figures: list[LevelFigures]) -> tuple[str, ...]:
    """What each level does, in words; a listed level is told by its most frequent label."""
    between = [
        scheme.kind.describe(level) if scheme.kind is not None else f"such as {figures[level].example}"
        for level in range(1, scheme.height)
    ]
    return ("as it is", *between, removed(scheme.top))
