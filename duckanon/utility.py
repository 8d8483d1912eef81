"""What a release has lost (models.md §3). A suppressed row counts as generalized to the top in every column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from duckanon.census import Census
from duckanon.expressions import column, sql
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.kinds import IntervalsKind
from duckanon.measure import Measurement
from duckanon.policy import Policy
from duckanon.search.greedy import weight


@dataclass(frozen=True)
class Utility:
    precision: float
    ncp: float
    weighted_ncp: float  # the same, each column weighted by its importance
    discernibility: int
    average_class_size: float | None
    normalized_class_size: float | None
    loss: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def utility_of(policy: Policy, census: Census, measured: Measurement, good: exp.Expr) -> Utility:
    """The utility of a node once its failing rows are suppressed; `good` holds the keys and size x of its classes."""
    node, rows = measured.node, census.rows
    suppressed, released = measured.failing_rows, measured.released_rows
    cells = rows * len(census.hierarchies)
    pairs = list(zip(census.hierarchies, node, strict=True))
    generalized = released * sum(level / h.height for h, level in pairs) + suppressed * len(pairs)
    covered = [_ncp(census, h, level, good, released) + suppressed for h, level in pairs]
    weights = [h.importance for h, _ in pairs]
    weighted = sum(weight * cost for weight, cost in zip(weights, covered, strict=True))
    average = released / measured.released_classes if measured.released_classes else None
    return Utility(
        precision=1 - generalized / cells,
        ncp=sum(covered) / cells,
        weighted_ncp=weighted / (rows * sum(weights)),
        discernibility=measured.squares + suppressed * rows,
        average_class_size=average,
        normalized_class_size=average / policy.k if average is not None else None,
        loss=sum(weight(h, policy.search.weighting) * h.levels[level].loss for h, level in pairs),
    )


def _ncp(census: Census, hierarchy: Hierarchy, level: int, good: exp.Expr, released: int) -> float:
    """Σ over the released rows of the NCP of one column's cell, pan eq. 4 and 5."""
    if level == 0 or hierarchy.domain == 1:
        return 0.0
    if level == hierarchy.height:
        return float(released)
    code = hierarchy.code(level)
    if isinstance(hierarchy.kind, IntervalsKind):
        # Every range of a level has the same width; NULL is a single value.
        covered = sql("COALESCE(SUM(CASE WHEN :code <> 0 THEN x END), 0)", code=column(code))
        ((held,),) = census.engine.fetch(exp.select(covered).from_(good.copy()))
        return float(held) * hierarchy.levels[level].highest_ncp
    sizes = exp.select(column(f"code_{level}").as_("code"), column(f"size_{level}").as_("size"))
    sizes = sizes.distinct().from_(hierarchy.mapping)
    query = (
        exp.select(sql("CAST(COALESCE(SUM(CASE WHEN m.size > 1 THEN g.x * m.size END), 0) AS DOUBLE)"))
        .from_(exp.alias_(good.copy(), "g", table=True))
        .join(sizes.subquery("m"), on=exp.EQ(this=column(code, "g"), expression=column("code", "m")))
    )
    ((held,),) = census.engine.fetch(query)
    return float(held) / hierarchy.domain
