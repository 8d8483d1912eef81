"""Results as a person reads them."""

from __future__ import annotations

import shlex
from typing import Any

from duckanon.models import Finding
from duckanon.query.expressions import TOLERANCE
from duckanon.result import Result

# Of all there was: what loses more may have lost it to its method.
_MUCH = 0.3


def summary(result: Result, policy: str | None = None) -> str:
    """A run or check in a screenful; `policy`: the file, where a word on it may help."""
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
            lines += ["", *_levels_in_use(result, result.classes_by_levels)]
    if result.constraints:
        lines += ["", *_constraints(result.constraints, result.failed_at or "constraint")]
    if result.privacy:
        lines += ["", *_risk(result)]
    if result.profile:
        lines += ["", *_profile(result.profile)]
    if result.effort:
        lines += ["", _effort(result.effort)]
    if result.utility and (result.levels or result.classes_by_levels):
        lines += ["", *_utility(result.utility)]
        if policy and result.path and result.levels and result.utility["ncp"] > _MUCH:
            lines.append(f"  try       `{shlex.join(['duckanon', 'compare', policy])}`: other methods may lose less")
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
    average = rows["released"] / result.classes if result.classes else 0
    new = f"; {rows['new']:,} of them new" if "new" in rows else ""
    people = result.people
    counted = [f"  people    {people['released']:,} of {people['source']:,}, who are counted"] if people else []
    return [
        f"  rows      {rows['released']:,} of {rows['source']:,}{_suppressed(result)}{new}",
        *counted,
        f"  classes   {result.classes:,}, {average:,.1f} rows on average",
    ]


def _suppressed(result: Result) -> str:
    """What was left out beside what may be."""
    suppressed, source = result.rows["suppressed"], result.rows["source"]
    allowed = f", {result.budget:,} allowed" if result.budget is not None else ""
    if suppressed > 0:
        return f", {suppressed:,} suppressed ({suppressed / source:.2%}){allowed}"
    return f", none suppressed{allowed}" if result.budget else ""


def _profile(profile: dict[str, Any]) -> list[str]:
    """Which rule book, and what it made stricter; `--json` and a report tell the rest."""
    return [
        f"  profile   {profile['name']}: {profile['title']}",
        *(f"            {said}" for said in profile["raised"]),
    ]


def _levels(result: Result) -> list[str]:
    assert result.levels is not None
    done = {name: f"level {level} of {result.heights[name]}" for name, level in result.levels.items()}
    return _columns({name: f"{level}  {result.descriptions.get(name, '')}" for name, level in done.items()}, result)


def _levels_in_use(result: Result, combinations: list[dict[str, Any]]) -> list[str]:
    """Of a local recoding: how many rows of each quasi-identifier are released at each level."""
    rows = sum(part["rows"] for part in combinations)
    done = {}
    for name, height in result.heights.items():
        shares = [sum(part["rows"] for part in combinations if part["levels"][name] == at) for at in range(height + 1)]
        done[name] = ", ".join(f"level {at} {share / rows:.0%}" for at, share in enumerate(shares) if share)
    return [f"  every class at its own levels: {len(combinations):,} combinations of levels", *_columns(done, result)]


def _columns(done: dict[str, str], result: Result) -> list[str]:
    """A line for each quasi-identifier: what is done to it, and what that leaves of it."""
    lost = (result.utility or {}).get("columns", {})
    names, words = max(map(len, done)), max(map(len, done.values()))
    return [
        f"  {name:<{names}}  {said:<{words}}  {_left(lost[name]) if name in lost else ''}".rstrip()
        for name, said in done.items()
    ]


def _left(column: dict[str, Any]) -> str:
    return f"{column['labels_after']:,} labels for {column['labels_before']:,} values, NCP {column['ncp']:.3f}"


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
    if journalist := privacy.get("risk", {}).get("journalist"):
        among = f"{_figure('risk', journalist['highest'])}, on average {_figure('risk', journalist['average'])}"
        lines.append(f"  among the people of the population: highest risk {among}")
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


def _utility(utility: dict[str, Any]) -> list[str]:
    return [
        f"  lost      NCP {utility['ncp']:.4f} (0 nothing, 1 everything), precision {utility['precision']:.4f}, "
        f"discernibility {utility['discernibility']:,}",
        *_moved_most(utility.get("numbers", {})),
        *_changed_most(utility.get("associations", [])),
    ]


def _moved_most(numbers: dict[str, dict[str, Any]]) -> list[str]:
    """The column whose mean has moved the farthest."""
    moved = {name: figures["mean"] for name, figures in numbers.items() if figures["mean"] is not None}
    if not moved:
        return []
    name = max(moved, key=lambda name: abs(moved[name]))
    return [f"  means     move by at most {abs(moved[name]):.2f} standard deviations ({name})"]


def _changed_most(associations: list[dict[str, Any]]) -> list[str]:
    """The pair of columns whose association has changed the most; one that is gone altogether has become 0."""
    changed = {pair: pair_change for pair, pair_change in enumerate(map(_change, associations)) if pair_change}
    if not changed:
        return []
    most = associations[max(changed, key=lambda pair: changed[pair])]
    after = "gone" if most["after"] is None else f"{most['after']:.2f}"
    pair, measure = " and ".join(most["columns"]), most["measure"].replace("cramers_v", "Cramér's V")
    return [f"  together  {pair} change the most: {measure} {most['before']:.2f} → {after}"]


def _change(association: dict[str, Any]) -> float:
    before, after = association["before"], association["after"]
    return 0.0 if before is None else abs((after or 0.0) - before)


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
