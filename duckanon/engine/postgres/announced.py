"""Rows that say how many of them there are, before all but the first of them have come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from sqlglot import exp

from duckanon.query.expressions import table
from duckanon.query.steps import with_steps

if TYPE_CHECKING:
    import pyarrow

_NUMBER = "duckanon_number"  # their last column


def announcing(query: exp.Query) -> exp.Select:
    """The rows of a query that say so; it is executed once."""
    number = exp.select("COUNT(*)").from_(table("counted")).subquery()
    numbered = exp.select("counted.*", number.as_(_NUMBER)).from_(table("counted"))
    return with_steps(numbered, {"counted"}, counted=query.copy())


def announced(rows: pyarrow.RecordBatchReader) -> tuple[int, pyarrow.RecordBatchReader]:
    """How many there are, and the same rows without that."""
    import pyarrow

    first = next(iter(rows), None)
    number = first.column(_NUMBER)[0].as_py() if first is not None and first.num_rows else 0
    every = chain([] if first is None else [first], rows)
    schema = rows.schema.remove(rows.schema.get_field_index(_NUMBER))
    return number, pyarrow.RecordBatchReader.from_batches(schema, _without_number(every))


def _without_number(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    return (batch.drop_columns(_NUMBER) for batch in batches)
