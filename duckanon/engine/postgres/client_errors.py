"""What PostgreSQL's driver raises, as errors of ours that never show a person's values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import adbc_driver_manager as adbc

from duckanon.errors import EngineError, Message, Value

LOST = "the connection to the server is lost; what was begun is undone there; run again"
READ_ONLY = "the server, or the user, may only read; release to parquet or csv, or run on the primary"
_GONE = ("08", "57P", "25P03", "25P04")
# By SQLSTATE, or the class that it begins with: what went wrong and what to do. The server's words may quote a row.
_FAULTS = {
    **dict.fromkeys(_GONE, LOST),
    "42501": "the user lacks a privilege, see docs/warehouses.md",
    "42P01": "there is no such table or view (any more)",
    "42703": "there is no such column (any more)",
    "42P07": "somebody has made one of that name under way; choose another name, or replace it with --replace",
    "40001": "a table was changed under way; run again",
    "53100": "the server's disk is full; make room there, and run again",
    "53200": "the server is out of memory; see its work_mem, and run again",
    "53400": "a limit of the server is reached, see its temp_file_limit",
    "57014": "the server was told to end the statement, by its statement_timeout or by somebody; "
    "ALTER ROLE … SET statement_timeout = 0 lets this user run longer",
    "2BP01": "other tables or views depend on what stands there; drop them, or release to another name",
    "55P03": "somebody holds a lock on the table for longer than lock_timeout; run again",
    "40P01": "somebody else waits for what this run holds, and the other way round; run again",
    "25006": READ_ONLY,
    "25001": "the table was changed under way; run again",
}
# About names, never about values: these are shown as the server says them.
_HARMLESS = ("42501", "2BP01", "42P07", "42P01", "42703", "42601", "42883", "42804", "42P16", "53400")

# What a server says that is not ready: it starts or stops, or has too many guests.
_IN_A_MOMENT = ("starting up", "shutting down", "not yet accepting", "too many", "remaining connection slots")


class LostError(EngineError):
    """The connection is no more."""


@contextmanager
def translated(text: str) -> Iterator[None]:
    """The driver's errors as ours."""
    try:
        yield
    except adbc.Error as error:
        raise (LostError if _is_gone(error) else EngineError)(fault(error), text) from error


def _is_gone(error: adbc.Error) -> bool:
    """Whether there is no connection any more: then the server told nothing, or that it ends."""
    state = error.sqlstate or ""
    return state.startswith(_GONE) or (not state and isinstance(error, adbc.OperationalError))


def fault(error: adbc.Error) -> str:
    state = error.sqlstate or ""
    found = [said for code, said in _FAULTS.items() if state.startswith(code)]
    words = next(iter(found), None)
    if state.startswith(_HARMLESS) and (told := _primary(error)):
        return Message.of("the database refused: ", *((words, ": ") if words else ()), Value(told))
    if words is not None:
        return f"the database refused: {words}"
    if _is_gone(error):
        return f"the database refused: {LOST}"
    if not state and (unmade := re.search(r"Failed to create table: \w+:\s+(.*)", str(error))):
        what = "what a release is made of cannot be sent; docs/warehouses.md says what that takes: "
        return Message.of(f"the database refused: {what}", Value(unmade[1]))  # no row has been sent yet
    kind = f" (SQLSTATE {state})" if state else ""
    return f"the database refused{kind}; its message may hold a person's values, so only --debug shows it"


def opening_fault(error: adbc.Error, shown: str) -> str:
    """Why there is no connection: of the client's library, which knows no row, the reason as it says it. Of what it
    quotes, only what is `shown` of the address: else it may be a password that it has taken for something else."""
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line.split("FATAL:", 1)[1].strip() for line in said if "FATAL:" in line), said[0] if said else "")
    remedy = "is the password in PGPASSWORD, ~/.pgpass or a service file?" if "password" in reason else ""
    if "FATAL:" not in str(error) and ("failed: " in reason or "translate host" in reason):
        remedy = "is the server there, and the address right? --wait SECONDS waits for it"
    reason = reason.rpartition("Failed to connect: ")[2].removesuffix(".")
    told = re.sub(r'"([^"]*)"', lambda quoted: quoted[0] if quoted[1] in shown else "…", reason)
    return "; ".join(filter(None, (told, remedy)))


def must_be_said(error: adbc.Error) -> bool:
    """Whether waiting for the server would not help: it is there, and does not let us in."""
    return "FATAL:" in str(error) and not any(word in str(error) for word in _IN_A_MOMENT)


def _primary(error: adbc.Error) -> str:
    for key, value in error.details or []:
        if str(key).strip("b'") == "PG_DIAG_MESSAGE_PRIMARY":
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return ""
