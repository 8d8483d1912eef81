"""DuckDB's words for types, as types of ours."""

from __future__ import annotations

import re
from functools import lru_cache

from duckanon.engine.types import Family, Type

_FAMILIES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), Family.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), Family.WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), Family.FLOAT),
    "DECIMAL": Family.DECIMAL,
    "VARCHAR": Family.TEXT,
    "DATE": Family.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Family.MOMENT),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), Family.MOMENT),
    **dict.fromkeys(("TIME", "TIME_NS", "TIME WITH TIME ZONE"), Family.TIME_OF_DAY),
    "BOOLEAN": Family.BOOLEAN,
    "ENUM": Family.ENUMERATION,
    "STRUCT": Family.RECORD,
}
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIME WITH TIME ZONE")
# Of whole numbers UHUGEINT has no word elsewhere, and of moments only TIMESTAMP has one precision everywhere.
_ONE_TEXT = (
    *("VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL"),
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
)
_FIXED_ARRAY = re.compile(r"\[\d+\]")
_ENUM = re.compile(r"\bENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")


@lru_cache(maxsize=512)
def type_of(word: str) -> Type:
    """The type that DuckDB describes by this word."""
    base = word.split("(")[0]
    family = Family.LIST if word.endswith("]") else _FAMILIES.get(base, Family.OTHER)
    return Type(
        family,
        word,
        scale=int(word.rstrip(")").split(",")[1]) if family is Family.DECIMAL else 0,
        zoned=word in _ZONED,
        comparable=not (_FIXED_ARRAY.search(word) or word.startswith(("INTERVAL", "UNION", "MAP"))),
        one_text=family is not Family.LIST and base in _ONE_TEXT,
        plain=_ENUM.sub("VARCHAR", word),
        dialect="duckdb",
    )
