"""The release that stands in the place when the next is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Column, Engine, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import DuckanonError, Message, ReleaseError
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql
from duckanon.query.names import folded
from duckanon.release.existing import (
    existing_release,
    exists,
    home_of_release,
    is_ours,
    must_have_its_columns,
    said_levels,
    says_policy,
)
from duckanon.release.standing import standing_fingerprint


@dataclass(frozen=True)
class Previous:
    """What is remembered of it: its classes, for comparison, and its rows, if they are to be added to."""

    classes: exp.Table | None = None  # g{i}: the labels of the quasi-identifiers that it has, as texts; x rows
    rows: exp.Table | None = None
    columns: tuple[str, ...] = ()
    said: dict[str, int] | None = None  # the level of each quasi-identifier, if all its rows share it
    rules: dict[str, Any] | None = None  # what these levels showed, if the ledger knows
    same_policy: bool = False
    unread: Message | None = None  # why it cannot be compared

    def has(self, name: str) -> bool:
        return folded(name) in map(folded, self.columns)


def unread(why: str) -> Previous:
    """One that this release cannot be compared with."""
    return Previous(unread=Message.of(why, ", so this one cannot be compared with it"))


GONE = unread("the last release is not in its place any more")


def edited(added_to: bool) -> Previous:
    """What stands there is not what was released: nobody knows what readers have."""
    what = "what stands in the place is not the release that the ledger recorded"
    if added_to:
        raise ReleaseError(f"--incremental: {what}; run without it")
    return unread(what)


class Standing:
    """What stands in the place when a run begins."""

    def __init__(self, policy: Policy, warehouse: Warehouse, replace: bool) -> None:
        self._policy, self._warehouse = policy, warehouse
        # What is to be replaced, whosever it is, is none of ours to follow.
        self.is_release = exists(policy, warehouse) and (not replace or is_ours(policy, warehouse))

    @cached_property
    def fingerprint(self) -> str | None:
        """It is read whole for it: once. None: there is nothing that can be read."""
        return standing_fingerprint(self._policy, self._warehouse)


def read_previous(
    policy: Policy, source: BoundSource, scratch: Scratch, compared: bool, added_to: bool, rules: dict[str, Any] | None
) -> Previous:
    """Read the release that stands. Outside the run's transaction, which a file that cannot be read would end."""
    warehouse, home = source.warehouse, home_of_release(policy, source.warehouse)
    try:
        relation = existing_release(policy, source, scratch)
        columns = home.columns(relation.table)
        if added_to:
            must_have_its_columns(policy, relation, source)
        return Previous(
            _kept("previous", label_classes(relation, columns, source), home, scratch) if compared else None,
            _kept("previous_rows", _rows(relation, columns, source), home, scratch) if added_to else None,
            tuple(c.name for c in columns),
            said_levels(policy, warehouse) or None,
            rules,
            says_policy(policy, warehouse),
        )
    except DuckanonError as error:
        if added_to:
            what = "--incremental: the last release cannot be added to: "
            raise ReleaseError(Message.of(what, error.message, "; run without it")) from error
        return Previous(unread=Message.of("the last release cannot be read, so it cannot be compared: ", error.message))


def _kept(thing: str, rows: exp.Query, home: Engine, scratch: Scratch) -> exp.Table:
    return scratch.collected(thing, rows, "the last release", home)


def label_classes(relation: Relation, columns: list[Column], source: BoundSource) -> exp.Select:
    """g{i}, the labels of the quasi-identifiers, and x rows. By text: a column may be a number in one release and a
    range in the other."""
    shown = _texts(columns)
    labels = {f"g{index}": shown.get(folded(c.name)) for index, (_, c) in enumerate(source.quasi_identifiers)}
    texts = {key: text for key, text in labels.items() if text is not None}
    query = exp.select(*(text.as_(key) for key, text in texts.items()), relation.number.as_("x"))
    query = query.from_(relation.table)
    return query.group_by(*(text.copy() for text in texts.values())) if texts else query


def _texts(columns: list[Column]) -> dict[str, exp.Expr]:
    return {folded(c.name): c.type.text(column(c.name)) for c in columns}


def _rows(relation: Relation, columns: list[Column], source: BoundSource) -> exp.Select:
    """t0 … and n: by text, since a file does not tell a number from a label."""
    shown = _texts(columns)
    texts = [shown[folded(name)] for name in source.released]
    query = exp.select(*(text.as_(f"t{position}") for position, text in enumerate(texts)), sql("COUNT(*)").as_("n"))
    return query.from_(relation.table).group_by(*(text.copy() for text in texts))
