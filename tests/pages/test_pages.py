"""What a page is made of: sizes, charts, text, and how large it may grow."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from duckanon.pages import charts
from duckanon.pages.html import html_page
from duckanon.pages.markdown import code_block, markdown_page, text
from duckanon.pages.report import ColumnLoss, PastRelease, Report, Risk, Threshold
from duckanon.pages.sizes import at_risk, bins, risk_of
from duckanon.pages.words import number, sparkline

pytestmark = pytest.mark.unit

SIZES = ((1, 4), (3, 2), (10, 3), (60, 1))  # 4 + 6 + 30 + 60 rows
REPORT = Report(
    name="p", source="table t", database=None, kind="table", place="t_anonymous", method="greedy", version="1.0",
    policy_hash="0" * 64, policy_text="k = 3", k=3, counted="rows", people=None, classes=4, budget=10,
    rows={"source": 100, "released": 90, "suppressed": 10}, after=Risk(3, 1 / 3, 0.04, 0),
    utility={"ncp": 0.5, "precision": 0.5, "discernibility": 9},
    thresholds=(Threshold("k", None, None, "≥", 3, 3, 0, True),),
)  # fmt: skip


def test_every_row_is_in_one_bin_and_none_lies_across_k() -> None:
    found = bins(SIZES, ((3, 2),), k=3)
    assert [part.name for part in found] == ["1", "2", "3–4", "5–9", "10–19", "20–49", "≥ 50"]
    assert [part.before for part in found] == [0.04, 0, 0.06, 0, 0.3, 0, 0.6]
    assert [part.after for part in found] == [0, 0, 1, 0, 0, 0, 0]
    assert [part.classes_before for part in found] == [4, 0, 2, 0, 3, 0, 1]
    assert bins(None, None, 3) == ()


def test_the_risk_of_sizes() -> None:
    assert risk_of(SIZES) == Risk(1, 1.0, 10 / 100, 4)
    curve = {point.risk: point.before for point in at_risk(SIZES, None)}
    assert curve == {1.0: 0.04, 1 / 3: 0.1, 1 / 10: 0.4, 1 / 60: 1.0}
    assert len(at_risk(tuple((size, 1) for size in range(1, 50_000)), None)) < 400


def test_five_hundred_releases_and_sixty_columns_are_below_two_megabytes() -> None:
    start = datetime(2026, 1, 1)
    past = tuple(
        PastRelease(f"{nth:036}", start + timedelta(days=nth), 5.0, 10_000 + nth, nth, 0.3, "t_anonymous", nth == 499)
        for nth in range(500)
    )
    lost = {"ncp": 0.3, "levels": {1: 1.0}, "labels_before": 90, "labels_after": 9}
    labels = tuple((f"label {nth} " + "x" * 60, 100) for nth in range(3))
    columns = tuple(ColumnLoss(f"column {nth}", 1, 3, "ranges of 5", lost, labels) for nth in range(60))
    report = replace(REPORT, releases=past, columns=columns, bins=bins(SIZES, SIZES, 3), at_risk=at_risk(SIZES, SIZES))
    page = html_page(report)
    assert page.count("<tr") > 560
    assert len(page.encode()) < 500_000
    assert len(markdown_page(report)) < 50_000


def test_a_chart_takes_the_colour_of_its_page_and_text_is_text() -> None:
    svg = charts.column_bars([{"name": '<script>"x" role="y"</script>', "ncp": 0.25}])
    assert "<script" not in svg
    assert '&lt;script&gt;"x" role="y"' in svg
    assert "currentColor" in svg
    assert "://" not in svg
    assert not re.search(r'fill="(#000|black|white|#fff)', svg)


def test_markdown_is_text_whatever_it_says() -> None:
    assert text("a|b\n<i> `c` *d* [e](f)") == r"a\|b \<i\> \`c\` \*d\* \[e\](f)"
    assert text("- 1") == r"\- 1"
    assert code_block("a ```` b").splitlines()[0] == "`````toml"
    assert "-->" not in markdown_page(replace(REPORT, version="1 --> <b>")).splitlines()[0].removesuffix("-->")


def test_figures_as_a_person_reads_them() -> None:
    assert [number(value) for value in (None, 5.0, 12_345, 0.25, float("inf"), "word")] == [
        "–", "5", "12,345", "0.25", "–", "word",
    ]  # fmt: skip
    assert sparkline([1, None, 2, 8]) == "▁▂█"
    assert sparkline([3, 3]) == "▄▄"
    assert sparkline([]) == "–"
