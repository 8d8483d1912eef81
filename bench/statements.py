"""How many statements a command sends to DuckDB: `python -m bench.statements run POLICY`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import duckdb


class Counted:
    """A connection that remembers what it is sent."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sent: list[str]) -> None:
        self._connection, self._sent = connection, sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, query: str, *parameters: Any) -> Any:
        self._sent.append(query)
        return self._connection.execute(query, *parameters)


@contextmanager
def sent_to_duckdb() -> Iterator[list[str]]:
    """What is sent to the connections that are opened within."""
    sent: list[str] = []
    connect = duckdb.connect
    with patch("duckdb.connect", lambda *place, **how: Counted(connect(*place, **how), sent)):
        yield sent


def main() -> None:
    from duckanon.cli.words import main as command

    with sent_to_duckdb() as sent:
        code = command(sys.argv[1:])
    print(len(sent))
    sys.exit(code)


if __name__ == "__main__":
    main()
