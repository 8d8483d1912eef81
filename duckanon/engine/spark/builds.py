"""How a release takes its place where there are no transactions.

It is built beside, under a name of its own; its place is a view of it. To replace that view is one step of the catalog,
so a reader sees the last release or the new one. The last build stays until the next run, for who is reading it still.
"""

from __future__ import annotations

import re
import time

from duckanon.engine.marks import is_mark
from duckanon.engine.relation import Relation
from duckanon.engine.spark.catalog import said_name
from duckanon.query.names import folded

_BESIDE = "__duckanon_"


def new_build(place: Relation) -> Relation:
    """A table beside the place of a release, by a name that sorts by time."""
    return Relation((*place.parts[:-1], f"{place.parts[-1]}{_BESIDE}{time.time_ns():016x}"), "table")


def builds_like(place: Relation) -> str:
    """The pattern of their names."""
    return f"{place.parts[-1]}{_BESIDE}*"


def is_build(found: Relation, place: Relation) -> bool:
    """Whether it was built for the place by a run: by its name, and by the mark in its comment."""
    named = re.fullmatch(rf"{re.escape(place.parts[-1])}{_BESIDE}[0-9a-f]{{16}}", found.parts[-1], re.IGNORECASE)
    return named is not None and is_mark(found.comment)


def shown_by(build: Relation) -> str:
    """What a place shows."""
    return f"SELECT * FROM {said_name(*build.parts)}"


def build_in(definition: str) -> str | None:
    """The name of the table that a view shows, in small letters; no other table has it."""
    found = re.search(rf"\w+{_BESIDE}[0-9a-f]{{16}}", folded(definition))
    return found and found[0]


def shows_build(definition: str) -> bool:
    """Whether a view is the place of a table that was built beside it."""
    return re.fullmatch(rf"SELECT \* FROM [^()]+{_BESIDE}[0-9a-f]{{16}}`?\s*", definition, re.IGNORECASE) is not None
