"""A report as one page of HTML: no script, nothing fetched, good to print."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from duckanon.engine.optional import needed
from duckanon.pages import charts, words
from duckanon.pages.report import Report


def html_page(report: Report) -> str:
    """The page; whatever a name or label is, it is text there."""
    (jinja,) = needed("pages", "jinja2", by="a report")
    loader = jinja.PackageLoader("duckanon.pages", "templates")
    environment = jinja.Environment(
        loader=loader, autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters: dict[str, Any] = {"number": words.number, "percent": words.percent, "measure": words.measure_name}
    environment.filters |= filters
    environment.globals["words"] = words
    style = files("duckanon.pages").joinpath("style.css").read_text(encoding="utf-8")
    template = environment.get_template("report.html.j2")
    page: str = template.render(
        report=report,
        style=jinja.filters.Markup(style),
        style_hash=_hash_of(style),
        charts={name: jinja.filters.Markup(svg) for name, svg in _charts(report).items()},
    )
    return page


def _hash_of(style: str) -> str:
    """The page allows this style, and nothing else at all."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _charts(report: Report) -> dict[str, str]:
    drawn = {}
    if report.bins:
        shares = [asdict(part) | {"bin": part.name} for part in report.bins]
        drawn["sizes"] = charts.before_and_after(shares, f"size of the class, in {report.counted}")
        drawn["risk"] = charts.risk_curves([asdict(point) for point in report.at_risk])
    lost: list[dict[str, Any]] = [{"name": c.name, **c.figures} for c in report.columns if c.figures]
    if lost:
        drawn["columns"] = charts.column_bars(lost)
    if len(report.releases) > 1:
        past = [asdict(part) | {"time": part.time.isoformat()} for part in report.releases]
        drawn["releases"] = charts.over_time(past, {"k": "k", "rows": "rows", "ncp": "NCP"})
    return drawn
