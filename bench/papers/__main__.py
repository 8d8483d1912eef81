"""`python -m bench.papers [folder]`: the papers' experiments, run again; plots and figures go to docs/.

The folder holds Adult: adult.csv and adult_hierarchy_*.csv. Without one, invented people take its place. Whatever comes
out is reported, also where the papers found something else.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from bench.papers import han, mohapatra, pan, wang, yang
from bench.papers.data import Data, adult, invented, sampled
from bench.papers.figure import Figure
from bench.papers.page import write_page
from bench.papers.release import Outcome, Release, outcome

DOCS = Path(__file__).parents[2] / "docs"


def every_figure(rows: int) -> list[Figure]:
    return [*han.figures(rows), *yang.figures(rows), *wang.figures(), *pan.figures(rows), *mohapatra.figures()]


def measured(releases: list[Release], data: Data, sample: int) -> list[Outcome]:
    """Every release of one sample."""
    with sampled(data, sample) as connection:
        return [outcome(release, data, connection) for release in releases]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.papers", description="Run the papers' experiments again.")
    parser.add_argument("data", type=Path, nargs="?", help="folder with adult.csv and its hierarchies")
    parser.add_argument("--rows", type=int, default=1_000, help="rows of han, yang and pan (default 1,000)")
    parser.add_argument("--samples", type=int, default=10, help="samples to average over (default 10)")
    parser.add_argument("--to", type=Path, default=DOCS, help="where the plots go (default docs/)")
    options = parser.parse_args()
    figures = every_figure(options.rows)
    releases = list(dict.fromkeys(release for figure in figures for release in figure.releases))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        data = adult(options.data.resolve()) if options.data else invented(Path(temporary))
        found: list[list[Outcome]] = []
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            for outcomes in pool.map(partial(measured, releases, data), range(options.samples)):
                found.append(outcomes)
                print(f"sample {len(found)} of {options.samples}: {time.monotonic() - start:,.0f} s", flush=True)
    by_release = dict(zip(releases, map(list, zip(*found, strict=True)), strict=True))
    intro = (
        f"`python -m bench.papers`: {data.name}, {options.samples} random samples; each figure is their average, with "
        f"the least and the largest in brackets and as bars. han, yang and pan: {options.rows:,} rows; wang: 6,000, of "
        "the four marital statuses that the paper has. Local methods suppress nothing, one node at most 2 %. "
        "Times are of the processor, one thread, a whole run with its verification.\n"
    )
    write_page(options.to, intro, figures, by_release)


if __name__ == "__main__":
    main()
