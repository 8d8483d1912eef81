"""PostgreSQL's words. What is said here was executed there; what it has no words for is refused by name."""

from __future__ import annotations

from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from duckanon.query.dialects.unsaid import Words, inside, unsaid
from duckanon.query.nodes import (
    ByteOrder,
    Composed,
    DayText,
    EachBelow,
    FiniteNumber,
    FloatText,
    KeyedHash,
    RowHash,
    TextDigest,
    UrlEncoded,
    WithoutAccents,
)

_LARGEST = 1.7976931348623157e308
# As the workbench writes it: 1.0, not 1; 1000000.0, not 1e+06; nan and inf.
_FLOAT_TEXT = sqlglot.parse_one(
    """CASE WHEN :number = 0 OR ABS(:number) >= 1e-4 AND ABS(:number) < 1e16
        THEN REGEXP_REPLACE(CAST(CAST(CAST(:number AS TEXT) AS NUMERIC) AS TEXT), '^[^.]*$', '\\&.0')
        ELSE REPLACE(REPLACE(CAST(:number AS TEXT), 'NaN', 'nan'), 'Infinity', 'inf') END""",
    dialect="postgres",
)


# DateStyle, which every reader of a view may set, changes what a cast gives.
_DAY_TEXT = sqlglot.parse_one(
    """LPAD(CAST(EXTRACT(YEAR FROM :day) AS TEXT), 4, '0')
        || '-' || LPAD(CAST(EXTRACT(MONTH FROM :day) AS TEXT), 2, '0')
        || '-' || LPAD(CAST(EXTRACT(DAY FROM :day) AS TEXT), 2, '0')""",
    dialect="postgres",
)


def _between_the_largest(generator: Any, node: FiniteNumber) -> str:
    """NaN is above every number there."""
    low, high = (exp.cast(exp.Literal.string(f"{sign}{_LARGEST!r}"), "DOUBLE") for sign in ("-", ""))
    text: str = generator.sql(exp.paren(exp.Between(this=node.this.copy(), low=low, high=high)))
    return text


def _series(generator: Any, node: EachBelow) -> str:
    """A set of rows."""
    count = exp.cast(node.this.copy(), "BIGINT")
    text: str = generator.sql(exp.GenerateSeries(start=exp.Literal.number(0), end=count, is_end_exclusive=True))
    return text


def _same(generator: Any, node: exp.NullSafeEQ) -> str:
    """By arrays of one element, of which NULL equals NULL: by IS NOT DISTINCT FROM PostgreSQL joins in nested loops
    only. Never by text, which depends on settings that a reader of a view may change."""
    sides = node.this, node.expression
    if any(isinstance(side, (exp.Literal, exp.Null)) for side in sides):
        left, right = (generator.sql(side) for side in sides)
        return f"{left} IS NOT DISTINCT FROM {right}"
    arrays = [exp.Array(expressions=[side.copy()]) for side in sides]
    text: str = generator.sql(exp.EQ(this=arrays[0], expression=arrays[1]))
    return text


def _first_group(generator: Any, node: exp.RegexpExtract) -> str:
    """A pattern gives its first group there, if it has any."""
    if node.args.get("group") != exp.Literal.number(1):
        generator.unsupported("another group of a pattern than the first")
    return f"COALESCE(SUBSTRING({generator.sql(node.this)} FROM {generator.sql(node.expression)}), '')"


class PostgresWords(PostgresGenerator):
    """Whole numbers of any size, a set in place of a list, finite by comparison."""

    TYPE_MAPPING: ClassVar[dict[Any, str]] = {
        **PostgresGenerator.TYPE_MAPPING,
        exp.DataType.Type.INT128: "DECIMAL(38, 0)",
    }
    TRANSFORMS: ClassVar[dict[type[exp.Expr], Words]] = {
        **PostgresGenerator.TRANSFORMS,
        exp.TryCast: unsaid("a cast that may fail (TRY_CAST)"),
        # A function that sqlglot does not know would be printed as it is.
        **dict.fromkeys(
            (exp.Anonymous, TextDigest, UrlEncoded, Composed, WithoutAccents, KeyedHash), unsaid("functions of DuckDB")
        ),
        RowHash: lambda self, node: f"HASH_RECORD_EXTENDED(ROW({self.expressions(node, flat=True)}), 0)",
        FiniteNumber: _between_the_largest,
        ByteOrder: lambda self, node: f'{self.sql(node, "this")} COLLATE "C"',
        DayText: lambda self, node: self.sql(exp.replace_placeholders(_DAY_TEXT, day=node.this)),
        FloatText: lambda self, node: self.sql(exp.replace_placeholders(_FLOAT_TEXT, number=node.this)),
        EachBelow: _series,
        exp.NullSafeEQ: _same,
        exp.RegexpExtract: _first_group,
        exp.Try: inside,  # what it takes away, statistics, nobody is told there
    }


# Named so that it takes no place of sqlglot's own.
class PostgresDialect(Postgres):
    Generator = PostgresWords
