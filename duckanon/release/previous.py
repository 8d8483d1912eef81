"""The release that stands in the place when the next is made."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Engine, Relation
from duckanon.errors import DuckanonError, Message, ReleaseError
from duckanon.expressions import column, sql, text_of
from duckanon.policy import Policy
from duckanon.release.difference import classes_by_text
from duckanon.release.existing import existing_release, exists, must_have_its_columns
from duckanon.scratch import Scratch
from duckanon.source import BoundSource, bind_source


@dataclass(frozen=True)
class Previous:
    """What is remembered of it: its classes, for comparison, and its rows, if they are to be added to."""

    classes: exp.Table | None = None
    rows: exp.Table | None = None


def look_back(policy: Policy, engine: Engine, scratch: Scratch, added_to: bool) -> Previous:
    """Read the release that stands. Outside the run's transaction, which a file that cannot be read would end; and
    nobody can compare with that, nor with one of other columns."""
    compared = policy.release.difference != "ignore" and policy.release.kind != "view"
    if not (compared or added_to) or not exists(policy, engine):
        return Previous()
    try:
        source = bind_source(policy, scratch)
        relation = existing_release(policy, source, scratch)
        must_have_its_columns(policy, relation, source, engine)
        classes, rows = classes_by_text(relation, source), _rows(relation, source)
        return Previous(
            scratch.table("previous", classes, "the classes of the last release") if compared else None,
            scratch.table("previous_rows", rows, "the rows of the last release") if added_to else None,
        )
    except DuckanonError as error:
        if added_to:
            what = "--incremental: the last release cannot be added to: "
            raise ReleaseError(Message.of(what, error.message, "; run without it")) from error
        return Previous()


def _rows(relation: Relation, source: BoundSource) -> exp.Select:
    """t0 … and n: by text, since a file does not tell a number from a label."""
    texts = [text_of(column(name)) for name in source.released]
    query = exp.select(*(text.as_(f"t{place}") for place, text in enumerate(texts)), sql("COUNT(*)").as_("n"))
    return query.from_(relation.table).group_by(*(text.copy() for text in texts))
