"""Figures as a person reads them, on any page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckanon.pages.report import Bin, ColumnLoss, Report, Threshold

NOT_KNOWN = "–"
_MEASURES = {"cramers_v": "Cramér’s V"}


def number(value: Any) -> str:
    """Whole numbers whole, others with four digits; words stay words."""
    if value is None or value == float("inf"):
        return NOT_KNOWN
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.4g}"


def percent(value: Any) -> str:
    return NOT_KNOWN if value is None else f"{value:.2%}"


def threshold_name(threshold: Threshold) -> str:
    value = f"“{threshold.value}”" if threshold.value is not None else None
    return " ".join(part for part in (threshold.name, threshold.column, value) if part)


def bound(threshold: Threshold) -> str:
    return f"{threshold.sign} {number(threshold.threshold)}".strip()


def level(column: ColumnLoss) -> str:
    if column.level is None:
        levels = column.figures.get("levels", {})
        return ", ".join(f"level {at} {share:.0%}" for at, share in levels.items()) or column.says or NOT_KNOWN
    of = f" of {column.height}" if column.height is not None else ""
    return f"level {column.level}{of}"


def examples(column: ColumnLoss) -> list[str]:
    return ["NULL" if label is None else label for label, _ in column.labels]


def measure_name(measure: str) -> str:
    return _MEASURES.get(measure, measure)


def verdict(report: Report) -> str:
    """The report in a sentence."""
    if not report.thresholds:
        return "What was measured is not known."
    many = f"all {len(report.thresholds)} constraints hold" if len(report.thresholds) > 1 else "its constraint holds"
    if report.holds:
        return f"Released and verified: {many}."
    broken = sum(not threshold.holds for threshold in report.thresholds)
    return f"{broken} of {len(report.thresholds)} constraints do not hold now."


def sizes_in_words(report: Report) -> str:
    """What the first chart shows, for who cannot see it."""
    parts = [_bin_in_words(part) for part in report.bins if (part.before or 0) > 0 or (part.after or 0) > 0]
    return f"Share of the {report.counted} by the size of their class. " + "; ".join(parts) + "."


def _bin_in_words(part: Bin) -> str:
    said = {"before": part.before, "after": part.after}
    return f"{part.name}: " + ", ".join(f"{when} {share:.0%}" for when, share in said.items() if share is not None)


def risk_in_words(report: Report) -> str:
    before, after = report.before, report.after
    said = f"Share of the {report.counted} by their risk to be found. The highest is {percent(after.highest)}"
    return f"{said}; before, {percent(before.highest)}." if before else f"{said}."


def uniques_in_words(uniques: Mapping[str, Any]) -> str:
    """How many people may be alone in the population with what is released of them."""
    estimates = f"{_whole(uniques['zayatz'])} by Zayatz, {_whole(uniques['pitman'])} by Pitman"
    of = f"of {number(uniques['people'])} people of the population {_whole(uniques['estimate'])}"
    return f"Estimated: {of} are alone with what is released ({estimates}; {uniques['chosen']} is chosen)."


def _whole(estimate: float | None) -> str:
    return number(None if estimate is None else round(estimate))


def columns_in_words(report: Report) -> str:
    parts = [f"{c.name} {c.figures['ncp']:.0%}" for c in report.columns if c.figures]
    return "How much of each column is lost: " + "; ".join(parts) + "."


def releases_in_words(report: Report) -> str:
    first, last = report.releases[0], report.releases[-1]
    return (
        f"{len(report.releases):,} releases: k from {number(first.k)} to {number(last.k)}, "
        f"rows from {number(first.rows)} to {number(last.rows)}, NCP from {number(first.ncp)} to {number(last.ncp)}."
    )


def sparkline(figures: list[float | None], most: int = 40) -> str:
    """A line of text; of many figures the last."""
    known = [figure for figure in figures if figure is not None][-most:]
    if not known:
        return NOT_KNOWN
    low, high = min(known), max(known)
    bars = "▁▂▃▄▅▆▇█"
    return "".join(bars[round((figure - low) / (high - low) * 7) if high > low else 3] for figure in known)
