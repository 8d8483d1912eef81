"""A release measured against its policy, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from duckanon.audit import AskedSizes, Audit, AuditedColumn, DistinctRows, People, audit
from duckanon.audit.covering import covered_by
from duckanon.audit.linkable import linkable
from duckanon.census.counting import Census
from duckanon.census.hashes import with_hashes
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.values import ValueTable
from duckanon.engine import Column, Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, Type
from duckanon.models.questions import Sample
from duckanon.models.risk import enough_rows, risk_asked
from duckanon.models.wanted import ancestors
from duckanon.policy import Policy
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.names import free_name
from duckanon.query.steps import select
from duckanon.search.lattice import Node


def count_rows(released: Relation, census: Census, scratch: Scratch, hashed: bool = False) -> DistinctRows:
    """What a release shows, pseudonyms aside: it is read once, where it lies, in the engine of the `scratch`. Kept
    columns that are set aside, since nearly every row has its own, are asked of the release itself.

    The counts come to the workbench, where questions cost least, if those of the source have come and are no fewer.
    `hashed`: with the hashes of the rows, where that saves a scan."""
    names = [*_quasi_identifiers(census), *(v.column.name for v in census.sensitive)]
    names += [] if census.aside else _kept(census)
    copies = free_name("n", names)
    number = sql("COUNT(*)").as_(copies, quoted=True)
    query = exp.select(*map(column, names), number).from_(released.table).group_by(*map(column, names))
    counts = RowCounts(released.table, {name: name for name in names}, copies, released.table if census.aside else None)
    counting = _Counting(query, counts, census, scratch)
    if scratch.engine is census.workbench or census.afar is not None:
        return counting.kept()
    return counting.come(scratch.engine.columns(released.table) if hashed else []) or counting.kept()


@dataclass(frozen=True)
class _Counting:
    """A query that counts the rows of a release, and what it gives."""

    query: exp.Select
    counts: RowCounts
    census: Census
    scratch: Scratch

    def kept(self) -> DistinctRows:
        """Where the release lies."""
        kept = self.scratch.table("distinct_rows", self.query, "verify: the rows that are shown, counted")
        return DistinctRows(replace(self.counts, table=kept), _quasi_identifiers(self.census), self.scratch)

    def come(self, hashed: list[Column]) -> DistinctRows | None:
        """On the workbench; None: there are too many."""
        census, engine, counts = self.census, cast(Warehouse, self.scratch.engine), self.counts
        most, query = _number(census.table, census.workbench), self.query
        if not engine.temporary_tables:
            # What keeps the query for us keeps what it gives, which can be told beforehand.
            there = self.kept().counts.table
            if _number(there, engine) > most:
                return None
            query = exp.select("*").from_(there)
        query, hashes = with_hashes(query, hashed, counts.names, counts.copies) if hashed else (query, None)
        with engine.shared_out():
            rows = exp.select("*").from_(query.subquery("shown")).limit(most + 1)
            come = census.scratch.collected("distinct_rows", rows, "verify: the counts of the release", engine)
        if _number(come, census.workbench) > most:
            census.scratch.drop(come)
            return None
        return DistinctRows(replace(counts, table=come, hashes=hashes), _quasi_identifiers(census), census.scratch)


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
    linked = linkable(shown, _kept(census), numbers, policy.k)
    risk = risk_asked(policy.thresholds)
    covered = covered_by(shown.counts, census, node, enough_rows(risk), shown.scratch)
    everybody = policy.people(census.rows)
    sample = Sample(census.rows, everybody) if everybody is not None else None
    asked = AskedSizes(policy.thresholds, risk, covered, sample)
    return replace(audit(policy.k, shown, audited, people, asked), linkable=linked)


def _number(counts: exp.Table, engine: Engine) -> int:
    ((number,),) = engine.fetch(exp.select("COUNT(*)").from_(counts))
    return int(number)


def _quasi_identifiers(census: Census) -> list[str]:
    return [h.column.name for h in census.hierarchies]


def _kept(census: Census) -> list[str]:
    """The columns that are shown as they are."""
    return [c.name for c in census.keep if not isinstance(c, Pseudonym)]


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
