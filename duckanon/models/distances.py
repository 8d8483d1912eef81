"""How far a class's distribution lies from another: asked of a release, and by analysts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from duckanon.query.counts import ValueCounts
from duckanon.query.expressions import column, double, sql, table
from duckanon.query.steps import select


def distance(counts: ValueCounts, reference: exp.Query, ordered: bool, nodes: Sequence[str] = ()) -> exp.Select:
    """t, the farthest that a class's distribution lies from that of the reference: n of every value v. NULL without any
    value in either. By a hierarchy, if the reference says the `nodes` above a value."""
    return counts.asked(farthest(), **distances(counts, reference, ordered, nodes))


def distances(
    counts: ValueCounts, reference: exp.Query, ordered: bool, nodes: Sequence[str] = ()
) -> dict[str, exp.Query]:
    """Steps, the last of which is `distances`: how far each class lies."""
    valued = select(*counts.keys, column("y"), z=counts.of_values).from_(table("counts")).where(sql("v IS NOT NULL"))
    if nodes:
        steps = _mean_distance(counts, nodes)
    else:
        steps = _ordered_distance(counts) if ordered else _equal_distance(counts)
    return {"reference": reference, "valued": valued, **steps}


def farthest() -> exp.Select:
    return select(t="MAX(distance)").from_(table("distances"))


def of_either(valued: str) -> exp.Select:
    """Every value v of the `reference` and of a step with the values of classes; n of the reference have it."""
    both = exp.union(
        select(column("v"), column("n")).from_(table("reference")),
        select(column("v"), n="0").distinct().from_(table(valued)),
        distinct=False,
    )
    return select(column("v"), n="SUM(n)").from_(both.subquery("both_")).group_by(column("v"))


def _equal_distance(counts: ValueCounts) -> dict[str, exp.Query]:
    """Half of Σ|p − q| is the sum of the differences above 0, and a value that a class lacks has none."""
    return {
        "totals": _TOTALS,
        "gaps": _gaps(counts, "valued", "reference", "v", column("z")),
        "distances": select(distance=_APART).from_(table("gaps")).group_by(*counts.groups),
    }


def _mean_distance(counts: ValueCounts, nodes: Sequence[str]) -> dict[str, exp.Query]:
    """The mean of the equal distances at all levels. A value that the reference lacks is below no node of it: it is far
    from all."""
    steps: dict[str, exp.Query] = {"totals": _TOTALS, "gaps_0": _gaps(counts, "valued", "reference", "v", column("z"))}
    for level, node in enumerate(nodes, start=1):
        keys = [column(key.name, "valued") for key in counts.groups]
        of_values = [column("y", "valued"), column("z", "valued")]
        placed = select(*keys, *of_values, node=column(node, "reference")).from_(table("valued"))
        of_class = select(*counts.groups, column("node"), y="SUM(y)", z="MAX(z)").from_(table(f"placed_{level}"))
        of_all = select(node=column(node), n="SUM(n)").from_(table("reference"))
        steps |= {
            f"placed_{level}": placed.join(table("reference"), on=sql("valued.v = reference.v"), join_type="left"),
            f"class_nodes_{level}": of_class.group_by(*counts.groups, column("node")),
            f"nodes_{level}": of_all.group_by(column(node)),
            f"gaps_{level}": _gaps(counts, f"class_nodes_{level}", f"nodes_{level}", "node", column("z")),
        }
    levels = [exp.select("*").from_(table(f"gaps_{level}")) for level in range(1 + len(nodes))]
    mean = sql(f"{_APART} / :levels", levels=double(len(levels)))
    return {
        **steps,
        "gaps": exp.union(*levels, distinct=False),
        "distances": select(distance=mean).from_(table("gaps")).group_by(*counts.groups),
    }


_TOTALS = select(total="SUM(n)").from_(table("reference"))
_APART = "SUM(CASE WHEN q >= p THEN CAST(0 AS DOUBLE) ELSE p - q END)"


def _gaps(counts: ValueCounts, of_class: str, of_all: str, by: str, whole: exp.Expr) -> exp.Select:
    """Of every value, or node, of a class its share p of the whole there, and q of the reference."""
    keys = [column(key.name, of_class) for key in counts.groups]
    y, n = column("y", of_class), sql("COALESCE(:n, 0)", n=column("n", of_all))
    on = exp.EQ(this=column(by, of_class), expression=column(by, of_all))
    gaps = select(*keys, p=_ratio(y, whole), q=_ratio(n, column("total"))).from_(table(of_class))
    return gaps.join(table(of_all), on=on, join_type="left").join(table("totals"), join_type="cross")


def _ordered_distance(counts: ValueCounts) -> dict[str, exp.Query]:
    """1/(m−1) · Σ|P − Q| over the m values in order, with P and Q the cumulated shares of the class and the reference.

    P changes only at the values that a class has. Between the i-th value and the next that it has, |P − Q| falls until
    Q reaches P, at the value `turn`, and rises from there. With B(i) the sum of all Q before the i-th, such a stretch
    sums to P (2 turn − i − next) + B(i) + B(next) − 2 B(turn), the one before the first value to B(first). Over a class
    the B(next) and B(first) are the B(i) and the sum of all Q.
    """
    return {**_ladder(), **_stretches(counts), **_turns(), **_summed(counts)}


def _ladder() -> dict[str, exp.Query]:
    """The values of both in order, the i-th of them with its Q. `reached` is how many of the reference have a value up
    to it, `before` the sum of these over all values before it: whole numbers, which a double holds exactly."""
    reached = select(
        column("v"),
        i="ROW_NUMBER() OVER (ORDER BY v NULLS FIRST)",
        reached="CAST(SUM(n) OVER (ORDER BY v NULLS FIRST) AS DOUBLE)",
    )
    ladder = select(
        *map(column, ("v", "i", "reached")),
        before="SUM(reached) OVER (ORDER BY i NULLS FIRST) - reached",
        q="reached / total",
    )
    whole = select(values_="COUNT(*)", total="NULLIF(MAX(reached), CAST(0 AS DOUBLE))", area="SUM(reached)")
    return {
        "domain": of_either("valued"),
        "reached": reached.from_(table("domain")),
        "whole": whole.from_(table("reached")),
        "ladder": ladder.from_(table("reached")).join(table("whole"), join_type="cross"),
    }


def _stretches(counts: ValueCounts) -> dict[str, exp.Query]:
    """From every value of a class to its next: c of its n have one up to here."""
    placed = select(*counts.groups, column("y"), column("i"), column("before")).from_(table("valued"))
    placed = placed.join(table("ladder"), on=sql("valued.v = ladder.v"))
    by_value = exp.Ordered(this=column("i"), nulls_first=True)
    stretches = select(
        *counts.groups,
        column("i"),
        column("before"),
        next_=counts.over_class("LEAD(i)", by_value),
        c=sql("CAST(:c AS BIGINT)", c=counts.over_class("SUM(y)", by_value.copy())),
        n=sql("CAST(:n AS BIGINT)", n=counts.over_class("SUM(y)")),
    )
    return {"placed": placed, "stretches": stretches.from_(table("placed"))}


def _turns() -> dict[str, exp.Query]:
    """Of every share c / n the first value whose Q reaches it: counted in one order of both."""
    asked = select(column("c"), column("n"), at=_ratio(column("c"), column("n")), passed="0").distinct()
    passed = select(c="CAST(NULL AS BIGINT)", n="CAST(NULL AS BIGINT)", at="q", passed="1").from_(table("ladder"))
    turns = select(
        column("c"),
        column("n"),
        column("at"),
        turn="1 + SUM(passed) OVER (ORDER BY at NULLS FIRST, passed NULLS FIRST)",
    )
    return {
        "marks": exp.union(asked.from_(table("stretches")), passed, distinct=False),
        "turns": turns.from_(table("marks")),
    }


def _summed(counts: ValueCounts) -> dict[str, exp.Query]:
    keys = [column(key.name, "stretches") for key in counts.groups]
    end = "COALESCE(next_, values_ + 1)"
    turned = (
        select(
            *keys,
            *map(column, ("i", "before", "at", "values_", "total", "area")),
            end_=end,
            turn_=f"GREATEST(i, LEAST({end}, turn))",
        )
        .from_(table("stretches"))
        .join(table("turns"), on=sql("stretches.c = turns.c AND stretches.n = turns.n"))
        .join(table("whole"), join_type="cross")
    )
    distances = select(
        distance="""(
            SUM(turned.at * CAST(2 * turn_ - turned.i - end_ AS DOUBLE))
            + (SUM(2 * (turned.before - ladder.before)) + MAX(area)) / MAX(total)
        ) / CAST(GREATEST(MAX(values_) - 1, 1) AS DOUBLE)"""
    )
    distances = distances.from_(table("turned")).join(table("ladder"), on=sql("ladder.i = turned.turn_"))
    return {"turned": turned, "distances": distances.group_by(*counts.groups)}


def _ratio(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return sql("CAST(:part AS DOUBLE) / CAST(:whole AS DOUBLE)", part=part, whole=whole)
