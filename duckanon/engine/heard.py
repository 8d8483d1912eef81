"""Rows on their way to the workbench, and who hears how many there are and may want no more of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from duckanon.engine.warehouse import Told

if TYPE_CHECKING:
    import pyarrow


class Heard:
    """Rows that pass by. What ends them early, be it the server or who is `told` of them, would become an error of the
    workbench, which reads them and might quote it: it is kept, and said when the workbench is done. Of `parts` each may
    have the same row."""

    def __init__(self, told: Told | None, parts: int = 1) -> None:
        self._told, self._parts = told, parts
        self._fault: BaseException | None = None
        self.refused: BaseException | None = None  # by who was told

    def passing(self, rows: pyarrow.RecordBatchReader) -> pyarrow.RecordBatchReader:
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(rows.schema, self._batches(iter(rows)))

    def _batches(self, rows: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        number = 0
        while (batch := self._next(rows)) is not None and self._is_wanted(number := number + batch.num_rows):
            yield batch

    def _next(self, rows: Iterator[pyarrow.RecordBatch]) -> pyarrow.RecordBatch | None:
        try:
            return next(rows, None)
        except BaseException as fault:
            self._fault = fault
            return None

    def _is_wanted(self, number: int) -> bool:
        try:
            if self._told is not None:
                self._told(-(-number // self._parts), more=True)
        except BaseException as refused:
            self.refused = refused
        return self.refused is None

    def must_be_whole(self) -> None:
        """Whether all have come that there were."""
        if self._fault is not None:
            raise self._fault
