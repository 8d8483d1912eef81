"""What each level of a hierarchy costs over the counted rows."""

from __future__ import annotations

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.hierarchy import Level
from duckanon.hierarchy.computed import VALUE, IntervalsKind
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import known
from duckanon.query.expressions import column, double, sql


def level_costs(
    scheme: Scheme, domain: exp.Table, mapping: exp.Table, counts: tuple[int, int, int], num: int, workbench: Workbench
) -> tuple[Level, ...]:
    """The cost of each level; `counts` are all rows, those that are NULL and those shown as the top at every level.

    NULL is a single value until the top.
    """
    rows, nulls, strangers = counts
    figures = []
    for level in range(1, scheme.height):
        size = column(f"size_{level}")
        figures += [
            sql("COUNT(DISTINCT :code)", code=column(f"code_{level}")),
            sql("CAST(SUM(n * (:size - 1)) AS DOUBLE)", size=size),
            sql("CAST(SUM(CASE WHEN :size > 1 THEN n * :size ELSE 0 END) AS DOUBLE)", size=size),
            sql("CAST(MAX(CASE WHEN :size > 1 THEN :size ELSE 0 END) AS DOUBLE)", size=size),
        ]
    (row,) = workbench.fetch(exp.select("COUNT(*)", *figures).from_(mapping))
    span = _span(workbench, domain, scheme)
    removed = 1.0 if num > 1 else 0.0
    lowest = removed if strangers else 0.0
    levels = [Level(row[0] + (nulls > 0), strangers * (num - 1) / num, strangers * removed, lowest)]
    for level in range(1, scheme.height):
        values, contained, covered, largest = row[4 * level - 3 : 4 * level + 1]
        each, highest, ncp = None, largest / num, covered / num
        if isinstance(scheme.kind, IntervalsKind):
            each = scheme.kind.share(level, span) if num > 1 else 0.0
            highest, ncp = max(each, lowest), (rows - nulls - strangers) * each + strangers * removed
        levels.append(Level(values + (nulls > 0), contained / num, ncp, highest, each))
    levels.append(Level(1, rows * (num - 1) / num, rows * removed, removed))
    return tuple(levels)


def _span(workbench: Workbench, domain: exp.Table, scheme: Scheme) -> float:
    """The largest minus the smallest value of an interval column, in units."""
    kind = scheme.kind
    if not isinstance(kind, IntervalsKind):
        return 0.0
    if kind.type == "date":
        bounds = sql("CAST(MAX(:units) - MIN(:units) AS DOUBLE)", units=kind.units.of(VALUE))
    else:
        span = "(CAST(MAX(:number) AS DOUBLE) - CAST(MIN(:number) AS DOUBLE)) * :scale"
        bounds = sql(span, number=kind.units.number(VALUE), scale=double(10**kind.units.decimals))
    ((span,),) = workbench.fetch(exp.select(bounds).from_(domain).where(known(scheme, VALUE)))
    return float(span)
