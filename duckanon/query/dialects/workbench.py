"""What the workbench speaks: DuckDB's dialect, with words for the functions of our own that it has none for."""

from __future__ import annotations

from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB

from duckanon.query.dialects.translation import Translating, Words, called, functions, itself, text
from duckanon.query.own import Own


def _parsed(template: str) -> exp.Expr:
    return sqlglot.parse_one(template, dialect=DuckDB)


# H(outer pad ‖ H(inner pad ‖ text)). The functions are DuckDB's own, by their full names: a macro of the warehouse may
# be called sha256 or even ||, and would be handed the key.
_HMAC = _parsed(
    'system.main.sha256(system.main."||"(CAST(:outer_pad AS BLOB), system.main.unhex('
    'system.main.sha256(system.main."||"(CAST(:inner_pad AS BLOB), system.main.encode(:text))))))'
)
_REPEATED = _parsed("UNNEST(RANGE(CAST(:count AS BIGINT)))")

_FUNCTIONS = {
    Own.FINITE_NUMBER: called("ISFINITE"),
    Own.FINITE_DAY: called("ISFINITE"),
    Own.FLOAT_TEXT: text,
    Own.DAY_TEXT: text,
    Own.BYTE_ORDER: itself,
    Own.EACH_BELOW: lambda count: exp.replace_placeholders(_REPEATED, count=count),
    Own.ROW_HASH: called("HASH"),
    Own.TEXT_DIGEST: called("MD5_NUMBER"),
    Own.URL_ENCODED: called("URL_ENCODE"),
    Own.COMPOSED: called("NFC_NORMALIZE"),
    Own.WITHOUT_ACCENTS: called("STRIP_ACCENTS"),
    Own.KEYED_HASH: lambda value: exp.replace_placeholders(_HMAC, text=value),
}


class WorkbenchDialect(DuckDB, Translating):
    """Named so that it takes no place of sqlglot's own."""

    WORDS: ClassVar[Words] = {exp.Anonymous: functions(_FUNCTIONS, itself)}


WORKBENCH: type[Dialect] = WorkbenchDialect
