"""What PostgreSQL's driver raises, as errors of ours that never show a person's values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import adbc_driver_manager as adbc

from duckanon.errors import EngineError, Message, Value

_CANCELLED = "57014"
# By SQLSTATE, or the class that it begins with: what went wrong. The server's own words may quote a row.
_FAULTS = {
    "08": "the connection to the server is lost; what was begun is undone there",
    "28": "the server does not let this user in; is the password in PGPASSWORD, ~/.pgpass or a service file?",
    "3D000": "there is no such database on the server",
    "42501": "the user lacks a privilege",
    "42P01": "there is no such table or view any more",
    "42703": "there is no such column any more",
    "40001": "the table was changed under way; run again",
    "53100": "the server's disk is full",
    "53": "the server is out of memory, disk or connections",
    "57P": "the server ends, or has ended, the connection",
    "2BP01": "other tables or views depend on what stands there",
    "55P03": "somebody holds a lock on the table",
    "40P01": "somebody holds a lock on the table",
    "25006": "the server, or the user, may only read",
}
# About names, never about values: these are shown as the server says them.
_HARMLESS = ("42501", "2BP01", "3D000", "42P07", "42P01", "42703", "42601", "42883", "42804", "0A000", "53")


@contextmanager
def translated(text: str) -> Iterator[None]:
    """The driver's errors as ours; what it makes of Ctrl-C as an interrupt."""
    try:
        yield
    except adbc.Error as error:
        if error.sqlstate == _CANCELLED:
            raise KeyboardInterrupt from None
        raise EngineError(fault(error), text) from error


def fault(error: adbc.Error) -> str:
    state = error.sqlstate or ""
    found = [said for code, said in _FAULTS.items() if state.startswith(code)]
    words = next(iter(found), None)
    if state.startswith(_HARMLESS) and (told := _primary(error)):
        return Message.of("the database refused: ", *((words, ": ") if words else ()), Value(told))
    if words is not None:
        return f"the database refused: {words}"
    if not state and isinstance(error, adbc.OperationalError):
        return "the server cannot be reached, or the connection is lost"
    kind = f" (SQLSTATE {state})" if state else ""
    return f"the database refused{kind}; its message may hold a person's values, so only --debug shows it"


def opening_fault(error: adbc.Error) -> str:
    """Why there is no connection: of the client's library, which knows no row, the reason as it says it."""
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line.split("FATAL:", 1)[1].strip() for line in said if "FATAL:" in line), said[-1] if said else "")
    return reason.removesuffix(".")


def _primary(error: adbc.Error) -> str:
    for key, value in error.details or []:
        if str(key).strip("b'") == "PG_DIAG_MESSAGE_PRIMARY":
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return ""
