"""Rows on their way, of which somebody hears how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from duckanon.engine.warehouse import Told

if TYPE_CHECKING:
    import pyarrow


class Announced:
    """The same rows, of which somebody is told as they come. Whoever raises has heard enough: they end there, and what
    was raised is not for who reads them, who would quote it. Of `parts` each may have the same row."""

    def __init__(self, rows: pyarrow.RecordBatchReader, told: Told, parts: int) -> None:
        import pyarrow

        self._came, self._parts = 0, parts
        self.refused: Exception | None = None
        self._told = told
        self.rows = pyarrow.RecordBatchReader.from_batches(rows.schema, self._passing(rows))

    def _passing(self, rows: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
        for batch in rows:
            self._came += batch.num_rows
            try:
                self._told(-(-self._came // self._parts), more=True)
            except Exception as refused:
                self.refused = refused
                return
            yield batch
