"""The codes of a value at the levels above one follow from its code there."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, sql


def with_levels_above(query: exp.Select, cells: str, known: Iterable[tuple[Hierarchy, int, str]]) -> exp.Select:
    """The `query` over the step `cells`, with the codes of each hierarchy at the level that is given, which stand in
    the column that is named, and at all levels above it."""
    for h, level, name in known:
        code, alias = column(name, cells), f"levels_{h.index}"
        query = query.select(code.as_(h.code(level)))
        above = [column(f"code_{up}") for up in h.coded if up > level]
        if above:
            codes = exp.select(column(f"code_{level}").as_("here"), *above).distinct().from_(h.mapping)
            on = exp.EQ(this=code.copy(), expression=column("here", alias))
            query = query.join(codes.subquery(alias), on=on, join_type="left")
        for up in above:
            # NULL is in no mapping table: code 0 at every level below the top.
            at = sql("COALESCE(:code, 0)", code=column(up.name, alias))
            query = query.select(at.as_(h.code(int(up.name.removeprefix("code_")))))
    return query
