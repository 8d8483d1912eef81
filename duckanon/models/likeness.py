"""β-likeness and δ-disclosure: how far a value's share q of a class may lie from its share p of the source.

Each bounds q. A class made of two has a q between theirs, so what both hold it holds; a row that joins may break it.
All rows as one class have q = p: no threshold is out of reach. Both shares are of those who have a value at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.models.distances import of_either
from duckanon.models.keys import Key, Option, OptionKey
from duckanon.models.model import ClassModel
from duckanon.models.questions import ReleasedColumn
from duckanon.models.rules import ClassRule, Constraint
from duckanon.models.shares import whose, with_total
from duckanon.models.wanted import Wanted, ordinal_of
from duckanon.query.counts import ValueCounts
from duckanon.query.expressions import TOLERANCE, column, double, sql, table
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select
from duckanon.toml.checks import number, truth

_ABOVE_0 = number(above=0)

# -- β-likeness: Cao and Karras, 2012 ------------------------------------------------------------------


class BasicLikeness(ClassModel):
    """(q − p) / p ≤ β: only what a class makes likelier counts."""

    name, order = "beta", 21
    key = Key(
        "beta",
        _ABOVE_0,
        False,
        "basic β-likeness: in no class a value's share exceeds its share of the source by more than β times the latter",
        example=2.0,
    )
    value_key = Key("beta", _ABOVE_0, False, "its β, over the column's", example=1.0)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        figure = sql(_FARTHEST, whose=whose(constraint, wanted), apart=sql(_GAIN))
        return ClassRule(constraint, figure, windows=with_total)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        return _beyond_gain(rule, wanted, double(rule.constraint.threshold + TOLERANCE))

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        return BETA.measured(constraint, released)

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "by how many times its share of the table is a value's share of a class above it, at most?"
        note = "(enhanced_beta: NULL where it is by more than -LN of that share.)"
        counts = request.counts(sensitive)
        query = likeness_figures(counts, counts.totals, "beta", "enhanced_beta")
        yield Metric("beta_likeness", sensitive, f"{question} {note}", query, order=80)


class EnhancedLikeness(ClassModel):
    """(q − p) / p ≤ min(β, −ln p): what is frequent may gain less."""

    name, order = "enhanced_beta", 22
    key = Key(
        "enhanced_beta",
        _ABOVE_0,
        False,
        "enhanced β-likeness: the same, and by no more than −ln of its share of the source",
        example=2.0,
    )
    value_key = Key("enhanced_beta", _ABOVE_0, False, "its enhanced β, over the column's", example=1.0)
    monotone = True

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        gain = sql(_ENHANCED_GAIN, gain=sql(_GAIN), tolerance=double(TOLERANCE))
        figure = sql(_FARTHEST, whose=whose(constraint, wanted), apart=gain)
        return ClassRule(constraint, figure, windows=with_total)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr:
        most = sql("LEAST(:bound, -LN(share)) + :tolerance", bound=double(rule.constraint.threshold), **_TOLERANCE)
        return _beyond_gain(rule, wanted, exp.paren(most))

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        return ENHANCED_BETA.measured(constraint, released)


_TOLERANCE = {"tolerance": double(TOLERANCE)}

_FARTHEST = "GREATEST(COALESCE(MAX(CASE WHEN value IS NOT NULL AND :whose THEN :apart END), 0), 0)"
_GAIN = "(y / total / share - 1)"
_ENHANCED_GAIN = "CASE WHEN :gain > :tolerance - LN(share) THEN CAST('Infinity' AS DOUBLE) ELSE :gain END"


def _beyond_gain(rule: ClassRule, wanted: Wanted, most: exp.Expr) -> exp.Expr:
    """Of Y rows with a value, y of which have this one, r must go for its share to be within its bound b, and all of
    them may have it: y − r ≤ b (Y − r) for r ≥ (y − b Y) / (1 − b)."""
    return sql(_BEYOND, whose=whose(rule.constraint, wanted), bound=sql("share * (1 + :most)", most=most))


_BEYOND = """MAX(CASE WHEN value IS NOT NULL AND :whose AND :bound < 1
    THEN (y - :bound * total) / (1 - :bound) ELSE 0 END)"""


# -- δ-disclosure: Brickell and Shmatikov, 2008 --------------------------------------------------------


@dataclass(frozen=True)
class Delta:
    threshold: float
    present_only: bool = False


_PRESENT_ONLY = Option(
    "present_only",
    truth,
    "whether a class may lack values: of those that it has, no share may differ by more (pycanon's δ)",
    {"type": "boolean"},
    weakens=True,
)


def _key(meaning: str, example: float) -> OptionKey:
    return OptionKey(
        "delta", _ABOVE_0, False, meaning, example, _PRESENT_ONLY, lambda d, present: Delta(d, bool(present))
    )


class Disclosure(ClassModel):
    """|ln(q / p)| < δ of every value of the source: one that a class lacks tells of everybody there that they have it
    not. Where only those are asked that a class has, two that hold may be one that does not: a value that one of them
    lacks becomes rare."""

    name, order = "delta", 23
    key = _key(
        "δ-disclosure: of every value, the shares of a class and of the source differ by less than the factor e^δ; "
        "so every class has every value",
        example=1.5,
    )
    value_key = _key("its δ, over the column's", example=0.8)
    monotone = True

    def holds_merged(self, wanted: Wanted) -> bool:
        return not any(threshold.present_only for _, threshold in self.thresholds(wanted))

    def constraints(self, column: str, value: str | None, threshold: Any) -> Iterator[Constraint]:
        yield Constraint(self.name, column, value, threshold.threshold, strict=True)

    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        who = whose(constraint, wanted)
        figure = sql(_FARTHEST, whose=who, apart=sql("ABS(LN(y / total / share))"))
        if _present_only(constraint, wanted):
            return ClassRule(constraint, figure, windows=with_total)
        there = f"there_{ordinal_of(wanted, constraint.value) if constraint.value is not None else 0}"
        known = {there: sql("COUNT(CASE WHEN :whose THEN 1 END) OVER ()", whose=who)}
        lacks = sql(_LACKS, whose=who, there=column(there))
        figure = sql("CASE WHEN :lacks THEN CAST('Infinity' AS DOUBLE) ELSE :figure END", lacks=lacks, figure=figure)
        return ClassRule(constraint, figure, windows=with_total, known=known)

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr | None:
        """No part of a class that lacks a value has it. Of a share that is too high see above; where it is below b,
        rows of others must go: y ≥ b (Y − r) for r ≥ Y − y / b."""
        if not rule.known:
            return None
        factor = math.exp(min(rule.constraint.threshold, 700))
        bounds = {"above": double(factor), "below": double(1 / factor), "whose": whose(rule.constraint, wanted)}
        beyond = sql(_BEYOND, bound=sql("share * :above", above=bounds["above"]), whose=bounds["whose"])
        short = sql(_SHORT, **bounds)
        (there,) = rule.known
        lacks = sql(_LACKS, whose=bounds["whose"], there=column(there))
        return sql(
            "CASE WHEN :lacks THEN :size ELSE GREATEST(:beyond, :short) END", lacks=lacks, beyond=beyond, short=short
        )

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        figure = PRESENT_DELTA if _present_only(constraint, released.wanted) else DELTA
        return figure.measured(constraint, released)

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        question = "which |LN(q / p)| has a value's share q of a class, p being that of the table, at most?"
        note = "(delta: NULL where a class lacks a value. present_delta: of the values that a class has.)"
        counts = request.counts(sensitive)
        query = likeness_figures(counts, counts.totals, "delta", "present_delta")
        yield Metric("delta_disclosure", sensitive, f"{question} {note}", query, order=90)


# Fewer of the values that are asked than the source has; a class without any value lacks them, too.
_LACKS = "COUNT(CASE WHEN value IS NOT NULL AND :whose THEN 1 END) < COALESCE(MAX(:there), 1)"
_SHORT = "MAX(CASE WHEN value IS NOT NULL AND :whose THEN total - y / (share * :below) ELSE 0 END)"


def _present_only(constraint: Constraint, wanted: Wanted) -> bool:
    own = wanted.thresholds if constraint.value is None else wanted.values[constraint.value].thresholds
    return bool(own["delta"].present_only)


MODELS = (BasicLikeness(), EnhancedLikeness(), Disclosure())


# -- asked of a release, and by analysts -----------------------------------------------------------


def likenesses(counts: ValueCounts, reference: exp.Query) -> dict[str, exp.Query]:
    """Steps, the last of which is `likenesses`: of every value v of the classes and of the reference (n of each v) its
    share of the latter, the highest and the lowest of q / p over the classes that have it, and how many lack it."""
    valued = select(*counts.keys, column("y"), of_class=counts.of_values).from_(table("counts"))
    found = select(v="in_classes.v", highest=f"MAX({_Q_TO_P})", lowest=f"MIN({_Q_TO_P})", classes="COUNT(*)")
    found = found.from_(table("in_classes")).join(table("either"), on=sql("in_classes.v = either.v"))
    likeness = select(
        v="either.v",
        share="COALESCE(CAST(n AS DOUBLE) / CAST(NULLIF(total, 0) AS DOUBLE), CAST(0 AS DOUBLE))",
        highest="highest",
        lowest="lowest",
        missing="every_class.classes - COALESCE(found.classes, 0)",
    )
    likeness = likeness.from_(table("either")).join(table("found"), on=sql("either.v = found.v"), join_type="left")
    return {
        "reference": reference,
        "in_classes": valued.where(sql("v IS NOT NULL")),
        "either": of_either("in_classes"),
        "everything": select(total="SUM(n)").from_(table("either")),
        "found": found.join(table("everything"), join_type="cross").where(sql("n > 0")).group_by(sql("in_classes.v")),
        "each_class": select(one="1").from_(table("counts")).group_by(*counts.groups),
        "every_class": select(classes="COUNT(*)").from_(table("each_class")),
        "likenesses": likeness.join(table("everything"), join_type="cross").join(
            table("every_class"), join_type="cross"
        ),
    }


_Q_TO_P = """CAST(y AS DOUBLE) * CAST(total AS DOUBLE) / (CAST(of_class AS DOUBLE) * CAST(n AS DOUBLE))"""


@dataclass(frozen=True)
class Figure:
    """Over some of the likenesses: the least threshold that holds, unless `never` says of a value that none does. Such
    is one that the reference lacks: it has no p."""

    least: str
    never: str = "share = 0"

    @property
    def sql(self) -> exp.Expr:
        """NULL: no threshold holds, or there is nothing to bound."""
        return sql(f"CASE WHEN {self._never} = 0 THEN {self.least} END", **_TOLERANCE)

    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float:
        query = select(least=self.least, never=sql(self._never, **_TOLERANCE)).from_(released.likenesses)
        query = query.where(whose(constraint, released.wanted))
        ((least, never),) = released.rows.ask(query, f"verify: {constraint.name}")
        return math.inf if never else max(least or 0.0, 0.0)  # a loss is no gain

    @property
    def _never(self) -> str:
        return f"COUNT(CASE WHEN {self.never} THEN 1 END)"


BETA = Figure("MAX(highest) - 1")
ENHANCED_BETA = Figure("MAX(highest) - 1", "share = 0 OR highest - 1 > :tolerance - LN(NULLIF(share, 0))")
PRESENT_DELTA = Figure("MAX(GREATEST(ABS(LN(highest)), ABS(LN(lowest))))")
DELTA = Figure(PRESENT_DELTA.least, "share = 0 OR missing > 0")
FIGURES = {"beta": BETA, "enhanced_beta": ENHANCED_BETA, "delta": DELTA, "present_delta": PRESENT_DELTA}


def likeness_figures(counts: ValueCounts, reference: exp.Query, *names: str) -> exp.Select:
    """All of them, or those with these names, of all values."""
    return counts.asked(least_thresholds(*names), **likenesses(counts, reference))


def least_thresholds(*names: str) -> exp.Select:
    """The figures of the `likenesses`, a step."""
    return select(**{name: FIGURES[name].sql for name in names or FIGURES}).from_(table("likenesses"))
