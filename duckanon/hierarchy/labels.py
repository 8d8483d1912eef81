"""The labels of all levels of a hierarchy, numbered as one list: what a locally recoded column may show."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.hierarchy import Hierarchy
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import column, double, literal, sql, text_of
from duckanon.query.steps import united


def label_numbers(hierarchy: Hierarchy) -> exp.Query:
    """level, code, label and its id, of every level that the policy allows: equal labels have equal ids, whatever
    their level.

    NULL, code 0 below the top, shows nothing and is not listed.
    """
    return _numbered(_shown(hierarchy, level) for level in hierarchy.allowed)


def label_list(hierarchy: Hierarchy) -> exp.Query:
    """The same for all levels, with the NCP and the loss of a cell that shows the label."""
    levels = range(hierarchy.height + 1)
    return _numbered(_shown(hierarchy, level).select(*_figures(hierarchy, level)) for level in levels)


def labels_of_values(hierarchy: Hierarchy) -> str:
    """code, level, label, lowest: the id of the label that a code of the finest level allowed shows at a level, and the
    lowest level at which it shows the same. NULL has code 0, and id 0 below the top."""
    mapping = hierarchy.mapping.sql(WORKBENCH, identify=True)
    codes = {level: f"code_{level}" if level < hierarchy.height else "0" for level in hierarchy.allowed}
    finest = codes[hierarchy.lowest]
    values = " UNION ".join(
        f"SELECT {finest} AS finest, {level} AS level, {code} AS code FROM {mapping} UNION SELECT 0, {level}, 0"
        for level, code in codes.items()
    )
    numbers = label_numbers(hierarchy).sql(WORKBENCH, identify=True)
    labelled = (
        f"SELECT finest, level, COALESCE(id, 0) AS label FROM ({values}) LEFT JOIN ({numbers}) USING (level, code)"
    )
    lowest = "MIN(level) OVER (PARTITION BY finest, label)"
    return f"SELECT finest AS code, level, label, {lowest} AS lowest FROM ({labelled})"


def _numbered(levels: Iterator[exp.Select]) -> exp.Query:
    ranked = sql("CAST(DENSE_RANK() OVER (ORDER BY label) AS INTEGER)")
    return exp.select("*", ranked.as_("id")).from_(united(levels).subquery("listed"))


def _shown(hierarchy: Hierarchy, level: int) -> exp.Select:
    if level == hierarchy.height:
        return _row(level, literal(0), literal(hierarchy.top))
    label = column(hierarchy.label(level))
    row = _row(level, column(f"code_{level}"), text_of(label) if level == 0 else label).from_(hierarchy.mapping)
    return row.distinct() if level else row


def _row(level: int, code: exp.Expr, label: exp.Expr) -> exp.Select:
    return exp.select(literal(level).as_("level"), code.as_("code"), exp.cast(label, "VARCHAR").as_("label"))


def _figures(hierarchy: Hierarchy, level: int) -> list[exp.Expr]:
    ncp, loss = double(hierarchy.levels[level].highest_ncp), double((hierarchy.domain - 1) / hierarchy.domain)
    if level < hierarchy.height:
        ncp, loss = hierarchy.ncp(level), hierarchy.loss(level)
    return [ncp.as_("ncp"), loss.as_("loss")]
