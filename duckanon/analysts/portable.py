"""The privacy metrics as plain SELECTs for warehouses that cannot load the macros: built once, rendered per dialect.

The figures and output columns are those of the macros of the same name. A class is a group of rows with equal
quasi-identifiers, NULL being a value like any other; a NULL sensitive value counts in its class's size and is never
a value. Only what engines agree on is used: explicit GROUP BY lists, CASE in place of FILTER, doubles before a
division, LN of positive numbers only, and no join on keys that may be NULL.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from sqlglot import ErrorLevel

from duckanon.analysts.dialects import OWN
from duckanon.errors import Fault, UsageError
from duckanon.models.k_anonymity import MODEL as K_ANONYMITY
from duckanon.models.registry import column_models, size_models
from duckanon.query.counts import ClassedTable
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.query.names import quoted, split_name

__all__ = ["DIALECTS", "Metric", "comment", "metric_queries", "metrics_script"]

# What a reader of a script must know, per dialect.
DIALECTS = {
    OWN: "",
    "postgres": "",
    "snowflake": "Snowflake keeps names that were created without quotes in upper case.",
    "bigquery": "BigQuery cannot partition by FLOAT64: give such a quasi-identifier as text or whole number.",
    "spark": "",
}

_MOST_PARTS = 3  # catalog, schema, table


def metric_queries(
    table: str,
    qi: Sequence[str],
    sensitive: Sequence[str] = (),
    *,
    k: int = 5,
    l: int = 2,  # noqa: E741
    c: float = 0.5,
    numeric: frozenset[str] = frozenset(),
    population: str | None = None,
) -> list[Metric]:
    """Every metric of a table, whose name is spelled as in SQL.

    `numeric` are the sensitive columns of numbers, whose t-closeness is taken in their order. `population`: a table of
    everybody, with the same quasi-identifiers.
    """
    source, everybody = split_name(table), split_name(population) if population is not None else None
    faults = [*_table_faults(table, source), *_column_faults(qi, sensitive, numeric), *_threshold_faults(k, l, c)]
    faults += _table_faults(population, everybody, "population") if population is not None else ()
    if faults or source is None:
        raise UsageError(faults)
    request = MetricRequest(ClassedTable(source, qi), k, l, c, everybody)
    ordered = {name.lower() for name in numeric}
    metrics = list(K_ANONYMITY.metrics(request))
    metrics += [metric for model in size_models() for metric in model.metrics(request)]
    for name in sensitive:
        found = [m for model in column_models() for m in model.metrics(request, name, name.lower() in ordered)]
        metrics += sorted(found, key=lambda metric: metric.order)
    return metrics


def metrics_script(
    table: str,
    qi: Sequence[str],
    sensitive: Sequence[str],
    dialect: str,
    *,
    k: int = 5,
    l: int = 2,  # noqa: E741
    c: float = 0.5,
    numeric: frozenset[str] = frozenset(),
    population: str | None = None,
) -> str:
    """The metrics of a table as a script for one of DIALECTS: each query under the question that it answers."""
    if dialect not in DIALECTS:
        raise UsageError([Fault("dialect", f"no dialect '{dialect}'", f"one of {', '.join(DIALECTS)}")])
    metrics = metric_queries(table, qi, sensitive, k=k, l=l, c=c, numeric=numeric, population=population)
    header = [
        f"Privacy metrics of {table}, for {dialect}. Nothing is written.",
        f"Quasi-identifiers: {', '.join(map(quoted, qi))}. A class is the rows that share them all; NULL is a value.",
        "A sensitive NULL counts in its class's size and is no value. Every name is quoted: spelled as in the catalog.",
        *filter(None, [DIALECTS[dialect]]),
    ]
    return "\n\n".join(["\n".join(map(comment, header)), *(_statement(metric, dialect) for metric in metrics)]) + "\n"


def _statement(metric: Metric, dialect: str) -> str:
    about = metric.name if metric.column is None else f"{metric.name} of {quoted(metric.column)}"
    text = metric.query.sql(dialect, identify=True, pretty=True, unsupported_level=ErrorLevel.RAISE)
    return f"{comment(f'{about}: {metric.question}')}\n{text};"


def comment(text: str) -> str:
    """One line, whatever a name contains."""
    return "-- " + " ".join(text.split())


# -- faults -------------------------------------------------------------------------------------------


def _table_faults(spelled: str, parts: list[str] | None, where: str = "table") -> Iterator[Fault]:
    if parts is None:
        yield Fault(where, f"'{spelled}' is not a name as SQL spells it", 'quote odd names: clinic."odd name"')
    elif len(parts) > _MOST_PARTS:
        yield Fault(where, f"'{spelled}' has {len(parts)} parts", "at most catalog.schema.table")


def _column_faults(qi: Sequence[str], sensitive: Sequence[str], numeric: frozenset[str]) -> Iterator[Fault]:
    if not qi:
        yield Fault("qi", "no quasi-identifier is given", "name at least one column")
    for where, names in (("qi", qi), ("sensitive", sensitive)):
        for name, times in Counter(map(str.lower, names)).items():
            if not name:
                yield Fault(where, "a column's name is empty")
            elif times > 1:
                yield Fault(where, f"column '{name}' is named {times} times", "name it once")
    known = set(map(str.lower, sensitive))
    for name in qi:
        if name.lower() in known:
            yield Fault("sensitive", f"column '{name}' is a quasi-identifier too", "give it one role")
    for name in sorted(numeric):
        if name.lower() not in known:
            yield Fault("numeric", f"column '{name}' is not among the sensitive ones", "name it there too")


def _threshold_faults(k: int, l: int, c: float) -> Iterator[Fault]:  # noqa: E741
    for where, number in (("k", k), ("l", l)):
        if number < 1:
            yield Fault(where, f"{number} is too small", "at least 1")
    if not (math.isfinite(c) and 0 <= c <= 1):
        yield Fault("c", f"{c} is no share", "from 0 to 1")
