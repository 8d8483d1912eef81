"""Every hierarchy of the policy becomes a mapping table, checked by SQL before anything is searched."""

from __future__ import annotations

from sqlglot import exp

from duckanon.engine import Column, Engine
from duckanon.errors import Fault, HierarchyError
from duckanon.expressions import column, double, sql, text_of
from duckanon.hierarchy import Hierarchy, Level
from duckanon.hierarchy.kinds import VALUE, DatesKind, FlatKind, IntervalsKind, Kind, MaskKind
from duckanon.hierarchy.listed import Listing, list_file, list_table, mapping_query, unmapped_values
from duckanon.policy import Dates, Flat, Intervals, MappingFile, MappingTable, Mask, QuasiIdentifier
from duckanon.scratch import Scratch


def build_hierarchies(
    wanted: list[tuple[QuasiIdentifier, Column]], counted: exp.Table, rows: int, scratch: Scratch
) -> list[Hierarchy]:
    """Build the hierarchy of each quasi-identifier over `counted`, whose columns q0, q1, … and n hold the data.

    The faults of all of them are reported together.
    """
    built, faults = [], []
    for index, (quasi_identifier, source_column) in enumerate(wanted):
        try:
            built.append(_build(index, quasi_identifier, source_column, counted, rows, scratch))
        except HierarchyError as error:
            faults += error.faults
    if faults:
        raise HierarchyError(faults)
    return built


def _build(
    index: int, wanted: QuasiIdentifier, source_column: Column, counted: exp.Table, rows: int, scratch: Scratch
) -> Hierarchy:
    where = f"quasi_identifiers.{wanted.column}.hierarchy"
    value = column(f"q{index}")
    values = exp.select(value.as_("value"), sql("CAST(SUM(n) AS BIGINT)").as_("n")).from_(counted).group_by(value)
    domain = scratch.table(f"values_{index}", values, f"values of {wanted.column}")
    ((nulls, distinct),) = scratch.engine.fetch(
        exp.select(sql("CAST(COALESCE(SUM(CASE WHEN value IS NULL THEN n END), 0) AS BIGINT)"), "COUNT(value)").from_(
            domain
        )
    )
    if distinct == 0:
        remedy = "list it under columns.identifiers to leave it out"
        raise HierarchyError([Fault(f"quasi_identifiers.{wanted.column}", "has no value at all, only NULL", remedy)])
    kind: Kind | None = None
    listed: exp.Table | None = None
    spec = wanted.hierarchy
    if isinstance(spec, (MappingFile, MappingTable)):
        listing = _listing(spec, index, where, scratch)
        _all_mapped(scratch.engine, domain, listing, where)
        labels, height, top = mapping_query(domain, listing), listing.height, listing.top
        num, listed = listing.values, listing.table
    else:
        kind = _kind(spec, source_column, domain, where, scratch.engine)
        _all_labelled(scratch.engine, domain, kind, where)
        labels, height, top, num = _computed(domain, kind), kind.levels + 1, kind.top, distinct
    mapping = scratch.table(f"map_{index}", _coded(labels, height), f"mapping table of {wanted.column}")
    domain_size = num + (nulls > 0)
    levels = _levels(scratch.engine, mapping, kind, height, rows, nulls, domain_size)
    scratch.drop(domain)
    return Hierarchy(
        index=index,
        column=source_column,
        importance=wanted.importance,
        top=top,
        mapping=mapping,
        levels=levels,
        domain=domain_size,
        nulls=nulls,
        kind=kind,
        listing=listed,
        descriptions=_descriptions(scratch.engine, mapping, kind, height, top),
    )


def _listing(spec: MappingFile | MappingTable, index: int, where: str, scratch: Scratch) -> Listing:
    if isinstance(spec, MappingFile):
        return list_file(spec, index, where, scratch)
    return list_table(spec, index, where, scratch)


def _kind(
    spec: Intervals | Mask | Dates | Flat, source_column: Column, domain: exp.Table, where: str, engine: Engine
) -> Kind:
    if isinstance(spec, Flat):
        return FlatKind()
    if isinstance(spec, Mask):
        ((longest,),) = engine.fetch(exp.select(sql("MAX(LENGTH(:text))", text=text_of(VALUE))).from_(domain))
        return MaskKind(spec.kept, longest or 0)
    if isinstance(spec, Dates):
        from_text = source_column.type == "VARCHAR"
        if not from_text and not engine.is_date(source_column):
            remedy = "dates need a DATE, a TIMESTAMP or text like 2024-05-31"
            raise HierarchyError([Fault(where, f"the column is {source_column.type}", remedy)])
        return DatesKind(spec.units, from_text)
    return _intervals_kind(spec, source_column, where, engine)


def _intervals_kind(spec: Intervals, source_column: Column, where: str, engine: Engine) -> Kind:
    if engine.is_date(source_column):
        if any(number % 1 for number in (*spec.widths, spec.origin)):
            raise HierarchyError([Fault(where, "intervals of a date are whole numbers of days")])
        return IntervalsKind(spec.widths, spec.origin, "date")
    if not engine.is_number(source_column):
        remedy = "intervals need a number or a date: cast it in source.query, or use mask, dates or a file"
        raise HierarchyError([Fault(where, f"the column is {source_column.type}", remedy)])
    base = source_column.type.split("(")[0]
    if base in ("DOUBLE", "FLOAT"):
        return IntervalsKind(spec.widths, spec.origin, "float")
    places = int(source_column.type.rstrip(")").split(",")[1]) if base == "DECIMAL" else 0
    return IntervalsKind(spec.widths, spec.origin, "decimal" if places else "whole", places)


def _all_mapped(engine: Engine, domain: exp.Table, listing: Listing, where: str) -> None:
    values, rows, examples = unmapped_values(engine, domain, listing)
    if values:
        named = ", ".join(f"'{example}'" for example in examples)
        what = f"does not map {values} value{'s' if values > 1 else ''} of the source ({rows} rows), such as {named}"
        raise HierarchyError([Fault(where, what, "add them to the hierarchy, or clean the source")])


def _all_labelled(engine: Engine, domain: exp.Table, kind: Kind, where: str) -> None:
    condition = kind.unmapped(VALUE)
    if condition is None:
        return
    bad = exp.select("COUNT(*)").from_(domain).where(sql("value IS NOT NULL")).where(exp.paren(condition))
    ((count,),) = engine.fetch(bad)
    if count:
        wanted = "date" if isinstance(kind, DatesKind) else "number below 1e19"
        what = f"{count} values cannot be placed: not a finite {wanted}"
        raise HierarchyError([Fault(where, what, "clean the source, or cast the column in source.query")])


def _computed(domain: exp.Table, kind: Kind) -> exp.Query:
    """value, n and per level label_l, order_l, size_l: the labels computed from each source value."""
    labelled = exp.select("value", "n").from_(domain).where(sql("value IS NOT NULL"))
    for level in range(1, kind.levels + 1):
        labelled = labelled.select(
            kind.label(VALUE, level).as_(f"label_{level}"), kind.order(VALUE, level).as_(f"order_{level}")
        )
    query = exp.select("*").from_(labelled.subquery("labelled"))
    for level in range(1, kind.levels + 1):
        size = sql("COUNT(*) OVER (PARTITION BY :label)", label=column(f"label_{level}"))
        query = query.select(size.as_(f"size_{level}"))
    return query


def _coded(labels: exp.Query, height: int) -> exp.Query:
    """Small integers for every level, in an order that the labels themselves have: nothing of the source's order."""
    query = exp.select("value", "n", sql("CAST(ROW_NUMBER() OVER (ORDER BY value) AS INTEGER)").as_("code_0"))
    for level in range(1, height):
        code = sql("CAST(DENSE_RANK() OVER (ORDER BY :order) AS INTEGER)", order=column(f"order_{level}"))
        query = query.select(code.as_(f"code_{level}"), column(f"label_{level}"), column(f"size_{level}"))
    return query.from_(labels.subquery("labels"))


def _levels(
    engine: Engine, mapping: exp.Table, kind: Kind | None, height: int, rows: int, nulls: int, num: int
) -> tuple[Level, ...]:
    """The cost of each level over the source rows. NULL is a single value until the top."""
    figures = exp.select("COUNT(*)").from_(mapping)
    for level in range(1, height):
        size = column(f"size_{level}")
        figures = figures.select(
            sql("COUNT(DISTINCT :code)", code=column(f"code_{level}")),
            sql("CAST(SUM(n * (:size - 1)) AS DOUBLE)", size=size),
            sql("CAST(SUM(CASE WHEN :size > 1 THEN n * :size ELSE 0 END) AS DOUBLE)", size=size),
            sql("CAST(MAX(CASE WHEN :size > 1 THEN :size ELSE 0 END) AS DOUBLE)", size=size),
        )
    (row,) = engine.fetch(figures)
    span = _span(engine, mapping, kind)
    levels = [Level(row[0] + (nulls > 0), 0.0, 0.0, 0.0)]
    for level in range(1, height):
        values, contained, covered, largest = row[4 * level - 3 : 4 * level + 1]
        if isinstance(kind, IntervalsKind):
            highest = kind.share(level, span) if num > 1 else 0.0
            ncp = (rows - nulls) * highest
        else:
            highest, ncp = largest / num, covered / num
        levels.append(Level(values + (nulls > 0), contained / num, ncp, highest))
    removed = 1.0 if num > 1 else 0.0
    levels.append(Level(1, rows * (num - 1) / num, rows * removed, removed))
    return tuple(levels)


def _span(engine: Engine, mapping: exp.Table, kind: Kind | None) -> float:
    """The largest minus the smallest value of an interval column, in units."""
    if not isinstance(kind, IntervalsKind):
        return 0.0
    if kind.type == "date":
        bounds = sql("CAST(MAX(:units) - MIN(:units) AS DOUBLE)", units=kind.units(VALUE))
    else:
        scale = double(10**kind.decimals)
        bounds = sql("(CAST(MAX(value) AS DOUBLE) - CAST(MIN(value) AS DOUBLE)) * :scale", scale=scale)
    ((span,),) = engine.fetch(exp.select(bounds).from_(mapping))
    return float(span)


def _descriptions(engine: Engine, mapping: exp.Table, kind: Kind | None, height: int, top: str) -> tuple[str, ...]:
    """What each level does, in words; a listed level is told by its most frequent label."""
    between = []
    for level in range(1, height):
        if kind is not None:
            between.append(kind.describe(level))
        else:
            label = column(f"label_{level}")
            query = exp.select(label).from_(mapping).group_by(label).order_by("SUM(n) DESC", label).limit(1)
            between.append(f"such as {engine.fetch(query)[0][0]}")
    return ("as it is", *between, f"removed ({top})")
