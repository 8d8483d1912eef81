"""The page of the documentation: every figure as a plot, as a table, and beside what the paper says."""

from __future__ import annotations

from pathlib import Path

from bench.papers.figure import Drawn, Figure, Measured, Point
from duckanon.pages.charts import line_plot


def write_page(folder: Path, intro: str, figures: list[Figure], measured: Measured) -> None:
    parts = ["# The papers' experiments, run again\n", intro]
    for figure in figures:
        drawn = figure.drawn(measured)
        lines = {name: [(part.x, part.mean) for part in line] for name, line in drawn.items()}
        spread = {name: [(part.x, part.low, part.high) for part in line] for name, line in drawn.items()}
        plot = line_plot(figure.title, figure.x, figure.y, lines, spread)
        (folder / figure.file).write_text(plot + "\n", encoding="utf-8")
        parts.append(_section(figure, drawn))
    (folder / "papers.md").write_text("\n".join(parts), encoding="utf-8")


def _section(figure: Figure, drawn: Drawn) -> str:
    points = next(iter(drawn.values()))
    head = f"| {figure.x} | " + " | ".join(f"{part.x:,g}" for part in points) + " |\n|---|" + "---:|" * len(points)
    rows = [
        f"| {name} | " + " | ".join(_cell(part, figure.digits) for part in line) + " |" for name, line in drawn.items()
    ]
    told = [claim.told(drawn) for claim in figure.claims] + list(figure.notes)
    listed = "\n".join(f"- {said}" for said in told)
    return f"## {figure.title}\n\n![{figure.title}]({figure.file})\n\n{head}\n" + "\n".join(rows) + f"\n\n{listed}\n"


def _cell(part: Point, digits: int) -> str:
    """The average and, where samples differ, the least and the largest."""
    mean, low, high = (f"{figure:,.{digits}f}" for figure in (part.mean, part.low, part.high))
    return mean if low == high else f"{mean} ({low}–{high})"
