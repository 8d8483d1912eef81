"""The mapping table of a hierarchy: every value of the data with its code, label and size at each level."""

from __future__ import annotations

from sqlglot import exp

from duckanon.hierarchy.computed import VALUE
from duckanon.hierarchy.listing import Listing
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import known
from duckanon.query.expressions import column, literal, sql, table, text_of
from duckanon.query.steps import select, united, with_steps

_FIGURES = ("code", "label", "size")
_FINEST = "CAST(ROW_NUMBER() OVER (ORDER BY :value) AS INTEGER)"


def mapping_query(scheme: Scheme, domain: exp.Expr) -> exp.Select:
    """value, n, code_0, and per level code_l, label_l, size_l, of the values in `domain` (value, n) that the hierarchy
    knows.

    Codes are small integers, in an order that the labels themselves have: nothing of the source's order. A size is the
    number of values that share the label: in the list, otherwise in the data.
    """
    return _listed(scheme.listing, domain) if scheme.listing else _computed(scheme, domain)


def _computed(scheme: Scheme, domain: exp.Expr) -> exp.Select:
    """There may be millions of values, and far fewer labels: these are written, counted and sorted once each."""
    kind = scheme.kind
    assert kind is not None
    levels = range(1, kind.levels + 1)
    places = {f"place_{level}": kind.order(VALUE, level) for level in levels}
    placed = select(value=VALUE, n=column("n"), **places).from_(domain.copy()).where(known(scheme, VALUE))
    value = column("value", "placed")
    query = select(value=value, n=column("n", "placed"), code_0=sql(_FINEST, value=value)).from_(table("placed"))
    steps = {"placed": placed}
    for level in levels:
        step, place = f"labels_{level}", column(f"place_{level}")
        figures = {
            "code": sql("CAST(ROW_NUMBER() OVER (ORDER BY :place) AS INTEGER)", place=place),
            "label": kind.label(sql("MIN(value)"), level),
            "size": sql("COUNT(*)"),
        }
        steps[step] = select(place=place, **figures).from_(table("placed")).group_by(place)
        query = query.select(*(column(name, step).as_(f"{name}_{level}") for name in _FIGURES))
        query = query.join(table(step), on=exp.EQ(this=column(place.name, "placed"), expression=column("place", step)))
    return with_steps(query, **steps)


def _listed(listing: Listing, domain: exp.Expr) -> exp.Select:
    """The listed parents of each value. Of codes, a size is that of the values which are there."""
    levels = range(1, listing.height)
    sizes = [
        sql("COUNT(*) OVER (PARTITION BY :label)", label=column(f"level_{level}")).as_(f"size_{level}")
        for level in levels
    ]
    on = exp.EQ(this=listing.matching.key(text_of(column("value", "data"))), expression=column("level_0", "listed"))
    values = exp.select("data.value", "data.n", "listed.*").from_(exp.alias_(domain.copy(), "data", table=True))
    if listing.matching.pattern is None:
        sized = exp.select("*", *sizes).from_(listing.table)
        labels = values.join(sized.subquery("listed"), on=on)
    else:
        joined = values.join(exp.alias_(listing.table, "listed", table=True), on=on)
        labels = exp.select("*", *sizes).from_(joined.subquery("joined"))
    query = exp.select("value", "n", sql(_FINEST, value=VALUE).as_("code_0")).from_(labels.subquery("labels"))
    for level in levels:
        label = column(f"level_{level}")
        code = sql("CAST(DENSE_RANK() OVER (ORDER BY :label) AS INTEGER)", label=label)
        query = query.select(code.as_(f"code_{level}"), label.as_(f"label_{level}"), column(f"size_{level}"))
    return query


def with_top(mapping: exp.Select, scheme: Scheme, strangers: int, num: int) -> exp.Query:
    """The values as texts and, for the rows of those that are unknown, one more: the top, as its own label everywhere,
    after all others. It stands for any value, so its size is that of the whole domain."""
    levels = range(scheme.height)
    last = {level: sql("COALESCE(MAX(:code), 0) + 1", code=column(f"code_{level}")) for level in levels}
    texts = exp.select(text_of(VALUE).as_("value"), "n", "code_0")
    top = exp.select(literal(scheme.top).as_("value"), literal(strangers).as_("n"), last[0].as_("code_0"))
    for level in levels[1:]:
        code, label, size = (f"{part}_{level}" for part in _FIGURES)
        texts = texts.select(code, label, size)
        top = top.select(last[level].as_(code), literal(scheme.top).as_(label), literal(num).as_(size))
    parts = [texts, top] if strangers else [texts]
    every = united(part.from_(table("known")) for part in parts)
    return with_steps(exp.select("*").from_(every.subquery("mapped")), known=mapping)
