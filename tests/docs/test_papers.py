"""docs/papers.md is a run of `python -m bench.papers`: of every figure, and of no other."""

from __future__ import annotations

import re

import pytest

from bench.papers.__main__ import every_figure
from bench.papers.figure import Claim, Drawn, Point, accelerating, falling, in_order, none_of, rising
from tests.support.paths import ROOT

pytestmark = pytest.mark.unit

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def test_every_figure_is_there_with_its_plot_and_what_the_paper_claims() -> None:
    figures = every_figure(1_000)
    assert re.findall(r"^## (.+)$", PAGE, re.M) == [figure.title for figure in figures]
    assert {path.name for path in (ROOT / "docs").glob("papers_*.svg")} == {figure.file for figure in figures}
    assert len(re.findall(r"^- The paper: .+ Here(, too| not: .+)\.$", PAGE, re.M)) == sum(
        len(f.claims) for f in figures
    )


def line(*figures: float) -> list[Point]:
    return [Point(x, y, y, y) for x, y in enumerate(figures)]


@pytest.mark.parametrize(
    ("exceptions", "drawn", "found"),
    [
        (rising, {"a": line(1, 2, 3)}, 0),
        (rising, {"a": line(1, 2, 1.5)}, 1),
        (falling, {"a": line(3, 2, 2.001)}, 0),  # that is noise
        (falling, {"a": line(3, 2, 2.5), "b": line(1, 2, 3)}, 3),
        (in_order("a", "b"), {"a": line(1, 2), "b": line(1, 3)}, 0),
        (in_order("a", "b"), {"a": line(1, 4), "b": line(1, 3)}, 1),
        (none_of("a"), {"a": line(0, 0), "b": line(1, 1)}, 0),
        (none_of("a"), {"a": line(0, 2)}, 1),
        (accelerating, {"a": line(1, 2, 4, 8)}, 0),
        (accelerating, {"a": line(1, 4, 6)}, 1),
    ],
)
def test_what_a_paper_claims_is_compared_with_what_comes_out(exceptions: object, drawn: Drawn, found: int) -> None:
    claim = Claim("so it is", exceptions)  # type: ignore[arg-type]
    assert len(list(claim.exceptions(drawn))) == found
    assert claim.told(drawn).endswith("Here, too.") == (found == 0)
