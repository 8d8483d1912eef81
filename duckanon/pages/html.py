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
    style = stylesheet()
    drawn = _charts(report)
    shown = environment("duckanon.pages", by="a report")
    page: str = shown.get_template("report.html.j2").render(
        report=report, style=markup(style), style_hash=_hash_of(style), charts={n: markup(s) for n, s in drawn.items()}
    )
    return page


def environment(package: str, by: str) -> Any:
    """How the templates of a package are filled in; `by`: what takes them."""
    (jinja,) = needed("pages", "jinja2", by=by)
    found = jinja.Environment(
        loader=jinja.PackageLoader(package, "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"number": words.number, "percent": words.percent, "measure": words.measure_name}
    found.globals["words"] = words
    return found


def markup(made: str) -> Any:
    """What we have made ourselves: it goes into a page as it is."""
    from markupsafe import Markup

    return Markup(made)


def stylesheet() -> str:
    return files("duckanon.pages").joinpath("style.css").read_text(encoding="utf-8")


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
