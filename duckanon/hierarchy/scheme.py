"""How a quasi-identifier is generalized, before its values are coded: computed from the value, or listed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, HierarchyError
from duckanon.hierarchy.computed import VALUE, WIDEST, DatesKind, FlatKind, IntervalsKind, Kind, MaskKind, iso_day
from duckanon.hierarchy.listed import Listing, list_file, list_table, not_listed
from duckanon.policy import Dates, Flat, Intervals, MappingFile, MappingTable, Mask, QuasiIdentifier
from duckanon.query.expressions import sql, text_of


@dataclass(frozen=True)
class Scheme:
    """Either a kind or a listing."""

    index: int  # position in the policy
    wanted: QuasiIdentifier
    column: Column
    kind: Kind | None
    listing: Listing | None

    @property
    def where(self) -> str:
        return f"quasi_identifiers.{self.wanted.column}.hierarchy"

    @property
    def height(self) -> int:
        return self.listing.height if self.listing else self._kind.levels + 1

    @property
    def top(self) -> str:
        return self.listing.top if self.listing else self._kind.top

    def must_have_levels(self) -> None:
        """The bounds of the policy are levels of the hierarchy."""
        bounds = {"at_least": self.wanted.at_least, "at_most": self.wanted.at_most}
        what = f"{{}} is no level of its hierarchy, which has 0 to {self.height}"
        faults = [
            Fault(f"quasi_identifiers.{self.wanted.column}.{key}", what.format(level))
            for key, level in bounds.items()
            if level is not None and level > self.height
        ]
        if faults:
            raise HierarchyError(faults)

    @property
    def _kind(self) -> Kind:
        assert self.kind is not None
        return self.kind

    def unknown(self, value: exp.Expr) -> exp.Expr | None:
        """Which non-NULL values the hierarchy does not know; None: there can be none."""
        return not_listed(value, self.listing.table) if self.listing else self._kind.unmapped(value)


def scheme_of(
    index: int,
    wanted: QuasiIdentifier,
    source_column: Column,
    domain: exp.Table,
    warehouse: Warehouse,
    scratch: Scratch,
) -> Scheme:
    where, spec = f"quasi_identifiers.{wanted.column}.hierarchy", wanted.hierarchy
    if isinstance(spec, MappingFile):
        return Scheme(index, wanted, source_column, None, list_file(spec, index, where, scratch))
    if isinstance(spec, MappingTable):
        return Scheme(index, wanted, source_column, None, list_table(spec, index, where, warehouse, scratch))
    return Scheme(index, wanted, source_column, _kind(spec, source_column, domain, where, scratch.workbench), None)


def _kind(
    spec: Intervals | Mask | Dates | Flat, source_column: Column, domain: exp.Table, where: str, workbench: Workbench
) -> Kind:
    if isinstance(spec, Flat):
        return FlatKind()
    if isinstance(spec, Mask):
        ((longest,),) = workbench.fetch(exp.select(sql("MAX(LENGTH(:text))", text=text_of(VALUE))).from_(domain))
        return MaskKind(spec.kept, longest or 0, source_column.type.released)
    if isinstance(spec, Dates):
        from_text = source_column.type.is_text
        if not from_text and not source_column.type.is_day:
            remedy = "dates need a DATE, a TIMESTAMP or text like 2024-05-31"
            raise HierarchyError([Fault(where, f"the column is {source_column.type}", remedy)])
        return DatesKind(spec.units, from_text)
    if source_column.written:
        return _intervals_of_texts(spec, domain, where, workbench)
    return _intervals_kind(spec, source_column, where)


def _intervals_of_texts(spec: Intervals, domain: exp.Table, where: str, workbench: Workbench) -> Kind:
    """Of a column of a CSV file: of dates if every text is one, else of numbers."""
    others = sql("COUNT(value) - COUNT(:day)", day=iso_day(VALUE))
    ((others,),) = workbench.fetch(exp.select(others).from_(domain))
    if others:
        return IntervalsKind(spec.widths, spec.origin, "float", from_text=True)
    return _intervals_of_dates(spec, where, from_text=True)


def _intervals_of_dates(spec: Intervals, where: str, from_text: bool) -> Kind:
    if any(number % 1 for number in (*spec.widths, spec.origin)):
        raise HierarchyError([Fault(where, "intervals of a date are whole numbers of days")])
    if max(spec.widths, default=0) > WIDEST:
        raise HierarchyError([Fault(where, f"intervals of a date are {WIDEST:,} days wide at most")])
    return IntervalsKind(spec.widths, spec.origin, "date", from_text=from_text)


def _intervals_kind(spec: Intervals, source_column: Column, where: str) -> Kind:
    kind = source_column.type
    if kind.is_day:
        return _intervals_of_dates(spec, where, from_text=False)
    if not kind.is_number:
        remedy = "intervals need a number or a date: cast it in source.query, or use mask, dates or a file"
        raise HierarchyError([Fault(where, f"the column is {kind}", remedy)])
    if kind.is_float:
        return IntervalsKind(spec.widths, spec.origin, "float")
    return IntervalsKind(spec.widths, spec.origin, "decimal" if kind.scale else "whole", kind.scale)
