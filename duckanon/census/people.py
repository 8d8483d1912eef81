"""Who is counted: rows or, where the policy names an entity, the people that the rows are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from duckanon.census.pseudonyms import Pseudonym
from duckanon.census.source import BoundSource
from duckanon.engine import Engine, Workbench
from duckanon.errors import Fault, SourceError
from duckanon.models.unit import PEOPLE, ROWS, CountingUnit
from duckanon.policy import Policy
from duckanon.query.expressions import column, literal, same, sql, table
from duckanon.query.steps import with_steps

# Whether an identifier repeats is asked of so many rows: in a table of visits the same person soon comes again.
_MOST_ASKED = 1_000_000


def counting_unit(policy: Policy) -> CountingUnit:
    return ROWS if policy.entity is None else PEOPLE


def people_told(source: int | None, released: int | None) -> dict[str, int | None] | None:
    """How many there are, for a result; None where rows are counted."""
    return None if source is None else {"source": source, "released": released}


def gathered(cells: exp.Table | exp.Query, names: list[str], classes: Sequence[str] = ()) -> exp.Query:
    """Cells that tell people apart (names, e, p, n), with everybody gathered into p who is in one cell only of whatever
    class: those that `classes` are the keys of or, without these, all cells together. There and in all finer classes
    p and the different e are the people, and e is a number."""
    # A table is read as it is: a step that is used several times would be kept first, and copy it.
    steps = {} if isinstance(cells, exp.Table) else {"cells": cells}
    of_cells = table("cells") if steps else exp.alias_(cells, "cells", table=True)
    keys, shared = [column(name, "cells") for name in names], [*classes, "e"]
    several = exp.select(*map(column, shared), sql("ROW_NUMBER() OVER ()").as_("id")).from_(of_cells)
    several = several.where(sql("e IS NOT NULL")).group_by(*map(column, shared)).having("COUNT(*) > 1")
    on, of_several = same(shared, "cells", "several", nulls=False), table("several")
    met = exp.select(*keys, column("id", "several").as_("e"), sql("0").as_("p"), column("n", "cells"))
    met = met.from_(of_cells.copy()).join(of_several, on=on)
    alone = {"p": "SUM(cells.p) + COUNT(cells.e)", "n": "SUM(cells.n)"}
    numbers = [sql(f"CAST({number} AS BIGINT)").as_(name) for name, number in alone.items()]
    others = exp.select(*keys, sql("NULL").as_("e"), *numbers).from_(of_cells.copy())
    others = others.join(of_several.copy(), on=on.copy(), join_type="left").where(sql("several.id IS NULL"))
    others = others.group_by(*keys) if keys else others
    both = exp.union(met, others, distinct=False)
    return with_steps(exp.select("*").from_(table("both")), **steps, several=several, both=both)


def must_name_everybody(policy: Policy, tuples: exp.Expr, workbench: Workbench) -> None:
    """Rows of nobody: whether they are of one person or of many, no number could be trusted."""
    nobody = exp.select(sql("CAST(COALESCE(SUM(n), 0) AS BIGINT)")).from_(tuples).where(sql("e IS NULL"))
    ((rows,),) = workbench.fetch(nobody)
    if rows:
        what = f"'{policy.entity}' is NULL in {rows:,} rows: nobody knows whose they are"
        raise SourceError([Fault("privacy.entity", what, "leave them out, or name them, in source.query")], policy.file)


def count_people(policy: Policy, tuples: exp.Expr, workbench: Workbench) -> int | None:
    """How many there are; None where rows are counted."""
    if policy.entity is None:
        return None
    must_name_everybody(policy, tuples, workbench)
    ((people,),) = workbench.fetch(exp.select("COUNT(DISTINCT e)").from_(tuples))
    return int(people)


def linked_by_pseudonym(source: BoundSource, census: exp.Table, codes: list[str], engine: Engine) -> Iterator[str]:
    """A pseudonym of the entity holds the rows of a person together, whatever classes they are in."""
    shown = [kept.name for kept in source.keep if isinstance(kept, Pseudonym)]
    if source.entity is None or source.entity.name not in shown:
        return
    tuples = exp.select("e", *map(column, codes)).distinct().from_(census).subquery("t")
    people = exp.select("e").from_(tuples).group_by("e").having("COUNT(*) > 1")
    ((several,),) = engine.fetch(exp.select("COUNT(*)").from_(people.subquery("p")))
    if several:
        yield (
            f"columns.pseudonyms: {source.entity.name}: {several:,} people have rows with different quasi-identifiers; "
            "their pseudonym links these rows, and together they may tell who it is"
        )


def repeated_identifiers(source: BoundSource) -> Iterator[str]:
    """A word on identifiers that are in several rows, in a policy that takes every row for a person."""
    if source.entity is not None or not source.identifiers:
        return
    names = [column(c.name).as_(f"i{position}") for position, c in enumerate(source.identifiers)]
    asked = exp.select(*names).from_(source.table).limit(literal(_MOST_ASKED))
    repeats = [sql(f"COUNT(i{position}) - COUNT(DISTINCT i{position})") for position in range(len(names))]
    (found,) = source.warehouse.fetch(exp.select(*repeats).from_(asked.subquery("asked")), "do identifiers repeat?")
    repeating = [c.name for c, rows in zip(source.identifiers, found, strict=True) if rows]
    if not repeating:
        return
    (one, *others), listed = repeating, ", ".join(repeating)
    repeat = f"{listed} repeat" if others else f"{one} repeats"
    named = f'it names people, set privacy.entity = "{one}"'
    if others:
        named = "one of them names people, set privacy.entity to it"
    yield (
        f"columns: {repeat}: a person may have several rows, and every row is counted as a person; if {named}; "
        "what names nobody goes under columns.drop"
    )
