"""A run's statements in the dialect of another engine. What cannot be said there is refused by name, never guessed.

DuckDB's is the dialect of a run. What is said for PostgreSQL was executed there; of the others only the metrics are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import ErrorLevel, exp
from sqlglot.errors import UnsupportedError

from duckanon.engine import Column, Executed
from duckanon.errors import Fault, PolicyError
from duckanon.query.expressions import sql

OWN = "duckdb"
_ONE_TEXT = (
    *("VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL"),
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
)
_LARGEST = 1.7976931348623157e308


def said(executed: Executed, dialect: str) -> str:
    """A statement as text; raises PolicyError for one that the dialect has no words for."""
    statement = executed.statement
    if dialect == OWN:
        return statement if isinstance(statement, str) else statement.sql(OWN, identify=True, pretty=True)
    if isinstance(statement, str):
        raise _unsaid(executed, dialect, "what only DuckDB knows")
    for what, is_said in _UNSAID[dialect].items():
        if any(is_said(node) for node in statement.walk()):
            raise _unsaid(executed, dialect, what)
    # Only PostgreSQL comes here with anything that must be said otherwise.
    told = statement.transform(_for_postgres)
    try:
        return told.sql(dialect, identify=True, pretty=True, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise _unsaid(executed, dialect, str(error)) from None


def must_have_one_text(columns: Iterable[Column], dialect: str) -> None:
    """Policies and hierarchies name values by their text, which must be the same in both engines: 1.0 may be 1."""
    for column in columns:
        if dialect != OWN and column.type.split("(")[0] not in _ONE_TEXT:
            raise _refused(dialect, f"the values of {column.name}, of type {column.type}, as the same texts")


def _unsaid(executed: Executed, dialect: str, what: str) -> PolicyError:
    return _refused(dialect, f"{what} ({executed.note})" if executed.note else what)


def _refused(dialect: str, what: str) -> PolicyError:
    remedy = "leave --dialect out; the metrics of a table (--metrics) are printed for every dialect"
    return PolicyError([Fault(f"--dialect {dialect}", f"cannot say {what}", remedy)])


def _is_hugeint(node: exp.Expr) -> bool:
    return isinstance(node, exp.DataType) and node.is_type("INT128")


def _is_temporary(kind: str) -> Callable[[exp.Expr], bool]:
    return lambda node: isinstance(node, exp.Create) and node.kind == kind


def _is_call(node: exp.Expr) -> bool:
    """A function that sqlglot does not know would be printed as it is; of those only ISFINITE has other words."""
    return isinstance(node, exp.Anonymous) and node.name.upper() != "ISFINITE"


_UNSAID: dict[str, dict[str, Callable[[exp.Expr], bool]]] = {
    "postgres": {
        "a cast that may fail (TRY_CAST)": lambda node: isinstance(node, exp.TryCast),
        "functions of DuckDB": _is_call,
        "tables of another database": lambda node: isinstance(node, exp.Table) and bool(node.catalog),
    },
    "spark": {"temporary tables": _is_temporary("TABLE")},
    "bigquery": {
        "temporary views": _is_temporary("VIEW"),
        "HUGEINT": _is_hugeint,
    },
    "snowflake": {
        "HUGEINT": _is_hugeint,
        "rows repeated in the SELECT list (UNNEST)": lambda node: isinstance(node, exp.Explode),
    },
}


def _for_postgres(node: exp.Expr) -> exp.Expr:
    """The same in PostgreSQL's words: whole numbers of any size, a set in place of a list, finite by comparison."""
    if _is_hugeint(node):
        return exp.DataType.build("DECIMAL(38, 0)")
    if isinstance(node, (exp.Explode, exp.Try)):
        # A list of numbers is a set of rows there; what TRY takes away, statistics, nobody is told there.
        inner: exp.Expr = node.this
        return inner.transform(_for_postgres)
    if isinstance(node, exp.Table) and node.db == "main":
        return exp.Table(this=node.this, alias=node.args.get("alias"))  # DuckDB's default schema
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ISFINITE":
        (value,) = node.expressions
        if isinstance(value, exp.Cast) and value.to.is_type("DOUBLE"):
            # NaN is above every number there.
            return exp.paren(sql(f":value BETWEEN CAST('-{_LARGEST!r}' AS DOUBLE) AND CAST('{_LARGEST!r}' AS DOUBLE)",
                                 value=value.copy()))  # fmt: skip
    return node
