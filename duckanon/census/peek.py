"""A first look at the beginning of a table: which columns have many values, and what these look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from duckanon.census.plain import plain
from duckanon.clues.patterns import PATTERNS, Pattern
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.types import Family
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.functions import matches

_FIRST = 20_000  # rows


@dataclass(frozen=True)
class Peek:
    """What the first rows have in a column. Shares are of those that are not NULL."""

    filled: int
    distinct: int
    shortest: int = 0  # characters of a text
    longest: int = 0
    spaced: float = 0.0  # the share with three words or more
    shares: Mapping[str, float] = field(default_factory=dict)  # by the name of a pattern

    def share(self, pattern: Pattern) -> float:
        return self.shares.get(pattern.name, 0.0)


def first_look(relation: Relation, columns: list[Column], warehouse: Warehouse) -> list[Peek]:
    """One statement over the first rows, for all columns."""
    named = [plain(c).as_(f"c{i}") for i, c in enumerate(columns)]
    rows = exp.select(*named).from_(relation.table).limit(_FIRST)
    figures = [figure for i, c in enumerate(columns) for figure in _figures(column(f"c{i}"), is_texts(c))]
    (found,) = warehouse.fetch(exp.select(*figures).from_(rows.subquery("first_rows")), "a first look")
    told = iter(found)
    return [_peek(told, is_texts(c)) for c in columns]


def is_texts(c: Column) -> bool:
    """Whether its values are known by how they are written."""
    return c.type.released.family in (Family.TEXT, Family.ENUMERATION, Family.OTHER)


def _figures(value: exp.Expr, texts: bool) -> list[exp.Expr]:
    figures = [sql("COUNT(:v)", v=value), sql("COUNT(DISTINCT :v)", v=value)]
    if not texts:
        return figures
    text = text_of(value)
    figures += [sql(f"COALESCE({bound}(LENGTH(:text)), 0)", text=text) for bound in ("MIN", "MAX")]
    return [*figures, *(_matching(text, expression) for expression in ("[^ ] +[^ ]+ +[^ ]", *_EXPRESSIONS))]


_EXPRESSIONS = tuple(pattern.expression for pattern in PATTERNS)


def _matching(text: exp.Expr, expression: str) -> exp.Expr:
    return sql("COUNT(CASE WHEN :matches THEN 1 END)", matches=matches(text, expression))


def _peek(told: Iterator[int], texts: bool) -> Peek:
    filled, distinct = next(told), next(told)
    if not texts:
        return Peek(filled, distinct)
    shortest, longest, spaced = next(told), next(told), next(told)
    most = max(1, filled)
    shares = {pattern.name: next(told) / most for pattern in PATTERNS}
    return Peek(filled, distinct, shortest, longest, spaced / most, shares)
