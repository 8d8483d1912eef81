"""A sample of what would be released: the labels and the sensitive values of some rows of a node that holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.policy import Policy
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.steps import with_steps
from duckanon.recoding.full_domain import FullDomain
from duckanon.recoding.rows import Cells, label_steps
from duckanon.search.lattice import Node, nowhere_above

_ROWS = 8


@dataclass(frozen=True)
class Sample:
    """Rows, or why there are none. `left_out`: columns that are released and not shown here."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    left_out: tuple[str, ...] = ()
    why_none: str = ""


def why_no_release(policy: Policy, node: Node, last: Node | None) -> str:
    """Why a run would not come to a node, even if it holds: what it would not release is not shown."""
    if policy.release.difference == "refuse":
        return "release.difference is refuse: only a run can tell whether it would release these rows beside the last"
    if last is not None and policy.release.mode == "fixed" and node != last:
        return "release.mode is fixed, and these are not the levels of the last release"
    if last is not None and policy.release.mode == "monotone" and not nowhere_above(last, node):
        return "release.mode is monotone, and some of these levels are finer than those of the last release"
    return ""


def sample_of(recoding: FullDomain) -> Sample:
    """Some rows at equal distances in the order of the release, as it would show them. What is kept as it is, or as a
    pseudonym, is no label, and no threshold bounds it: it is left out."""
    shown, at = recoding.shown, recoding.at
    values = [f"s{part.index}" for part in shown.sensitive]
    names = [h.column.name for h in shown.hierarchies] + [part.column.name for part in shown.sensitive]
    keys = [column(name, "cells") for name in (*at.keys, *values)]
    cells = at.with_cells(exp.select(*keys, sql("SUM(cells.n)").as_("n")).from_(_classes(recoding)))
    cells = cells.group_by(*(key.copy() for key in keys)) if keys else cells
    picked = Cells(_picked(cells, [*at.keys, *values], recoding.rows), (*at.keys, *values, "n"))
    steps = label_steps(replace(shown, keep=()), picked, at.labels(), names)
    outputs = [column(f"r{at}") for at in range(len(names))]
    query = exp.select(*outputs).from_(table("labelled_cells")).order_by(*(output.copy() for output in outputs))
    rows = at.census.workbench.fetch(with_steps(query, **steps), "a sample of the released rows")
    texts = tuple(tuple("NULL" if value is None else str(value) for value in row) for row in rows)
    return Sample(tuple(names), texts, tuple(kept.name for kept in shown.keep))


def _classes(recoding: FullDomain) -> exp.Expr:
    return exp.alias_(recoding.good, "classes", table=True)


def _picked(cells: exp.Select, names: list[str], rows: int) -> exp.Select:
    """The cells in which one of so many places lies that part the released rows evenly."""
    order = f" ORDER BY {', '.join(names)}" if names else ""
    places = exp.select("*", sql(f"SUM(n) OVER ({order.strip()} ROWS UNBOUNDED PRECEDING)").as_("until"))
    step = {"most": literal(_ROWS), "rows": literal(max(rows, 1))}
    passed = sql("FLOOR(until * :most / :rows) > FLOOR((until - n) * :most / :rows)", **step)
    places = places.from_(cells.subquery("cells"))
    return exp.select(*map(column, (*names, "n"))).from_(places.subquery("places")).where(passed)
