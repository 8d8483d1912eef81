"""Every hierarchy of the policy becomes a mapping table, checked by SQL before anything is searched."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Column, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import EngineError, Fault, HierarchyError
from duckanon.hierarchy import Hierarchy, removed
from duckanon.hierarchy.computed import VALUE
from duckanon.hierarchy.costs import level_costs
from duckanon.hierarchy.domains import Domains
from duckanon.hierarchy.listed import mapping_query, unfilled_fault
from duckanon.hierarchy.matching import EXACTLY
from duckanon.hierarchy.numbers import must_be_numbers
from duckanon.hierarchy.scheme import Scheme, scheme_of
from duckanon.hierarchy.unmapped import (
    Unmapped,
    find_unmapped,
    known,
    top_must_be_alone,
    unmapped_fault,
)
from duckanon.policy import QuasiIdentifier
from duckanon.query.expressions import column, literal, sql, text_of
from duckanon.query.steps import select


@dataclass(frozen=True)
class Built:
    """The hierarchies, what they do not know, and how many rows of the source they code."""

    hierarchies: tuple[Hierarchy, ...]
    unmapped: tuple[Unmapped, ...]
    rows: int


def build_hierarchies(
    wanted: list[tuple[QuasiIdentifier, Column]], domains: Domains, warehouse: Warehouse, scratch: Scratch, fate: str
) -> Built:
    """Build the hierarchy of each quasi-identifier over its domain. The tables that some are listed in are of the
    warehouse.

    The faults of all of them are reported together.
    """
    schemes: list[Scheme] = []
    counted: dict[int, _Domain] = {}
    unmapped: dict[int, Unmapped] = {}
    faults: list[Fault] = []
    for index, (quasi_identifier, source_column) in enumerate(wanted):
        try:
            counted[index] = domain = _domain(index, quasi_identifier, domains, scratch)
            scheme = scheme_of(index, quasi_identifier, source_column, domain.table, warehouse, scratch)
            scheme.must_have_levels()
            found = _strangers(scheme, domain, scratch.workbench, fate)
            if quasi_identifier.is_number:
                must_be_numbers(scheme, domain.table, scratch.workbench)
        except HierarchyError as error:
            faults += error.faults
            if isinstance(error.__cause__, EngineError):
                break  # what the database has refused once ends the transaction: nothing more can be asked
            continue
        schemes.append(scheme)
        if found is not None:
            unmapped[index] = found
    if faults:
        raise HierarchyError(faults)
    starred = [s for s in schemes if fate == "top" and s.unknown(VALUE) is not None]
    if unmapped and fate == "suppress":
        domains.leave_out(schemes)
        for scheme in schemes:
            scratch.drop(counted[scheme.index].table)
            counted[scheme.index] = _count_again(scheme, domains, scratch)
    elif starred:
        domains.show_tops(starred)
    rows = counted[0].rows  # as of all of them
    built = tuple(_build(s, counted[s.index], rows, s in starred, unmapped.get(s.index), scratch) for s in schemes)
    return Built(built, tuple(unmapped.values()), rows)


@dataclass(frozen=True)
class _Domain:
    """The values of a column (value, n): how many there are, in how many rows, and how many of these have none."""

    table: exp.Table
    distinct: int
    rows: int
    nulls: int


def _domain(index: int, wanted: QuasiIdentifier, domains: Domains, scratch: Scratch) -> _Domain:
    """The values of a column, of which there must be one."""
    domain = _count(index, wanted, domains, scratch)
    if domain.distinct == 0:
        remedy = "list it under columns.drop to leave it out"
        raise HierarchyError([Fault(f"quasi_identifiers.{wanted.column}", "has no value at all, only NULL", remedy)])
    return domain


def _strangers(scheme: Scheme, domain: _Domain, workbench: Workbench, fate: str) -> Unmapped | None:
    """What a hierarchy does not know; which is an error unless the policy says otherwise."""
    if fate == "error" and scheme.listing is not None and scheme.listing.unfilled:
        raise unfilled_fault(scheme.listing.unfilled, scheme.where)
    unmapped = find_unmapped(scheme, domain.table, workbench)
    # That it knows no value at all is no gap in it: it is the wrong hierarchy.
    if unmapped is not None and (fate == "error" or unmapped.values == domain.distinct):
        raise HierarchyError([unmapped_fault(scheme, unmapped, domain.table, workbench)])
    if unmapped is not None and fate == "top":
        top_must_be_alone(scheme, workbench)
    return unmapped


def _count(index: int, wanted: QuasiIdentifier, domains: Domains, scratch: Scratch) -> _Domain:
    table = domains.count(index, wanted.column)
    sums = [sql(f"CAST(COALESCE(SUM({n}), 0) AS BIGINT)") for n in ("n", "CASE WHEN value IS NULL THEN n END")]
    ((distinct, rows, nulls),) = scratch.workbench.fetch(exp.select("COUNT(value)", *sums).from_(table))
    return _Domain(table, distinct, rows, nulls)


def _count_again(scheme: Scheme, domains: Domains, scratch: Scratch) -> _Domain:
    domain = _count(scheme.index, scheme.wanted, domains, scratch)
    if domain.distinct == 0:
        what = "has no value left, once the rows are gone that a hierarchy does not know"
        raise HierarchyError([Fault(f"quasi_identifiers.{scheme.wanted.column}", what, "complete the hierarchies")])
    return domain


def _build(
    scheme: Scheme, domain: _Domain, rows: int, starred: bool, unmapped: Unmapped | None, scratch: Scratch
) -> Hierarchy:
    workbench, name, values = scratch.workbench, scheme.column.name, domain.table
    num = (scheme.listed_values or domain.distinct) + (domain.nulls > 0)
    strangers = unmapped.rows if unmapped is not None and starred else 0
    labels = mapping_query(values, scheme.listing) if scheme.listing else _computed(values, scheme)
    labels = _with_top(labels, scheme, strangers, num) if starred else labels
    mapping = scratch.table(f"map_{scheme.index}", _coded(labels, scheme.height), f"mapping table of {name}")
    levels = level_costs(scheme, values, mapping, (rows, domain.nulls, strangers), num, workbench)
    scratch.drop(values)
    return Hierarchy(
        index=scheme.index,
        column=scheme.column,
        importance=scheme.wanted.importance,
        top=scheme.top,
        mapping=mapping,
        levels=levels,
        domain=num,
        nulls=domain.nulls,
        kind=scheme.kind,
        listing=scheme.listing.table if scheme.listing else None,
        matching=scheme.listing.matching if scheme.listing else EXACTLY,
        descriptions=_descriptions(workbench, mapping, scheme),
        starred=starred,
        strangers=strangers,
        lowest=scheme.wanted.at_least,
        cap=scheme.wanted.at_most,
        release_as=scheme.wanted.release_as,
    )


def _computed(domain: exp.Table, scheme: Scheme) -> exp.Query:
    """value, n and per level label_l, order_l, size_l: the labels computed from each source value."""
    kind = scheme.kind
    assert kind is not None
    figures: dict[str, exp.Expr] = {}
    sizes: dict[str, exp.Expr] = {}
    for level in range(1, kind.levels + 1):
        figures |= {f"label_{level}": kind.label(VALUE, level), f"order_{level}": kind.order(VALUE, level)}
        sizes[f"size_{level}"] = sql("COUNT(*) OVER (PARTITION BY :label)", label=column(f"label_{level}"))
    labelled = select(column("value"), column("n"), **figures).from_(domain, copy=False)
    labelled = labelled.where(known(scheme, VALUE), copy=False)
    return select(exp.Star(), **sizes).from_(labelled.subquery("labelled", copy=False), copy=False)


def _with_top(labels: exp.Query, scheme: Scheme, strangers: int, num: int) -> exp.Query:
    """The values as texts and, for the rows of those that are unknown, one more: the top, as its own label everywhere.
    It stands for any value, so its size is that of the whole domain."""
    texts = exp.select(text_of(VALUE).as_("value"), "n").from_(labels.subquery("known"))
    top = exp.select(literal(scheme.top).as_("value"), literal(strangers).as_("n"))
    for level in range(1, scheme.height):
        label, order, size = (f"{part}_{level}" for part in ("label", "order", "size"))
        texts = texts.select(label, order, size)
        top = top.select(literal(scheme.top).as_(label), exp.null().as_(order), literal(num).as_(size))
    return exp.union(texts, top, distinct=False) if strangers else texts


def _coded(labels: exp.Query, height: int) -> exp.Query:
    """Small integers for every level, in an order that the labels themselves have: nothing of the source's order."""
    codes: list[exp.Expr] = [sql("CAST(ROW_NUMBER() OVER (ORDER BY value) AS INTEGER)").as_("code_0")]
    for level in range(1, height):
        code = sql("CAST(DENSE_RANK() OVER (ORDER BY :order) AS INTEGER)", order=column(f"order_{level}"))
        codes += [code.as_(f"code_{level}"), column(f"label_{level}"), column(f"size_{level}")]
    return exp.select("value", "n", *codes).from_(labels.subquery("labels", copy=False), copy=False)


def _descriptions(workbench: Workbench, mapping: exp.Table, scheme: Scheme) -> tuple[str, ...]:
    """What each level does, in words; a listed level is told by its most frequent label."""
    between = []
    for level in range(1, scheme.height):
        if scheme.kind is not None:
            between.append(scheme.kind.describe(level))
        else:
            label = column(f"label_{level}")
            topmost = sql("CASE WHEN :label = :top THEN 1 ELSE 0 END", label=label, top=literal(scheme.top))
            query = exp.select(label).from_(mapping).group_by(label).order_by(topmost, "SUM(n) DESC", label).limit(1)
            between.append(f"such as {workbench.fetch(query)[0][0]}")
    return ("as it is", *between, removed(scheme.top))
