"""Gathers what a report says: of a run that has just ended, or of a release that the ledger knows or that stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from duckanon.audit.check import check
from duckanon.audit.node import check_node
from duckanon.engine import Warehouse
from duckanon.errors import DuckanonError, ReleaseError, discreet
from duckanon.ledger import ReleaseAddress
from duckanon.ledger.history import history_of
from duckanon.pages.looking import Look, look_at
from duckanon.pages.past import Run, before, changes, chosen, is_at, past_releases
from duckanon.pages.protection import roles, source_of, unprotected
from duckanon.pages.report import ColumnLoss, Report, Risk, Threshold
from duckanon.pages.sizes import at_risk, bins, risk_of, seekers_of
from duckanon.pages.thresholds import constraints_of, threshold_of
from duckanon.policy import Policy
from duckanon.policy.database import shown_database
from duckanon.policy.profiles import profile_told
from duckanon.release.existing import exists, is_ours
from duckanon.release.standing import made_of_this_source, standing_fingerprint
from duckanon.result import Result, finding_json, plain_figures

_AGAIN = "a report that is made with the release, by `duckanon run --report`, has it"


@dataclass(frozen=True)
class Material:
    """What there is to make a report of."""

    policy: Policy | None  # as it was run; None: this version cannot read it
    warehouse: Warehouse
    run: Run | None  # of the ledger
    runs: list[Run]  # of the policy, the newest first
    result: Result | None = None
    look: Look = field(default_factory=Look)
    unknown: tuple[str, ...] = ()


def report_of_run(policy: Policy, warehouse: Warehouse, result: Result) -> Report:
    """The report of a release that has just been made."""
    runs = history_of(policy, warehouse)
    run = chosen(runs, None, policy, ReleaseAddress.of(policy, warehouse.database))
    if policy.release.is_address:
        look, unknown = Look(), ["Its labels: a folder of the cluster's is not read back."]
    else:
        look, unknown = look_at(policy, warehouse, source_is_same=True), []
    look = replace(look, after=result.sizes or look.after)
    return gathered(Material(policy, warehouse, run, runs, result, look, tuple(unknown)))


def report_of_release(policy: Policy, warehouse: Warehouse, wanted: str | None = None) -> Report:
    """The report of the release that stands, or of the one of a run of the ledger."""
    runs = history_of(policy, warehouse)
    address = ReleaseAddress.of(policy, warehouse.database)
    run = chosen(runs, wanted, policy, address)
    if run is None:
        return gathered(_without_ledger(policy, warehouse, runs))
    then = _policy_of(run, policy)
    known = Material(then, warehouse, run, runs)
    if then is None:
        return gathered(replace(known, unknown=("Roles and labels: this version cannot read the policy of that run.",)))
    standing = standing_fingerprint(then, warehouse) if is_at(run, address) else None
    if standing is None or standing != run["release_fingerprint"]:
        why = "this release is not what stands in its place now, and the ledger keeps figures only"
        return gathered(replace(known, unknown=(f"Class sizes, labels and the loss of each column: {why}.",)))
    return gathered(_looked_at(known, then))


def _without_ledger(policy: Policy, warehouse: Warehouse, runs: list[Run]) -> Material:
    """No run of a ledger has made it: what stands is all there is."""
    place = f"{policy.release.kind} {policy.release.to}"
    if policy.release.is_address or not exists(policy, warehouse):
        what = f"there is nothing to report: no ledger knows a release of {policy.name} to {place}"
        raise ReleaseError(f"{what}, and none can be read there; run the policy first")
    if not is_ours(policy, warehouse):
        raise ReleaseError(f"release.to: {place} was not made by the policy {policy.name}, and no ledger knows of it")
    why = f"no ledger knows of this release; its figures are those of now, against the source as it is now; {_AGAIN}"
    result, look = check(policy, warehouse, release=True), look_at(policy, warehouse, source_is_same=True)
    unknown = (f"When and by which run it was made, and which columns still go together: {why}.",)
    return Material(policy, warehouse, None, runs, result, replace(look, after=result.sizes), unknown)


def _looked_at(known: Material, policy: Policy) -> Material:
    """The release stands: what the ledger does not keep is measured again, as far as the source is what it was."""
    assert known.run is not None
    warehouse, levels = known.warehouse, known.run["levels"]
    if not made_of_this_source(policy, warehouse, known.run["source_fingerprint"], known.run["hierarchy_hash"]):
        why = f"the source or a hierarchy has changed since, so it cannot be measured again; {_AGAIN}"
        look = look_at(policy, warehouse, source_is_same=False)
        return replace(known, look=look, unknown=(f"The risk before, and the loss of each column: {why}.",))
    incremental = known.run["message"] is not None
    if levels and not incremental:
        result, unknown = check_node(policy, warehouse, levels), []
    else:
        result = check(policy, warehouse, release=True)
        unknown = [f"Which columns still go together, and how far numbers have moved: {_AGAIN}."]
    look = replace(look_at(policy, warehouse, source_is_same=True), after=result.sizes)
    return replace(known, result=result, look=look, unknown=tuple(unknown))


def _policy_of(run: Run, policy: Policy) -> Policy | None:
    """The policy as that run was asked; its file may say something else by now."""
    if run["policy_hash"] == policy.hash:
        return policy
    with suppress(DuckanonError):
        if run["policy_text"]:
            then = Policy.parse(run["policy_text"], policy.folder)
            return then if then.hash == run["policy_hash"] else None
    return None


# -- the report -----------------------------------------------------------------------------------


def gathered(known: Material) -> Report:
    """What is known of the run itself comes from the ledger, or from its result; the rest from what was looked at."""
    policy, run, result, look = known.policy, known.run, known.result, known.look
    privacy: Mapping[str, Any] = (result.privacy if result else None) or {}
    utility: Mapping[str, Any] = plain_figures((result.utility if result else None) or {})
    rows = _rows(run, result)
    last = before(known.runs, run)
    past = past_releases(known.runs, run)
    k = policy.k if policy else None
    return Report(
        **_identity(known),
        k=k,
        counted="people" if policy and policy.entity else "rows",
        rows=rows,
        people=result.people if result else None,
        classes=run["classes"] if run else result.classes if result else None,
        budget=policy.budget(rows["source"]) if policy and rows["source"] is not None else None,
        profile=profile_told(policy) if policy else None,
        roles=roles(policy) if policy else (),
        thresholds=tuple(_thresholds(known)),
        before=risk_of(look.before) if look.before else None,
        after=_risk_after(known, privacy),
        bins=bins(look.before, look.after, k),
        at_risk=at_risk(look.before, look.after),
        **_seekers(plain_figures(privacy.get("risk"))),
        sensitive=plain_figures(privacy.get("sensitive", {})),
        linkable=privacy.get("linkable"),
        utility=_lost(run, utility),
        columns=tuple(_columns(known, utility)),
        numbers=utility.get("numbers", {}),
        associations=tuple(utility.get("associations", ())),
        warnings=tuple(_warnings(run, result)),
        changes=tuple(changes(last, run)) if last and run else (),
        previous=next((part for part in past if last and part.id == last["id"]), None),
        releases=past,
        unprotected=tuple(unprotected(policy, privacy.get("linkable"))) if policy else (),
        unknown=known.unknown,
    )


def _seekers(risk: Mapping[str, Any] | None) -> dict[str, Any]:
    """Who looks for people, with what each may hope for."""
    if risk is None:
        return {}
    told = {"seekers": seekers_of(risk), "risk_threshold": risk["threshold"]}
    return told | {"uniques": risk.get("population_uniques")}


def _identity(known: Material) -> dict[str, Any]:
    """Which release it is. Places are told as the policy tells them: a page that is handed over needs no paths."""
    policy, run, result = known.policy, known.run, known.result
    told: dict[str, Any] = {"database": _database(known.warehouse)}
    if policy is not None:
        release = policy.release
        told |= {"name": policy.name, "source": source_of(policy), "kind": release.kind, "place": release.to}
        told |= {"method": policy.search.method, "policy_hash": policy.hash, "policy_text": policy.text}
    elif run is not None:
        told |= {"name": run["policy"], "source": "not known", "kind": run["target_kind"], "place": run["target_place"]}
        told |= {"method": run["method"], "policy_hash": run["policy_hash"], "policy_text": run["policy_text"] or ""}
    if run is None:
        made = result.run if result else {}
        return told | {"version": made.get("version", "not known"), "started": made.get("started")}
    moments = {"started": run["started_at"], "finished": run["finished_at"]}
    told |= {name: f"{moment:%Y-%m-%d %H:%M:%S} UTC" for name, moment in moments.items() if moment}
    return told | {
        "version": run["version"],
        "run": run["id"],
        "seconds": run["seconds"],
        "incremental": run["message"],
    }


def _database(warehouse: Warehouse) -> str | None:
    if warehouse.database is None:
        return None
    return shown_database(warehouse.database).rpartition("/")[2] if warehouse.is_workbench else warehouse.location


def _rows(run: Run | None, result: Result | None) -> dict[str, int | None]:
    if run is not None:
        return {part: run[f"rows_{part}"] for part in ("source", "released", "suppressed")}
    return dict(result.rows) if result else {}


def _risk_after(known: Material, privacy: Mapping[str, Any]) -> Risk:
    if known.look.after:
        return risk_of(known.look.after)
    if privacy:
        return Risk(privacy["k"], privacy["highest_risk"], privacy["average_risk"], privacy["unique_rows"])
    k = next((c["measured"] for c in known.run["constraints"] if c["name"] == "k"), None) if known.run else None
    classes, rows = (known.run["classes"], known.run["rows_released"]) if known.run else (None, None)
    people = known.policy is None or known.policy.entity is not None
    average = classes / rows if classes and rows and not people else None
    return Risk(int(k), 1 / k, average, None) if k else Risk()


def _lost(run: Run | None, utility: Mapping[str, Any]) -> dict[str, Any]:
    names = ("ncp", "precision", "discernibility")
    return {name: run[name] if run else utility.get(name) for name in names}


def _thresholds(known: Material) -> Iterator[Threshold]:
    """As the run has measured them; the policy knows which way each bounds."""
    bounds = {(c.name, c.column, c.value): c for c in constraints_of(known.policy)} if known.policy else {}
    for told in _measured(known):
        constraint = bounds.get((told["name"], told["column"], told["value"]))
        yield threshold_of(told, constraint)


def _measured(known: Material) -> Iterable[dict[str, Any]]:
    if known.run is not None:
        return [c | {"column": c["column_name"]} for c in known.run["constraints"]]
    return [plain_figures(finding_json(f)) for f in known.result.constraints] if known.result else []


def _columns(known: Material, utility: Mapping[str, Any]) -> Iterator[ColumnLoss]:
    """Every quasi-identifier, with as much as is known of it. In words of the ledger: an example there may be of a row
    that is not released."""
    run, result = known.run, known.result
    levels = (run["levels"] if run else result.levels if result else None) or {}
    shows = (run["shows"] if run else None) or {}
    heights = result.heights if result else {}
    names = [q.column for q in known.policy.quasi_identifiers] if known.policy else list(levels)
    spelled = {name.casefold(): name for name in (*heights, *levels)}
    for name in (spelled.get(name.casefold(), name) for name in names):
        says = shows[name]["says"] if name in shows else "" if levels else "every class at its own level"
        figures = utility.get("columns", {}).get(name, {})
        yield ColumnLoss(name, levels.get(name), heights.get(name), says, figures, known.look.labels.get(name, ()))


def _warnings(run: Run | None, result: Result | None) -> list[str]:
    """Those of the run; none of them shows a value."""
    if run is not None:
        return list(run["warnings"] or [])
    return [discreet(warning) for warning in result.warnings] if result else []
