"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckanon.audit import AskedSizes, Audit, AuditedColumn, DistinctRows, People, audit
from duckanon.audit.covering import covered_by
from duckanon.audit.linkable import linkable
from duckanon.audit.shown import kept_of, quasi_identifiers_of
from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.engine import Engine
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, Type
from duckanon.models.questions import Sample
from duckanon.models.risk import enough_rows, risk_asked
from duckanon.models.wanted import ancestors
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.steps import select
from duckanon.search.lattice import Node


def audit_release(
    policy: Policy, counts: RowCounts, census: Census, people: People | None, scratch: Scratch, node: Node | None = None
) -> Audit:
    """Measure a release, as it was counted in the engine of the `scratch`, against the policy; t against the source's
    distribution. And whom it shows by what it does not generalize. `node`: the levels that all rows share."""
    shown = _asked(counts, census, scratch)
    audited = []
    for values in census.sensitive:
        reference = _reference(values, census, (people or shown).scratch)
        audited.append(AuditedColumn(values.wanted, values.column.name, _type(values), reference))
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    linked = linkable(shown, kept_of(census), numbers, policy.k)
    risk = risk_asked(policy.thresholds)
    covered = covered_by(counts, census, node, enough_rows(risk), scratch)
    everybody = policy.people(census.rows)
    sample = Sample(census.rows, everybody) if everybody is not None else None
    asked = AskedSizes(policy.thresholds, risk, covered, sample)
    return replace(audit(policy.k, shown, audited, people, asked), linkable=linked)


def _asked(counts: RowCounts, census: Census, scratch: Scratch) -> DistinctRows:
    """The counts come to the workbench, where questions cost least, if those of the source have come and are
    no fewer."""
    qi = quasi_identifiers_of(census)
    if scratch.engine is census.workbench or census.afar is not None:
        return DistinctRows(counts, qi, scratch)
    if _number(counts.table, scratch.engine) > _number(census.table, census.workbench):
        return DistinctRows(counts, qi, scratch)
    rows = exp.select("*").from_(counts.table)
    come = census.scratch.collected("distinct_rows", rows, "verify: the counts of the release", scratch.engine)
    return DistinctRows(replace(counts, table=come), qi, census.scratch)


def _number(counts: exp.Table, engine: Engine) -> int:
    ((number,),) = engine.fetch(exp.select("COUNT(*)").from_(counts))
    return int(number)


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
