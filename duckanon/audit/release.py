"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckanon.audit import Audit, AuditedColumn, DistinctRows, People, audit
from duckanon.audit.linkable import linkable
from duckanon.census.counting import Census
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.values import ValueTable
from duckanon.engine import Relation, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, Type
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.steps import select


def shown_rows(released: Relation, census: Census, scratch: Scratch) -> DistinctRows:
    """What a release shows, pseudonyms aside, as it is asked where it lies: in the engine of the `scratch`."""
    qi = [h.column.name for h in census.hierarchies]
    return DistinctRows(released, qi, [*(v.column.name for v in census.sensitive), *_kept(census)], scratch)


def audit_release(policy: Policy, shown: DistinctRows, census: Census, people: People | None) -> Audit:
    """Measure a release against the policy; t against the source's distribution. And whom it shows by what it does not
    generalize."""
    audited = []
    for values in census.sensitive:
        counts = _reference(values, shown.scratch)
        audited.append(AuditedColumn(values.wanted, values.column.name, _type(values), counts))
    numbers = [v.column.name for v in census.sensitive if v.numeric and v.wanted.publish == "value"]
    linked = linkable(shown, _kept(census), numbers, policy.k)
    return replace(audit(policy.k, shown, audited, people), linkable=linked)


def _kept(census: Census) -> list[str]:
    """The columns that are shown as they are."""
    return [c.name for c in census.keep if not isinstance(c, Pseudonym)]


def _reference(values: ValueTable, scratch: Scratch) -> exp.Select:
    """The source's distribution of a sensitive column, v and n, where the release is asked: what t is measured against.
    To a warehouse afar the values are sent as texts, and are there what the column is."""
    if isinstance(scratch.engine, Workbench):
        return select(v="value", n="rows").from_(values.table)
    texts = exp.select(text_of(column("value")).as_("value"), sql("CAST(rows AS BIGINT)").as_("n")).from_(values.table)
    sent = scratch.sent(f"reference_{values.index}", texts, "what t is measured against")
    return select(v=_type(values).cast(column("value")), n="n").from_(sent)


def _type(values: ValueTable) -> Type:
    """What a release shows of a sensitive column."""
    return INTEGER if values.wanted.publish == "level" else values.column.type.released
