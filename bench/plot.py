"""Line plots as plain SVG: small enough to read, good enough to print."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 190, 52, 58
# Okabe and Ito's colours: told apart by the colour-blind, too.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
_FONT = "font-family='Helvetica, Arial, sans-serif'"


def line_plot(path: Path, title: str, x_label: str, y_label: str, series: Mapping[str, Points]) -> None:
    """Write one plot; the vertical axis starts at zero."""
    points = [point for line in series.values() for point in line]
    x_ticks = sorted({x for x, _ in points})
    y_ticks = ticks(max((y for _, y in points), default=1))
    across, up = _scales(x_ticks, y_ticks[-1])
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' {_FONT}>",
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' fill='#ffffff'/>",
        _text(_LEFT, 28, title, size=16, anchor="start", weight="bold"),
    ]
    for y in y_ticks:
        parts.append(f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{up(y):.1f}' y2='{up(y):.1f}' stroke='#e3e3e3'/>")
        parts.append(_text(_LEFT - 8, up(y) + 4, _number(y), anchor="end"))
    for x in x_ticks:
        parts.append(_text(across(x), _HEIGHT - _BOTTOM + 20, _number(x)))
    floor = f"y1='{up(0):.1f}' y2='{up(0):.1f}'"
    parts.append(f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' {floor} stroke='#444444'/>")
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, x_label, size=13))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(f"<g transform='rotate(-90 18 {middle})'>{_text(18, middle, y_label, size=13)}</g>")
    for place, (name, line) in enumerate(series.items()):
        parts += _line(place, name, [(across(x), up(y)) for x, y in line])
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def _scales(x_ticks: Sequence[float], highest: float):  # type: ignore[no-untyped-def]
    low, high = (x_ticks[0], x_ticks[-1]) if x_ticks else (0.0, 1.0)
    inside, margin = _WIDTH - _LEFT - _RIGHT, 16

    def across(x: float) -> float:
        share = (x - low) / (high - low) if high > low else 0.5
        return _LEFT + margin + share * (inside - 2 * margin)

    def up(y: float) -> float:
        return _HEIGHT - _BOTTOM - y / highest * (_HEIGHT - _BOTTOM - _TOP)

    return across, up


def _line(place: int, name: str, points: Points) -> list[str]:
    """A line with its marks, and its entry in the legend. Lines that lie on each other differ in their marks."""
    colour = _COLOURS[place % len(_COLOURS)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    legend_x, legend_y = _WIDTH - _RIGHT + 24, _TOP + 14 + 24 * place
    return [
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2.2' stroke-linejoin='round'/>",
        *(_mark(place, x, y, colour) for x, y in points),
        f"<path d='M{legend_x} {legend_y}h26' stroke='{colour}' stroke-width='2.2'/>",
        _mark(place, legend_x + 13, legend_y, colour),
        _text(legend_x + 34, legend_y + 4, name, anchor="start"),
    ]


def _mark(place: int, x: float, y: float, colour: str) -> str:
    look = f"fill='#ffffff' stroke='{colour}' stroke-width='2'"
    shape = place % 4
    if shape == 0:
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4.5' {look}/>"
    if shape == 1:
        return f"<rect x='{x - 4:.1f}' y='{y - 4:.1f}' width='8' height='8' {look}/>"
    corners = ((0, -5.5), (5, 4), (-5, 4)) if shape == 2 else ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0))
    return f"<polygon points='{' '.join(f'{x + dx:.1f},{y + dy:.1f}' for dx, dy in corners)}' {look}/>"


def _text(x: float, y: float, text: str, size: int = 12, anchor: str = "middle", weight: str = "normal") -> str:
    look = f"font-size='{size}' text-anchor='{anchor}' font-weight='{weight}' fill='#333333'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {look}>{escape(text)}</text>"


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def ticks(highest: float) -> list[float]:
    """About five round numbers from zero to at least the highest."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [round(step * place, 10) for place in range(math.ceil(highest / step - 1e-9) + 1)]
