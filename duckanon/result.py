"""What a run or a check has to say, and its JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from duckanon.errors import InfeasibleError, Message
from duckanon.hierarchy import Hierarchy, named_levels
from duckanon.models import Finding
from duckanon.search import Step


@dataclass(frozen=True)
class Result:
    """The outcome: `status` is released, unchanged, holds, violated or infeasible."""

    status: str
    name: str
    method: str
    levels: dict[str, int] | None
    heights: dict[str, int]
    rows: dict[str, int]
    classes: int
    constraints: tuple[Finding, ...]
    privacy: dict[str, Any] | None
    utility: dict[str, Any] | None
    path: tuple[dict[str, Any], ...] | None = None
    release: dict[str, str] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()  # why there is no release
    warnings: tuple[str, ...] = ()
    before: dict[str, Any] | None = None  # risk of the source as it is
    descriptions: dict[str, str] = field(default_factory=dict)  # what each level does, in words
    dry_run: bool = False
    failed_at: str = ""  # where the constraints were measured, if not in the release
    classes_by_levels: list[dict[str, Any]] | None = None  # of local recoding: the combinations of levels in use
    effort: dict[str, Any] | None = None  # of a search of the whole lattice: nodes there were, measured, pruned
    proven: bool = True  # of an infeasible policy: that there is no release, and not only none was found
    people: dict[str, int | None] | None = None  # where people are counted
    budget: int | None = None  # of a run, or of a node: how many rows may be suppressed
    since: str | None = None  # of an unchanged release: when it was made
    run: dict[str, str] = field(default_factory=dict)  # of a run: policy_hash, version, started
    profile: dict[str, Any] | None = None  # what the profile of the policy asks for, and how that is met
    sizes: tuple[tuple[int, int], ...] = ()  # of a class, in what is counted, and how many have it

    @property
    def good(self) -> bool:
        return self.status in ("released", "unchanged", "holds")

    def or_raise(self) -> Result:
        """The result itself if it is good; else an InfeasibleError that says why."""
        if self.good:
            return self
        broken = [f"{f.constraint.name} {f.measured}" for f in self.constraints if not f.holds]
        why = self.reasons or [f"does not hold: {', '.join(broken)}"]
        raise InfeasibleError(Message.joined("; ", [f"{self.name}: {self.status}", *why]), self)

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "status": self.status,
            "name": self.name,
            "method": self.method,
            "levels": self.levels,
            "heights": self.heights,
            "rows": self.rows,
            "classes": self.classes,
            "constraints": [finding_json(finding) for finding in self.constraints],
            "privacy": self.privacy,
            "utility": self.utility,
        }
        if self.profile is not None:
            document["profile"] = self.profile
        if self.people is not None:
            document["people"] = self.people
        if self.classes_by_levels is not None:
            document["classes_by_levels"] = self.classes_by_levels
        if self.path is not None:
            document |= {
                "path": list(self.path),
                "release": self.release,
                "dry_run": self.dry_run,
                "before": self.before,
            }
        if self.budget is not None:
            document["budget"] = self.budget
        document |= self.run
        if self.since is not None:
            document["since"] = self.since
        if self.effort is not None:
            document["search"] = self.effort
        document |= {"seconds": self.seconds, "warnings": list(self.warnings)}
        if self.reasons:
            document["reasons"] = list(self.reasons)
        cleaned: dict[str, Any] = plain_figures(document)
        return cleaned


def finding_json(finding: Finding) -> dict[str, Any]:
    constraint = finding.constraint
    return {
        "name": constraint.name,
        "column": constraint.column,
        "value": constraint.value,
        "threshold": constraint.threshold,
        "measured": finding.measured,
        "holds": finding.holds,
    }


def step_json(hierarchies: tuple[Hierarchy, ...], step: Step) -> dict[str, Any]:
    return {
        "levels": named_levels(hierarchies, step.node),
        "failing_rows": step.failing_rows,
        "holds": step.holds,
    }


def plain_figures(value: Any) -> Any:
    """JSON has no infinity: a figure that is none becomes null. Twelve digits: the last ones depend on the threads."""
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain_figures(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_figures(item) for item in value]
    return value
