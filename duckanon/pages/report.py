"""What a report says of one release: plain facts, whatever page they are shown on.

No value of a row is among them: only counts, labels that are released, and what the policy itself names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Role:
    """What the policy makes of a column."""

    column: str
    role: str
    note: str = ""


@dataclass(frozen=True)
class Threshold:
    """A constraint of the policy, with what was measured. `margin`: how far it is from breaking."""

    name: str
    column: str | None
    value: str | None
    sign: str  # ≥ | ≤ | <; empty: which way it bounds is not known any more
    threshold: float | None
    measured: float | None
    margin: float | None
    holds: bool


@dataclass(frozen=True)
class Risk:
    """How likely somebody of the table is found who is known to be in it."""

    smallest: int | None = None
    highest: float | None = None
    average: float | None = None
    unique: int | None = None  # classes of one


@dataclass(frozen=True)
class Seeker:
    """What somebody may hope for who looks for people of the release: the risk of its rows."""

    name: str
    knows: str
    highest: float | None
    average: float | None
    at_risk: float | None  # share of the rows above the threshold


@dataclass(frozen=True)
class SizeRange:
    """Sizes of a class that are about the same."""

    least: int
    most: int | None  # None: and larger

    @property
    def name(self) -> str:
        if self.most is None:
            return f"≥ {self.least:,}"
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}–{self.most:,}"


@dataclass(frozen=True)
class Bin(SizeRange):
    """Classes of about the same size: the share of the rows (or people) in them, and how many classes they are."""

    before: float | None
    after: float | None
    classes_before: int | None
    classes_after: int | None


@dataclass(frozen=True)
class AtRisk:
    """The share of the rows (or people) that are found with a likelihood of at least `risk`."""

    risk: float
    before: float | None
    after: float | None


@dataclass(frozen=True)
class ColumnLoss:
    """What became of a quasi-identifier. `figures`: those of `utility.columns`."""

    name: str
    level: int | None
    height: int | None
    says: str  # what the level does, in words
    figures: Mapping[str, Any]
    labels: tuple[tuple[str | None, int], ...]


@dataclass(frozen=True)
class Change:
    """A figure at the release before and at this one."""

    what: str
    before: Any
    after: Any


@dataclass(frozen=True)
class PastRelease:
    """A release of the ledger."""

    id: str
    time: datetime
    k: float | None
    rows: int | None
    suppressed: int | None
    ncp: float | None
    place: str
    is_this: bool


@dataclass(frozen=True)
class Report:
    """All that a page shows. What is empty or None is not known, and `unknown` says why."""

    name: str
    source: str
    database: str | None
    kind: str
    place: str
    method: str
    version: str
    policy_hash: str
    policy_text: str
    k: int | None  # what the policy asks for
    counted: str  # rows | people
    rows: Mapping[str, int | None]  # source, released, suppressed
    people: Mapping[str, int | None] | None
    classes: int | None
    budget: int | None
    run: str | None = None  # its id in the ledger
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    incremental: str | None = None
    profile: Mapping[str, Any] | None = None
    roles: tuple[Role, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    before: Risk | None = None
    after: Risk = Risk()
    bins: tuple[Bin, ...] = ()
    at_risk: tuple[AtRisk, ...] = ()
    seekers: tuple[Seeker, ...] = ()
    risk_threshold: float | None = None
    uniques: Mapping[str, Any] | None = None  # estimated, of the population
    sensitive: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    linkable: Mapping[str, Any] | None = None
    utility: Mapping[str, Any] = field(default_factory=dict)  # ncp, precision, discernibility
    columns: tuple[ColumnLoss, ...] = ()
    numbers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    associations: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    previous: PastRelease | None = None
    releases: tuple[PastRelease, ...] = ()  # the oldest first
    unprotected: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(threshold.holds for threshold in self.thresholds)

    @property
    def suppressed_share(self) -> float | None:
        suppressed, source = self.rows.get("suppressed"), self.rows.get("source")
        return suppressed / source if source and suppressed is not None else None

    @property
    def pictured(self) -> bool:
        """Whether class sizes are known, before or after."""
        return bool(self.bins)
