"""wang 2011, figures 4 to 10: (ALP, DIF)-anonymity beside k-anonymity, by the greedy walk."""

from __future__ import annotations

from collections.abc import Mapping

from bench.papers.figure import Claim, Figure, Lines, accelerating, falling, in_order, rising
from bench.papers.release import Release

QI = ("age", "education", "sex", "occupation", "native-country", "salary-class")  # table IV
_SENSITIVE = "marital-status"
# Section IV.C; the married are not protected.
_THRESHOLDS = {"Divorced": (0.43, 0.27), "Widowed": (0.42, 0.31), "Separated": (0.5, 0.6), "Married-civ-spouse": (1, 1)}
_ROWS = 6_000
_KS = (2, 3, 4, 5, 6)
_TIME = "processor time, s"
_NOTES = {
    "seconds": "Where they differ: the paper generalizes all rows at every step of the walk. Here rows are counted "
    "once, and a step asks the counts of the one before; nearly all of the time is that of a run as such, whatever k, "
    "alp and rows.",
    "alps": "Where they differ: dif = 0.3 binds, not alp. Where the walk ends, ALP lies well below both alps, so that "
    "both end at the same node.",
    "budget": "Where they differ: classes that break dif are small. A larger k suppresses more of them, within its "
    "budget of 2 %, so that a finer node may hold than with a smaller k.",
}


def figures() -> list[Figure]:
    both = {"k-anonymity": _plain(), "(ALP, DIF)": _valued(_THRESHOLDS)}
    models = {name: [(k, _release(model, k)) for k in _KS] for name, model in both.items()}
    alps = {f"alp = {alp:g}": [(k, _release(_divorced(alp), k)) for k in _KS] for alp in (0.43, 0.41)}
    sizes = [1_000 * n for n in range(1, 7)]
    growing = {f"k = {k}": [(n, _release(_divorced(0.4), k, n)) for n in sizes] for k in (2, 3)}
    plain, leaking = models
    loose, tight = alps
    fewer, longer = Claim("they grow fewer with k", falling), Claim("it takes longer with a larger k", rising)
    coarser = Claim("precision falls with k", falling)
    return [
        _figure(4, "Rows open to a homogeneity attack against k", "k", "homogeneous_rows", models,
                (fewer, Claim("(ALP, DIF) leaves fewer than k-anonymity", in_order(leaking, plain)))),
        _figure(5, "Time against k", "k", "seconds", models,
                (longer, Claim("(ALP, DIF) takes longer than k-anonymity", in_order(plain, leaking)))),
        _figure(6, "Precision against k", "k", "precision", models,
                (coarser, Claim("(ALP, DIF) is less precise than k-anonymity", in_order(leaking, plain)))),
        _figure(7, "Time against k, with two alps", "k", "seconds", alps,
                (longer, Claim("a smaller alp takes longer", in_order(loose, tight)))),
        _figure(8, "Precision against k, with two alps", "k", "precision", alps,
                (coarser, Claim("a larger alp is more precise", in_order(tight, loose)))),
        _figure(9, "Rows open to a homogeneity attack against k, with two alps", "k", "homogeneous_rows", alps,
                (fewer, Claim("a smaller alp leaves fewer", in_order(tight, loose)))),
        _figure(10, "Time against rows, alp = 0.4", "rows", "seconds", growing,
                (Claim("it takes longer with more rows", rising), Claim("faster and faster so", accelerating),
                 Claim("a larger k takes longer", in_order(*growing)))),
    ]  # fmt: skip


def _figure(number: int, title: str, x: str, measure: str, lines: Lines, claims: tuple[Claim, ...]) -> Figure:
    told = ["seconds"] if measure == "seconds" else ["budget"]
    told += ["alps"] if measure != "seconds" and "two alps" in title else []
    notes = tuple(_NOTES[name] for name in told)
    y, digits = {"seconds": (_TIME, 2), "precision": ("precision", 3), "homogeneous_rows": ("rows", 0)}[measure]
    return Figure(
        f"papers_wang_{number}.svg", f"{title} (wang fig. {number})", x, y, measure, lines, claims, digits, notes
    )


def _release(model: str, k: int, rows: int = _ROWS) -> Release:
    return Release(model, "greedy", k, QI, rows, _SENSITIVE, "four")


def _plain() -> str:
    return f"[sensitive.{_SENSITIVE}]"


def _divorced(alp: float) -> str:
    """Section IV.D: one value is protected."""
    return _valued({"Divorced": (alp, 0.3)})


def _valued(thresholds: Mapping[str, tuple[float, float]]) -> str:
    return "\n".join(
        f"[sensitive.{_SENSITIVE}.values.{value}]\nalp = {alp}\ndif = {dif}" for value, (alp, dif) in thresholds.items()
    )
