"""The labels of all levels of a hierarchy in one list: what a locally recoded column may show."""

from __future__ import annotations

from sqlglot import exp

from duckanon.expressions import column, double, literal, sql, text_of
from duckanon.hierarchy import Hierarchy


def label_list(hierarchy: Hierarchy) -> exp.Query:
    """level, code, label, the NCP and the loss of a cell that shows it, and id: equal labels have equal ids.

    NULL, code 0 below the top, shows nothing and is not listed.
    """
    listed = exp.union(*(_level(hierarchy, level) for level in range(hierarchy.height + 1)), distinct=False)
    ranked = sql("CAST(DENSE_RANK() OVER (ORDER BY label) AS INTEGER)")
    return exp.select("*", ranked.as_("id")).from_(listed.subquery("listed"))


def _level(hierarchy: Hierarchy, level: int) -> exp.Select:
    num = hierarchy.domain
    if level == hierarchy.height:
        ncp, loss = double(hierarchy.levels[level].highest_ncp), double((num - 1) / num)
        return _row(level, sql("0"), literal(hierarchy.top), ncp, loss)
    code = column(f"code_{level}")
    label = text_of(column("value")) if level == 0 else column(f"label_{level}")
    listed = _row(level, code, label, hierarchy.ncp(level), hierarchy.loss(level)).from_(hierarchy.mapping)
    return listed.distinct() if level else listed


def _row(level: int, code: exp.Expr, label: exp.Expr, ncp: exp.Expr, loss: exp.Expr) -> exp.Select:
    shown = exp.cast(label, "VARCHAR")
    return exp.select(
        literal(level).as_("level"), code.as_("code"), shown.as_("label"), ncp.as_("ncp"), loss.as_("loss")
    )
