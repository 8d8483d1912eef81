"""How numbers and days lie: quantiles out of the counted values, by which widths and cuts are chosen. None of them is
ever shown as it is: what is proposed are round numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from sqlglot import exp

from duckanon.census.peek import Peek
from duckanon.clues.patterns import DOTTED_DATE, ISO_DATE, NUMBER, SLASHED_DATE
from duckanon.engine import Column, Workbench
from duckanon.hierarchy.computed import iso_day
from duckanon.hierarchy.computed.units import number_of
from duckanon.query.expressions import column, literal, sql
from duckanon.query.functions import cast_or_null, days_since_1970, extracted, finite_number
from duckanon.query.steps import select, with_steps

_MOST = 0.9  # so large a share of the texts must say a number or a day
_SHARES = (0.0, 0.01, 0.05, 0.1, 0.125, 0.2, 0.25, 0.375, 0.5, 0.625, 0.75, 0.8, 0.875, 0.9, 0.95, 0.99, 1.0)
_PARTS = r"^([0-9]{1,2})[./]([0-9]{1,2})[./]([0-9]{4})$"


class Form(Enum):
    """What a column holds that can be measured."""

    NUMBER = auto()
    DAY = auto()  # also a moment
    TEXT_NUMBER = auto()  # of a CSV file
    TEXT_DAY = auto()  # as ISO writes it
    PARTED_DAY = auto()  # day, month and year, or month, day and year


@dataclass(frozen=True)
class Spread:
    """Of numbers, or of days since 1970."""

    rows: int
    values: int
    whole: bool
    strange: int  # rows whose value is no number or day
    common: float  # the most frequent one,
    common_share: float  # and how many rows have it
    quantiles: Mapping[float, float] = field(default_factory=dict)
    above: Mapping[float, float] = field(default_factory=dict)  # those of the numbers above 0 only
    first_above_12: bool = False  # of 31.12.2024 the first part, or the second one
    second_above_12: bool = False

    @property
    def typical(self) -> float:
        """How far most of them lie apart; without the outermost."""
        return self.quantiles[0.99] - self.quantiles[0.01]

    @property
    def reach(self) -> float:
        return self.quantiles[1.0] - self.quantiles[0.0]


def form_of(c: Column, peek: Peek) -> Form | None:
    """What can be measured of a column: by its type or, of a CSV file, by its texts. What a database has as a text is
    one."""
    if c.type.is_number:
        return Form.NUMBER
    if c.type.is_day:
        return Form.DAY
    if c.type.is_text and peek.share(ISO_DATE) >= _MOST:
        return Form.TEXT_DAY
    if c.written and peek.share(NUMBER) >= _MOST:
        return Form.TEXT_NUMBER
    if c.written and max(peek.share(DOTTED_DATE), peek.share(SLASHED_DATE)) >= _MOST:
        return Form.PARTED_DAY
    return None


def measure_spread(values: exp.Table, forms: Mapping[int, Form], workbench: Workbench) -> dict[int, Spread]:
    """One question for all columns; of a column without any number or day there is no spread."""
    if not forms:
        return {}
    measures, parts = exp.Case(this=column("g")), exp.Case(this=column("g"))
    for g, form in forms.items():
        measures = measures.when(literal(g), _measured(form))
        if form is Form.PARTED_DAY:
            parts = parts.when(literal(g), sql(":first * 100 + :second", first=_part(1), second=_part(2)))
    points = select(column("g"), column("n"), x=measures).from_(values)
    points = points.where(exp.In(this=column("g"), expressions=[literal(g) for g in forms]))
    parted = parts if parts.args.get("ifs") else exp.cast(exp.null(), "INTEGER")
    points = points.select(exp.alias_(parted, "parts"))
    known = "x IS NOT NULL AND :finite"
    finite = sql(known, finite=finite_number(column("x")))
    lying = select(
        exp.Star(),
        below=sql("SUM(CASE WHEN :known THEN n ELSE 0 END) OVER (PARTITION BY g ORDER BY x, parts)", known=finite),
        total=sql("SUM(CASE WHEN :known THEN n ELSE 0 END) OVER (PARTITION BY g)", known=finite.copy()),
        under=sql("SUM(CASE WHEN :known AND x <= 0 THEN n ELSE 0 END) OVER (PARTITION BY g)", known=finite.copy()),
    ).from_("points")
    figures: dict[str, exp.Expr | str] = {
        "counted": sql("CAST(COALESCE(SUM(CASE WHEN :known THEN n END), 0) AS BIGINT)", known=finite),
        "different": sql("COUNT(DISTINCT CASE WHEN :known THEN x END)", known=finite.copy()),
        "fractions": sql("COUNT(CASE WHEN :known AND x <> FLOOR(x) THEN 1 END)", known=finite.copy()),
        "strange": sql("CAST(COALESCE(SUM(CASE WHEN NOT (:known) THEN n END), 0) AS BIGINT)", known=finite.copy()),
        "common": sql("ARG_MAX(CASE WHEN :known THEN x END, n)", known=finite.copy()),
        "most": sql("CAST(MAX(CASE WHEN :known THEN n END) AS BIGINT)", known=finite.copy()),
        "first": "MAX(parts // 100)",
        "second": "MAX(parts % 100)",
    }
    for at, share in enumerate(_SHARES):
        figures[f"q{at}"] = f"MIN(CASE WHEN below >= GREATEST(1, total * {share}) THEN x END)"
        figures[f"p{at}"] = f"MIN(CASE WHEN x > 0 AND below - under >= (total - under) * {share} THEN x END)"
    query = with_steps(select(column("g"), **figures).from_("lying").group_by("g"), points=points, lying=lying)
    return {g: _spread(figures) for g, *figures in workbench.fetch(query, "how numbers and days lie") if figures[0]}


def _spread(figures: list[float]) -> Spread:
    rows, values, fractions, strange, common, most, first, second, *lying = figures
    quantiles = dict(zip(_SHARES, map(float, lying[0::2]), strict=True))
    above = {share: float(x) for share, x in zip(_SHARES, lying[1::2], strict=True) if x is not None}
    return Spread(
        int(rows), int(values), not fractions, int(strange), float(common), most / rows, quantiles, above,
        (first or 0) > 12, (second or 0) > 12,
    )  # fmt: skip


def _measured(form: Form) -> exp.Expr:
    """The number, or the days since 1970, that a text says."""
    text = column("v")
    if form is Form.NUMBER:
        return cast_or_null(text, "DOUBLE")
    if form is Form.TEXT_NUMBER:
        return exp.cast(number_of(text), "DOUBLE")
    if form is Form.PARTED_DAY:
        # Near enough, whichever of the two is the month.
        return sql("CAST((:year - 1970) * 365.25 + (:month - 1) * 30.4 AS DOUBLE)", year=_part(3), month=_part(2))
    day = iso_day(text) if form is Form.TEXT_DAY else cast_or_null(sql("LEFT(:text, 10)", text=text), "DATE")
    return exp.cast(days_since_1970(day), "DOUBLE")


def _part(group: int) -> exp.Expr:
    return cast_or_null(extracted(column("v"), _PARTS, group), "INTEGER")
