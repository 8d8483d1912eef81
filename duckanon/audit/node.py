"""A node of the lattice, measured as a run would release it. Nothing is written."""

from __future__ import annotations

import secrets
import time

from duckanon.audit import Audit
from duckanon.audit.people import people_of_release
from duckanon.audit.release import audit_release
from duckanon.audit.shown import count_rows
from duckanon.census.counting import take_census
from duckanon.census.people import people_told
from duckanon.census.source import BoundSource, bind_source
from duckanon.engine import Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.models import Finding
from duckanon.policy import Policy
from duckanon.policy.profiles import profile_told
from duckanon.recoding.explain import hollow
from duckanon.recoding.full_domain import FullDomain, at_node
from duckanon.recoding.rows import AS_THEY_ARE
from duckanon.result import Result
from duckanon.search.given import Levels, given_node
from duckanon.search.measure import Measurement, Measurer
from duckanon.search.problem import Problem


def check_node(policy: Policy, warehouse: Warehouse, levels: Levels) -> Result:
    """What a release at these levels would be: its figures are those of a run that comes to them. Of a node that breaks
    the budget the constraints are measured over all classes, so that they tell what breaks it."""
    scratch = Scratch(warehouse.workbench)
    start = time.perf_counter()
    try:
        key = secrets.token_bytes(32) if policy.pseudonyms else None  # nobody will see what it makes
        source = bind_source(policy, warehouse, scratch, key)
        census = take_census(policy, source, scratch)
        node = given_node(levels, census)
        problem = Problem.of(policy, census)
        recoding = at_node(Measurer(problem), node)
        audited = audited_rows(recoding, source)
        utility, described = recoding.utility() | recoding.fidelity(), recoding.described()
    finally:
        scratch.clear()
    suppressed = census.rows - audited.rows
    within = suppressed <= problem.allowed
    reasons = () if within else (f"{suppressed:,} rows fail, the budget is {problem.allowed:,}",)
    linked = audited.linkable.warnings(policy.k, census.telling) if audited.linkable else ()
    return Result(
        status="holds" if within and audited.holds else "violated",
        name=policy.name,
        method=policy.search.method,
        levels=recoding.levels,
        heights={h.column.name: h.height for h in census.hierarchies},
        rows={"source": census.rows, "released": audited.rows, "suppressed": suppressed},
        people=people_told(census.people, audited.people),
        budget=problem.allowed,
        classes=audited.classes,
        constraints=told_findings(audited, recoding.measured, within),
        privacy=audited.told,
        utility=utility,
        reasons=reasons,
        failed_at="" if within else "with nothing suppressed",
        descriptions=described,
        seconds={"check": round(time.perf_counter() - start, 4)},
        warnings=(*census.warnings, *hollow(recoding.levels, census), *linked),
        profile=profile_told(policy),
        sizes=audited.sizes,
    )


def audited_rows(recoding: FullDomain, source: BoundSource) -> Audit:
    """The released rows, asked on the workbench whatever warehouse they are of, as those of a dry run are."""
    policy, census = recoding.measurer.policy, recoding.measurer.census
    scratch = census.scratch
    shown = scratch.table("node_rows", recoding.query(source, AS_THEY_ARE), "the rows of the node")
    released = Relation((shown.name,), "table")
    counted = count_rows(released, census, scratch)
    people = people_of_release(recoding, source, counted.counts, scratch)
    return audit_release(policy, counted, census, people, recoding.node)


def told_findings(audited: Audit, measured: Measurement, within: bool) -> tuple[Finding, ...]:
    """The findings; beyond the budget, of every class where a constraint is on classes."""
    worst = {} if within else {finding.constraint: finding for finding in measured.class_findings}
    return tuple(worst.get(finding.constraint, finding) for finding in audited.findings)
