"""A run's statements in the dialect of another engine. What cannot be said there is refused by name, never guessed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import ErrorLevel
from sqlglot.errors import UnsupportedError

from duckanon.engine import Column, Executed
from duckanon.errors import Fault, UsageError
from duckanon.query.dialects import WORKBENCH

OWN = "duckdb"


def said(executed: Executed, dialect: str) -> str:
    """A statement as text; raises UsageError for one that the dialect has no words for."""
    statement = executed.statement
    if dialect == OWN:
        return statement if isinstance(statement, str) else statement.sql(WORKBENCH, identify=True, pretty=True)
    if isinstance(statement, str):
        raise _unsaid(executed, dialect, "what only DuckDB knows")
    from duckanon.query.dialects.others import OTHERS  # four more generators, that few need

    try:
        return statement.sql(OTHERS[dialect], identify=True, pretty=True, unsupported_level=ErrorLevel.IMMEDIATE)
    except UnsupportedError as error:
        raise _unsaid(executed, dialect, str(error)) from None


def must_have_one_text(columns: Iterable[Column], dialect: str) -> None:
    """Policies and hierarchies name values by their text, which must be the same in both engines: 1.0 may be 1."""
    for column in columns:
        if dialect != OWN and not column.type.one_text:
            raise _refused(dialect, f"the values of {column.name}, of type {column.type}, as the same texts")


def _unsaid(executed: Executed, dialect: str, what: str) -> UsageError:
    return _refused(dialect, f"{what} ({executed.note})" if executed.note else what)


def _refused(dialect: str, what: str) -> UsageError:
    remedy = "leave --dialect out; the metrics of a table (--metrics) are printed for every dialect"
    return UsageError([Fault(f"--dialect {dialect}", f"cannot say {what}", remedy)])
