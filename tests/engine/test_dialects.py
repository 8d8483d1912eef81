"""What the dialects say of the nodes of our own, and what they refuse."""

from __future__ import annotations

import pytest
from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from duckanon.query import functions as f
from duckanon.query.dialects import WORKBENCH
from duckanon.query.dialects.others import OTHERS
from duckanon.query.expressions import column, create, sql, table

X = column("x")


def said(node: exp.Expr, dialect: str) -> str:
    return node.sql(OTHERS[dialect], identify=True, unsupported_level=ErrorLevel.IMMEDIATE)


WORDS = {
    "wide": (f.wide(X), 'CAST("x" AS INT128)', 'CAST("x" AS DECIMAL(38, 0))'),
    "finite": (
        f.finite_number(X),
        'ISFINITE("x")',
        "(\"x\" BETWEEN CAST('-1.7976931348623157e+308' AS DOUBLE PRECISION) "
        "AND CAST('1.7976931348623157e+308' AS DOUBLE PRECISION))",
    ),
    "finite day": (f.finite_day(X), 'ISFINITE("x")', 'ISFINITE("x")'),
    "repeated": (
        f.each_below(X),
        'UNNEST(RANGE(0, CAST("x" AS BIGINT)))',
        'GENERATE_SERIES(0, CAST("x" AS BIGINT) - 1)',
    ),
    "quotient": (f.quotient(X, X), '"x" // "x"', 'DIV("x", "x")'),
    "matches": (f.matches(X, "a+"), "REGEXP_MATCHES(\"x\", 'a+')", "\"x\" ~ 'a+'"),
    "statistics": (exp.Try(this=X.copy()), 'TRY("x")', '"x"'),
    "main": (table("main", "t"), '"main"."t"', '"t"'),
}


@pytest.mark.parametrize("what", WORDS)
def test_both_have_words_for_it(what: str) -> None:
    node, workbench, postgres = WORDS[what]
    assert node.sql(WORKBENCH, identify=True) == workbench
    assert said(node, "postgres") == postgres


UNSAID = {
    ("postgres", f.cast_or_null(X, "DATE")): "a cast that may fail (TRY_CAST)",
    ("postgres", f.digest(X)): "functions of DuckDB",
    ("postgres", f.url_encoded(X)): "functions of DuckDB",
    ("postgres", f.composed(X)): "functions of DuckDB",
    ("postgres", f.keyed_hash(X)): "functions of DuckDB",
    ("postgres", sql("LIST_SORTED_BY_NOBODY(x)")): "functions of DuckDB",
    ("postgres", table("c", "s", "t")): "tables of another database",
    ("spark", create("TABLE", table("t"), exp.select(X), temporary=True)): "temporary tables",
    ("bigquery", create("VIEW", table("t"), exp.select(X), temporary=True)): "temporary views",
    ("bigquery", f.wide(X)): "HUGEINT",
    ("snowflake", f.wide(X)): "HUGEINT",
    ("snowflake", f.each_below(X)): "rows repeated in the SELECT list (UNNEST)",
}


@pytest.mark.parametrize(("dialect", "node"), UNSAID, ids=str)
def test_what_cannot_be_said_is_refused(dialect: str, node: exp.Expr) -> None:
    with pytest.raises(UnsupportedError) as refused:
        said(node, dialect)
    assert str(refused.value) == UNSAID[dialect, node]


def test_the_key_is_in_parameters_and_its_functions_have_full_names() -> None:
    text = f.keyed_hash(X).sql(WORKBENCH, identify=True)
    assert text.count("$outer_pad") == text.count("$inner_pad") == 1
    assert text.count('"system"."main".') == 6


def test_dialects_of_other_programs_stay_what_they_are() -> None:
    import sqlglot.dialects.postgres

    assert sqlglot.Dialect.get("postgres") is sqlglot.dialects.postgres.Postgres
    assert exp.cast(X, "INT128").sql("postgres") == 'CAST("x" AS INT128)'
