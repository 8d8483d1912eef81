"""What a release at a node would be: the figures of `check --levels`, fast enough to follow a slider."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from duckanon.audit.node import audited_rows, told_findings
from duckanon.census.source import BoundSource
from duckanon.errors import discreet
from duckanon.models import Finding
from duckanon.pages.looking import Sizes
from duckanon.pages.report import Risk, Threshold
from duckanon.pages.sizes import risk_of
from duckanon.pages.thresholds import constraints_of, threshold_of
from duckanon.policy import Policy
from duckanon.query.expressions import column
from duckanon.query.steps import select
from duckanon.recoding.explain import hollow
from duckanon.recoding.full_domain import FullDomain
from duckanon.result import finding_json, plain_figures


@dataclass(frozen=True)
class Figures:
    """Of a node once its failing rows are suppressed; where these are more than the budget, the constraints are
    those of every class, so that they tell what fails."""

    levels: dict[str, int]
    rows: dict[str, int]  # source, released, suppressed
    budget: int
    classes: int
    counted: str  # rows | people
    k: int
    thresholds: tuple[Threshold, ...]
    released: Sizes
    failing: Sizes
    utility: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def within(self) -> bool:
        return self.rows["suppressed"] <= self.budget

    @property
    def holds(self) -> bool:
        return self.within and self.rows["released"] > 0 and all(threshold.holds for threshold in self.thresholds)

    @property
    def risk(self) -> Risk:
        return risk_of(self.released)


def figures_of(recoding: FullDomain, source: BoundSource, warnings: tuple[str, ...] = ()) -> Figures:
    """`recoding`: of classes that are kept; `warnings`: what else is to be said."""
    measurer = recoding.measurer
    policy, census, allowed = measurer.policy, measurer.census, measurer.problem.allowed
    suppressed = census.rows - recoding.rows
    released, failing = _sizes(recoding)
    if recoding.numbers or not recoding.rows:
        # Classes that show the same numbers are one to who reads the release: only its rows can tell. And where there
        # are none, it is for each model to say what that is.
        audited = audited_rows(recoding, source)
        released, findings = audited.sizes, told_findings(audited, recoding.measured, suppressed <= allowed)
    else:
        findings = _findings(recoding, suppressed <= allowed)
    return Figures(
        levels=recoding.levels,
        rows={"source": census.rows, "released": recoding.rows, "suppressed": suppressed},
        budget=allowed,
        classes=recoding.classes,
        counted="rows" if policy.entity is None else "people",
        k=policy.k,
        thresholds=tuple(_thresholds(policy, findings)),
        released=released,
        failing=failing,
        utility=plain_figures(recoding.utility()),
        warnings=tuple(map(discreet, (*warnings, *census.warnings, *hollow(recoding.levels, census)))),
    )


def _findings(recoding: FullDomain, within: bool) -> tuple[Finding, ...]:
    measurer, measured, kept = recoding.measurer, recoding.measured, recoding.kept
    assert kept is not None
    of_classes = measurer.released_findings(measured.node, kept) if within else measured.class_findings
    return (*of_classes, *(measured.table_findings or ()))


def _thresholds(policy: Policy, findings: tuple[Finding, ...]) -> Iterator[Threshold]:
    found = {finding.constraint: finding for finding in findings}
    for constraint in constraints_of(policy):
        finding = found.get(constraint, Finding(constraint, None))
        yield threshold_of(plain_figures(finding_json(finding)), constraint)


def _sizes(recoding: FullDomain) -> tuple[Sizes, Sizes]:
    """Of the classes that are released, and of those that fail."""
    assert recoding.kept is not None
    size = column(recoding.measurer.unit.size)
    query = select(size=size, failing="failing", classes="COUNT(*)").from_(recoding.kept)
    query = query.group_by(size.copy(), column("failing")).order_by("size")
    found = recoding.measurer.census.engine.fetch(query, "how large classes are")
    released, failing = (tuple((int(s), n) for s, fails, n in found if fails is which) for which in (False, True))
    return released, failing
