"""yang 2015, figures 1 to 3: rows open to a skewness attack, and what it costs to close them."""

from __future__ import annotations

from bench.papers.figure import Claim, Figure, falling, in_order, none_of, rising
from bench.papers.han import QI
from bench.papers.release import Release

# Table 4.
SENSITIVITY = {
    "Armed-Forces": 0.95, "Exec-managerial": 0.9, "Prof-specialty": 0.85, "Protective-serv": 0.8,
    "Priv-house-serv": 0.8, "Transport-moving": 0.7, "Tech-support": 0.65, "Farming-fishing": 0.6,
    "Machine-op-inspct": 0.5, "Handlers-cleaners": 0.4, "Craft-repair": 0.3, "Adm-clerical": 0.2,
    "Other-service": 0.1, "Sales": 0.1,
}  # fmt: skip
_NODE, _CLUSTERS = "l-diversity, one node", "(l, c)-clustering"
_NONE = Claim("(l, c)-clustering leaves no row open to the attack", none_of(_CLUSTERS))


def figures(rows: int) -> list[Figure]:
    by_c = [(c, 7, c) for c in (0.2, 0.3, 0.4, 0.5, 0.6)]
    by_l = [(float(least), least, 0.4) for least in (2, 4, 6, 8)]
    fewer = Claim("the rows open to it grow fewer with c", falling)
    skewed = "Rows open to a skewness attack against"
    return [
        _figure("skewed_by_c", f"{skewed} c, l = 7 (yang fig. 1)", "c", "skewed_rows", by_c, rows, (_NONE, fewer)),
        _figure("skewed_by_l", f"{skewed} l, c = 0.4 (yang fig. 2)", "l", "skewed_rows", by_l, rows, (_NONE,)),
        _figure(
            *("loss_by_l", "Information loss against l, c = 0.4 (yang fig. 3)", "l", "ncp", by_l, rows),
            (Claim("the loss rises with l", rising), Claim("clusters lose less", in_order(_CLUSTERS, _NODE))),
        ),
    ]


def _figure(
    file: str, title: str, x: str, measure: str, points: list[tuple[float, int, float]], rows: int,
    claims: tuple[Claim, ...],
) -> Figure:  # fmt: skip
    sensitivity = "\n".join(f"[sensitive.occupation.values.{v}]\nsensitivity = {s}" for v, s in SENSITIVITY.items())
    node, clusters = list[tuple[float, Release]](), list[tuple[float, Release]]()
    for at, least, c in points:
        plain = f"[sensitive.occupation]\nl = {least}"
        node.append((at, Release(plain, "greedy", 5, QI, rows, c=c)))
        bounded = f"{plain}\nalpha = {c}\n{sensitivity}"
        clusters.append((at, Release(bounded, "l_c_clustering", 5, QI, rows, c=c)))
    y, digits = ("NCP", 3) if measure == "ncp" else ("skewed rows", 0)
    return Figure(f"papers_{file}.svg", title, x, y, measure, {_NODE: node, _CLUSTERS: clusters}, claims, digits)
