"""What the workbench speaks: DuckDB's dialect, with words for the nodes of our own that it has no function for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator

from duckanon.query.dialects.unsaid import inside
from duckanon.query.nodes import ByteOrder, DayText, EachBelow, FloatText, KeyedHash


def _parsed(template: str) -> exp.Expr:
    return sqlglot.parse_one(template, dialect=DuckDB)


# H(outer pad ‖ H(inner pad ‖ text)). The functions are DuckDB's own, by their full names: a macro of the warehouse may
# be called sha256 or even ||, and would be handed the key.
_HMAC = _parsed(
    'system.main.sha256(system.main."||"(CAST(:outer_pad AS BLOB), system.main.unhex('
    'system.main.sha256(system.main."||"(CAST(:inner_pad AS BLOB), system.main.encode(:text))))))'
)
_REPEATED = _parsed("UNNEST(RANGE(CAST(:count AS BIGINT)))")


class WorkbenchGenerator(DuckDBGenerator):
    """DuckDB's words."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **DuckDBGenerator.TRANSFORMS,
        FloatText: lambda self, node: self.sql(exp.cast(node.this.copy(), "VARCHAR")),
        ByteOrder: inside,
        DayText: lambda self, node: self.sql(exp.cast(node.this.copy(), "VARCHAR")),
        EachBelow: lambda self, node: self.sql(exp.replace_placeholders(_REPEATED, count=node.this)),
        KeyedHash: lambda self, node: self.sql(exp.replace_placeholders(_HMAC, text=node.this)),
    }


class WorkbenchDialect(DuckDB):
    """Named so that it takes no place of sqlglot's own."""

    Generator = WorkbenchGenerator


WORKBENCH: type[Dialect] = WorkbenchDialect
