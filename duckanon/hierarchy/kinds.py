"""Which kind a computed hierarchy is, over the column that it is asked for."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from sqlglot import exp

from duckanon.engine import Column
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


Computed = Intervals | Cuts | Mask | Prefixes | Dates | Flat


def asked_of(spec: Computed, source_column: Column) -> list[exp.Expr]:
    """Figures of the values of a column, which its kind depends on."""
    if isinstance(spec, Mask):
        return [sql("MAX(LENGTH(:text))", text=text_of(VALUE))]
    if not isinstance(spec, (Intervals, Cuts)) or not source_column.written:
        return []
    broken = sql("CASE WHEN :number <> FLOOR(:number) THEN 1 END", number=number_of(VALUE))
    return [sql("COUNT(value) - COUNT(:day)", day=iso_day(VALUE)), sql("COUNT(:broken)", broken=broken)]


def kind_of(spec: Computed, source_column: Column, answers: list[int | None], where: str) -> Kind:
    """Of values with these figures; what they cannot be is refused."""
    if isinstance(spec, Flat):
        return FlatKind()
    if isinstance(spec, Mask):
        (longest,) = answers
        return MaskKind(spec.kept, longest or 0, source_column.type.released)
    if isinstance(spec, Prefixes):
        return PrefixesKind(spec.pattern, spec.kept)
    if isinstance(spec, Dates):
        from_text = source_column.type.is_text
        if not from_text and not source_column.type.is_day:
            remedy = "dates need a DATE, a TIMESTAMP or text like 2024-05-31"
            raise HierarchyError([Fault(where, f"the column is {source_column.type}", remedy)])
        return DatesKind(spec.units, from_text)
    no_day, broken = answers or (0, 0)
    if isinstance(spec, Cuts):
        units = _units(source_column, not no_day, f"{where}.cuts")
        if units.from_text and isinstance(spec.points[0][0], date):
            units = Units("date", from_text=True)  # a text that says none is a value that cannot be placed
        return _cuts(spec, units, not broken, f"{where}.cuts")
    return _intervals(spec, _units(source_column, not no_day, where), where)


def _units(source_column: Column, all_days: bool, where: str) -> Units:
    """How ranges of a column are counted: those of a CSV file as dates if every text is one, else as numbers."""
    kind = source_column.type
    if source_column.written:
        return Units("date" if all_days else "float", from_text=True)
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


def _cuts(spec: Cuts, units: Units, all_whole: bool, where: str) -> Kind:
    points = tuple(tuple(map(_point, level)) for level in spec.points)
    dates = isinstance(spec.points[0][0], date)
    if dates != (units.type == "date"):
        what = "the column has dates" if units.type == "date" else "the column has numbers"
        remedy = "cut dates at dates such as 2024-05-31" if units.type == "date" else "cut numbers at numbers"
        raise HierarchyError([Fault(where, what, remedy)])
    broken = any(point % 1 for point in points[0])
    if units.type == "whole" and broken:
        raise HierarchyError([Fault(where, "the column has whole numbers", "cut whole numbers at whole numbers")])
    whole = units.type in ("whole", "date") or (units.from_text and not broken and all_whole)
    return CutsKind(points, units.type, units.scale, units.from_text, whole)


def _point(point: Decimal | date) -> Decimal:
    return Decimal((point - _EPOCH).days) if isinstance(point, date) else point
