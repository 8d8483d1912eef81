"""How a Spark Connect server is reached: by the thin client, at the address as it was given."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from duckanon.engine.optional import needed
from duckanon.errors import EngineError
from duckanon.policy.database import ServerAddress

if TYPE_CHECKING:
    import pyarrow

_BETWEEN_TRIES = 0.2  # seconds
# Of a call that the server does not answer, milliseconds between them: some twenty seconds.
_RETRIES = {"max_retries": 8, "max_backoff": 4000}
_OLDEST = 4
# A server remembers what plans came to by their numbers, and two processes in one session number theirs alike: what one
# was told of the catalog, the next would be told again.
_FORGETFUL = ("spark.connect.session.planCache.enabled", "false")
# The client logs each error of the server's as it is, with the values in it, on the terminal.
_TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")


def connect(address: ServerAddress, wait: float | None) -> Any:
    """A session of the server. One that the address names is left as it was found: others may be in it. A server that
    is not there (yet) is waited for, so many seconds."""
    with quiet(), _home_named():
        sessions, retries = needed("spark", "pyspark.sql.connect.session", "pyspark.sql.connect.client.retries")
    from duckanon.engine.spark.client_errors import CLIENT_ERRORS, opening_fault

    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    end = time.monotonic() + (wait or 0)
    while True:
        try:
            session = sessions.SparkSession.builder.remote(address.url).create()
            session.release_session_on_close = not address.names_session
            wait_no_more(session)
            _must_be_new_enough(session.version, address)
            session.conf.set(*_FORGETFUL)
            break
        except CLIENT_ERRORS as error:
            if time.monotonic() >= end:
                raise EngineError(f"{address.shown}: cannot be opened: {opening_fault(error)}") from None
            time.sleep(_BETWEEN_TRIES)
    session.client.set_retry_policies([retries.DefaultPolicy(**_RETRIES)])
    return session


def wait_no_more(session: Any) -> None:
    """Try each call once: of a server that is not there, or has gone."""
    session.client.set_retry_policies([])


def _must_be_new_enough(version: str, address: ServerAddress) -> None:
    if int(version.partition(".")[0]) < _OLDEST:
        raise EngineError(f"{address.shown}: is Spark {version}; it takes {_OLDEST}.0 or newer")


@contextmanager
def _home_named() -> Iterator[None]:
    """In a program that is no file, such as a notebook, the thin client looks for a whole Spark when it is imported,
    and ends the process where there is none; unless one is named."""
    named = "SPARK_HOME" in os.environ
    os.environ.setdefault("SPARK_HOME", os.curdir)
    try:
        yield
    finally:
        if not named:
            del os.environ["SPARK_HOME"]


@contextmanager
def quiet() -> Iterator[None]:
    """The client warns of every pandas that is newer than itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def batches(session: Any, text: str) -> pyarrow.RecordBatchReader:
    """The rows of a query as they come; the client's public ways are one row at a time, or all rows at once."""
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_schema

    frame = session.sql(text)
    parts = session.client.to_table_as_iterator(frame._plan.to_proto(session.client), {})
    tables = (part for part in parts if isinstance(part, pyarrow.Table))
    first = next(tables, None)
    if first is None:
        first = to_arrow_schema(frame.schema).empty_table()
    every = (batch for table in chain([first], tables) for batch in table.to_batches())
    return pyarrow.RecordBatchReader.from_batches(first.schema, every)
