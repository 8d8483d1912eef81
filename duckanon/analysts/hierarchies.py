"""Hierarchies for people to look at: levels, values per level, what is unmapped."""

from __future__ import annotations

import csv
import io

from sqlglot import exp

from duckanon import resources
from duckanon.census.source import bind_source
from duckanon.engine import Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import Fault, HierarchyError, UsageError
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.build import build_hierarchies
from duckanon.hierarchy.domains import TupleDomains
from duckanon.hierarchy.unmapped import Unmapped
from duckanon.policy import Policy
from duckanon.policy.hierarchy import PREFIXES
from duckanon.query.expressions import column, sql, text_of
from duckanon.query.names import folded

_EXAMPLES = 3


def show(policy: Policy, warehouse: Warehouse, only: str | None, as_csv: bool = False) -> tuple[str, list[Fault]]:
    """Every hierarchy of the policy (or that of one column) as text, and what is wrong with any of them."""
    if as_csv and only is None:
        raise UsageError([Fault("--csv", "needs a column: a file holds one hierarchy", "name the quasi-identifier")])
    scratch = Scratch(warehouse.workbench)
    texts: list[str] = []
    faults: list[Fault] = []
    try:
        source = bind_source(policy, warehouse, scratch)
        wanted = [(q, c) for q, c in source.quasi_identifiers if only is None or folded(c.name) == folded(only)]
        if not wanted:
            names = ", ".join(c.name for _, c in source.quasi_identifiers)
            raise UsageError([Fault("COLUMN", f"'{only}' is no quasi-identifier of the policy", f"it has {names}")])
        for pair in wanted:
            name = column(pair[1].name)
            tuples = exp.select(name.as_("q0"), sql("COUNT(*)").as_("n")).from_(source.table).group_by(name)
            table = scratch.collected("tuples", tuples, f"values of {pair[1].name}", warehouse)
            try:
                domains = TupleDomains(table, 1, scratch)
                built = build_hierarchies([pair], domains, warehouse, scratch, policy.unmapped)
                (hierarchy,), bench = built.hierarchies, scratch.workbench
                texts.append(_csv(hierarchy, bench) if as_csv else _text(hierarchy, built.unmapped, bench, policy.k))
            except HierarchyError as error:
                faults += error.faults
            scratch.clear(keep=("source", "source_rows"))
    finally:
        scratch.clear()
    return "\n\n".join(texts), faults


def _csv(hierarchy: Hierarchy, workbench: Workbench) -> str:
    """The hierarchy in the form of a hierarchy file: one line per value of the source, with its labels."""
    labels = [text_of(column("value")), *(column(f"label_{level}") for level in range(1, hierarchy.height))]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([f"level_{level}" for level in range(hierarchy.height + 1)])
    for row in workbench.fetch(exp.select(*labels).from_(hierarchy.mapping).order_by("code_0")):
        writer.writerow([*row, hierarchy.top])
    return written.getvalue().rstrip("\n")


def _text(hierarchy: Hierarchy, unmapped: tuple[Unmapped, ...], workbench: Workbench, k: int) -> str:
    gaps = ", ".join(f"{part.values:,} values ({part.rows:,} rows) unmapped" for part in unmapped) or "nothing unmapped"
    nulls = f", {hierarchy.nulls:,} rows NULL" if hierarchy.nulls else ""
    bounds = "" if len(hierarchy.allowed) == len(hierarchy.levels) else f", {_bounds(hierarchy)}"
    lines = [f"{hierarchy.column.name}: height {hierarchy.height}, {hierarchy.domain:,} values{nulls}, {gaps}{bounds}"]
    for level, measured in enumerate(hierarchy.levels):
        examples = ", ".join(_examples(hierarchy, level, workbench, k))
        never = "" if level in hierarchy.allowed else "  (never released)"
        told = f"  level {level}  {measured.values:>9,} values  {hierarchy.describe(level):<28}  {examples}"
        lines.append(told + never)
    return "\n".join(lines)


def _bounds(hierarchy: Hierarchy) -> str:
    low, high = hierarchy.lowest, hierarchy.highest
    return f"released at level {low}" if low == high else f"released at levels {low} to {high}"


def _examples(hierarchy: Hierarchy, level: int, workbench: Workbench, k: int) -> list[str]:
    """The labels of the most people: a level is best understood by what it says of many, and at least k."""
    if level == hierarchy.height:
        return [hierarchy.top]
    name = "value" if level == 0 else f"label_{level}"
    label = text_of(column(name))
    query = exp.select(label.as_("label")).from_(hierarchy.mapping).group_by(label.copy()).having(f"SUM(n) >= {k}")
    rows = workbench.fetch(query.order_by("SUM(n) DESC", "label").limit(_EXAMPLES))
    more = ["…"] if hierarchy.levels[level].values > _EXAMPLES else []
    return [row[0] for row in rows] + more


def builtins_text() -> str:
    """The ready-made hierarchies, with an example of each."""
    lines = ['Ready-made hierarchies, for a policy: hierarchy = { builtin = "NAME" }', ""]
    known = resources.builtin_hierarchies()
    width = max(map(len, known), default=0)
    for name, path in known.items():
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        values = "groups of codes" if rows[0][0] != "level_0" else "values"
        lines.append(f"  {name:<{width}}  {len(rows) - 1:>4} {values}  {' → '.join(rows[1])}")
    lines += [f"  {name:<{width}}  codes, by their first characters: {kept}" for name, kept in _prefixes().items()]
    return "\n".join(lines)


def _prefixes() -> dict[str, str]:
    return {name: ", ".join(map(str, spec.kept)) for name, spec in PREFIXES.items()}
