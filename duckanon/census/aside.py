"""Kept columns that make nearly every row different: set aside when the source is counted, and taken from it again when
it is released."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource, plain
from duckanon.policy import Policy
from duckanon.query.expressions import column
from duckanon.query.functions import row_hash

# So few rows are counted, whatever they show, sooner than it is told whether that pays.
_FEWEST_ROWS = 100_000
# To read a row again, to find its class and to sort it costs so much of what a count costs from census to audit.
_READ_AGAIN = 0.2


def may_be_set_aside(policy: Policy, source: BoundSource) -> bool:
    """Whether the kept columns can be taken from the source at its release: where it is at hand, and the same whenever
    it is read, which a query or view may not be. Pseudonyms are made of tables of ours only, and a person's rows are
    counted one by one."""
    if not source.keep or any(isinstance(kept, Pseudonym) for kept in source.keep) or source.entity is not None:
        return False
    lasting = policy.source.file is not None or source.relation.kind == "table"
    return lasting and source.warehouse.is_workbench and policy.search.where == "workbench"


def worth_setting_aside(source: BoundSource) -> bool:
    """Whether the kept columns make so many more counts that it costs less to read the source twice."""
    ((rows,),) = source.warehouse.fetch(exp.select("COUNT(*)").from_(source.table))
    if rows < _FEWEST_ROWS:
        return False
    others = [plain(c) for _, c in (*source.quasi_identifiers, *source.sensitive)]
    hashed = exp.select(row_hash(others).as_("h"), *(plain(c).as_(f"k{at}") for at, c in enumerate(source.keep)))
    kept = row_hash([column("h"), *(column(f"k{at}") for at in range(len(source.keep)))])
    figures = [exp.ApproxDistinct(this=column("h")), exp.ApproxDistinct(this=kept)]
    ((without, among),) = source.warehouse.fetch(
        exp.select(*figures).from_(hashed.from_(source.table).subquery("hashed"))
    )
    return bool(among - without > _READ_AGAIN * rows)


def without_kept(source: BoundSource) -> BoundSource:
    """The source as it is counted then."""
    return replace(source, keep=())
