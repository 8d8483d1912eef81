"""k-anonymity: every class has at least k rows or, where people are counted, people."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from duckanon.models.keys import Key
from duckanon.models.model import Model
from duckanon.models.rules import Constraint
from duckanon.query.counts import ClassedTable
from duckanon.query.distinction import column_risk, distinction, largest_set, row_risk
from duckanon.query.expressions import column, literal, sql
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.steps import select
from duckanon.toml import Section
from duckanon.toml.checks import whole


class KAnonymity(Model):
    """The one model that every policy asks for: k is the size below which nobody is hidden, to all of duckanon."""

    name, order = "k", 0
    key = Key("k", whole(1), larger_is_stricter=True, meaning="least rows of a class, or people", example=5)

    def read(self, section: Section, default: int | None = None) -> int:
        """What the section asks for; it has to, where there is no `default`."""
        required = f"state the least class size: k = {self.key.example}" if default is None else None
        k: int | None = self.key.read(section, required=required)
        return k or default or 1

    def constraint(self, k: int) -> Constraint:
        return Constraint(self.name, None, None, k, at_least=True)

    def out_of_reach(self, k: int, rows: int, people: int | None) -> Iterator[str]:
        if k > rows:
            yield f"privacy.k: {k} is above the {rows} rows of the source"
        elif people is not None and k > people:
            yield f"privacy.k: {k} is above the {people} people of the source"

    def metrics(self, request: MetricRequest) -> Iterator[Metric]:
        k, asked = request.k, request.table
        question = "how many rows does the smallest class have?"
        yield Metric("k_anonymity", None, question, asked.sizes(select(**_K_ANONYMITY)))
        yield Metric("class_sizes", None, "how many classes are there of each size?", class_sizes(asked))
        question = f"how likely is it to find a person, and how many rows are in classes below {k}?"
        risk = select(**_RISK, rows_at_risk=sql(_AT_RISK, k=literal(k)), unique_rows=_UNIQUE)
        yield Metric("risk", None, question, asked.sizes(risk))
        question = f"which sizes below {k} are there? No rows: {k}-anonymity holds."
        yield Metric("k_violations", None, question, asked.sizes(_HISTOGRAM.where(sql("x < :k", k=literal(k)))))
        question = "how many rows are alone without each quasi-identifier, and how many more with it?"
        yield Metric("column_risk", None, question, column_risk(asked))
        most = largest_set(len(asked.qi))
        question = f"how many rows are alone by each set of up to {most} quasi-identifiers?"
        yield Metric("distinction", None, question, distinction(asked))
        yield Metric("row_risk", None, "how many rows are in the class of each? All rows are shown.", row_risk(asked))


MODEL = KAnonymity()


def class_sizes(asked: ClassedTable) -> exp.Select:
    """class_size, classes of that size, row_count: one histogram says all about class sizes."""
    return asked.sizes(_HISTOGRAM)


_UNIQUE = "COUNT(CASE WHEN x = 1 THEN 1 END)"

_K_ANONYMITY = {
    "k": "MIN(x)",
    "classes": "COUNT(*)",
    "row_count": "CAST(COALESCE(SUM(x), 0) AS BIGINT)",
    "unique_rows": _UNIQUE,
    "average_class_size": "AVG(CAST(x AS DOUBLE))",
}

_HISTOGRAM = (
    select(class_size="x", classes="COUNT(*)", row_count="CAST(SUM(x) AS BIGINT)")
    .group_by(column("x"))
    .order_by(column("class_size"))
)

_RISK = {
    "highest_risk": "CAST(1 AS DOUBLE) / CAST(MIN(x) AS DOUBLE)",
    "average_risk": "CAST(COUNT(*) AS DOUBLE) / CAST(SUM(x) AS DOUBLE)",
}
_AT_RISK = "CAST(COALESCE(SUM(CASE WHEN x < :k THEN x END), 0) AS BIGINT)"
