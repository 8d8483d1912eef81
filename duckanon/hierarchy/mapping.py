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
    """There may be millions of values, and far fewer labels of the first level. Those of all others are made of these:
    computed levels nest."""
    kind = scheme.kind
    assert kind is not None
    values = select(value=VALUE, n=column("n"), code_0=sql(_FINEST, value=VALUE)).from_(domain.copy())
    values = values.where(known(scheme, VALUE))
    if not kind.levels:
        return values
    place, size = column("place"), column("size")
    placed = values.select(kind.order(VALUE, 1).as_("place"))
    query = exp.select(*(column(name, "placed") for name in ("value", "n", "code_0"))).from_(table("placed"))
    groups = select(place=place, value="MIN(value)", size="COUNT(*)").from_(table("placed")).group_by(place)
    labels = exp.select(place).from_(table("groups"))
    for level in range(1, kind.levels + 1):
        above = place if level == 1 else kind.order(VALUE, level)
        code = sql("CAST(DENSE_RANK() OVER (ORDER BY :place) AS INTEGER)", place=above)
        number = size if level == 1 else sql("SUM(size) OVER (PARTITION BY :place)", place=above)
        figures = code, kind.label(VALUE, level), exp.cast(number, "BIGINT")
        names = [f"{name}_{level}" for name in _FIGURES]
        labels = labels.select(*(figure.as_(name) for figure, name in zip(figures, names, strict=True)))
        query = query.select(*(column(name, "labels") for name in names))
    on = exp.EQ(this=column("place", "placed"), expression=column("place", "labels"))
    return with_steps(query.join(table("labels"), on=on), placed=placed, groups=groups, labels=labels)


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
