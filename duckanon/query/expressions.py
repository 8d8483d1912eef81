"""The few words of SQL that everything is built from. Names are quoted and values become literals here, by sqlglot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache, lru_cache

import sqlglot
from sqlglot import exp

from duckanon.query.dialects import WORKBENCH

# Thresholds are compared with this tolerance.
TOLERANCE = 1e-9


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def table(*parts: str) -> exp.Table:
    """A table by its name, or by schema and name, or by catalog, schema and name."""
    named = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
    return exp.Table(**{part: exp.to_identifier(name, quoted=True) for part, name in named.items()})


def literal(value: str | int | None) -> exp.Expr:
    if value is None:
        return exp.null()
    if isinstance(value, str):
        return exp.Literal.string(value)
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def double(value: float | Decimal) -> exp.Expr:
    """A floating-point number: a bare decimal literal would be of a type that each engine chooses."""
    return exp.cast(exp.Literal.string(repr(float(value))), "DOUBLE")


def sql(template: str, /, **parts: exp.Expr) -> exp.Expr:
    """Fixed SQL over the driver's own column names, in the workbench's dialect; `:name` stands for an expression
    out of `parts`."""
    tree = _parsed(template)
    return exp.replace_placeholders(tree, **parts) if parts else tree.copy()


@lru_cache(maxsize=512)
def _parsed(template: str) -> exp.Expr:
    tree = sqlglot.parse_one(template, dialect=WORKBENCH)
    for node in tree.walk():
        # Where each word stood in the text, and what was said beside it: copying these takes half of a copy's time.
        node._meta = node.comments = None
    return tree


def text_of(expression: exp.Expr) -> exp.Expr:
    """The text form of a value, by which policies and hierarchy files name it."""
    return exp.cast(expression, "VARCHAR")


def case_of(subject: exp.Expr, results: Mapping[str, exp.Expr] | Mapping[int, exp.Expr], default: exp.Expr) -> exp.Expr:
    """CASE subject WHEN 'key' THEN result … ELSE default END."""
    if not results:
        return default
    ifs = [exp.If(this=literal(key), true=result.copy()) for key, result in results.items()]
    return exp.Case(this=subject.copy(), ifs=ifs, default=default.copy())


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    return exp.and_(*conditions) if (conditions := list(conditions)) else exp.true()


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    return exp.or_(*conditions) if (conditions := list(conditions)) else exp.false()


def greatest(figures: Iterable[exp.Expr]) -> exp.Expr:
    """The greatest of some figures, of which there is at least one; NULL is none."""
    figures = list(figures)
    if len(figures) == 1:
        return figures[0]  # Spark has no word for that
    parts = {f"figure_{place}": figure for place, figure in enumerate(figures)}
    return sql(f"GREATEST({', '.join(f':{name}' for name in parts)})", **parts)


def same(names: Iterable[str], left: str, right: str, nulls: bool) -> exp.Expr:
    """The join condition on equal keys; `nulls`: the keys may be NULL, and NULL equals NULL."""
    kind = exp.NullSafeEQ if nulls else exp.EQ
    return all_of(kind(this=column(name, left), expression=column(name, right)) for name in names)


def create(kind: str, name: exp.Table, query: exp.Query, temporary: bool = False) -> exp.Expr:
    """CREATE TABLE | VIEW name AS query."""
    properties = exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None
    return exp.Create(this=name.copy(), kind=kind, expression=query, properties=properties)


def drop(kind: str, name: exp.Table) -> exp.Expr:
    """DROP TABLE | VIEW | TYPE IF EXISTS name."""
    return exp.replace_placeholders(_dropping(kind), name=name)


@cache
def _dropping(kind: str) -> exp.Expr:
    """Parsed, since the shape of sqlglot's Drop changes between releases. It knows types in the grammar of PostgreSQL
    only."""
    return sqlglot.parse_one(f"DROP {kind} IF EXISTS :name", dialect="postgres" if kind == "TYPE" else WORKBENCH)
