"""Which kind a computed hierarchy is, over the column that it is asked for."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from sqlglot import exp

from duckanon.engine import Column, Workbench
from duckanon.errors import Fault, HierarchyError
from duckanon.hierarchy.computed import (
    VALUE,
    WIDEST,
    CutsKind,
    DatesKind,
    FlatKind,
    IntervalsKind,
    Kind,
    MaskKind,
    PrefixesKind,
    Units,
    iso_day,
    number_of,
)
from duckanon.policy import Cuts, Dates, Flat, Intervals, Mask, Prefixes
from duckanon.query.expressions import sql, text_of

_EPOCH = date(1970, 1, 1)


def kind_of(
    spec: Intervals | Cuts | Mask | Prefixes | Dates | Flat,
    source_column: Column,
    domain: exp.Table,
    where: str,
    workbench: Workbench,
) -> Kind:
    """Of the values in `domain` (value, n); what they cannot be is refused."""
    if isinstance(spec, Flat):
        return FlatKind()
    if isinstance(spec, Mask):
        ((longest,),) = workbench.fetch(exp.select(sql("MAX(LENGTH(:text))", text=text_of(VALUE))).from_(domain))
        return MaskKind(spec.kept, longest or 0, source_column.type.released)
    if isinstance(spec, Prefixes):
        return PrefixesKind(spec.pattern, spec.kept)
    if isinstance(spec, Dates):
        from_text = source_column.type.is_text
        if not from_text and not source_column.type.is_day:
            remedy = "dates need a DATE, a TIMESTAMP or text like 2024-05-31"
            raise HierarchyError([Fault(where, f"the column is {source_column.type}", remedy)])
        return DatesKind(spec.units, from_text)
    if isinstance(spec, Cuts):
        units = _units(source_column, domain, f"{where}.cuts", workbench)
        if units.from_text and isinstance(spec.points[0][0], date):
            units = Units("date", from_text=True)  # a text that says none is a value that cannot be placed
        return _cuts(spec, units, domain, f"{where}.cuts", workbench)
    return _intervals(spec, _units(source_column, domain, where, workbench), where)


def _units(source_column: Column, domain: exp.Table, where: str, workbench: Workbench) -> Units:
    """How ranges of a column are counted: those of a CSV file as dates if every text is one, else as numbers."""
    kind = source_column.type
    if source_column.written:
        others = sql("COUNT(value) - COUNT(:day)", day=iso_day(VALUE))
        ((others,),) = workbench.fetch(exp.select(others).from_(domain))
        return Units("float" if others else "date", from_text=True)
    if kind.is_day:
        return Units("date")
    if not kind.is_number:
        remedy = "ranges need a number or a date: cast it in source.query, or use mask, dates or a file"
        raise HierarchyError([Fault(where, f"the column is {kind}", remedy)])
    if kind.is_float:
        return Units("float")
    return Units("decimal" if kind.scale else "whole", scale=kind.scale)


def _intervals(spec: Intervals, units: Units, where: str) -> Kind:
    if units.type == "date" and any(number % 1 for number in (*spec.widths, spec.origin)):
        raise HierarchyError([Fault(where, "intervals of a date are whole numbers of days")])
    if units.type == "date" and max(spec.widths, default=0) > WIDEST:
        raise HierarchyError([Fault(where, f"intervals of a date are {WIDEST:,} days wide at most")])
    return IntervalsKind(spec.widths, spec.origin, units.type, units.scale, from_text=units.from_text)


def _cuts(spec: Cuts, units: Units, domain: exp.Table, where: str, workbench: Workbench) -> Kind:
    points = tuple(tuple(map(_point, level)) for level in spec.points)
    dates = isinstance(spec.points[0][0], date)
    if dates != (units.type == "date"):
        what = "the column has dates" if units.type == "date" else "the column has numbers"
        remedy = "cut dates at dates such as 2024-05-31" if units.type == "date" else "cut numbers at numbers"
        raise HierarchyError([Fault(where, what, remedy)])
    broken = any(point % 1 for point in points[0])
    if units.type == "whole" and broken:
        raise HierarchyError([Fault(where, "the column has whole numbers", "cut whole numbers at whole numbers")])
    whole = units.type in ("whole", "date") or (units.from_text and not broken and _all_whole(domain, workbench))
    return CutsKind(points, units.type, units.scale, units.from_text, whole)


def _point(point: Decimal | date) -> Decimal:
    return Decimal((point - _EPOCH).days) if isinstance(point, date) else point


def _all_whole(domain: exp.Table, workbench: Workbench) -> bool:
    """Whether no text says a number that is not a whole one."""
    broken = sql(":number <> FLOOR(:number)", number=number_of(VALUE))
    ((found,),) = workbench.fetch(exp.select("COUNT(*)").from_(domain).where(broken))
    return not found
