"""pan 2012, figure 2: what (α, L)-diversification loses, against α."""

from __future__ import annotations

from bench.papers.figure import Claim, Figure, falling
from bench.papers.release import Release

QI = ("age", "workclass", "education", "occupation", "race", "sex")
# Level 1 is what wang calls relatively sensitive: a sixth of the rows, so that α = 0.2 can be reached.
_LEVELS = {
    1: ["Divorced", "Widowed"],
    2: ["Separated", "Married-spouse-absent", "Never-married"],
    3: ["Married-civ-spouse", "Married-AF-spouse"],
}


def figures(rows: int) -> list[Figure]:
    line = [(alpha, _release(alpha, rows)) for alpha in (0.2, 0.4, 0.6, 0.8, 1.0)]
    return [
        Figure(
            file="papers_pan_2.svg",
            title="Information loss against α, K = 2 (pan fig. 2)",
            x="α",
            y="NCP",
            measure="ncp",
            lines={"(α, 2)-diversification": line},
            claims=(Claim("the loss falls as α grows", falling),),
            digits=3,
            notes=(
                "The paper says neither its data nor its L: here L = 2, and level 1 of marital status is bound.",
                "Where they differ: from the α on that no class comes near, nothing is bound any more. Clusters are "
                "then merged in another order, one by one, and no merge looks ahead.",
            ),
        )
    ]


def _release(alpha: float, rows: int) -> Release:
    levels = ", ".join(f"{level} = {values}" for level, values in _LEVELS.items()).replace("'", '"')
    model = f"[sensitive.marital-status]\nlevels = {{ {levels} }}\nlevel_alpha = {{ 1 = {alpha} }}\nlevel_l = 2"
    return Release(model, "alpha_l_diversification", 2, QI, rows, "marital-status")
