"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter

from sqlglot import exp

from duckanon.audit import Audit, AuditedColumn, People, Rows, audit
from duckanon.audit.linkable import linkable
from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.values import ValueTable
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.policy import Policy
from duckanon.query.steps import select

Reference = Callable[[ValueTable], exp.Table]


def audit_release(
    policy: Policy,
    released: Relation,
    census: Census,
    people: People | None,
    scratch: Scratch,
    reference: Reference = attrgetter("table"),
) -> Audit:
    """Measure the released relation against the policy; t against the source's distribution. And whom it shows by what
    it does not generalize.

    It is asked where it lies, in the engine of the `scratch`. `reference` is where that engine finds the distribution
    of a sensitive column, with its value and rows; the workbench has it.
    """
    if policy.release.kind == "view":
        # Each question would judge all classes of the source anew.
        shown = scratch.table("shown_rows", exp.select("*").from_(released.table), "verify: what the view shows")
        released = Relation((shown.name,), "table")
    audited = []
    for values in census.sensitive:
        counts = select(v="value", n="rows").from_(reference(values))
        audited.append(AuditedColumn(values.wanted, values.column.name, values.numeric, counts))
    qi = [h.column.name for h in census.hierarchies]
    rows = Rows(released, qi, scratch)
    kept = [c.name for c in census.keep if not isinstance(c, Pseudonym)]
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    return replace(audit(policy.k, rows, audited, people), linkable=linkable(rows, kept, numbers, policy.k))
