"""What an analyst finds again in a release: how far its numbers have moved, and which columns still go together.

A label that stands for several numbers is read as the middle of them; what is gone is left out. All figures are
rounded: to the last digit they would tell of the few rows that are suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Any, Protocol

from sqlglot import exp

from duckanon.census.counting import Census
from duckanon.census.values import ValueTable
from duckanon.hierarchy import Hierarchy
from duckanon.query.dialects import WORKBENCH
from duckanon.query.expressions import column, sql
from duckanon.query.functions import finite_number
from duckanon.query.steps import select
from duckanon.recoding.sides import Cells, PackedCells, Side, Variable, Variables, counted_together

# Pairs beyond these are not asked about: those with a sensitive column come first.
_MOST_PAIRS = 15
# Of a column with more labels, nearly every pair of values is there once: that is no association.
_MOST_LABELS = 1_000
_DIGITS = 2

_NOTE = "what analysts find again"
_FIGURES = 5
_NOTHING = "SELECT NULL AS a, NULL AS b, NULL AS c, NULL AS d, NULL AS e"
Figures = list[Any]  # so many numbers, or None


@dataclass(frozen=True)
class Crossed:
    """A question to two columns, by how often each two of their codes go together."""

    one: str
    other: str


Asking = str | Crossed  # of the step `counts`: in SQL, or to be asked with others of its kind


@dataclass(frozen=True)
class Question:
    """Five figures of one side."""

    of: str  # source or release
    variables: Variables
    asking: Asking


@dataclass(frozen=True)
class Fidelity:
    """The source and the release, and what they have in common."""

    quasi_identifiers: Variables
    sensitive: Variables
    sides: dict[str, Side]

    def figures(self, census: Census) -> dict[str, Any]:
        """What a result says of it."""
        numeric = [v for v in (*self.quasi_identifiers, *self.sensitive) if v.before is not None]
        pairs = list(self._pairs())
        asked = [_moments(side, v) for v in numeric for side in self.sides]
        asked += [_together(side, pair) for pair in pairs for side in self.sides]
        answers = iter(self._answers(asked, census))
        return {
            "numbers": {v.name: _moved(next(answers), next(answers)) for v in numeric},
            "associations": [_association(pair, next(answers), next(answers)) for pair in pairs],
        }

    def _answers(self, asked: list[Question], census: Census) -> list[Figures]:
        """In one statement, which spares planning; of a large source one by one, which spares memory."""
        texts = [*self._statements(asked)]
        texts = texts if census.is_large else [" UNION ALL ".join(texts)]
        found = [row for text in filter(None, texts) for row in census.workbench.fetch(text, _NOTE)]
        told = {nth: figures for nth, *figures in found}
        return [told.get(nth, [None] * _FIGURES) for nth in range(len(asked))]

    def _statements(self, asked: list[Question]) -> Iterator[str]:
        """Each asks all that there is to ask about a few columns of one side."""
        waiting = dict(enumerate(asked))
        for variables in counted_together(question.variables for question in asked):
            for of, side in self.sides.items():
                mine = {n: q for n, q in waiting.items() if q.of == of and {*q.variables} <= {*variables}}
                if mine:
                    asking = _statement({nth: waiting.pop(nth).asking for nth in mine})
                    yield f"SELECT * FROM (WITH counts AS ({_text(side.counts(variables))}) {asking})"

    def _pairs(self) -> Iterator[tuple[Variable, Variable]]:
        every = chain(product(self.quasi_identifiers, self.sensitive), combinations(self.quasi_identifiers, 2))
        told = (pair for pair in every if _are_numbers(pair) or max(v.labels for v in pair) <= _MOST_LABELS)
        return (pair for pair, _ in zip(told, range(_MOST_PAIRS), strict=False))


class Shows(Protocol):
    def __call__(self, hierarchy: Hierarchy) -> tuple[exp.Expr, exp.Query | None]:
        """The code that a released cell shows of a quasi-identifier; code and number of what it may show."""


def fidelity_of(census: Census, released: exp.Select, shows: Shows, packed: exp.Table | None = None) -> Fidelity:
    """The census beside its `released` cells, which are named so; `packed`: they are this table, by words."""
    source, release = exp.select("n").from_(census.table), released.select(column("n", "cells"))
    codes_before, codes_after = dict[int, str](), dict[int, str]()
    variables: list[Variable] = []
    for h in (h for h in census.hierarchies if h.coded):
        index, finest = len(variables), h.lowest
        shown, after = shows(h)
        codes_before[index] = h.code(finest)
        if isinstance(shown, exp.Column):
            codes_after[index] = shown.name
        source = source.select(column(h.code(finest)).as_(f"v{index}"))
        release = release.select(shown.as_(f"v{index}"))
        before = numbers_of(h, column(f"code_{finest}"), exp.select().from_(h.mapping))
        variables.append(Variable(index, h.column.name, h.levels[finest].values, before, after))
    quasi_identifiers, sensitive = tuple(variables), list[Variable]()
    for values in census.sensitive:
        index, numbers = len(quasi_identifiers) + len(sensitive), numbers_of_values(values)
        codes_before[index] = codes_after[index] = f"s{values.index}"
        source = source.select(sql("COALESCE(:s, 0)", s=column(f"s{values.index}")).as_(f"v{index}"))
        release = release.select(sql("COALESCE(:s, 0)", s=column(f"s{values.index}", "cells")).as_(f"v{index}"))
        sensitive.append(Variable(index, values.column.name, values.distinct, numbers, numbers))
    sides: dict[str, Side] = {"source": Cells(source), "release": Cells(release)}
    if census.words is not None:
        sides["source"] = PackedCells(census.table, census.words, codes_before)
        if packed is not None:
            sides["release"] = PackedCells(packed, census.words, codes_after)
    return Fidelity(quasi_identifiers, tuple(sensitive), sides)


# -- numbers ------------------------------------------------------------------------------------------


def numbers_of(hierarchy: Hierarchy, code: exp.Expr, mapping: exp.Select) -> exp.Query | None:
    """code and number of what a column shows, from the values of the `mapping`; None: they are no numbers."""
    number = hierarchy.number
    if number is None:
        return None
    middle = sql("(MIN(:number) + MAX(:number)) / 2", number=number)
    return mapping.select(code.as_("code"), middle.as_("number")).where(finite_number(number)).group_by(code.copy())


def numbers_of_values(values: ValueTable) -> exp.Query | None:
    if not values.numeric:
        return None
    return select(code="code", number="number").from_(values.table).where(finite_number(column("number")))


def _moments(side: str, variable: Variable) -> Question:
    """Mean, standard deviation and quartiles of the rows that show a number."""
    numbers = variable.before if side == "source" else variable.after
    if numbers is None:
        return Question(side, (variable,), _NOTHING)
    rows = f"SELECT number, SUM(n) AS n FROM counts JOIN ({_text(numbers)}) ON {variable.code} = code GROUP BY number"
    total = "SUM(n) OVER ()"
    ordered = f"""SELECT number, n, {total} AS total, SUM(n * number) OVER () / {total} AS mean,
        SUM(n) OVER (ORDER BY number) AS upto FROM ({rows})"""
    quartiles = ", ".join(f"MIN(number) FILTER (upto >= {share} * total)" for share in (0.25, 0.5, 0.75))
    figures = f"MAX(mean), SQRT(SUM(n * (number - mean) ** 2) / MAX(total)), {quartiles}"
    return Question(side, (variable,), f"SELECT {figures} FROM ({ordered})")


def _moved(before: Figures, after: Figures) -> dict[str, Any]:
    """In standard deviations of the source."""
    (mean, deviation, *quartiles), (mean_after, deviation_after, *quartiles_after) = before, after

    def by(one: float | None, other: float | None) -> float | None:
        return _rounded((other - one) / deviation) if deviation and one is not None and other is not None else None

    return {
        "mean": by(mean, mean_after),
        "quartiles": [by(*pair) for pair in zip(quartiles, quartiles_after, strict=True)],
        "spread": _rounded(deviation_after / deviation) if deviation and deviation_after is not None else None,
    }


# -- associations -------------------------------------------------------------------------------------


def _are_numbers(pair: tuple[Variable, Variable]) -> bool:
    return all(variable.before is not None for variable in pair)


def _together(side: str, pair: tuple[Variable, Variable]) -> Question:
    """What a correlation or, where not both are numbers, Cramér's V is made of: five figures."""
    one, other = (variable.code for variable in pair)
    if not _are_numbers(pair):
        return Question(side, pair, Crossed(one, other))
    first, second = (v.before if side == "source" else v.after for v in pair)
    if first is None or second is None:
        return Question(side, pair, _NOTHING)
    rows = f"""SELECT SUM(n) AS n, a.number AS x, b.number AS y FROM counts
        JOIN ({_text(first)}) AS a ON {one} = a.code JOIN ({_text(second)}) AS b ON {other} = b.code
        GROUP BY x, y"""
    centred = f"""SELECT n, x - SUM(n * x) OVER () / SUM(n) OVER () AS x,
        y - SUM(n * y) OVER () / SUM(n) OVER () AS y FROM ({rows})"""
    figures = "SUM(n * x * y), SUM(n * x * x), SUM(n * y * y), NULL, NULL"
    return Question(side, pair, f"SELECT {figures} FROM ({centred})")


def _statement(asked: dict[int, Asking]) -> str:
    """nth and the figures of each question that has an answer."""
    parts = [f"SELECT {nth} AS nth, * FROM ({text})" for nth, text in asked.items() if isinstance(text, str)]
    crossed = " UNION ALL ".join(
        f"SELECT {nth} AS nth, {of.one} AS x, {of.other} AS y, CAST(SUM(n) AS DOUBLE) AS n FROM counts GROUP BY x, y"
        for nth, of in asked.items()
        if isinstance(of, Crossed)
    )
    if crossed:
        shares = f"""SELECT nth, x, y, n, SUM(n) OVER (PARTITION BY nth, x) AS of_x,
            SUM(n) OVER (PARTITION BY nth, y) AS of_y FROM ({crossed})"""
        figures = "SUM(n * n / of_x / of_y) - 1, COUNT(DISTINCT x), COUNT(DISTINCT y), SUM(n), NULL"
        parts.append(f"SELECT nth, {figures} FROM ({shares}) GROUP BY nth")
    return " UNION ALL ".join(parts)


def _association(pair: tuple[Variable, Variable], before: Figures, after: Figures) -> dict[str, Any]:
    numbers = _are_numbers(pair)
    strength = correlation if numbers else cramers_v
    return {
        "columns": [variable.name for variable in pair],
        "measure": "correlation" if numbers else "cramers_v",
        "before": _rounded(strength(*before)),
        "after": _rounded(strength(*after)),
    }


def correlation(together: float | None, one: float | None, other: float | None, *_: object) -> float | None:
    """Pearson's, from the sums of products of two centred columns; None where one of them is all the same."""
    if together is None or not one or not other:
        return None
    return together / math.sqrt(one) / math.sqrt(other)


def cramers_v(phi: float | None, rows: float, columns: float, n: float, *_: object) -> float | None:
    """Corrected for its bias (Bergsma 2013): of two columns that have nothing to do with each other, 0. `phi` is χ²/n
    of a table of so many rows and columns; None where one of these is all there is."""
    if phi is None or min(rows, columns, n) < 2:
        return None
    unbiased = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    sides = [side - (side - 1) ** 2 / (n - 1) for side in (rows, columns)]
    return math.sqrt(unbiased / (min(sides) - 1)) if min(sides) > 1 else None


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, _DIGITS) + 0.0  # never −0.0


def _text(query: exp.Expr) -> str:
    return query.sql(WORKBENCH, identify=True)
