"""What a level shows, told so that a later run can compare: numbers of levels mean nothing once a hierarchy changes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.hierarchy import Hierarchy
from duckanon.policy.hierarchy import NESTS_IN
from duckanon.query.expressions import column, sql
from duckanon.query.functions import digest

Rule = dict[str, Any]  # plain JSON
RAW: Rule = {"raw": True}
TOP: Rule = {"top": True}


def level_rule(hierarchy: Hierarchy, level: int, workbench: Workbench) -> Rule:
    """By what a computed level is computed; of a listed one, a digest of which value has which label."""
    if level == hierarchy.height:
        return TOP
    if level == 0:
        # What the list does not know was shown as the top: with other values on it, others would be shown as they are.
        return RAW | ({"known": _digest(hierarchy, 0, workbench)} if hierarchy.starred and hierarchy.listing else {})
    if hierarchy.kind is not None:
        return hierarchy.kind.rule(level)
    return {"listed": _digest(hierarchy, level, workbench)}


def _digest(hierarchy: Hierarchy, level: int, workbench: Workbench) -> str:
    assert hierarchy.listing is not None
    value, label = column("level_0"), column(f"level_{level}")
    pairs = digest(sql(":value || CHR(31) || :label", value=value, label=label))
    ((rows, number),) = workbench.fetch(exp.select("COUNT(*)", pairs).from_(hierarchy.listing))
    return f"{rows}:{number}"


def level_that_shows(rule: Rule, hierarchy: Hierarchy, workbench: Workbench) -> int | None:
    """The level with exactly this rule, of several one that the policy allows; None: there is none any more."""
    levels = sorted(range(hierarchy.height + 1), key=lambda level: level not in hierarchy.allowed)
    return next((level for level in levels if level_rule(hierarchy, level, workbench) == rule), None)


def lowest_level_nowhere_finer(rule: Rule, hierarchy: Hierarchy, workbench: Workbench) -> int | None:
    """The lowest level that shows no more than this rule; None: only the removal of the column would."""
    levels = range(hierarchy.height + (rule == TOP))
    return next((at for at in levels if _nowhere_finer(level_rule(hierarchy, at, workbench), rule)), None)


def _nowhere_finer(rule: Rule, last: Rule) -> bool:
    """Whether every label of `rule` is made of whole labels of `last`; False also where nobody can tell."""
    if rule == last or last == RAW:
        return True
    if rule.keys() != last.keys():
        return False
    if "intervals" in rule and rule["of"] == last["of"]:
        width, origin = (Decimal(rule[part]) for part in ("intervals", "origin"))
        last_width, last_origin = (Decimal(last[part]) for part in ("intervals", "origin"))
        return width % last_width == 0 and (origin - last_origin) % last_width == 0
    if "cuts" in rule:
        return rule["of"] == last["of"] and set(rule["cuts"]) <= set(last["cuts"])
    if "prefix" in rule:
        return bool(rule["prefix"] <= last["prefix"])
    if "mask" in rule:
        return bool(rule["mask"] <= last["mask"])
    return "dates" in rule and rule["dates"] in NESTS_IN[last["dates"]]
