"""Rows by the codes of their values, packed into few words: these are grouped in a fraction of the time that values
take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.query.expressions import column, literal, sql
from duckanon.query.packing import Packing
from duckanon.query.steps import select


@dataclass(frozen=True)
class Digit:
    """What tells rows apart: one of their columns, and the codes of its values, which begin at 1; NULL has 0."""

    name: str
    known: exp.Select  # value, code
    base: int  # no code is as large

    @property
    def alias(self) -> str:
        return f"known_{self.name}"

    def of_row(self, rows: str) -> str:
        return f"CASE WHEN {rows}.{self.name} IS NULL THEN 0 ELSE {self.alias}.code END"


class Words:
    """The digits of rows as the words w0 …"""

    def __init__(self, digits: Sequence[Digit], prefix: str = "w") -> None:
        self.digits = digits
        self._packing = Packing(digit.base for digit in digits)
        self.names = [f"{prefix}{at}" for at in range(self._packing.words)]

    @property
    def columns(self) -> list[exp.Column]:
        return [column(name) for name in self.names]

    def coded(self, rows: str, query: exp.Select) -> exp.Select:
        """The `query` over the step `rows` with their words. One with a value that is not known has none."""
        words = self._packing.packed(digit.of_row(rows) for digit in self.digits)
        query = query.select(*(sql(word).as_(name) for word, name in zip(words, self.names, strict=True)))
        for digit in self.digits:
            on = exp.EQ(this=column(digit.name, rows), expression=column("value", digit.alias))
            query = query.join(digit.known.subquery(digit.alias), on=on, join_type="left")
        return query

    @property
    def unpacked(self) -> list[exp.Expr]:
        """The codes of the digits, under their names."""
        codes = self._packing.unpacked(self.names)
        return [sql(f"CAST({code} AS INTEGER)").as_(d.name) for code, d in zip(codes, self.digits, strict=True)]

    @property
    def whole(self) -> exp.Expr:
        """Whether all values of a row are known."""
        return exp.and_(*(sql(":word IS NOT NULL", word=word) for word in self.columns))


def value_counts(rows: exp.Expr, names: Sequence[str], n: str | exp.Expr) -> exp.Select:
    """The values of all these columns in one scan: a row has one value, that of the column with the number q, and n."""
    columns = [column(name) for name in names]
    own = exp.Case()
    for index, value in enumerate(columns):
        own = own.when(sql("GROUPING(:value) = 0", value=value), literal(index), copy=False)
    each = exp.GroupingSets(expressions=[exp.Tuple(expressions=[value]) for value in columns])
    return select(*columns, q=own, n=n).from_(rows).group_by(each)
