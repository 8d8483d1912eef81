"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckanon.audit import AskedSizes, Audit, AuditedColumn, DistinctRows, People, audit
from duckanon.audit.covering import covered_by
from duckanon.audit.linkable import linkable
from duckanon.audit.shown import kept_of
from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, Type
from duckanon.models.questions import Sample
from duckanon.models.risk import enough_rows, risk_asked
from duckanon.models.wanted import ancestors
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.steps import select
from duckanon.search.lattice import Node


def audit_release(
    policy: Policy, shown: DistinctRows, census: Census, people: People | None, node: Node | None = None
) -> Audit:
    """Measure a release, as it was counted, against the policy; t against the source's distribution. And whom it shows
    by what it does not generalize. `node`: the levels that all rows share."""
    audited = []
    for values in census.sensitive:
        reference = _reference(values, census, (people or shown).scratch)
        audited.append(AuditedColumn(values.wanted, values.column.name, _type(values), reference))
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    linked = linkable(shown, kept_of(census), numbers, policy.k)
    risk = risk_asked(policy.thresholds)
    covered = covered_by(shown.counts, census, node, enough_rows(risk), shown.scratch)
    everybody = policy.people(census.rows)
    sample = Sample(census.rows, everybody) if everybody is not None else None
    asked = AskedSizes(policy.thresholds, risk, covered, sample)
    return replace(audit(policy.k, shown, audited, people, asked), linkable=linked)


def _reference(values: ValueTable, census: Census, scratch: Scratch) -> exp.Select:
    """The source's distribution of a sensitive column, v and n, where the release is asked: what t is measured against,
    with the nodes above each value where these count.
    To a warehouse afar the values are sent as texts, and are there what the column is."""
    nodes = list(map(column, ancestors(values.wanted)))
    if scratch.engine is census.workbench:
        return select(*nodes, v="value", n="rows").from_(values.table)
    text, n = text_of(column("value")), sql("CAST(rows AS BIGINT)")
    texts = exp.select(text.as_("value"), n.as_("n"), *nodes).from_(values.table)
    sent = scratch.sent(f"reference_{values.index}", texts, "what t is measured against")
    return select(*nodes, v=_type(values).cast(column("value")), n="n").from_(sent)


def _type(values: ValueTable) -> Type:
    """What a release shows of a sensitive column."""
    return INTEGER if values.wanted.publish == "level" else values.column.type.released
