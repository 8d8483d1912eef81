"""A sample of what would be released: the labels and the sensitive values of some rows of a node that holds."""

from __future__ import annotations

from dataclasses import dataclass

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


def sample_of(recoding: FullDomain, left_out: tuple[str, ...]) -> Sample:
    """Some rows at equal distances in the order of the release, as it would show them. The recoding is of a census
    without what is kept: no threshold bounds that."""
    census, (cells, shown) = recoding.shown, recoding.cells()
    names = [h.column.name for h in census.hierarchies] + [values.column.name for values in census.sensitive]
    steps = label_steps(census, Cells(_picked(cells, recoding.rows), cells.names), shown, names)
    outputs = [column(f"r{at}") for at in range(len(names))]
    query = exp.select(*outputs).from_(table("labelled_cells")).order_by(*(output.copy() for output in outputs))
    rows = census.workbench.fetch(with_steps(query, **steps), "a sample of the released rows")
    texts = tuple(tuple("NULL" if value is None else str(value) for value in row) for row in rows)
    return Sample(tuple(names), texts, left_out)


def _picked(cells: Cells, rows: int) -> exp.Select:
    """The cells in which one of so many places lies that part the released rows evenly."""
    order = [column(name) for name in cells.names if name != "n"]
    until = exp.Window(this=sql("SUM(n)"), order=exp.Order(expressions=order) if order else None)
    places = exp.select("*", until.as_("until")).from_(cells.query.subquery("cells"))
    step = {"most": literal(_ROWS), "rows": literal(max(rows, 1))}
    passed = sql("FLOOR(until * :most / :rows) > FLOOR((until - n) * :most / :rows)", **step)
    return exp.select(*map(column, cells.names)).from_(places.subquery("places")).where(passed)
