"""Results as a person reads them."""

from __future__ import annotations

from typing import Any

from duckanon.models import Finding
from duckanon.query.expressions import TOLERANCE
from duckanon.result import Result


def summary(result: Result) -> str:
    """A run or check in a screenful."""
    if result.status == "unchanged":
        return _headline(result)
    lines = [_headline(result)]
    if result.reasons:
        lines += ["  " + reason for reason in result.reasons]
    if result.status != "infeasible":
        lines += ["", *_rows(result)]
        if result.levels:
            lines += ["", *_levels(result)]
        if result.classes_by_levels:
            lines += ["", *_levels_in_use(result.classes_by_levels, result.heights)]
    if result.constraints:
        title = "constraint" if result.status != "infeasible" else result.failed_at
        lines += ["", *_constraints(result.constraints, title)]
    if result.privacy:
        lines += ["", *_risk(result)]
    if result.effort:
        lines += ["", _effort(result.effort)]
    if result.utility and (result.levels or result.classes_by_levels):
        lines += ["", _utility(result.utility)]
    lines += ["warning: " + warning for warning in result.warnings]
    return "\n".join(lines)


def _headline(result: Result) -> str:
    if result.status == "released" and result.release:
        return f"{result.name}: released to {result.release['kind']} {result.release['to']}, and verified there"
    if result.status == "unchanged" and result.release:
        place = f"{result.release['kind']} {result.release['to']}"
        return f"{result.name}: unchanged since the release of {result.since} to {place}; nothing was done"
    words = {
        "holds": "the release would hold (dry run, nothing written)" if result.dry_run else "the policy holds",
        "violated": "the policy does NOT hold" if _broken(result) else "refused; nothing was written",
        "infeasible": f"no {'feasible release' if result.proven else 'release was found'}; nothing was written",
    }
    return f"{result.name}: {words.get(result.status, result.status)}"


def _broken(result: Result) -> bool:
    """A release may also be refused for what it tells together with the last one, though it holds all constraints. What
    is checked is no release on its way."""
    return result.release is None or not result.reasons or not all(finding.holds for finding in result.constraints)


def _rows(result: Result) -> list[str]:
    rows = result.rows
    suppressed = f", {rows['suppressed']:,} suppressed ({rows['suppressed'] / rows['source']:.2%})"
    average = rows["released"] / result.classes if result.classes else 0
    new = f"; {rows['new']:,} of them new" if "new" in rows else ""
    people = result.people
    counted = [f"  people    {people['released']:,} of {people['source']:,}, who are counted"] if people else []
    return [
        f"  rows      {rows['released']:,} of {rows['source']:,}{suppressed if rows['suppressed'] > 0 else ''}{new}",
        *counted,
        f"  classes   {result.classes:,}, {average:,.1f} rows on average",
    ]


def _levels(result: Result) -> list[str]:
    assert result.levels is not None
    width = max(map(len, result.levels))
    return [
        f"  {name:<{width}}  level {level} of {result.heights[name]}  {result.descriptions.get(name, '')}".rstrip()
        for name, level in result.levels.items()
    ]


def _levels_in_use(combinations: list[dict[str, Any]], heights: dict[str, int]) -> list[str]:
    """Of a local recoding: how many rows of each quasi-identifier are released at each level."""
    rows = sum(part["rows"] for part in combinations)
    width = max(map(len, heights))
    lines = [f"  every class at its own levels: {len(combinations):,} combinations of levels"]
    for name, height in heights.items():
        shares = [sum(part["rows"] for part in combinations if part["levels"][name] == at) for at in range(height + 1)]
        said = ", ".join(f"level {at} {share / rows:.0%}" for at, share in enumerate(shares) if share)
        lines.append(f"  {name:<{width}}  {said}")
    return lines


def _constraints(findings: tuple[Finding, ...], title: str) -> list[str]:
    rows = [(_name(f), _number(f.measured), _bound(f), "holds" if f.holds else "FAILS") for f in findings]
    width = max(len(title), *(len(row[0]) for row in rows))
    lines = [f"  {title:<{width}}  {'measured':>10}  threshold"]
    return lines + [
        f"  {name:<{width}}  {measured:>10}  {bound:<10}  {verdict}" for name, measured, bound, verdict in rows
    ]


def _name(finding: Finding) -> str:
    constraint = finding.constraint
    parts = [constraint.name, constraint.column, f"'{constraint.value}'" if constraint.value is not None else None]
    return " ".join(part for part in parts if part)


def _bound(finding: Finding) -> str:
    constraint = finding.constraint
    sign = "≥" if constraint.at_least else "<" if constraint.strict else "≤"
    return f"{sign} {_number(constraint.threshold)}"


def _risk(result: Result) -> list[str]:
    privacy, before = result.privacy or {}, result.before
    lines = [f"  {'risk':<24}" + (f"{'before':>10}" if before else "") + f"{'after' if before else '':>10}"]
    shown = {"smallest class": "k", "highest risk": "highest_risk", "average risk": "average_risk"}
    for label, key in shown.items():
        figures = [before.get(key)] if before else []
        written = [_figure(key, figure) for figure in (*figures, privacy.get(key))]
        lines.append(f"  {label:<24}" + "".join(f"{text:>10}" for text in written))
    for column, figures in privacy.get("sensitive", {}).items():
        homogeneous = figures.get("homogeneous_rows")
        who = "people" if result.people else "rows"
        lines.append(f"  {column}: {homogeneous:,} {who} in classes of one value, t {_number(figures.get('t'))}")
    linkable = privacy.get("linkable", {})
    if linkable.get("columns"):
        alone = f"{linkable['rows']:,} rows alone, smallest class {linkable['smallest']:,}"
        lines.append(f"  with all that is released, by {', '.join(linkable['columns'])}: {alone}")
    return lines


def _figure(key: str, figure: Any) -> str:
    if figure is None:
        return "–"
    return f"{figure:,}" if key == "k" else f"{figure:.2%}"


def _effort(effort: dict[str, Any]) -> str:
    if "rounds" in effort:
        refined = f"  refined   {effort['rounds']} rounds, {effort['offers']:,} times for the better"
        return refined if effort["finished"] else f"{refined}; stopped at the limit"
    measured = f"  searched  {effort['measured']:,} of {effort['nodes']:,} nodes measured"
    if not effort["proven"]:
        return f"{measured}; stopped at the limit: not proven best"
    return f"{measured}: no node is better"


def _utility(utility: dict[str, Any]) -> str:
    return (
        f"  lost      NCP {utility['ncp']:.4f} (0 nothing, 1 everything), precision {utility['precision']:.4f}, "
        f"discernibility {utility['discernibility']:,}"
    )


def _number(value: float | int | None) -> str:
    if value is None or value == float("inf"):
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{0 if abs(value) < TOLERANCE else value:.4g}"


def table_text(names: list[str], answer: list[tuple[Any, ...]]) -> str:
    """Rows as a plain text table."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in answer]
    widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [names, *rows]
    ]
    return "\n".join(f"    {line}" for line in lines)
