"""What a type of DuckDB's is, by its name."""

from __future__ import annotations

_NUMBERS = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
    *("DECIMAL", "FLOAT", "DOUBLE"),
)


def is_dictionary(named: str) -> bool:
    return named.startswith("ENUM(")


def is_number(named: str) -> bool:
    return named.split("(")[0] in _NUMBERS and not named.endswith("]")
