"""How a PostgreSQL server is reached: by the client's own library, which knows where passwords are kept."""

from __future__ import annotations

import time
from typing import Any

from duckanon.engine.optional import needed
from duckanon.errors import EngineError
from duckanon.policy.database import ServerAddress

_OLDEST = 15
_BETWEEN_TRIES = 0.2  # seconds


def connect(address: ServerAddress, wait: float | None) -> Any:
    """A connection in which every statement is a transaction of its own, until one is begun. A server that is not there
    (yet) is waited for, so many seconds."""
    adbc, postgresql = needed("postgres", "adbc_driver_manager", "adbc_driver_postgresql.dbapi")
    from duckanon.engine.postgres.client_errors import opening_fault

    end = time.monotonic() + (wait or 0)
    while True:
        try:
            connection = postgresql.connect(_url(address), autocommit=True)
            break
        except adbc.Error as error:
            if time.monotonic() >= end:
                raise EngineError(f"{address.shown}: cannot be opened: {opening_fault(error)}") from None
            time.sleep(_BETWEEN_TRIES)
    return connection


def must_be_new_enough(version: int, address: ServerAddress) -> None:
    if version < _OLDEST * 10_000:
        raise EngineError(f"{address.shown}: is PostgreSQL {version // 10_000}; it takes {_OLDEST} or newer")


def _url(address: ServerAddress) -> str:
    """As given; and says who asks, for who looks at the server's activity."""
    name = "" if "application_name=" in address.url else "application_name=duckanon"
    return address.url + (f"{'&' if '?' in address.url else '?'}{name}" if name else "")
