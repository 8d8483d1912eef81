"""The value of a column as it is compared and released."""

from __future__ import annotations

from sqlglot import exp

from duckanon.engine import Column
from duckanon.query.expressions import column, sql


def plain(c: Column, table: str | None = None) -> exp.Expr:
    """The value of a column such that what is equal also looks equal: of -0.0 and 0.0 there is only the latter. An ENUM
    is a text: its type would list values that no released row has."""
    value = column(c.name, table)
    if c.type.released != c.type:
        return c.type.released.cast(value)
    if not c.type.is_float:
        return value
    # Elsewhere the sum of a number of single precision and a whole one is of double precision.
    unsigned = sql(":value + 0", value=value)
    return c.type.cast(unsigned) if c.type.dialect else unsigned
