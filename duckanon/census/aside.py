"""Kept columns that make nearly every row different: set aside when the source is counted, and taken from it again when
it is released."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.plain import plain
from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource, is_at_hand
from duckanon.policy import Policy
from duckanon.query.expressions import column
from duckanon.query.functions import row_hash

# So few rows are counted, whatever they show, sooner than it is told whether that pays.
_FEWEST_ROWS = 100_000
# To read a row again, to find its class and to sort it costs so much of what a count costs from census to audit.
_READ_AGAIN = 0.2


@dataclass(frozen=True)
class Aside:
    """The kept columns are not counted, but taken from the source when it is released."""

    values: tuple[int, ...]  # about so many different ones has each


def set_aside(policy: Policy, source: BoundSource) -> Aside | None:
    """The kept columns, if they make so many more counts that it costs less to read the source twice."""
    if not _can_be_read_again(policy, source):
        return None
    ((rows,),) = source.warehouse.fetch(exp.select("COUNT(*)").from_(source.table))
    if rows < _FEWEST_ROWS:
        return None
    kept = [column(f"k{at}") for at in range(len(source.keep))]
    others = row_hash(plain(c) for _, c in (*source.quasi_identifiers, *source.sensitive))
    hashed = exp.select(others.as_("h"), *(plain(c).as_(k.name) for k, c in zip(kept, source.keep, strict=True)))
    asked = [column("h"), row_hash([column("h"), *kept]), *kept]
    figures = exp.select(*(exp.ApproxDistinct(this=value) for value in asked))
    ((without, whole, *values),) = source.warehouse.fetch(figures.from_(hashed.from_(source.table).subquery("hashed")))
    return Aside(tuple(values)) if whole - without > _READ_AGAIN * rows else None


def _can_be_read_again(policy: Policy, source: BoundSource) -> bool:
    """Where the source is at hand. Pseudonyms are made of tables of ours only, a person's rows are counted one by one,
    and numbers that a class shows belong to its cells."""
    if not source.keep or any(isinstance(kept, Pseudonym) for kept in source.keep) or source.entity is not None:
        return False
    if any(wanted.is_number for wanted in policy.quasi_identifiers):
        return False
    return is_at_hand(policy, source)


def without_kept(source: BoundSource) -> BoundSource:
    """The source as it is counted then."""
    return replace(source, keep=())
