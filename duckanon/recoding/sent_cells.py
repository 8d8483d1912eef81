"""The released rows as a SELECT over their cells, which are sent up: these are what was counted, whatever has become of
the source since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from duckanon.census.source import BoundSource
from duckanon.engine import Type
from duckanon.engine.scratch import Scratch
from duckanon.engine.types import INTEGER, TEXT
from duckanon.query.expressions import column, sql, table, text_of
from duckanon.query.steps import with_steps
from duckanon.recoding.rows import AS_THEY_ARE, Steps, repeated_rows

if TYPE_CHECKING:
    from duckanon.recoding.recoding import Recoding


def rows_afar(recoding: Recoding, source: BoundSource, scratch: Scratch) -> exp.Select:
    """The cells that are released are all that it takes, if they can be sent. Else the rows are those of the source
    itself, class by class as far as it is as it was counted."""
    if _can_be_told(recoding, source):
        cells = recoding.shown_cells(source, AS_THEY_ARE)
        if _are_few_enough(cells, source):
            return _rows_of(cells, recoding, source, scratch)
    return recoding.over_source(source, scratch)


def _can_be_told(recoding: Recoding, source: BoundSource) -> bool:
    """Whether texts tell all that there is to tell of the columns."""
    return all(type_.declared is not None for type_ in _types(recoding, source).values())


def _are_few_enough(cells: Steps, source: BoundSource) -> bool:
    warehouse = source.warehouse
    if warehouse.most_sent is None:
        return True
    number = _with_cells(exp.select("COUNT(*)"), cells)
    ((found,),) = warehouse.workbench.fetch(number, "how many cells are released")
    return int(found) * len(source.released) <= warehouse.most_sent


def rows_of_sent_cells(recoding: Recoding, source: BoundSource, scratch: Scratch) -> exp.Select:
    return _rows_of(recoding.shown_cells(source, AS_THEY_ARE), recoding, source, scratch)


def _rows_of(cells: Steps, recoding: Recoding, source: BoundSource, scratch: Scratch) -> exp.Select:
    """The cells go up as texts, with their places in the order where that is not kept, and are there what the columns
    are."""
    names = [f"r{at}" for at in range(len(source.released))]
    texts = [text_of(column(name)).as_(name) for name in names]
    places = [] if source.warehouse.keeps_order else [sql("ROW_NUMBER() OVER ()").as_("place")]
    sent = scratch.sent("cells", _with_cells(exp.select(*texts, "n", *places), cells), "sent for the release")
    types = _types(recoding, source)
    typed = [_typed(types[shown], column(name)).as_(name) for shown, name in zip(source.released, names, strict=True)]
    rows = exp.select(*typed, "n").from_(sent)
    steps = {"labelled_cells": rows.order_by("place") if places else rows}
    return repeated_rows(steps, source, in_lists=source.warehouse.lists_numbers)


def _with_cells(asked: exp.Select, cells: Steps) -> exp.Query:
    steps = {name: step.copy() for name, step in cells.items()}
    return with_steps(asked.from_(table("labelled_cells")), **steps)


def _typed(type_: Type, text: exp.Column) -> exp.Expr:
    return text if type_ == TEXT else exp.cast(text, type_.declared or type_.word, dialect=type_.dialect)


def _types(recoding: Recoding, source: BoundSource) -> dict[str, Type]:
    """What each column is, where the rows lie."""
    kept = {c.name: c.type.released for c in source.keep}
    sensitive = {c.name: INTEGER if s.publish == "level" else c.type.released for s, c in source.sensitive}
    return {**recoding.types(), **kept, **sensitive}
