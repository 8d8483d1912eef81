"""What each level of the hierarchies costs over the counted rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from duckanon.engine import Workbench
from duckanon.hierarchy import Level
from duckanon.hierarchy.computed import VALUE, IntervalsKind
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import known
from duckanon.query.expressions import column, double, literal, sql
from duckanon.query.steps import select, united


@dataclass(frozen=True)
class LevelFigures:
    """What is counted of a level below the top."""

    labels: int
    contained: float  # Σ n (size − 1)
    covered: float  # Σ n size of the labels that stand for several values
    largest: float  # size of such a label
    example: str | None  # the label of the most rows, of a list


def level_figures(
    schemes: list[Scheme], mappings: Mapping[int, exp.Table], workbench: Workbench
) -> dict[int, list[LevelFigures]]:
    """Of every level below the top of each hierarchy, from its mapping table: all in one statement."""
    several = "CASE WHEN size > 1 THEN {} ELSE 0 END"
    found = select(
        column("hierarchy"),
        column("level"),
        labels="SUM(labels)",
        contained="CAST(SUM(n * (size - 1)) AS DOUBLE)",
        covered=f"CAST(SUM({several.format('n * size')}) AS DOUBLE)",
        largest=f"CAST(MAX({several.format('size')}) AS DOUBLE)",
        example="FIRST(label ORDER BY place, n DESC, label)",
    )
    labels = [_labels(s, level, mappings[s.index]) for s in schemes for level in range(s.height)]
    found = found.group_by("hierarchy", "level").order_by("hierarchy", "level")
    found = found.from_(united(labels).subquery("labels", copy=False), copy=False)
    figures: dict[int, list[LevelFigures]] = {s.index: [] for s in schemes}
    for index, _, number, *others in workbench.fetch(found):
        figures[index].append(LevelFigures(int(number), *others))
    return figures


def _labels(scheme: Scheme, level: int, mapping: exp.Table) -> exp.Select:
    """The labels of a level, each with its size, its rows and its place as an example; of level 0 only how many."""
    own = {"hierarchy": literal(scheme.index), "level": literal(level)}
    none = {"label": exp.cast(exp.null(), "VARCHAR"), "place": literal(0)}
    if level == 0:
        return select(**own, labels="COUNT(*)", size="1", n="SUM(n)", **none).from_(mapping)
    label, size = sql("MIN(:label)", label=column(f"label_{level}")), sql("MIN(:size)", size=column(f"size_{level}"))
    place = sql("CASE WHEN :label = :top THEN 1 ELSE 0 END", label=label, top=literal(scheme.top))
    shown = {"label": label, "place": place} if scheme.listing else none
    return select(**own, labels="1", size=size, n="SUM(n)", **shown).from_(mapping).group_by(f"code_{level}")


def level_costs(
    scheme: Scheme, figures: list[LevelFigures], counts: tuple[int, int, int], num: int, span: float
) -> tuple[Level, ...]:
    """The cost of each level; `counts` are all rows, those that are NULL and those shown as the top at every level.

    NULL is a single value until the top.
    """
    rows, nulls, strangers = counts
    removed = 1.0 if num > 1 else 0.0
    lowest = removed if strangers else 0.0
    levels = [Level(figures[0].labels + (nulls > 0), strangers * (num - 1) / num, strangers * removed, lowest)]
    for level, found in enumerate(figures[1:], start=1):
        each, highest, ncp = None, found.largest / num, found.covered / num
        if isinstance(scheme.kind, IntervalsKind):
            each = scheme.kind.share(level, span) if num > 1 else 0.0
            highest, ncp = max(each, lowest), (rows - nulls - strangers) * each + strangers * removed
        levels.append(Level(found.labels + (nulls > 0), found.contained / num, ncp, highest, each))
    levels.append(Level(1, rows * (num - 1) / num, rows * removed, removed))
    return tuple(levels)


def spans(schemes: list[Scheme], domains: list[exp.Expr], workbench: Workbench) -> dict[int, float]:
    """The largest minus the smallest value of every column with intervals, in units; of any other 0."""
    asked = [_span(s.index, s.kind, s, domains[s.index]) for s in schemes if isinstance(s.kind, IntervalsKind)]
    found = workbench.fetch(united(asked)) if asked else []
    return {s.index: 0.0 for s in schemes} | {index: float(span) for index, span in found}


def _span(index: int, kind: IntervalsKind, scheme: Scheme, domain: exp.Expr) -> exp.Select:
    if kind.type == "date":
        bounds = sql("CAST(MAX(:units) - MIN(:units) AS DOUBLE)", units=kind.units.of(VALUE))
    else:
        span = "(CAST(MAX(:number) AS DOUBLE) - CAST(MIN(:number) AS DOUBLE)) * :scale"
        bounds = sql(span, number=kind.units.number(VALUE), scale=double(10**kind.units.decimals))
    return select(hierarchy=literal(index), span=bounds).from_(domain.copy()).where(known(scheme, VALUE))
