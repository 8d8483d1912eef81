"""How many rows of the population the labels of a release cover, by what it shows: by texts, not by the codes that were
searched."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.population import CountedPopulation
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.labels import label_list
from duckanon.models.questions import Covered
from duckanon.query.counts import RowCounts
from duckanon.query.expressions import case_of, column, literal, same, sql, table
from duckanon.query.names import folded
from duckanon.query.steps import select, with_steps
from duckanon.search.lattice import Node


def covered_by(counts: RowCounts, census: Census, node: Node | None, enough: int, scratch: Scratch) -> Covered | None:
    """What the release whose rows were counted in the engine of the `scratch` covers; None: there is no population.
    Without a node a label covers whom it covers at any level.

    `enough`: rows of the population among which nobody is at risk."""
    if census.population is None:
        return None
    classes = _shown_classes(counts, census, scratch)
    hierarchies = census.hierarchies
    levels, names = [f"l{h.index}" for h in hierarchies], [f"g{h.index}" for h in hierarchies]
    numbered = select(exp.Star(), nth="ROW_NUMBER() OVER ()").from_(classes)
    on = same([*levels, *names], "looks", "labels", nulls=False)
    # A label of two levels may cover somebody by both.
    below = select(nth=column("nth", "labels"), id=column("id", "looks"), m=column("m", "looks")).distinct()
    of_class = select(nth="nth", m="SUM(m)").from_(table("below")).group_by(column("nth"))
    sized = select(x="classes.x", m="CAST(COALESCE(of_class.m, 0) AS DOUBLE)").from_(table("classes"))
    steps = {
        "classes": numbered,
        "labels": _labels(hierarchies, node),
        "nodes": exp.select(*map(column, levels)).distinct().from_(table("labels")),
        "looks": _looks(census.population, hierarchies),
        "below": below.from_(table("looks")).join(table("labels"), on=on),
        "of_class": of_class,
        "sized": sized.join(table("of_class"), on=sql("of_class.nth = classes.nth"), join_type="left"),
        "anybody": exp.select("id", sql("MIN(m)").as_("m")).from_(table("below")).group_by(column("id")),
    }
    met = exp.select(sql("CAST(COALESCE(SUM(m), 0) AS BIGINT)")).from_(table("anybody")).subquery()
    risk = sql("COALESCE(SUM(CASE WHEN m < :enough THEN x END), 0)", enough=literal(enough))
    query = select(**_FIGURES, at_risk=risk, covered=met).from_(table("sized"))
    (found,) = census.workbench.fetch(with_steps(query, **steps), "verify: the population below each label")
    fewest, least, most, average, at_risk, covered = found
    if fewest is None:
        return Covered(census.population.rows, 0, 0, 0.0, 0.0, 0.0, 0)
    return Covered(census.population.rows, int(covered), int(fewest), least, most, average, int(at_risk))


# A label that covers nobody is that of people whom the population lacks: as if it had one of them.
_FIGURES = {
    "fewest": "MIN(m)",
    "least": "MIN(x / GREATEST(m, 1))",
    "most": "MAX(x / GREATEST(m, 1))",
    "average": "SUM(x / GREATEST(m, 1)) / SUM(x)",
}
_OTHER = "?"  # what no class shows


def _shown_classes(counts: RowCounts, census: Census, scratch: Scratch) -> exp.Table:
    """The classes on the workbench: g0 …, as texts, and x rows."""
    types = {folded(c.name): c.type for c in scratch.engine.columns(counts.table)}
    named = [counts.names[h.column.name] for h in census.hierarchies]
    texts = [types[folded(name)].text(column(name)) for name in named]
    rows = sql("CAST(SUM(:copies) AS DOUBLE)", copies=column(counts.copies)).as_("x")
    query = exp.select(*(text.as_(f"g{at}") for at, text in enumerate(texts)), rows).from_(counts.table)
    query = query.group_by(*(text.copy() for text in texts))
    return census.scratch.collected("shown_labels", query, "verify: the classes of the release", scratch.engine)


def _labels(hierarchies: tuple[Hierarchy, ...], node: Node | None) -> exp.Select:
    """The classes with the levels l0 … that their labels are of, and with labels g0 … that no NULL is among."""
    query = exp.select(column("nth", "classes")).from_(table("classes"))
    for h in hierarchies:
        shown, alias = column(f"g{h.index}", "classes"), f"labels_{h.index}"
        if node is not None:
            level: exp.Expr = literal(node[h.index])
        else:
            listed = exp.select("label", "level").distinct().from_(label_list(h).subquery("listed")).subquery(alias)
            on = exp.EQ(this=shown, expression=column("label", alias))
            query = query.join(listed, on=on, join_type="left")
            level = sql("CASE WHEN :shown IS NULL THEN 0 ELSE :level END", shown=shown, level=column("level", alias))
        at_top = sql(":level = :top", level=level, top=literal(h.height))
        query = query.select(level.as_(f"l{h.index}"), _told(at_top, shown, shown).as_(f"g{h.index}"))
    return query


def _looks(population: CountedPopulation, hierarchies: tuple[Hierarchy, ...]) -> exp.Select:
    """Every tuple of the population at all levels that a class has, told in the same way."""
    tuples = select(exp.Star(), id="ROW_NUMBER() OVER ()").from_(population.tuples)
    query = exp.select(column("id", "t"), column("m", "t")).from_(tuples.subquery("t")).join(table("nodes"))
    for h in hierarchies:
        value, alias, level = column(f"q{h.index}", "t"), f"shown_{h.index}", column(f"l{h.index}", "nodes")
        on = exp.EQ(this=value, expression=column("value", alias))
        query = query.join(exp.alias_(population.labels[h.index], alias, table=True), on=on, join_type="left")
        shown = case_of(level, {at: column(f"shown_{at}", alias) for at in range(h.height)}, exp.null())
        at_top = sql(":level = :top", level=level, top=literal(h.height))
        query = query.select(level, _told(at_top, value, shown).as_(f"g{h.index}"))
    return query


def _told(at_top: exp.Expr, value: exp.Expr, shown: exp.Expr) -> exp.Expr:
    """What is shown, such that no two are mistaken for each other: the top, NULL, a label, and what has none."""
    return sql(
        "CASE WHEN :at_top THEN '*' WHEN :value IS NULL THEN '-' ELSE COALESCE('=' || :shown, :other) END",
        at_top=at_top,
        value=value,
        shown=shown,
        other=literal(_OTHER),
    )
