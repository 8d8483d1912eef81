"""Rows on their way to the workbench: what ends them early is said, and by whom."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow
import pytest

from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.engine.heard import Heard
from duckanon.engine.warehouse import Told
from duckanon.query.expressions import table

pytestmark = pytest.mark.unit

SCHEMA = pyarrow.schema([("a", pyarrow.int64())])


def arriving(broken: BaseException | None = None) -> pyarrow.RecordBatchReader:
    def batches() -> Iterator[pyarrow.RecordBatch]:
        for first in range(0, 30, 10):
            yield pyarrow.record_batch({"a": range(first, first + 10)}, schema=SCHEMA)
        if broken is not None:
            raise broken

    return pyarrow.RecordBatchReader.from_batches(SCHEMA, batches())


def taken(told: Told | None, broken: BaseException | None = None) -> tuple[Heard, int]:
    heard = Heard(told)
    with DuckDB.open(None, writable=True) as workbench:
        workbench.take(table("t"), heard.passing(arriving(broken)))
        ((rows,),) = workbench.fetch("SELECT COUNT(*) FROM t")
    return heard, rows


def test_all_come_that_nobody_refuses() -> None:
    numbers: list[int] = []

    def hear(number: int, more: bool = False) -> None:
        numbers.append(number)

    heard, rows = taken(hear)
    heard.must_be_whole()
    assert (rows, numbers, heard.refused) == (30, [10, 20, 30], None)
    assert taken(None)[1] == 30


def test_none_comes_once_somebody_refuses() -> None:
    refusal = ValueError("too many")

    def refuse(number: int, more: bool = False) -> None:
        if number > 15:
            raise refusal

    heard, rows = taken(refuse)
    assert (rows, heard.refused) == (10, refusal)


@pytest.mark.parametrize("broken", [OSError("the server has gone"), KeyboardInterrupt()])
def test_a_server_that_goes_while_they_come(broken: BaseException) -> None:
    """Not an error of the workbench, whose words might hold a value, nor a table that lacks rows."""
    heard, _ = taken(None, broken)
    with pytest.raises(type(broken)) as raised:
        heard.must_be_whole()
    assert str(raised.value) == str(broken)
