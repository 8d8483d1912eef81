"""Asks a relation itself, in other words than those that searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckanon.audit.linkable import Linkable
from duckanon.audit.questions import People, Rows
from duckanon.engine import Type
from duckanon.models import Finding
from duckanon.models.distances import distances, farthest
from duckanon.models.diversity import homogeneity, l_diversity, value_diversity
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.levels import shown_level
from duckanon.models.likeness import FIGURES, least_thresholds, likenesses
from duckanon.models.questions import Covered, ReleasedSizes, Sample
from duckanon.models.registry import asked, sizes_asked
from duckanon.models.risk import risk_figures
from duckanon.models.wanted import ancestors
from duckanon.policy import Sensitive
from duckanon.query.counts import ValueCounts
from duckanon.query.expressions import case_of, column, literal, sql, table

__all__ = ["AskedSizes", "Audit", "AuditedColumn", "People", "Rows", "audit"]

# A sensitive column may have millions of values; the result lists the most frequent, and all that the policy names.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Audit:
    """A relation measured against a policy: every constraint, and the privacy figures people read."""

    rows: int
    classes: int
    findings: tuple[Finding, ...]
    privacy: dict[str, Any]
    sizes: tuple[tuple[int, int], ...]  # class size in what is counted, classes of that size
    people: int | None = None  # where these are counted
    linkable: Linkable | None = None  # of a release

    @property
    def told(self) -> dict[str, Any]:
        """The privacy figures of a result."""
        return self.privacy | ({"linkable": self.linkable.as_json()} if self.linkable else {})

    @property
    def holds(self) -> bool:
        return self.rows > 0 and all(finding.holds for finding in self.findings)


@dataclass(frozen=True)
class AuditedColumn:
    """A sensitive column as the relation holds it. `reference`: what t is measured against, where the relation lies, as
    n rows or people for every value v, with the nodes above it where these count."""

    wanted: Sensitive
    column: str
    type: Type
    reference: exp.Select


@dataclass(frozen=True)
class AskedSizes:
    """What a policy asks of the sizes of classes beside k, and what is known of the population: what the release covers
    of it, or how much of it the source is."""

    thresholds: Mapping[str, Any]
    risk: float  # above which a row is at risk
    covered: Covered | None
    sample: Sample | None

    def findings(self, released: ReleasedSizes) -> Iterator[Finding]:
        for model, threshold in sizes_asked(self.thresholds):
            for constraint in model.constraints(threshold):
                yield Finding(constraint, _plain(model.measured(constraint, threshold, released)))


def audit(
    k: int,
    released: Rows,
    sensitive: list[AuditedColumn],
    people: People | None = None,
    asked_sizes: AskedSizes | None = None,
) -> Audit:
    """Measure a relation against k, what is asked of sizes and every threshold of its sensitive columns; where people
    are counted, by the `people` that its rows are of."""
    counted = people or released
    sizes = released.sizes
    rows = sum(size * classes for size, classes in sizes)
    classes = sum(classes for _, classes in sizes)
    counted_sizes = people.sizes if people else sizes
    least = min((size for size, _ in counted_sizes), default=None)
    everybody = sum(size * count for size, count in counted_sizes)
    findings = [Finding(K_ANONYMITY.constraint(k), least)]
    by_size = ReleasedSizes(counted_sizes, asked_sizes.covered if asked_sizes else None)
    findings += asked_sizes.findings(by_size) if asked_sizes else ()
    figures = {}
    for index, part in enumerate(sensitive):
        figures[part.column], found = _sensitive(part, index, counted)
        findings += found
    privacy = {
        "k": least,
        "highest_risk": 1 / least if least else None,
        "average_risk": classes / everybody if everybody else None,
        "rows_at_risk": sum(size * count for size, count in counted_sizes if size < k),
        "unique_rows": sum(count for size, count in counted_sizes if size == 1),
        **({"risk": risk_figures(by_size, asked_sizes.risk, asked_sizes.sample)} if asked_sizes else {}),
        "sensitive": figures,
    }
    present = people.everybody() if people else None
    return Audit(rows, classes, tuple(findings), privacy, tuple(sorted(counted_sizes)), present)


class _AskedColumn:
    """A sensitive column of what is audited. Who has which value is counted once; what every audit tells of it is asked
    once, by whoever needs it."""

    def __init__(self, part: AuditedColumn, index: int, rows: Rows) -> None:
        self.wanted, self.column, self.type, self.rows = part.wanted, part.column, part.type, rows
        self._part, self._index, self._value = part, index, column(part.column)
        self._made: list[exp.Table] = []
        self.counts = self._counted("counts", self._value)
        ((self.distinct_l, self.entropy_l, _),) = rows.ask(l_diversity(self.counts), "verify: l_diversity")
        ((_, self.homogeneous, _),) = rows.ask(homogeneity(self.counts), "verify: homogeneity")
        self.t, self._likeness = self._distances(part)
        leaks = _leaks(part, rows.leakage(self.counts, self._value))
        self.leaks = rows.scratch.table(f"leaks_{index}", leaks, "verify: leakage")

    def _distances(self, part: AuditedColumn) -> tuple[float | None, dict[str, float | None]]:
        """t, and the figures of likeness."""
        ordered = part.type.is_number and not part.wanted.height
        steps = distances(self.counts, part.reference, ordered, ancestors(part.wanted))
        steps |= likenesses(self.counts, part.reference)
        steps |= {"closeness": farthest(), "likeness": least_thresholds()}
        both = exp.select("t", *FIGURES).from_(table("closeness")).join(table("likeness"), join_type="cross")
        query = self.counts.asked(both, **steps)
        ((t, *figures),) = self.rows.ask(query, "verify: t_closeness and likeness")
        return t, dict(zip(FIGURES, figures, strict=True))

    @cached_property
    def likenesses(self) -> exp.Table:
        found = _likenesses(self._part, self.counts)
        self._made.append(self.rows.scratch.table(f"likenesses_{self._index}", found, "verify: likeness of the values"))
        return self._made[-1]

    @cached_property
    def levels(self) -> ValueCounts:
        return self._counted("levels", shown_level(self.wanted, self.type.text(self._value)))

    @cached_property
    def value_l(self) -> dict[str, int]:
        text = self.type.text(column("value"))
        found = exp.select(text, "distinct_l").from_(value_diversity(self.counts).subquery("found"))
        named = text.isin(*map(literal, self.wanted.values))
        return dict(self.rows.ask(found.where(named), "verify: value_diversity"))

    @cached_property
    def worst_leaks(self) -> dict[int, dict[str, float | None]]:
        highest = [exp.Max(this=column(name)).as_(name) for name in _LEAKS]
        query = exp.select("named", *highest).from_(self.leaks).group_by("named")
        rows = self.rows.ask(query, "verify: leakage of the named")
        return {named: dict(zip(_LEAKS, figures, strict=True)) for named, *figures in rows}

    def figures(self) -> dict[str, Any]:
        values, omitted = _values(self.leaks, self.rows)
        found = {"distinct_l": self.distinct_l, "entropy_l": _plain(self.entropy_l)}
        found |= {"homogeneous_rows": self.homogeneous, "t": _plain(self.t)}
        found |= {name: _plain(figure) for name, figure in self._likeness.items()} | {"values": values}
        return found | ({"values_omitted": omitted} if omitted else {})

    def clear(self) -> None:
        for made in self._made:
            self.rows.scratch.drop(made)

    def _counted(self, thing: str, value: exp.Expr) -> ValueCounts:
        kept, counts = self.rows.counted(f"{thing}_{self._index}", value)
        self._made.append(kept)
        return counts


_LEAKS = ("alpha", "alp", "dif")


def _sensitive(part: AuditedColumn, index: int, rows: Rows) -> tuple[dict[str, Any], list[Finding]]:
    """What is asked follows from the thresholds of the policy, not from the rules that searched: what a search forgets
    is found here."""
    column = _AskedColumn(part, index, rows)
    figures = column.figures()
    findings = [
        Finding(constraint, _plain(model.measured(constraint, column))) for model, constraint in asked(part.wanted)
    ]
    column.clear()
    return figures, findings


def _plain(figure: Any) -> Any:
    """Without what sums of doubles leave behind the twelfth decimal, and without a negative zero."""
    return round(figure, 12) + 0.0 if isinstance(figure, float) else figure


def _leaks(part: AuditedColumn, leakage: exp.Select) -> exp.Query:
    """Per value: its text, its ordinal among the named values, rows, alpha, alp, dif."""
    text = part.type.text(column("value"))
    return exp.select(
        text.as_("text"),
        _ordinal(part, text).as_("named"),
        "row_count",
        column("highest_lp").as_("alpha"),
        "alp",
        "dif",
    ).from_(leakage.subquery("leakage"))


def _likenesses(part: AuditedColumn, counts: ValueCounts) -> exp.Query:
    """Per value: its ordinal among the named values, share, highest, lowest, missing."""
    named = _ordinal(part, part.type.text(column("v")))
    found = exp.select(named.as_("named"), "share", "highest", "lowest", "missing").from_(table("likenesses"))
    return counts.asked(found, **likenesses(counts, part.reference))


def _ordinal(part: AuditedColumn, text: exp.Expr) -> exp.Expr:
    return case_of(
        text, {value: literal(ordinal) for ordinal, value in enumerate(part.wanted.values, start=1)}, literal(0)
    )


def _values(leaks: exp.Table, rows: Rows) -> tuple[dict[str, Any], int]:
    every = sql("COUNT(*) OVER ()")
    query = exp.select("text", "row_count", "alpha", "alp", "dif", every.as_("every")).from_(leaks)
    query = query.order_by("CASE WHEN named > 0 THEN 0 ELSE 1 END", "row_count DESC", "text").limit(_MOST_LISTED)
    found = rows.ask(query, "verify: the values")
    listed = {
        text: {"rows": count, "alpha": _plain(alpha), "alp": _plain(alp), "dif": _plain(dif)}
        for text, count, alpha, alp, dif, _ in found
    }
    return listed, found[0][-1] - len(listed) if found else 0
