"""What the benchmark hands back: figures with their aims, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """What the caller asked for."""

    folder: Path
    rows: int = 1_000_000
    peer_rows: int = 30_000
    times: int = 3
    adult: Path | None = None
    huge: bool = False


@dataclass(frozen=True)
class Figure:
    """A line of the summary."""

    what: str
    measured: str
    aim: str = "–"
    ratio: str = "–"


def compared(what: str, seconds: float, base: float, aim: str = "–") -> Figure:
    """A time as a multiple of another of the same run."""
    return Figure(what, f"{shown(seconds)} / {shown(base)}", aim, times_as(seconds / base))


def shown(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def times_as(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 100 else f"{ratio:.1f}×" if ratio >= 10 else f"{ratio:.2f}×"


def heading(text: str) -> None:
    print(f"\n## {text}\n", flush=True)


def table(*names: str) -> None:
    """The head of a table: what is counted stands to the right of what names it."""
    line(*names)
    line("---", *("---:" for _ in names[1:]))


def line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def summary(figures: Iterable[Figure]) -> None:
    heading("Summary")
    table("what", "figure", "aim", "ratio")
    for figure in figures:
        line(figure.what, figure.measured, figure.aim, figure.ratio)
