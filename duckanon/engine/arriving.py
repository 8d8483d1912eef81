"""Columns that come as Arrow from a warehouse afar, as the workbench reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from duckanon.errors import EngineError
from duckanon.query.names import quoted

if TYPE_CHECKING:
    import pyarrow

# PostgreSQL counts from 2000 and its driver adds what lies between, so that infinity comes as a number far below the
# first day that PostgreSQL knows, 4714-11-24 BC. So does what is too late for the driver: microseconds after 294247.
_SHIFT = {"date": 10_957, "timestamp": 946_684_800_000_000}
_BITS = {"date": 32, "timestamp": 64}
_NUMBER = {
    "date": "DATE_DIFF('day', DATE '1970-01-01', {name})",
    "timestamp": "EPOCH_US({name})",
}
_FIRST = {"date": -2_440_588, "timestamp": -210_866_803_200_000_000}

_TOO_LATE = "a date or timestamp of the source is after the year 294246; leave it out in source.query"
_NOT_A_DECIMAL = (
    "a numeric column of the source holds NaN, which a number with decimals cannot be here; "
    "cast it in source.query, to double precision"
)


def arrived(field: pyarrow.Field) -> str:
    """The column, by its name: a decimal number that comes as a text is the number that its type says, and infinity is
    infinite."""
    name, kind = quoted(field.name), str(field.type).partition("[")[0].removesuffix("32")
    if is_number(field):
        return f"CAST(CAST({name} AS VARCHAR) AS {_number_type(field)}) AS {name}"
    if kind in _SHIFT and _postgres(field, "type") is not None:
        return f"{_with_infinity(name, kind)} AS {name}"
    return name


def misfit(error: EngineError, fields: pyarrow.Schema) -> EngineError:
    """What is wrong with rows that the workbench could not read, in words that show none of them."""
    cause = error.__cause__
    if _TOO_LATE in str(cause):
        return EngineError(_TOO_LATE, error.sql)
    if isinstance(cause, duckdb.ConversionException) and any(map(is_number, fields)):
        return EngineError(_NOT_A_DECIMAL, error.sql)
    return error


def is_number(field: pyarrow.Field) -> bool:
    """Whether it is PostgreSQL's numeric."""
    return "type_name=numeric" in str(field.type)


def _number_type(field: pyarrow.Field) -> str:
    digits = int(_postgres(field, "typmod") or b"-1") - 4
    return "DOUBLE" if digits < 0 else f"DECIMAL({digits >> 16}, {digits & 0x7FF})"


def _postgres(field: pyarrow.Field, key: str) -> bytes | None:
    value: bytes | None = (field.metadata or {}).get(f"POSTGRESQL:{key}".encode())
    return value


def _with_infinity(name: str, kind: str) -> str:
    number, least = _NUMBER[kind].format(name=name), _SHIFT[kind] - 2 ** (_BITS[kind] - 1)
    return (
        f"CASE WHEN {number} >= {_FIRST[kind]} OR {name} IS NULL THEN {name} WHEN {number} = {least - 1} "
        f"THEN 'infinity' WHEN {number} = {least} THEN '-infinity' ELSE ERROR('{_TOO_LATE}') END"
    )
