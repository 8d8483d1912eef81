"""Privacy metrics of any table or file; no policy needed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from duckanon.audit import Audit, AuditedColumn, People, Rows, audit
from duckanon.engine import Column, Reading, Relation, Warehouse
from duckanon.engine.opening import open_warehouse
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, SourceError, UsageError
from duckanon.policy import Sensitive
from duckanon.query.distinction import column_risk
from duckanon.query.expressions import column, sql
from duckanon.query.names import folded
from duckanon.result import plain_figures

if TYPE_CHECKING:
    import pandas

_FILES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".gz", ".zst")
_BARS, _WIDTH = 12, 40  # lines of the chart, characters of its longest bar
_RISKIEST = 8  # columns


@dataclass(frozen=True)
class ColumnRisk:
    """What a quasi-identifier adds to the risk: rows, or people, alone without it, and how many more with it."""

    column_name: str
    unique_rows_without: int
    unique_rows_added: int


@dataclass(frozen=True)
class Metrics:
    """What an audit says of a source."""

    source: str
    qi: tuple[str, ...]
    k: int
    audit: Audit
    columns: tuple[ColumnRisk, ...]

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = plain_figures(
            {
                "source": self.source,
                "quasi_identifiers": list(self.qi),
                "rows": self.audit.rows,
                **({} if self.audit.people is None else {"people": self.audit.people}),
                "classes": self.audit.classes,
                "privacy": self.audit.privacy,
                "class_sizes": [
                    {"class_size": size, "classes": classes, "row_count": size * classes}
                    for size, classes in self.audit.sizes
                ],
                "column_risk": [asdict(risk) for risk in self.columns],
            }
        )
        return document

    def as_frame(self) -> pandas.DataFrame:
        """One row per figure: metric, column and value it belongs to (if any), measured."""
        import pandas

        return pandas.DataFrame(list(self._figures()), columns=["metric", "column", "value", "measured"])

    def _figures(self) -> list[tuple[str, str | None, str | None, Any]]:
        privacy = self.audit.privacy
        rows: list[tuple[str, str | None, str | None, Any]] = [
            ("rows", None, None, self.audit.rows),
            ("classes", None, None, self.audit.classes),
        ]
        rows += [] if self.audit.people is None else [("people", None, None, self.audit.people)]
        rows += [(name, None, None, figure) for name, figure in privacy.items() if name != "sensitive"]
        for risk in self.columns:
            rows += [("unique_rows_without", risk.column_name, None, risk.unique_rows_without)]
            rows += [("unique_rows_added", risk.column_name, None, risk.unique_rows_added)]
        for sensitive, figures in privacy["sensitive"].items():
            rows += [(name, sensitive, None, figure) for name, figure in figures.items() if name != "values"]
            for value, measured in figures["values"].items():
                rows += [(name, sensitive, value, figure) for name, figure in measured.items()]
        return rows


def is_file(source: str) -> bool:
    return Path(source).suffix.lower() in _FILES


def open_source(source: str, database: Path | None) -> Warehouse:
    """The database of a table, or one in memory for a file."""
    if database is None and not is_file(source):
        remedy = "name its database with --db, or give a CSV, Parquet or JSON file"
        raise UsageError([Fault("SOURCE", f"'{source}' is a table of no database", remedy)])
    return open_warehouse(database, writable=False)


def measure(
    warehouse: Warehouse, source: str, qi: list[str], sensitive: list[str], k: int, entity: str | None = None
) -> Metrics:
    """All that can be asked of a table, view or file without a policy; by people, where `entity` names them."""
    scratch = Scratch(warehouse)
    try:
        relation = _relation(source, sensitive, warehouse, scratch)
        columns = warehouse.columns(relation.table)
        asked = known_columns(qi, "qi", columns)
        protected = known_columns(sensitive, "sensitive", columns)
        _apart(asked, protected)
        people = _people(relation, asked, entity, columns, scratch)
        rows = Rows(relation, asked, scratch)
        types = {column.name: column.type for column in columns}
        parts = [
            AuditedColumn(Sensitive(name), name, types[name], _reference(index, name, people or rows))
            for index, name in enumerate(protected)
        ]
        found = audit(k, rows, parts, people)
        risks = (people or rows).ask(column_risk((people or rows).classed), "metrics: column_risk")
    finally:
        scratch.clear()
    return Metrics(source, tuple(asked), k, found, tuple(ColumnRisk(*risk) for risk in risks))


def _relation(source: str, sensitive: list[str], warehouse: Warehouse, scratch: Scratch) -> Relation:
    """The source; of a CSV file the sensitive columns as numbers where they all are, the others as texts."""
    found = warehouse.find(source)
    if found is not None:
        return found
    if not is_file(source):
        what = f"there is no table or view '{source}' in {warehouse.location}"
        raise SourceError([Fault("SOURCE", what, warehouse.nearest(source))])
    rows, name = (scratch.adopt(*thing) for thing in (("TABLE", "source_rows"), ("VIEW", "source")))
    warehouse.define_file(name, source, Reading(numbers=tuple(sensitive)), rows)
    return Relation((name.name,), "view")


def known_columns(names: list[str], option: str, columns: list[Column]) -> list[str]:
    """The columns as the catalog spells them."""
    spelled = {folded(column.name): column.name for column in columns}
    missing = [name for name in names if folded(name) not in spelled]
    if missing:
        has = f"it has {', '.join(spelled.values())}"
        remedies = {name: _repeated(name, option) if "," in name else has for name in missing}
        raise UsageError([Fault(option, f"there is no column '{name}'", remedies[name]) for name in missing])
    return list(dict.fromkeys(spelled[folded(name)] for name in names))


def _repeated(names: str, option: str) -> str:
    """Several columns in one word, as other tools take them."""
    return "repeat it: " + " ".join(f"--{option} {name.strip()}" for name in names.split(",") if name.strip())


def _people(
    relation: Relation, qi: list[str], entity: str | None, columns: list[Column], scratch: Scratch
) -> People | None:
    if entity is None:
        return None
    (name,) = known_columns([entity], "entity", columns)
    if name in qi:
        raise UsageError([Fault("entity", f"'{name}' is a quasi-identifier too")])
    nobody = exp.select("COUNT(*)").from_(relation.table).where(sql(":e IS NULL", e=column(name)))
    ((rows,),) = scratch.engine.fetch(nobody)
    if rows:
        raise SourceError([Fault("entity", f"'{name}' is NULL in {rows:,} rows: nobody knows whose they are")])
    return People(relation, qi, scratch, name)


def _reference(index: int, sensitive: str, rows: Rows) -> exp.Select:
    """The distribution that t is measured against: of the rows, or of the people who have each value."""
    totals = rows.classed.totals(column(sensitive))
    return exp.select("v", "n").from_(rows.scratch.table(f"reference_{index}", totals, "what t is measured against"))


def _apart(qi: list[str], sensitive: list[str]) -> None:
    both = [name for name in sensitive if name in qi]
    if not qi:
        raise UsageError([Fault("qi", "there is none", "name at least one quasi-identifier")])
    if both:
        raise UsageError([Fault("sensitive", f"'{name}' is a quasi-identifier too") for name in both])


def metrics_text(found: Metrics) -> str:
    """The metrics in a screenful, with the class sizes as a chart."""
    privacy = found.audit.privacy
    average = found.audit.rows / found.audit.classes if found.audit.classes else 0
    who = "rows" if found.audit.people is None else "people"
    at_risk = f"{who} at risk"
    lines = [
        f"{found.source}: {found.audit.rows:,} rows in {found.audit.classes:,} classes of {', '.join(found.qi)}",
        "",
        *([] if found.audit.people is None else [f"  people         {found.audit.people:,}, who are counted"]),
        f"  k              {_figure(privacy['k'])}, {average:,.1f} rows on average",
        f"  highest risk   {_share(privacy['highest_risk'])}",
        f"  average risk   {_share(privacy['average_risk'])}",
        f"  {at_risk:<14} {privacy['rows_at_risk']:,} in classes below {found.k}, {privacy['unique_rows']:,} alone",
        "",
        *_chart(found.audit.sizes, who),
        *_without(found.columns, who),
    ]
    for name, figures in privacy["sensitive"].items():
        lines += ["", *_column(name, figures, who)]
    return "\n".join(lines)


def _chart(sizes: tuple[tuple[int, int], ...], who: str) -> list[str]:
    """Rows (or people) by the size of their class, in ranges that double."""
    bins: dict[int, int] = {}
    for size, classes in sizes:
        start = 1 << (size.bit_length() - 1)
        bins[start] = bins.get(start, 0) + size * classes
    if len(bins) > _BARS:
        starts = sorted(bins)
        bins[starts[_BARS - 1]] = sum(bins.pop(start) for start in starts[_BARS - 1 :])
    most = max(bins.values(), default=1)
    lines = [f"  {'class size':<11} {who:>9}"]
    for start, rows in sorted(bins.items()):
        label = str(start) if start == 1 else f"{start}–{2 * start - 1}"
        lines.append(f"  {label:<11} {rows:>9,} {'█' * max(1, round(_WIDTH * rows / most))}")
    return lines


def _without(columns: tuple[ColumnRisk, ...], who: str) -> list[str]:
    """What leaving a column out would do for those who are alone, the riskiest first; nothing, if nobody is."""
    risky = [risk for risk in columns if risk.unique_rows_added]
    if not risky:
        return []
    width = max(len(risk.column_name) for risk in risky)
    more = [f"  … and {len(risky) - _RISKIEST:,} more columns"] if len(risky) > _RISKIEST else []
    return [
        "",
        *(
            f"  without {risk.column_name:<{width}}  {risk.unique_rows_without:,} {who} would be alone, "
            f"{risk.unique_rows_added:,} fewer"
            for risk in risky[:_RISKIEST]
        ),
        *more,
    ]


def _column(name: str, figures: dict[str, Any], who: str) -> list[str]:
    lines = [
        f"  {name}: distinct l {_figure(figures['distinct_l'])}, entropy l {_figure(figures['entropy_l'])}, "
        f"t {_figure(figures['t'])}, {figures['homogeneous_rows']:,} {who} in classes of one value",
        f"    β {_figure(figures['beta'])}, enhanced {_figure(figures['enhanced_beta'])}; "
        f"δ {_figure(figures['delta'])}, of present values {_figure(figures['present_delta'])}",
    ]
    values = figures["values"]
    width = max(map(len, ("value", *values)))
    lines.append(f"    {'value':<{width}} {who:>9} {'alpha':>8} {'ALP':>8} {'DIF':>8}")
    shown = list(values.items())[:20]
    for value, measured in shown:
        leaks = " ".join(f"{_figure(measured[leak]):>8}" for leak in ("alpha", "alp", "dif"))
        lines.append(f"    {value:<{width}} {measured['rows']:>9,} {leaks}")
    more = len(values) - len(shown) + figures.get("values_omitted", 0)
    return [*lines, f"    … and {more:,} more values"] if more else lines


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
