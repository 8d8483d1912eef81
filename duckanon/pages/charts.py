"""The charts of the pages: Altair's, drawn as SVG by vl-convert. Nothing is fetched for it, and nothing in them moves.

Text and axes have the colour of the page around them, so a chart can be read in the light and in the dark; the series
have colours that can be told apart on either, also by who is colour-blind (Okabe and Ito's).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from duckanon.engine.optional import needed

Points = Sequence[tuple[float, float]]
Bars = Sequence[tuple[float, float, float]]  # where, from, to

BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
_COLOURS = (BLUE, "#e69f00", GREEN, VERMILION, "#cc79a7", "#56b4e9")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_WIDTH = 640
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MANY = 60  # points of a line that are not marked one by one


def must_be_there() -> None:
    """Say which extra to install before any work is done."""
    _libraries()


def before_and_after(shares: Sequence[Mapping[str, Any]], x: str) -> str:
    """Bars side by side: of each `bin` the share of the rows `before` and `after`."""
    alt, _ = _libraries()
    values = [{"bin": part["bin"], "when": when, "share": part[when]} for part in shares for when in _known(shares)]
    colour = alt.Color("when:N", title=None, scale=_before_after(alt), legend=alt.Legend(orient="top"))
    chart = alt.Chart(alt.Data(values=values)).mark_bar()
    return _svg(
        chart.encode(
            x=alt.X("bin:N", sort=None, title=x, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("when:N", sort=["before", "after"]),
            y=_percent(alt, "share", "share of the rows"),
            color=colour,
        ).properties(width=_WIDTH, height=200)
    )


def risk_curves(points: Sequence[Mapping[str, Any]]) -> str:
    """Steps: which share of the rows is at a risk of at least `risk`, `before` and `after`."""
    alt, _ = _libraries()
    values = [{"risk": part["risk"], "when": when, "share": part[when]} for part in points for when in _known(points)]
    chart = alt.Chart(alt.Data(values=values)).mark_line(interpolate="step-before", strokeWidth=2.5)
    risk = alt.X(
        "risk:Q",
        title="risk to be found: one over the size of the class",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="%", values=[0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]),
    )
    colour = alt.Color("when:N", title=None, scale=_before_after(alt), legend=alt.Legend(orient="top"))
    dash = alt.StrokeDash("when:N", scale=alt.Scale(domain=["before", "after"], range=[[6, 3], [1, 0]]), legend=None)
    y = _percent(alt, "share", "rows at that risk or more")
    return _svg(chart.encode(x=risk, y=y, color=colour, strokeDash=dash).properties(width=_WIDTH, height=200))


def column_bars(columns: Sequence[Mapping[str, Any]]) -> str:
    """A bar for each column `name`: how much of it is lost, its `ncp`."""
    alt, _ = _libraries()
    values = [{"name": column["name"], "ncp": column["ncp"]} for column in columns]
    chart = alt.Chart(alt.Data(values=values)).mark_bar(color=BLUE)
    names = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=160))
    lost = _percent(alt, "ncp", "lost: 0 % nothing, 100 % everything", of=alt.X)
    return _svg(chart.encode(y=names, x=lost).properties(width=_WIDTH, height=alt.Step(20)))


def over_time(releases: Sequence[Mapping[str, Any]], figures: Mapping[str, str]) -> str:
    """A line for each of the `figures`, by what it is called, over the releases: `time`, and the figure or None."""
    alt, _ = _libraries()
    moment = alt.X("time:T", title=None, axis=alt.Axis(format="%Y-%m-%d", labelOverlap=True, tickCount=6))
    marked = {"point": {"size": 30, "filled": True}} if len(releases) <= _MANY else {}
    lines = []
    for (key, name), colour in zip(figures.items(), (BLUE, GREEN, VERMILION), strict=False):
        known = [{"time": part["time"], "figure": part[key]} for part in releases if part[key] is not None]
        line = alt.Chart(alt.Data(values=known)).mark_line(color=colour, strokeWidth=2, **marked)
        y = alt.Y("figure:Q", title=name, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True))
        lines.append(line.encode(x=moment, y=y).properties(width=_WIDTH, height=90))
    return _svg(alt.vconcat(*lines))


def class_sizes(parts: Sequence[Mapping[str, Any]], x: str) -> str:
    """Bars: of each `bin` of class sizes the share of the rows that are `released` and, above it, that `fail`."""
    alt, _ = _libraries()
    series = {"released": BLUE, "fail": VERMILION}
    values = [{"bin": part["bin"], "what": what, "share": part[what]} for part in parts for what in series]
    colour = alt.Scale(domain=list(series), range=list(series.values()))
    chart = alt.Chart(alt.Data(values=values)).mark_bar()
    return _svg(
        chart.encode(
            x=alt.X("bin:N", sort=None, title=x, axis=alt.Axis(labelAngle=0)),
            y=_percent(alt, "share", "share of all"),
            color=alt.Color("what:N", title=None, scale=colour, legend=alt.Legend(orient="top")),
            order=alt.Order("what:N", sort="descending"),
        ).properties(width=_WIDTH, height=160)
    )


def front_plot(points: Sequence[Mapping[str, Any]]) -> str:
    """Points, each a link to `href` that `says` what it is: `k` over `ncp`; those on the `front` are filled, and the
    policy's own is a square."""
    alt, _ = _libraries()
    base = alt.Chart(alt.Data(values=list(points))).encode(
        x=alt.X("ncp:Q", title="lost: 0 % nothing, 100 % everything", axis=alt.Axis(format="%", tickCount=5)),
        y=alt.Y("k:O", sort="descending", title="k"),
        href="href:N",
        shape=alt.Shape("own:N", legend=None, scale=alt.Scale(domain=[False, True], range=["circle", "square"])),
    )
    marks = [
        base.transform_filter(f"datum.front == {chosen}").mark_point(size=150, strokeWidth=2, **look)
        for chosen, look in (
            ("false", {"stroke": "#808080", "fill": "#808080", "fillOpacity": 0.15}),
            ("true", {"stroke": GREEN, "fill": GREEN, "fillOpacity": 0.75}),
        )
    ]
    svg = _svg(alt.layer(*marks).properties(width=_WIDTH, height=alt.Step(36)), alone=False)
    said = {point["href"]: escape(point["says"]) for point in points}
    return re.sub(
        r'<a xlink:href="[^"#]*(#[\w-]+)"[^>]*>', lambda a: f'<a href="{a[1]}" aria-label="{said[a[1]]}">', svg
    )


def path_plot(failing: Sequence[int], budget: int) -> str:
    """A line: how many rows fail at each step of a search, and how many may."""
    alt, _ = _libraries()
    values = [{"step": step, "rows": rows} for step, rows in enumerate(failing, start=1)]
    marked = {"point": {"size": 40, "filled": True}} if len(values) <= _MANY else {}
    line = alt.Chart(alt.Data(values=values)).mark_line(color=BLUE, strokeWidth=2, **marked)
    step = alt.X("step:Q", title="step", axis=alt.Axis(format="d", tickMinStep=1), scale=alt.Scale(nice=False))
    line = line.encode(x=step, y=alt.Y("rows:Q", title="rows that fail", axis=alt.Axis(tickCount=4)))
    bound = alt.Chart(alt.Data(values=[{"rows": budget}])).mark_rule(color=GREEN, strokeWidth=2, strokeDash=[6, 3])
    return _svg(alt.layer(line, bound.encode(y="rows:Q")).properties(width=_WIDTH, height=140))


def line_plot(
    title: str, x: str, y: str, series: Mapping[str, Points], spread: Mapping[str, Bars] | None = None
) -> str:
    """Lines with their marks, as a picture that stands alone; the vertical axis starts at zero. `spread`: bars from the
    least to the largest figure of each mark."""
    alt, _ = _libraries()
    values = [{"x": at, "y": figure, "series": name} for name, line in series.items() for at, figure in line]
    points = sorted({at for line in series.values() for at, _ in line})
    names = list(series)
    colour = alt.Scale(domain=names, range=[_COLOURS[nth % len(_COLOURS)] for nth in range(len(names))])
    shape = alt.Scale(domain=names, range=[_SHAPES[nth % len(_SHAPES)] for nth in range(len(names))])
    across = alt.Scale(zero=False, padding=16)
    base = alt.Chart(alt.Data(values=values), title=title).encode(
        x=alt.X("x:Q", title=x, scale=across, axis=alt.Axis(values=points, grid=False)),
        y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=True)),
        color=alt.Color("series:N", title=None, scale=colour),
    )
    marks = base.mark_point(filled=False, fill="white", size=60, strokeWidth=2)
    marks = marks.encode(shape=alt.Shape("series:N", title=None, scale=shape))
    bars = [
        {"x": at, "low": low, "high": high, "series": name}
        for name, line in (spread or {}).items()
        for at, low, high in line
    ]
    ranges = alt.Chart(alt.Data(values=bars)).mark_rule(strokeWidth=1.2, opacity=0.6)
    ranges = ranges.encode(x="x:Q", y="low:Q", y2="high:Q", color=alt.Color("series:N", title=None, scale=colour))
    layers = alt.layer(*([ranges] if bars else []), base.mark_line(strokeWidth=2.2), marks)
    layers = layers.properties(width=450, height=290)
    return _svg(layers, ink="#333333", background="white", padding=12)


# -- how they look --------------------------------------------------------------------------------


def _libraries() -> tuple[Any, Any]:
    altair, converter = needed("pages", "altair", "vl_convert", by="a page")
    return altair, converter


def _known(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    return [when for when in ("before", "after") if all(part[when] is not None for part in parts)]


def _before_after(alt: Any) -> Any:
    return alt.Scale(domain=["before", "after"], range=[VERMILION, BLUE])


def _percent(alt: Any, field: str, title: str, of: Any = None) -> Any:
    axis = alt.Axis(format="%", tickCount=5)
    return (of or alt.Y)(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(domain=[0, 1]))


def _svg(
    chart: Any, ink: str = "currentColor", background: str | None = None, padding: int = 4, alone: bool = True
) -> str:
    """The drawing. Inside a page it takes the page's colour, and the page says in words what it shows; unless the
    drawing does not leave that to the page `alone`, but can be used itself."""
    _, converter = _libraries()
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    axis = text | {"gridColor": ink, "gridOpacity": 0.15, "domainColor": ink, "tickColor": ink}
    look = {
        "aria": False,
        "background": background,
        "font": _FONT,
        "padding": padding if background else {"left": 24, "right": 12, "top": 4, "bottom": 4},
        "axis": axis | {"domainOpacity": 0.6, "tickOpacity": 0.6},
        "legend": text,
        "title": {"color": ink, "fontSize": 16, "anchor": "start"},
        "view": {"stroke": None},
    }
    drawn: str = converter.vegalite_to_svg(chart.to_dict() | {"config": look})
    return drawn if background else _inline(drawn, alone)


def _inline(svg: str, hidden: bool) -> str:
    """As a part of a page: without what only a file of its own needs, with fewer digits, as wide as there is room."""
    svg = re.sub(r"<[^>]*>", _plain_tag, svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" ', 1) if hidden else svg


def _plain_tag(found: re.Match[str]) -> str:
    """Only tags are touched: a text may be anything, and has no < in it."""
    tag = found[0]
    if tag.startswith("<path ") and ('display="none"' in tag or ' d="M0,0h0v0h0Z"' in tag):
        return ""
    tag = re.sub(r' (?:xmlns(?::\w+)?|version|class|role|pointer-events|aria-[\w-]+)="[^"]*"', "", tag)
    return re.sub(r' (?:d|transform|[xy]2?)="[^"]*"', lambda part: re.sub(r"(\.\d)\d+", r"\1", part[0]), tag)
