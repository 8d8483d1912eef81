"""What a release has lost (models.md §3). A suppressed row counts as generalized to the top in every column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.engine import Workbench
from duckanon.hierarchy import Hierarchy
from duckanon.policy import Policy
from duckanon.query.expressions import column, double, literal, sql, table
from duckanon.query.steps import united, with_steps
from duckanon.search.greedy import weight
from duckanon.search.lattice import Node
from duckanon.search.measure import Measurement


@dataclass(frozen=True)
class ColumnLoss:
    """What one quasi-identifier has lost. `levels` are shares of the released rows; `unchanged`, `generalized` and
    `gone` those of all source rows, and a row that is suppressed is gone."""

    level: int | None  # where all released rows share it
    levels: dict[int, float]
    ncp: float
    labels_before: int  # NULL counts as one
    labels_after: int
    unchanged: float
    generalized: float
    gone: float


@dataclass(frozen=True)
class Utility:
    precision: float
    ncp: float
    weighted_ncp: float  # the same, each column weighted by its importance
    discernibility: int
    average_class_size: float | None
    normalized_class_size: float | None
    loss: float
    columns: dict[str, ColumnLoss]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Lost:
    """What one quasi-identifier has lost, summed over the released rows (`loss`: see `utility_of`)."""

    rows: dict[int, int]  # released at each level
    labels: int  # distinct ones in the release, NULL included
    ncp: float
    loss: float  # (ContainNum − 1) / NUM

    def height(self, hierarchy: Hierarchy) -> float:
        """Σ level / height of the hierarchy."""
        return sum(level * rows for level, rows in self.rows.items()) / hierarchy.height


def lost_utility(policy: Policy, census: Census, lost: list[Lost], rows: int, classes: int, squares: int) -> Utility:
    """The utility of a release of so many rows and classes; `squares` is the sum of the squared class sizes."""
    suppressed = census.rows - rows
    cells = census.rows * len(lost)
    covered = [part.ncp + suppressed for part in lost]
    weights = [h.importance for h in census.hierarchies]
    weighted = sum(weight * cost for weight, cost in zip(weights, covered, strict=True))
    average = rows / classes if classes else None
    generalized = sum(part.height(h) for h, part in zip(census.hierarchies, lost, strict=True))
    return Utility(
        precision=1 - (generalized + suppressed * len(lost)) / cells,
        ncp=sum(covered) / cells,
        weighted_ncp=weighted / (census.rows * sum(weights)),
        discernibility=squares + suppressed * census.rows,
        average_class_size=average,
        normalized_class_size=average / policy.k if average is not None else None,
        loss=sum(
            weight(h, policy.search.weighting) * part.loss for h, part in zip(census.hierarchies, lost, strict=True)
        ),
        columns={
            h.column.name: _column_loss(h, part, census.rows, suppressed)
            for h, part in zip(census.hierarchies, lost, strict=True)
        },
    )


def _column_loss(hierarchy: Hierarchy, lost: Lost, rows: int, suppressed: int) -> ColumnLoss:
    released = sum(lost.rows.values())
    unchanged, top = lost.rows.get(0, 0), lost.rows.get(hierarchy.height, 0)
    return ColumnLoss(
        level=next(iter(lost.rows)) if len(lost.rows) == 1 else None,
        levels={level: part / released for level, part in sorted(lost.rows.items()) if released},
        ncp=(lost.ncp + suppressed) / rows,
        labels_before=hierarchy.levels[0].values,
        labels_after=lost.labels,
        unchanged=unchanged / rows,
        generalized=(released - unchanged - top) / rows,
        gone=(top + suppressed) / rows,
    )


def utility_of(policy: Policy, census: Census, measured: Measurement, good: exp.Expr) -> Utility:
    """The utility of a node once its failing rows are suppressed; `good` holds the keys and size x of its classes.

    Its loss is that of its levels over all source rows, whatever is suppressed.
    """
    rows = measured.released_rows
    shown = _shown(census, measured.node, good)
    lost = [
        Lost({level: rows}, *shown.get(h.index, (1, float(rows) if h.domain > 1 else 0.0)), h.levels[level].loss)
        for h, level in zip(census.hierarchies, measured.node, strict=True)
    ]
    return lost_utility(policy, census, lost, rows, measured.released_classes, measured.squares)


def lost_by_labels(labels: exp.Select, workbench: Workbench) -> Lost:
    """What a column has lost by the `labels` that it shows: id, level, n rows, and ncp and loss of a cell. NULL costs
    nothing, and is a label, too."""
    sums = (sql(f"COALESCE(SUM({figure}), 0)") for figure in ("n", "n * ncp", "n * loss"))
    shown = exp.select("COUNT(*)").from_(exp.select("id").distinct().from_("labels").subquery("shown"))
    by_level = exp.select("level", *sums, shown.subquery().as_("shown")).from_(table("labels")).group_by("level")
    found = workbench.fetch(with_steps(by_level, labels=labels))
    return Lost(
        rows={level: int(rows) for level, rows, *_ in found},
        labels=found[0][-1] if found else 0,
        ncp=sum(float(ncp) for _, _, ncp, *_ in found),
        loss=sum(float(loss) for _, _, _, loss, _ in found),
    )


def _shown(census: Census, node: Node, good: exp.Expr) -> dict[int, tuple[int, float]]:
    """Of each quasi-identifier below its top, how many labels it shows in the released classes, and Σ over the released
    rows of the NCP of its cell, pan eq. 4 and 5."""
    below = [(h, level) for h, level in zip(census.hierarchies, node, strict=True) if level < h.height]
    if not below:
        return {}
    every = united(_labels(h, level, good) for h, level in below)
    sums = exp.select("hierarchy", "COUNT(*)", "COALESCE(SUM(x * ncp), 0)").group_by("hierarchy")
    found = census.workbench.fetch(sums.from_(every.subquery("labels", copy=False), copy=False))
    return {h.index: (0, 0.0) for h, _ in below} | {index: (labels, float(ncp)) for index, labels, ncp in found}


def _labels(hierarchy: Hierarchy, level: int, good: exp.Expr) -> exp.Select:
    """The labels that the classes show: x rows each, at that price. NULL is a single value, in no mapping table."""
    code = column(hierarchy.code(level))
    shown = exp.select(code.as_("code"), sql("SUM(x)").as_("x")).from_(good.copy()).group_by(code)
    labels = exp.select(literal(hierarchy.index).as_("hierarchy"), column("x", "shown")).from_(shown.subquery("shown"))
    if hierarchy.domain == 1 or (level == 0 and not hierarchy.strangers):
        return labels.select(double(0).as_("ncp"))
    prices = exp.select(column(f"code_{level}").as_("code"), hierarchy.ncp(level).as_("ncp"))
    prices = prices.distinct().from_(hierarchy.mapping)
    on = exp.EQ(this=column("code", "shown"), expression=column("code", "prices"))
    return labels.select(column("ncp", "prices")).join(prices.subquery("prices"), on=on, join_type="left")
