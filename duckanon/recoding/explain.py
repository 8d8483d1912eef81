"""Why there is no release, and what else a person should be told of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from duckanon.census.counting import Census
from duckanon.policy import Policy
from duckanon.recoding import Found
from duckanon.search.batch import NodeCounts
from duckanon.search.lattice import Node
from duckanon.search.problem import Problem

GENERALIZED = "with everything generalized"
# A budget of so few rows, in a table of so many, may be meant as a percentage.
_PERCENT, _MANY_ROWS = 20, 1_000


def _generalized(census: Census) -> str:
    """How the top of the lattice is called: where the policy ends it earlier, by what it does."""
    capped = [f"{h.column.name} {h.highest}" for h in census.hierarchies if h.highest < h.height]
    return f"{GENERALIZED} as far as at_most allows ({', '.join(capped)})" if capped else GENERALIZED


def why_none(found: Found, problem: Problem, last: Node | None) -> tuple[tuple[str, ...], str]:
    """Why nothing was found, and of which levels that is said; `last`: the node that the search was bound by."""
    fixed = last is not None and problem.policy.release.mode == "fixed"
    where = "at the levels of the last release" if fixed else _generalized(problem.census)
    return found.reasons or tuple(_why(found, problem, where)), where


def _why(found: Found, problem: Problem, where: str) -> Iterator[str]:
    """Which constraints fail at the top of the lattice (or at the only node allowed), and by how much; or that nothing
    is proven."""
    if not found.proven:
        yield _not_found(found, problem.policy.search.method)
    elif found.effort is not None and not found.top_is_best:
        yield f"none of the {found.effort['nodes']:,} nodes holds"
    at_top = where == _generalized(problem.census)
    top, best = found.top, "at best" if at_top and found.top_is_best else where
    assert top is not None
    for finding in top.findings:
        constraint = finding.constraint
        if not finding.holds:
            of = f" of {constraint.column}" if constraint.column else ""
            value = f" '{constraint.value}'" if constraint.value else ""
            measured = "no figure" if finding.measured is None else f"{finding.measured:.6g}"
            yield f"{constraint.name}{of}{value}: {measured} {best}, the policy asks for {constraint.threshold:g}"
    if top.failing_rows:
        yield f"{where} {top.failing_rows} rows fail, the budget is {problem.budget}"


def _not_found(found: Found, method: str) -> str:
    """Of a search that was cut short, or cannot see all there is."""
    if found.effort is None:
        return f'{method} found none; method = "optimal" may find one'
    measured = f"{found.effort['measured']:,}"
    if method == "optimal":
        return f"none of the {measured} nodes measured within the limits of the search holds"
    looked = f"{measured} of {found.effort['nodes']:,} nodes were looked at"
    return f'the walk found none; {looked}; method = "optimal" may find one'


def hollow(levels: dict[str, int] | None, census: Census) -> tuple[str, ...]:
    """A word on a release in which every quasi-identifier is gone."""
    if levels is None or any(level < h.height for h, level in zip(census.hierarchies, levels.values(), strict=True)):
        return ()
    remedy = 'try method = "optimal", a larger suppression budget or finer hierarchies'
    return (f"every quasi-identifier is removed; {remedy}",)


def meant_as_a_share(policy: Policy, rows: int) -> tuple[str, ...]:
    """A word on a budget that looks like a percentage, and is a number of rows."""
    budget = policy.suppression
    if not isinstance(budget, int) or not 0 < budget <= _PERCENT or rows < _MANY_ROWS:
        return ()
    allowed = "1 row" if budget == 1 else f"{budget} rows"
    return (f"privacy.suppression = {budget} allows {allowed} of {rows:,}; {budget} % would be {budget / 100:g}",)


def risk_before(bottom: NodeCounts) -> dict[str, Any]:
    """The risk of the source as it is."""
    return {
        "k": bottom.smallest,
        "classes": bottom.classes,
        "highest_risk": 1 / bottom.smallest,
        "average_risk": bottom.classes / bottom.members,
        "failing_rows": bottom.failing_rows,
    }
