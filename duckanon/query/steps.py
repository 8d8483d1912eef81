"""Named steps: a query as a WITH whose steps a reader can follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlglot import exp

from duckanon.query.expressions import sql


def with_steps(final: exp.Select, materialized: Collection[str] = (), /, **steps: exp.Query) -> exp.Select:
    """WITH name AS (…), … in the order given, then the final question. The steps become parts of it.

    A step is named by words of ours, and a number where there are several of its kind. The relations of a user that a
    step reads are qualified, or read by the first step, so that no step hides them.
    """
    final = final.copy()
    for name, step in steps.items():
        kept = True if name in materialized else None  # False would be NOT MATERIALIZED
        # With a copy all steps so far would be copied, too: one may have hundreds of figures.
        final.with_(exp.to_identifier(name, quoted=True), as_=step, materialized=kept, copy=False)
    return final


def select(*columns: exp.Expr, **named: str | exp.Expr) -> exp.Select:
    """SELECT with fixed SQL or expressions under output names."""
    given = {name: sql(text) if isinstance(text, str) else text for name, text in named.items()}
    return exp.select(*columns, *(part.as_(name, quoted=True) for name, part in given.items()))


def united(parts: Iterable[exp.Query]) -> exp.Query:
    """All rows of queries with the same columns, of which there is at least one. They become parts of it: with copies,
    every one would be copied as often as others follow it."""
    first, *others = parts
    return exp.union(first, *others, distinct=False, copy=False) if others else first
