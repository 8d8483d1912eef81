"""The released rows as a SELECT over their cells, which are sent up: for a warehouse in whose transaction the source is
as it was counted, and for what the source does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, TEXT
from duckanon.query.expressions import column, sql, table, text_of
from duckanon.query.steps import with_steps
from duckanon.recoding.rows import AS_THEY_ARE, repeated_rows

if TYPE_CHECKING:
    from duckanon.recoding.recoding import Recoding


def can_be_sent(recoding: Recoding, source: BoundSource) -> bool:
    """Whether texts tell all that there is to tell of the columns."""
    return all(type_.declared is not None for type_ in _types(recoding, source).values())


def rows_of_sent_cells(recoding: Recoding, source: BoundSource, scratch: Scratch) -> exp.Select:
    """The cells go up as texts, each with its place in the order, and are there what the columns are."""
    names = [f"r{at}" for at in range(len(source.released))]
    texts = [text_of(column(name)).as_(name) for name in names]
    placed = exp.select(*texts, "n", sql("ROW_NUMBER() OVER ()").as_("place")).from_(table("labelled_cells"))
    cells = with_steps(placed, **recoding.shown_cells(source, AS_THEY_ARE))
    sent = scratch.sent("cells", cells, "sent for the release")
    types = _types(recoding, source)
    typed = [_typed(types[shown], column(name)).as_(name) for shown, name in zip(source.released, names, strict=True)]
    return repeated_rows({"labelled_cells": exp.select(*typed, "n").from_(sent).order_by("place")}, source)


def _typed(type_: Type, text: exp.Column) -> exp.Expr:
    return text if type_ == TEXT else exp.cast(text, type_.declared or type_.word, dialect=type_.dialect)


def _types(recoding: Recoding, source: BoundSource) -> dict[str, Type]:
    """What each column is, where the rows lie."""
    kept = {c.name: c.type.released for c in source.keep}
    sensitive = {c.name: INTEGER if s.publish == "level" else c.type.released for s, c in source.sensitive}
    return {**recoding.types(), **kept, **sensitive}
