"""What HIPAA Safe Harbor asks of the released columns, by their types and by what the first rows look like. By their
names it was asked before, of the policy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sqlglot import exp

from duckanon.census.peek import Peek, first_look, is_texts
from duckanon.clues.names import meanings_of
from duckanon.clues.patterns import DOTTED_DATE, IDENTIFYING, ISO_DATE, NUMBER, SLASHED_DATE
from duckanon.engine import Column, Relation, Warehouse
from duckanon.errors import Fault
from duckanon.policy import Dates, Policy, QuasiIdentifier
from duckanon.policy.profiles.safe_harbor import NO_SUCH, OLDEST, SAFE_HARBOR, is_open_at_the_top, released_names
from duckanon.query.expressions import column, literal, sql
from duckanon.query.functions import cast_or_null
from duckanon.query.names import folded

_SOME = 0.1  # of the values look like something that may not be released
_MOST, _NEARLY_ALL = 0.5, 0.9
_SEVERAL = 20  # rows of which it can be said that each has its own value
_LONG = 60  # characters of a text that somebody has written
_DATES = (ISO_DATE, DOTTED_DATE, SLASHED_DATE)
_YEARS = 'make it a quasi-identifier with hierarchy = { dates = ["year"] }, or list it under columns.drop'
_TOGETHER = 'make it a quasi-identifier with hierarchy = { builtin = "age_hipaa" }, or cut it at 90 at the latest'


def safe_harbor_faults(
    policy: Policy, columns: list[Column], relation: Relation, warehouse: Warehouse
) -> Iterator[Fault]:
    """Every released column that is not what the profile allows; nothing of a policy without it."""
    if policy.profile != SAFE_HARBOR.name:
        return
    names = {folded(name) for name in released_names(policy)}
    released = [c for c in columns if folded(c.name) in names and not c.type.is_nested]
    generalized = {folded(q.column): q for q in policy.quasi_identifiers}
    for c, peek in zip(released, first_look(relation, released, warehouse), strict=True):
        wanted = generalized.get(folded(c.name))
        if said := next(_looks(c, peek, wanted), None):
            yield Fault(c.name, f"{said[0]} ({SAFE_HARBOR.name})", said[1])
        elif "birth" in meanings_of(c.name) and (old := _old(c, peek, relation, warehouse)):
            what = f"tells that {old:,} rows are of people of {OLDEST} or more, whose year of birth is not released"
            remedy = 'release their age in its place, in source.query, with hierarchy = { builtin = "age_hipaa" }'
            yield Fault(c.name, f"{what} ({SAFE_HARBOR.name})", remedy)


def _looks(c: Column, peek: Peek, wanted: QuasiIdentifier | None) -> Iterator[tuple[str, str]]:
    """What a column is that may not be released so, and what to do; the first that is found is told."""
    said = meanings_of(c.name)
    numbers = c.type.is_number or peek.share(NUMBER) >= _MOST
    days = c.type.is_day or max(map(peek.share, _DATES)) >= _SOME
    if days and (wanted is None or not isinstance(wanted.hierarchy, Dates)):
        yield "has dates, of which only the year may be released", _YEARS
    if "age" in said and numbers and (wanted is None or not is_open_at_the_top(wanted)):
        yield f"has ages, of which those of {OLDEST} and over must be one", _TOGETHER
    if days or (numbers and wanted is not None):
        return
    for pattern in IDENTIFYING:
        if is_texts(c) and not numbers and peek.share(pattern) >= _SOME:
            yield f"has {pattern.called}", NO_SUCH
    own = peek.distinct / peek.filled if peek.filled > _SEVERAL else 0.0
    if "id" in said and own >= _MOST:
        yield "is by its name a number, and different in most rows", NO_SUCH
    if wanted is None and is_texts(c) and peek.longest >= _LONG and peek.spaced >= _MOST:
        yield "is free text, in which anything may stand", NO_SUCH
    if wanted is None and is_texts(c) and not numbers and own >= _NEARLY_ALL:
        yield "has a text of its own in nearly every row", NO_SUCH


def _old(c: Column, peek: Peek, relation: Relation, warehouse: Warehouse) -> int:
    """How many rows are of people so old that their year of birth tells of it."""
    value, last = column(c.name), date.today().year - OLDEST
    day = literal(f"{last + 1}-01-01")
    if c.type.is_day:
        before: exp.Expr = sql(":value < CAST(:day AS DATE)", value=value, day=day)
    elif c.type.is_number or peek.share(NUMBER) >= _MOST:
        year = value if c.type.is_number else cast_or_null(value, "DOUBLE")
        before = sql(":year BETWEEN 1000 AND :last", year=year, last=literal(last))
    elif peek.share(ISO_DATE) < _SOME:
        return 0
    else:
        before = sql("TRIM(:value) < :day", value=value, day=day)
    rows = sql("COUNT(CASE WHEN :before THEN 1 END)", before=before)
    ((old,),) = warehouse.fetch(exp.select(rows).from_(relation.table), "people of 90 and over")
    return int(old)
