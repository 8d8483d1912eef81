"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckanon.audit import Audit, AuditedColumn, People, Rows, audit
from duckanon.audit.linkable import linkable
from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym
from duckanon.engine import Relation
from duckanon.engine.scratch import Scratch
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, table
from duckanon.query.steps import with_steps
from duckanon.recoding.rows import copy_steps


def audit_release(policy: Policy, released: Relation, census: Census, people: People | None, scratch: Scratch) -> Audit:
    """Measure the released relation against the policy; t against the source's distribution. And whom it shows by what
    it does not generalize."""
    if policy.release.kind == "view":
        # Each question would judge all classes of the source anew.
        shown = scratch.table("shown_rows", exp.select("*").from_(released.table), "verify: what the view shows")
        released = Relation((shown.name,), "table")
    audited = []
    for values in census.sensitive:
        counts = exp.select("value", sql("rows").as_("n")).from_(values.table)
        value = column("value").as_(values.column.name, quoted=True)
        distribution = with_steps(exp.select(value).from_(table("copies")), counts=counts, **copy_steps("counts"))
        view = scratch.view(f"reference_{values.index}", distribution, "what t is measured against")
        audited.append(AuditedColumn(values.wanted, values.column.name, values.numeric, Relation((view.name,), "view")))
    qi = [h.column.name for h in census.hierarchies]
    rows = Rows(released, qi, scratch)
    kept = [c.name for c in census.keep if not isinstance(c, Pseudonym)]
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    return replace(audit(policy.k, rows, audited, people), linkable=linkable(rows, kept, numbers, policy.k))
