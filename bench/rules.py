"""The optimal search with a budget and rules on values: CPU seconds of the whole command, beside those of ARX."""

from __future__ import annotations

import json
from dataclasses import replace

from bench.figures import Figure, Setting, heading, line, table
from bench.people import Data, adult, donors, numbered
from bench.policies import Wanted, policy
from bench.search import effort_of
from bench.stopwatch import fastest

RECURSIVE = "recursive = { c = 4, l = 5 }"
# What ARX took for the same rules on the same or as large a table, once and on another machine: CPU seconds.
ADULT = {
    "k = 5, t = 0.2, 4 %": (Wanted("optimal", suppression=0.04, rules="t = 0.2"), 9),
    "k = 5, recursive (4, 5), 5 %": (Wanted("optimal", suppression=0.05, rules=RECURSIVE), 10),
}
ORDERED = {"k = 100, t = 0.2 of numbers, 4 %": (Wanted("optimal", k=100, suppression=0.04, rules="t = 0.2"), None)}
DONORS = {
    "k = 5, 4 %, precision": (Wanted("optimal", suppression=0.04, loss="precision"), 19),
    "l = 100, 4 %, precision": (Wanted("optimal", suppression=0.04, loss="precision", rules="l = 100"), 10),
    "recursive (4, 5), 5 %, discernibility": (
        Wanted("optimal", suppression=0.05, loss="discernibility", rules=RECURSIVE),
        27,
    ),
}


def with_budgets(setting: Setting) -> list[Figure]:
    people = adult(setting.adult, setting.folder)
    heading("Optimal, rules on values, with a budget: CPU seconds of `duckanon run --dry-run`")
    table("data", "policy", "CPU", "ARX", "effort")
    figures = []
    for data, policies in (
        (people, ADULT),
        (numbered(people, setting.folder), ORDERED),
        (donors(setting.folder), DONORS),
    ):
        for what, (wanted, arx) in policies.items():
            figures.append(_compared(data, what, replace(wanted, kind="csv"), arx, setting))
    return figures


def _compared(data: Data, what: str, wanted: Wanted, arx: int | None, setting: Setting) -> Figure:
    written = policy(data, setting.folder, wanted)
    spent = fastest(setting.times, "duckanon", "run", str(written), "--dry-run", "--json")
    told = json.loads(spent.output.splitlines()[-1])
    cpu, beside = f"{spent.cpu:.2f} s", "–" if arx is None else f"{arx} s"
    line(data.name, what, cpu, beside, effort_of(told["search"]))
    if arx is None:
        return Figure(f"optimal, {data.name}, {what}", f"{cpu} of CPU")
    return Figure(f"optimal, {data.name}, {what}", f"{cpu} / {beside} of CPU", "≤ 0.5×", f"{spent.cpu / arx:.2f}×")
