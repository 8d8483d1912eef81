"""Lists are checked before they are hierarchies: complete, a tree, under one top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.errors import Fault, HierarchyError, Message, examples_of
from duckanon.hierarchy.faults import Faults
from duckanon.hierarchy.listing import Listing
from duckanon.hierarchy.matching import EXACTLY, Matching
from duckanon.query.expressions import any_of, column, literal, sql
from duckanon.query.steps import select, united


@dataclass(frozen=True)
class Unchecked:
    """A temporary table level_0 … level_h of distinct texts, of which nothing else is known."""

    table: exp.Table
    height: int
    where: str
    origin: str
    matching: Matching = EXACTLY
    fillable: bool = False  # an empty cell stands for a group that somebody has yet to name

    @property
    def unfilled(self) -> exp.Expr:
        """Whether a row has such a cell."""
        levels = range(0 if self.matching.pattern else 1, self.height + 1)  # the empty text is a value, but no code
        return any_of(sql(":level = ''", level=column(f"level_{level}")) for level in levels if self.fillable)


def check_lists(lists: Mapping[int, Unchecked], faults: Faults, workbench: Workbench) -> dict[int, Listing]:
    """The lists that are hierarchies. All are looked at in one statement; one that is flawed is asked what is wrong."""
    found = _looked_at(lists, workbench) if lists else {}
    listings = {}
    for index, unchecked in lists.items():
        with faults.of(index):
            values, top, last_top, flaws = found.get(index, (0, "", "", 0))
            sound = values and top == last_top and not flaws
            known = Listing(unchecked.table, unchecked.height, top, values, unchecked.matching)
            listings[index] = known if sound else check_list(unchecked, workbench)
    return listings


def _looked_at(lists: Mapping[int, Unchecked], workbench: Workbench) -> dict[int, tuple[int, str, str, int]]:
    """Of every list that has some: how many values, its first and its last top, and how many labels that are flawed."""
    labels = [_labels(index, unchecked, at) for index, unchecked in lists.items() for at in range(unchecked.height)]
    every = united(labels).subquery("labels", copy=False)
    figures = exp.select(
        "list",
        "CAST(SUM(CASE WHEN level = 0 THEN n ELSE 0 END) AS BIGINT)",
        "MIN(top)",
        "MAX(top)",
        "COUNT(CASE WHEN flawed THEN 1 END)",
    )
    rows = workbench.fetch(figures.group_by("list").from_(every, copy=False))
    return {index: (values, first, last, flaws) for index, values, first, last, flaws in rows}


def _labels(index: int, unchecked: Unchecked, level: int) -> exp.Select:
    """The labels of a level: how often each is listed, under which top where that is next, and whether it is flawed:
    missing, without a parent, with several, or left to fill in."""
    here, above = column(f"level_{level}"), column(f"level_{level + 1}")
    flaws = [sql(":here IS NULL OR COUNT(:above) < COUNT(*) OR MIN(:above) <> MAX(:above)", here=here, above=above)]
    if unchecked.fillable:
        flaws.append(sql("MIN(:above) = ''", above=above))  # no text comes before it
    if unchecked.matching.pattern:
        flaws.append(sql(":here = ''", here=here))
    top = sql("MIN(:above)", above=above) if level + 1 == unchecked.height else exp.cast(exp.null(), "VARCHAR")
    own = {"list": literal(index), "level": literal(level)}
    labels = select(**own, n="COUNT(*)", top=top, flawed=any_of(flaws)).from_(unchecked.table)
    return labels.group_by(here)


def check_list(unchecked: Unchecked, workbench: Workbench) -> Listing:
    """The hierarchy that a list is; or what is wrong with it."""
    left = _leave_out_unfilled(unchecked, workbench)
    try:
        values, top = _must_be_tree(unchecked, workbench)
    except HierarchyError:
        if left:
            raise unfilled_fault(left, unchecked.where) from None
        raise
    return Listing(unchecked.table, unchecked.height, top, values, unchecked.matching, left)


def _leave_out_unfilled(unchecked: Unchecked, workbench: Workbench) -> str:
    """A file that was proposed has values whose groups somebody has yet to name. Says how many, and leaves them out."""
    if not unchecked.fillable:
        return ""
    empty = unchecked.unfilled
    ((values,),) = workbench.fetch(exp.select("COUNT(DISTINCT level_0)").from_(unchecked.table).where(empty))
    if not values:
        return ""
    workbench.execute(exp.delete(unchecked.table, where=empty), "values that are left to fill in")
    many = "1 value is" if values == 1 else f"{values:,} values are"
    return f"{unchecked.origin}: {many} left to fill in"


def unfilled_fault(unfilled: str, where: str) -> HierarchyError:
    remedy = 'write the groups of each into its empty cells, or set privacy.unmapped = "suppress" or "top"'
    return HierarchyError([Fault(where, unfilled, remedy)])


def _must_be_tree(unchecked: Unchecked, workbench: Workbench) -> tuple[int, str]:
    """How many values it has, and its top."""
    where, origin, height = unchecked.where, unchecked.origin, unchecked.height
    levels = [f"level_{level}" for level in range(height + 1)]
    ((values, tops, top, *holes),) = workbench.fetch(
        exp.select(
            "COUNT(*)",
            sql("COUNT(DISTINCT :top)", top=column(levels[-1])),
            sql("MIN(:top)", top=column(levels[-1])),
            *(sql("COUNT(*) - COUNT(:level)", level=column(level)) for level in levels),
        ).from_(unchecked.table)
    )
    faults = []
    if values == 0:
        faults.append(Fault(where, f"{origin}: lists no value", "list every value with its parents"))
    for level, missing in enumerate(holes):
        if missing:
            what = f"{missing} values have no parent at level {level} (NULL)" if level else f"{missing} values are NULL"
            faults.append(Fault(where, f"{origin}: {what}"))
    if tops > 1:
        remedy = "add a last level that is `*` for every value"
        faults.append(Fault(where, f"{origin}: has {tops} tops at its last level {height}, must have one", remedy))
    for level in range(height):
        ((count, example),) = workbench.fetch(_two_parents(unchecked, level).select("COUNT(*)", "MIN(label)"))
        if count:
            what = f"{origin}: {count} values of level {level} have two parents at level {level + 1}, such as "
            faults.append(Fault(where, Message.of(what, examples_of([example])), "give each value one parent"))
    if faults:
        raise HierarchyError(faults)
    return values, top


def _two_parents(unchecked: Unchecked, level: int) -> exp.Select:
    """The labels of a level that have more than one parent: one of them would stand for two groups of people."""
    here, above = column(f"level_{level}"), column(f"level_{level + 1}")
    labels = exp.select(here.as_("label")).from_(unchecked.table).group_by(here)
    return exp.select().from_(labels.having(sql("MIN(:above) <> MAX(:above)", above=above)).subquery("labels"))
