"""The releases of a ledger: which one a report is of, which came before, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from duckanon.errors import Fault, UsageError
from duckanon.ledger import ReleaseAddress
from duckanon.ledger.history import release_target
from duckanon.pages.report import Change, PastRelease
from duckanon.policy import Policy

Run = dict[str, Any]  # as `duckanon history` tells it

RELEASED = "released"


def chosen(runs: Sequence[Run], wanted: str | None, policy: Policy, address: ReleaseAddress) -> Run | None:
    """The run of this id, or of an id that begins so; none named: the last release in the policy's place."""
    if wanted is None:
        return next((run for run in runs if run["outcome"] == RELEASED and is_at(run, address)), None)
    found = [run for run in runs if run["id"] == wanted] or [run for run in runs if run["id"].startswith(wanted)]
    where, remedy = f"--run {wanted}", "`duckanon history POLICY --json` names the runs"
    if len(found) != 1 or not wanted:
        what = f"names {len(found)} runs of {policy.name}" if found else f"is no run of {policy.name} in its ledger"
        raise UsageError([Fault(where, what, remedy)])
    if found[0]["outcome"] != RELEASED:
        raise UsageError([Fault(where, f"released nothing: its outcome was {found[0]['outcome']}", remedy)])
    return found[0]


def is_at(run: Run, address: ReleaseAddress) -> bool:
    """Whether its release went to this place."""
    same = (run["target_kind"], run["target_place"]) == (address.kind, address.to)
    return same and (not address.in_warehouse or run["warehouse"] == address.warehouse)


def past_releases(runs: Sequence[Run], run: Run | None) -> tuple[PastRelease, ...]:
    """All releases of the policy, the oldest first."""
    this = run["id"] if run else None
    return tuple(_past(part, part["id"] == this) for part in reversed(runs) if part["outcome"] == RELEASED)


def _past(run: Run, is_this: bool) -> PastRelease:
    return PastRelease(
        run["id"],
        run["finished_at"],
        _k(run),
        run["rows_released"],
        run["rows_suppressed"],
        run["ncp"],
        release_target(run["target_kind"], run["target_place"]),
        is_this,
    )


def _k(run: Run) -> float | None:
    return next((c["measured"] for c in run["constraints"] if c["name"] == "k"), None)


def before(runs: Sequence[Run], run: Run | None) -> Run | None:
    """The release before this one in the same place; runs are the newest first."""
    if run is None:
        return None
    older = runs[[part["id"] for part in runs].index(run["id"]) + 1 :]
    place = ("target_kind", "target_place", "warehouse")
    same = (part for part in older if part["outcome"] == RELEASED and all(part[key] == run[key] for key in place))
    return next(same, None)


_FIGURES = {
    "rows of the source": "rows_source",
    "rows released": "rows_released",
    "rows suppressed": "rows_suppressed",
    "classes": "classes",
    "NCP": "ncp",
    "method": "method",
    "version of duckanon": "version",
}


def changes(then: Run, now: Run) -> Iterator[Change]:
    """What is not as it was; rows, k and NCP in any case."""
    yield Change("k measured", _k(then), _k(now))
    for what, key in _FIGURES.items():
        if then[key] != now[key] or key in ("rows_source", "rows_released", "rows_suppressed", "ncp"):
            yield Change(what, then[key], now[key])
    for what, key in (("policy", "policy_hash"), ("hierarchies", "hierarchy_hash"), ("source", "source_fingerprint")):
        if then[key] != now[key]:
            yield Change(what, None, "changed")
    levels, last = now["levels"] or {}, then["levels"] or {}
    for name in dict.fromkeys([*last, *levels]):
        if last.get(name) != levels.get(name):
            yield Change(f"level of {name}", last.get(name), levels.get(name))
    yield from _thresholds(then, now)


def _thresholds(then: Run, now: Run) -> Iterator[Change]:
    asked, last = ({_named(c): c["threshold"] for c in run["constraints"]} for run in (now, then))
    for name in dict.fromkeys([*last, *asked]):
        if last.get(name) != asked.get(name):
            yield Change(f"threshold of {name}", last.get(name), asked.get(name))


def _named(constraint: Run) -> str:
    value = constraint["value"]
    parts = [constraint["name"], constraint["column_name"], f"'{value}'" if value is not None else None]
    return " ".join(part for part in parts if part)
