"""Rows on their way, of which somebody hears how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from duckanon.engine.warehouse import Told

if TYPE_CHECKING:
    import pyarrow


class Announced:
    """The same rows, of which somebody is told as they come. Whoever raises has heard enough: they end there, and what
    was raised is not for who reads them, who would quote it."""

    def __init__(self, rows: pyarrow.RecordBatchReader, told: Told) -> None:
        import pyarrow

        self.number = 0
        self.refused: Exception | None = None
        self._told = told
        self.rows = pyarrow.RecordBatchReader.from_batches(rows.schema, self._passing(rows))

    def _passing(self, rows: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
        for batch in rows:
            self.number += batch.num_rows
            try:
                self._told(self.number, more=True)
            except Exception as refused:
                self.refused = refused
                return
            yield batch
