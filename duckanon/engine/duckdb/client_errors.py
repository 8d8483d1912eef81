"""What DuckDB's client raises, as errors of ours that never show a person's values."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from sqlglot import exp

from duckanon.errors import EngineError, Message, Value
from duckanon.query.dialects import WORKBENCH

# These errors are about names and memory; any other may quote a value out of a row.
_HARMLESS = (
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.ParserException,
    duckdb.OutOfMemoryException,
    duckdb.ConnectionException,
    duckdb.TransactionException,
    duckdb.PermissionException,
)


@contextmanager
def translated(statement: exp.Expr | str) -> Iterator[None]:
    """The client's errors as ours; what it makes of Ctrl-C as an interrupt."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        text = statement if isinstance(statement, str) else statement.sql(WORKBENCH, identify=True)
        raise EngineError(_fault(error), text) from error
    except RuntimeError as error:
        if "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Says what the statements inside were about, when the database refuses one."""
    try:
        yield
    except EngineError as error:
        if error.sql is None:
            raise
        raise EngineError(Message.of(where, ": ", error.message), error.sql) from error.__cause__


def is_lock(error: duckdb.Error) -> bool:
    """Whether another process holds the database: a writer, or readers where we want to write."""
    return isinstance(error, duckdb.IOException) and "Could not set lock on file" in str(error)


def opening_fault(error: duckdb.Error, waited: float | None = None) -> str:
    """`waited`: seconds, where the command can wait."""
    text = str(error)
    if is_lock(error):
        holder = re.search(r"\(PID (\d+)\)", text)
        who = f"another process ({holder[1]})" if holder else "another process"
        if waited:
            return f"is still in use by {who} after {waited:g} seconds; close it there, or work on a copy"
        wait = "wait for it with --wait SECONDS, " if waited is not None else ""
        return f"is in use by {who}; close it there, {wait}or work on a copy"
    if "not a valid DuckDB database" in text:
        return "is not a DuckDB database"
    return f"cannot be opened: {first_line(error)}"


def _fault(error: duckdb.Error) -> str:
    if isinstance(error, _HARMLESS):
        return Message.of("the database refused: ", *_quotations_apart(first_line(error)))
    if isinstance(error, duckdb.IOException):
        return Message(f"the database refused: {without_partitions(first_line(error))}", _failed_input_output(error))
    kind = type(error).__name__.removesuffix("Exception")
    return f"the database refused ({kind}); its message may hold a person's values, so only --debug shows it"


def _quotations_apart(text: str) -> Iterator[str]:
    """What the database quotes is a name most of the time, and part of a query that may hold a value at others."""
    for part in re.split(r"""("[^"]*"|'[^']*')""", text):
        yield Value(part) if part.startswith(('"', "'")) else part


def without_partitions(text: str) -> str:
    """A path, or a text with paths in it, without the values that the names of partitions are made of."""
    return re.sub(r'(?<=/)([^/=\s]+=)(?:[^/]*(?=/)|[^/"]*)', r"\1…", text)


def _failed_input_output(error: duckdb.Error) -> str:
    """What the system said, and no path: that may be the name of a partition, and so a value of its own."""
    reasons = (os.strerror(number) for number in errno.errorcode)
    found = next((reason for reason in reasons if reason in str(error)), None)
    return f"the database could not read or write a file{f': {found}' if found else ''}"


def first_line(error: duckdb.Error) -> str:
    return str(error).strip().split("\n")[0]
