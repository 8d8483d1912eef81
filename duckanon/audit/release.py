"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sqlglot import exp

from duckanon.audit import Audit, AuditedColumn, People, Rows, audit
from duckanon.audit.linkable import linkable
from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.values import ValueTable
from duckanon.engine import Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER
from duckanon.policy import Policy
from duckanon.query.expressions import column, text_of
from duckanon.query.steps import select


def audit_release(policy: Policy, released: Relation, census: Census, people: People | None, scratch: Scratch) -> Audit:
    """Measure the released relation against the policy; t against the source's distribution. And whom it shows by what
    it does not generalize. It is asked where it lies: in the engine of the `scratch`."""
    if policy.release.kind == "view":
        # Each question would judge all classes of the source anew.
        shown = scratch.table("shown_rows", exp.select("*").from_(released.table), "verify: what the view shows")
        released = Relation((shown.name,), "table")
    qi = [h.column.name for h in census.hierarchies]
    rows = Rows(released, qi, scratch)
    there = (people or rows).scratch
    audited = [
        AuditedColumn(values.wanted, values.column.name, values.numeric, _reference(values, census, there))
        for values in census.sensitive
    ]
    kept = [c.name for c in census.keep if not isinstance(c, Pseudonym)]
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    return replace(audit(policy.k, rows, audited, people), linkable=linkable(rows, kept, numbers, policy.k))


def _reference(values: ValueTable, census: Census, scratch: Scratch) -> exp.Select:
    """The source's distribution of a sensitive column: on the workbench, or sent to the warehouse as texts."""
    if scratch.engine is census.workbench:
        return select(v="value", n="rows").from_(values.table)
    known = select(value=text_of(column("value")), n="CAST(rows AS BIGINT)").from_(values.table)
    note = "what t is measured against"
    sent = scratch.sent(f"reference_{values.index}", known, note, cast(Warehouse, scratch.engine))
    type_ = INTEGER if values.wanted.publish == "level" else values.column.type.released
    return select(v=type_.cast(column("value")), n="n").from_(sent)
