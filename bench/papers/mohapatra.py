"""mohapatra 2013, cases 1 and 2: how many classes of one sensitive value are to be expected (SE, eq. 1)."""

from __future__ import annotations

from bench.papers.figure import Claim, Figure, falling, rising
from bench.papers.release import Release
from bench.papers.wang import QI

_VALUES = 4  # of wang's marital status
_ROWS = 60_000
_MEASURES = {"expected in the classes of a release": "expected_classes", "found in a release": "homogeneous_classes"}
_NOTES = (
    "Eq. 1 supposes n/k classes of k rows, in which values are drawn alike. A release by one node has fewer and larger "
    "classes, so fewer are to be expected of one value (Σ K^(1−x)); but values are not alike, and go with the "
    "quasi-identifiers, so that more are found.",
    f"Adult has fewer than {_ROWS:,} rows: they are drawn from it with replacement, which repeats people and so makes "
    "classes larger than those of as many different ones.",
)


def figures() -> list[Figure]:
    sizes, ks = [10_000 * n for n in range(1, 7)], [2, 3, 4, 5, 6, 8, 10]
    by_size = {float(n): (n, 5) for n in sizes}
    by_k = {float(k): (_ROWS, k) for k in ks}
    rises, falls = Claim("SE rises with the size of the table", rising), Claim("SE falls as k grows", falling)
    return [
        _figure("size", "the size of the table, k = 5 (mohapatra case 1)", "rows", by_size, rises),
        _figure("k", f"k, {_ROWS:,} rows (mohapatra case 2)", "k", by_k, falls),
    ]


def _figure(by: str, title: str, x: str, points: dict[float, tuple[int, int]], claim: Claim) -> Figure:
    formula = [(at, _VALUES ** (1 - k) * rows / k) for at, (rows, k) in points.items()]
    made = [(at, _release(rows, k)) for at, (rows, k) in points.items()]
    return Figure(
        file=f"papers_mohapatra_{by}.svg",
        title=f"Classes of one value against {title}",
        x=x,
        y="classes",
        measure="expected_classes",
        lines={"SE, eq. 1": formula, **dict.fromkeys(_MEASURES, made)},
        claims=(claim,),
        digits=1,
        notes=_NOTES,
        measures=_MEASURES,
    )


def _release(rows: int, k: int) -> Release:
    return Release("[sensitive.marital-status]", "greedy", k, QI, rows, "marital-status", "drawn")
