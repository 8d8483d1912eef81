"""What a release has lost (models.md §3). A suppressed row counts as generalized to the top in every column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.hierarchy import Hierarchy
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql
from duckanon.search.greedy import weight
from duckanon.search.measure import Measurement


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


@dataclass(frozen=True)
class Lost:
    """What one quasi-identifier has lost, summed over the released rows (`loss`: see `utility_of`)."""

    height: float  # level / height of the hierarchy
    ncp: float
    loss: float  # (ContainNum − 1) / NUM


def lost_utility(policy: Policy, census: Census, lost: list[Lost], rows: int, classes: int, squares: int) -> Utility:
    """The utility of a release of so many rows and classes; `squares` is the sum of the squared class sizes."""
    suppressed = census.rows - rows
    cells = census.rows * len(lost)
    covered = [part.ncp + suppressed for part in lost]
    weights = [h.importance for h in census.hierarchies]
    weighted = sum(weight * cost for weight, cost in zip(weights, covered, strict=True))
    average = rows / classes if classes else None
    return Utility(
        precision=1 - (sum(part.height for part in lost) + suppressed * len(lost)) / cells,
        ncp=sum(covered) / cells,
        weighted_ncp=weighted / (census.rows * sum(weights)),
        discernibility=squares + suppressed * census.rows,
        average_class_size=average,
        normalized_class_size=average / policy.k if average is not None else None,
        loss=sum(
            weight(h, policy.search.weighting) * part.loss for h, part in zip(census.hierarchies, lost, strict=True)
        ),
    )


def utility_of(policy: Policy, census: Census, measured: Measurement, good: exp.Expr) -> Utility:
    """The utility of a node once its failing rows are suppressed; `good` holds the keys and size x of its classes.

    Its loss is that of its levels over all source rows, whatever is suppressed.
    """
    rows = measured.released_rows
    lost = [
        Lost(rows * level / h.height, _ncp(census, h, level, good, rows), h.levels[level].loss)
        for h, level in zip(census.hierarchies, measured.node, strict=True)
    ]
    return lost_utility(policy, census, lost, rows, measured.released_classes, measured.squares)


def _ncp(census: Census, hierarchy: Hierarchy, level: int, good: exp.Expr, released: int) -> float:
    """Σ over the released rows of the NCP of one column's cell, pan eq. 4 and 5."""
    if hierarchy.domain == 1 or (level == 0 and not hierarchy.strangers):
        return 0.0
    if level == hierarchy.height:
        return float(released)
    code = hierarchy.code(level)
    # NULL is a single value, in no mapping table.
    prices = exp.select(column(f"code_{level}").as_("code"), hierarchy.ncp(level).as_("ncp"))
    prices = prices.distinct().from_(hierarchy.mapping)
    query = (
        exp.select(sql("COALESCE(SUM(g.x * m.ncp), 0)"))
        .from_(exp.alias_(good.copy(), "g", table=True))
        .join(prices.subquery("m"), on=exp.EQ(this=column(code, "g"), expression=column("code", "m")))
    )
    ((lost,),) = census.workbench.fetch(query)
    return float(lost)
