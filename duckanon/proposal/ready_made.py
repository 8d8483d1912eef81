"""Which ready-made hierarchy knows the values of a column: counted on the workbench; only values that at least k rows
share come out of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon import resources
from duckanon.clues.names import words_of
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.checked import check_lists
from duckanon.hierarchy.faults import Faults
from duckanon.hierarchy.listed import list_file
from duckanon.hierarchy.listing import Listing
from duckanon.hierarchy.matching import matched_values
from duckanon.policy import MappingFile
from duckanon.query.expressions import column, literal, sql
from duckanon.query.steps import select, united

_MOST = 0.6  # of the rows must have a value that it knows
# Words for columns of codes, beside the name of the hierarchy.
_CALLED = {"icd10": {"icd", "diagnosis", "diagnose", "dx"}, "nace": {"isic", "branche", "industry"}}
Row = tuple[str, ...]


@dataclass(frozen=True)
class ReadyMade:
    """A hierarchy of ours and a column whose values are mostly its own, or written like them."""

    name: str
    codes: bool  # it lists the beginnings of codes: no file can have their values
    unknown: int  # rows whose value it does not know as it is written
    matched: tuple[tuple[str, Row | None], ...] = ()  # shared values, with the parents of what each may mean
    every: tuple[Row, ...] = ()  # all that it lists


def match_ready_made(values: exp.Table, columns: dict[int, str], k: int, scratch: Scratch) -> dict[int, ReadyMade]:
    """For columns by position and name, whose values are in the table (g, v, n)."""
    if not columns:
        return {}
    listings = _listings(scratch)
    best = _best(values, columns, listings, scratch)
    return {g: _matched(values, g, name, listings[name], k, scratch) for g, name in best.items()}


def _listings(scratch: Scratch) -> dict[str, Listing]:
    files = dict(enumerate(resources.builtin_hierarchies().items(), start=1_000))
    lists = {
        index: list_file(MappingFile(path, ready_made=True), index, name, scratch)
        for index, (name, path) in files.items()
    }
    faults = Faults()
    checked = check_lists(lists, faults, scratch.workbench)
    faults.must_be_none()
    return {name: checked[index] for index, (name, _) in files.items()}


def _best(values: exp.Table, columns: dict[int, str], listings: dict[str, Listing], scratch: Scratch) -> dict[int, str]:
    """The hierarchy that knows most rows of each column, if it knows most. One question for all."""
    parts = []
    for name, listing in listings.items():
        asked = [g for g, called in columns.items() if _may_be(name, listing, called)]
        if asked:
            parts.append(_known(values, asked, name, listing))
    if not parts:
        return {}
    totals = select(column("g"), total="SUM(n)").from_(values).group_by("g")
    best: dict[int, str] = {}
    query = exp.select("known.g", "known.name").from_(united(parts).subquery("known"))
    query = query.join(totals.subquery("totals"), on="totals.g = known.g").where(f"known.n >= {_MOST} * total")
    for g, name in scratch.workbench.fetch(query.order_by("known.n DESC", "known.name"), "ready-made hierarchies"):
        best.setdefault(g, name)
    return best


def _may_be(name: str, listing: Listing, called: str) -> bool:
    """Codes are of many kinds: only the name of the column tells which."""
    if listing.matching.pattern is None:
        return True
    return bool(({*name.split("_"), name} | _CALLED.get(name, set())) & set(words_of(called)))


def _known(values: exp.Table, asked: list[int], name: str, listing: Listing) -> exp.Select:
    """g, name and the rows n of a column that have a value of the hierarchy, however it is written. Bare numbers count
    only where the name of the hierarchy is that of codes."""
    matching = listing.matching
    listed = column("level_0") if matching.pattern is not None else matching.loose_key(column("level_0"))
    looks = exp.select(listed.as_("look")).distinct().from_(listing.table)
    rows = exp.select("g", "n", matching.loose_key(column("v")).as_("look")).from_(values)
    rows = rows.where(exp.In(this=column("g"), expressions=[literal(g) for g in asked]))
    known = select(column("g", "asked"), name=literal(name), n="SUM(asked.n)").from_(rows.subquery("asked"))
    known = known.join(looks.subquery("looks"), on="looks.look = asked.look").group_by("asked.g")
    return known if matching.pattern is not None else known.where(sql("NOT REGEXP_MATCHES(asked.look, '^[0-9]+$')"))


def _matched(values: exp.Table, g: int, name: str, listing: Listing, k: int, scratch: Scratch) -> ReadyMade:
    own = select(value=column("v"), n=column("n")).from_(values).where(sql("g = :g", g=literal(g)))
    domain = scratch.table(f"values_{g}", own, "values of a column")
    lacking = listing.lacks(column("value"))
    missing = exp.select("CAST(COALESCE(SUM(n), 0) AS BIGINT)").from_(domain).where(lacking)
    ((unknown,),) = scratch.workbench.fetch(missing)
    if listing.matching.pattern is not None:
        return ReadyMade(name, True, unknown)
    matches = matched_values(domain, listing.table, listing.height, listing.matching)
    shared = exp.select("*").from_(matches.subquery("matches")).where(f"n >= {k:d}").order_by("n DESC", "value")
    levels = [column(f"level_{level}") for level in range(listing.height + 1)]
    every = scratch.workbench.fetch(exp.select(*levels).from_(listing.table).order_by(*levels))
    matched = [
        (value, None if level_0 is None else tuple(parents))
        for value, _, level_0, *parents in scratch.workbench.fetch(shared)
    ]
    return ReadyMade(name, False, unknown, tuple(matched), tuple(map(tuple, every)))
