"""han 2010, figures 2 to 4: what k-anonymity and the (α, k) models lose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench.papers.figure import Claim, Figure, in_order, rising
from bench.papers.release import Release

QI = ("age", "workclass", "education", "marital-status", "race", "sex")  # table 4
# Table 5, and the order in which the paper finds the losses.
COMPLETE = {
    "Tech-support": 0.4, "Craft-repair": 0.7, "Other-service": 0.7, "Sales": 0.7, "Exec-managerial": 0.7,
    "Prof-specialty": 0.4, "Handlers-cleaners": 0.5, "Machine-op-inspct": 0.5, "Adm-clerical": 0.7,
    "Farming-fishing": 0.5, "Transport-moving": 0.5, "Priv-house-serv": 0.4, "Protective-serv": 0.4,
    "Armed-Forces": 0.4,
}  # fmt: skip
MODELS = {
    "k-anonymity": "[sensitive.occupation]",
    "simple (α, k)": "[sensitive.occupation.values.Prof-specialty]\nalpha = 0.4",
    "complete (α, k)": "\n".join(f"[sensitive.occupation.values.{v}]\nalpha = {a}" for v, a in COMPLETE.items()),
    "general (α, k)": "[sensitive.occupation]\nalpha = 0.4",
}
_ORDER = Claim("k-anonymity loses the least, then simple, complete and general (α, k)", in_order(*MODELS))

_LUCK = (
    "Where they differ: classes are merged with the nearest, one by one, and no merge looks ahead; a stricter model "
    "may come to a slightly lesser loss by other merges."
)


def figures(rows: int) -> list[Figure]:
    plain = Release("", "alpha_k_clustering", 5, QI, rows)
    by_k = _figure("k", "k (han fig. 2)", "k", [2, 4, 6, 8, 10], lambda k: replace(plain, k=k))
    by_columns = _figure(
        *("columns", "the number of quasi-identifiers (han fig. 3)", "quasi-identifiers", [3, 4, 5, 6]),
        lambda n: replace(plain, quasi_identifiers=QI[:n]),
    )
    steps = [rows * share // 5 for share in range(1, 6)]
    by_rows = _figure("rows", "rows (han fig. 4)", "rows", steps, lambda n: replace(plain, rows=n))
    return [by_k, by_columns, by_rows]


def _figure(by: str, title: str, x: str, points: list[int], at: Callable[[int], Release]) -> Figure:
    return Figure(
        file=f"papers_loss_by_{by}.svg",
        title=f"Distortion against {title}",
        x=x,
        y="distortion (han eq. 4)",
        measure="distortion",
        lines={name: [(n, replace(at(n), model=model)) for n in points] for name, model in MODELS.items()},
        claims=(_ORDER, Claim(f"the distortion rises with {x}", rising)),
        notes=(_LUCK,),
    )
