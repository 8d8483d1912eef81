"""The hierarchy of a quasi-identifier, out of the policy file."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from duckanon import resources
from duckanon.policy import Cuts, Dates, Flat, HierarchySpec, Intervals, MappingFile, MappingTable, Mask, Prefixes
from duckanon.query.names import folded
from duckanon.toml import Section
from duckanon.toml.checks import is_number, one_of, text, texts, whole
from duckanon.toml.section import shown

# Which calendar unit nests in which: a week lies in no month.
NESTS_IN = {
    "day": ("week", "month", "quarter", "year", "decade", "century"),
    "week": (),
    "month": ("quarter", "year", "decade", "century"),
    "quarter": ("year", "decade", "century"),
    "year": ("decade", "century"),
    "decade": ("century",),
    "century": (),
}

# Ready-made hierarchies of codes whose groups are their own beginnings. NUTS calls Greece EL and the United Kingdom UK.
PREFIXES = {
    "nuts": Prefixes(
        "^(AL|AT|BA|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IS|IT|LI|LT|LU|LV|ME|MK|MT|NL|NO|PL|PT|RO|RS|SE|SI|SK|TR|UA|UK|XK)"
        "[0-9A-Z]{1,3}$",
        (4, 3, 2),
    )
}


def read_hierarchy(section: Section, folder: Path) -> HierarchySpec:
    given = section.get("hierarchy", _path_or_table)
    if given is None:
        return Flat()
    if isinstance(given, str):
        return MappingFile(folder / given)
    spec = Section(given, section.key("hierarchy"), section.faults)
    kinds = {
        "intervals": _intervals,
        "cuts": _cuts,
        "mask": _mask,
        "dates": _dates,
        "table": _mapping_table,
        "builtin": _builtin,
    }
    found = [kind for kind in kinds if kind in given]
    spec.known.extend(kinds)
    hierarchy: HierarchySpec = Flat()
    if len(found) == 1:
        hierarchy = kinds[found[0]](spec)
    else:
        what = f"must have exactly one of {', '.join(kinds)}; found {', '.join(found) or 'none'}"
        section.fault("hierarchy", what)
    spec.finish()
    return hierarchy


def _intervals(spec: Section) -> HierarchySpec:
    widths = spec.get("intervals", _widths, [])
    origin = Decimal(spec.get("origin", _origin, 0))
    return Intervals(tuple(Decimal(width) for width in widths), origin)


def _cuts(spec: Section) -> HierarchySpec:
    points = [[_point(point) for point in level] for level in spec.get("cuts", _points, [])]
    return Cuts(tuple(map(tuple, points)))


def _mask(spec: Section) -> HierarchySpec:
    return Mask(tuple(spec.get("mask", _kept, [])))


def _dates(spec: Section) -> HierarchySpec:
    return Dates(tuple(spec.get("dates", _units, [])))


def _mapping_table(spec: Section) -> HierarchySpec:
    table = spec.get("table", text, "")
    columns = spec.get("columns", texts, [], required='name the columns, finest first: columns = ["city", "region"]')
    if spec.data.get("columns") == []:
        spec.fault("columns", "is empty", "name the columns, finest first")
    if len({folded(c) for c in columns}) < len(columns):
        spec.fault("columns", "names a column twice")
    return MappingTable(table, tuple(columns))


def _builtin(spec: Section) -> HierarchySpec:
    known = resources.builtin_hierarchies()
    name = spec.get("builtin", one_of(*known, *PREFIXES), "")
    return PREFIXES[name] if name in PREFIXES else MappingFile(known.get(name, Path()), ready_made=True)


def _path_or_table(value: Any) -> str | None:
    if isinstance(value, str) and value.strip():
        return None
    return None if isinstance(value, dict) else "must be a file's path or a table such as { intervals = [5, 10] }"


def _widths(value: Any) -> str | None:
    if not isinstance(value, list) or not value or not all(is_number(width) and width > 0 for width in value):
        return "must be a list of widths above 0"
    if not all(_handy(width) for width in value):
        return "has a width of 1e15 or more, or with more than 9 decimals"
    for narrow, wide in pairwise(value):
        if wide <= narrow or Decimal(wide) % Decimal(narrow) != 0:
            return (
                f"has intervals that do not nest: {shown(wide)} is not a larger multiple of {shown(narrow)}; "
                "each width must be a multiple of the one before"
            )
    return None


def _handy(value: Any) -> bool:
    """A number that intervals can count with exactly."""
    exponent = Decimal(value).normalize().as_tuple().exponent
    return abs(value) < 10**15 and isinstance(exponent, int) and exponent >= -9


def _origin(value: Any) -> str | None:
    if is_number(value) and _handy(value):
        return None
    return "must be a number below 1e15 with at most 9 decimals"


def _point(value: Any) -> Any:
    """A number or a day, as itself or as a text; None: neither."""
    if isinstance(value, str):
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return None
        return day if day.isoformat() == value else None  # neither 20240531 nor 2024-W22-5
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    return Decimal(value) if is_number(value) else None


def _points(value: Any) -> str | None:
    if not isinstance(value, list) or not value or not all(isinstance(level, list) and level for level in value):
        return "must be a list of lists of points, finest first, such as [[18, 25, 35, 50, 65], [18, 65]]"
    levels = [[_point(point) for point in level] for level in value]
    if len({type(point) for level in levels for point in level}) > 1 or levels[0][0] is None:
        return "must have numbers as points, or dates such as 2024-05-31, and not both"
    if isinstance(levels[0][0], Decimal) and not all(_handy(point) for level in levels for point in level):
        return "has a point of 1e15 or more, or with more than 9 decimals"
    if any(b <= a for level in levels for a, b in pairwise(level)):
        return "has points that do not rise"
    if any(not set(coarse) < set(fine) for fine, coarse in pairwise(levels)):
        return "has cuts that do not nest: each list must have some of the points of the one before, and no other"
    return None


def _kept(value: Any) -> str | None:
    whole_numbers = (
        isinstance(value, list) and value and all(whole(0)(kept) is None and kept <= 10_000 for kept in value)
    )
    if not whole_numbers or any(b >= a for a, b in pairwise(value)):
        return "must be a falling list of how many characters each level keeps, such as [4, 3, 0]"
    return None


def _units(value: Any) -> str | None:
    if not isinstance(value, list) or not value or any(unit not in NESTS_IN for unit in value):
        return f"must be a list of units out of {', '.join(NESTS_IN)}"
    for fine, coarse in pairwise(value):
        if coarse not in NESTS_IN[fine]:
            return f"has units that do not nest: a {fine} does not lie in one {coarse}"
    return None
