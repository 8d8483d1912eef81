"""What Spark's client raises, as errors of ours that never show a person's values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import grpc
from pyspark.errors import AnalysisException, PySparkException

from duckanon.errors import EngineError, Message, Value

CLIENT_ERRORS = (PySparkException, grpc.RpcError)

# By SQLSTATE, or the class that it begins with: what went wrong. The server's own words may quote a row.
_FAULTS = {
    "42501": "the user lacks a privilege",
    "42P01": "there is no such table or view any more",
    "42703": "there is no such column any more",
    "42704": "there is no such schema",
    "42602": "a name has other signs than letters, digits and _, which this catalog does not take",
    "42P07": "somebody made a table or view of that name",
    "42809": "there is a table where a view is to be",
    "40": "the table was changed under way; run again",
    "53": "the server is out of memory or disk",
    "54": "the server is out of memory or disk",
    "HY008": "the server was told to stop the statement",
}
_GONE = "the server cannot be reached, or the connection is lost"
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_REFUSED = {
    grpc.StatusCode.UNAUTHENTICATED: "the server does not let this user in; is the token right?",
    grpc.StatusCode.PERMISSION_DENIED: "the user lacks a privilege",
}


@contextmanager
def translated(text: str, lost: Callable[[], None]) -> Iterator[None]:
    """The client's errors as ours; `lost` is called if the server has gone."""
    try:
        yield
    except CLIENT_ERRORS as error:
        if _unreached(error) is not None:
            lost()
        raise EngineError(fault(error), text) from error


def fault(error: Exception) -> str:
    state = _state(error)
    words = next((said for code, said in _FAULTS.items() if state.startswith(code)), None)
    if isinstance(error, AnalysisException):  # about names, never about values: shown as the server says it
        return Message.of("the database refused: ", *((words, ": ") if words else ()), Value(_first_line(error)))
    if words is not None:
        return f"the database refused: {words}"
    if (unreached := _unreached(error)) is not None:
        return unreached
    kind = f" (SQLSTATE {state})" if state else ""
    return f"the database refused{kind}; its message may hold a person's values, so only --debug shows it"


def opening_fault(error: Exception) -> str:
    """Why there is no connection: of an address the client's own reason, of a server that it is not there."""
    if (unreached := _unreached(error)) is not None:
        return unreached
    return "is the address right? sc://host:port/;key=value" if _is_about_address(error) else fault(error)


def _is_about_address(error: Exception) -> bool:
    return isinstance(error, PySparkException) and (error.getCondition() or "").startswith("INVALID_CONNECT_URL")


def _unreached(error: Exception) -> str | None:
    """What a lost or refused connection says; None: the server answered."""
    cause: BaseException | None = error
    while cause is not None:
        status = cause.code() if isinstance(cause, grpc.Call) else None
        if status in _REFUSED:
            return _REFUSED[status]
        if status in _AWAY or "UNAVAILABLE" in str(cause):
            return _GONE
        cause = cause.__cause__ or cause.__context__
    return None


def _state(error: Exception) -> str:
    return (error.getSqlState() or "") if isinstance(error, PySparkException) else ""


def _first_line(error: Exception) -> str:
    """Without the name of the fault, its number, and what the server was doing."""
    said = re.sub(r"^\[[\w.]+\] ", "", str(error).strip().splitlines()[0])
    return said.partition(" SQLSTATE:")[0].rstrip(".")
