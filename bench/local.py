"""Local recoding by climbing: what it loses beside ARX's best, and CPU seconds of the whole command."""

from __future__ import annotations

import json

from bench.figures import Figure, Setting, heading, line, table
from bench.people import Data, adult, donors
from bench.policies import Wanted, policy
from bench.stopwatch import Spent, fastest

# The least NCP that ARX's local recoding reached on Adult with k alone and nothing suppressed, by k.
ARX = {2: 0.01275, 5: 0.03084, 10: 0.04695}
RULES = {"entropy l = 3": "entropy_l = 3", "t = 0.3": "t = 0.3"}


def against_arx(setting: Setting) -> list[Figure]:
    people, sparse = adult(setting.adult, setting.folder), donors(setting.folder)
    heading("Climb, nothing suppressed: NCP, and CPU seconds of `duckanon run --dry-run`")
    table("data", "policy", "NCP", "ARX", "CPU")
    figures = []
    for k, arx in ARX.items():
        figures += _climbed(people, f"k = {k}", _wanted(k), setting, arx if setting.adult else None)
    for k in ARX:
        figures += _climbed(sparse, f"k = {k}", _wanted(k), setting)
    for what, rule in RULES.items():
        figures += _climbed(people, f"k = 5, {what}", _wanted(5, rule), setting)
    return figures


def _wanted(k: int, rules: str = "") -> Wanted:
    return Wanted("climb", k=k, suppression=0, kind="csv", rules=rules)


def _climbed(data: Data, what: str, wanted: Wanted, setting: Setting, arx: float | None = None) -> list[Figure]:
    spent = fastest(setting.times, "duckanon", "run", str(policy(data, setting.folder, wanted)), "--dry-run", "--json")
    loss = _loss(spent)
    line(data.name, what, f"{loss:.4f}", "–" if arx is None else f"{arx:.4f}", f"{spent.cpu:.2f} s")
    named = f"climb, {data.name}, {what}"
    if arx is None:
        return [Figure(named, f"NCP {loss:.4f}, {spent.cpu:.2f} s of CPU")]
    return [Figure(named, f"NCP {loss:.4f} / {arx:.4f}, {spent.cpu:.2f} s of CPU", "≤ 1×", f"{loss / arx:.3f}×")]


def _loss(spent: Spent) -> float:
    told = json.loads(spent.output.splitlines()[-1])
    return float(told["utility"]["ncp"])
