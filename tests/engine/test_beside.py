"""What the workbench does while a server works: it is done with it, and ends with it."""

from __future__ import annotations

import pytest

from duckanon.engine.beside import beside
from duckanon.engine.duckdb.warehouse import DuckDB
from duckanon.errors import EngineError

pytestmark = pytest.mark.unit

ENDLESS = "SELECT MAX(hash(a.range + b.range)) FROM range(10000000) AS a, range(10000000) AS b"


def test_it_is_done_afterwards() -> None:
    with DuckDB.open(None, writable=True) as workbench:
        with beside(lambda: workbench.run("CREATE TABLE t AS FROM range(3)"), workbench.interrupt):
            pass
        assert workbench.fetch("SELECT COUNT(*) FROM t") == [(3,)]


@pytest.mark.parametrize("ends", [EngineError("the server has gone"), KeyboardInterrupt()])
def test_it_ends_with_what_is_waited_for(ends: BaseException) -> None:
    with DuckDB.open(None, writable=True) as workbench:
        with pytest.raises(type(ends)) as raised, beside(lambda: workbench.fetch(ENDLESS), workbench.interrupt):
            raise ends
        assert raised.value is ends
        assert workbench.fetch("SELECT 1") == [(1,)]


def test_what_goes_wrong_with_it_is_told() -> None:
    with (
        DuckDB.open(None, writable=True) as workbench,
        pytest.raises(EngineError, match="nowhere"),
        beside(lambda: workbench.fetch("FROM nowhere"), workbench.interrupt),
    ):
        pass
