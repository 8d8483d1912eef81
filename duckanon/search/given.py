"""A node of the lattice as people write it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping

from duckanon.census.counting import Census
from duckanon.errors import Fault, UsageError
from duckanon.query.names import folded
from duckanon.search.lattice import Node

Levels = str | Mapping[str, int]  # age=2,zip=1; or, in a program, {"age": 2, "zip": 1}


def given_node(levels: Levels, census: Census) -> Node:
    """The node that `--levels age=2,zip=1` names; columns that are not named stay as fine as they may be."""
    names = {folded(h.column.name): h for h in census.hierarchies}
    chosen = {name: h.lowest for name, h in names.items()}
    faults = []
    named: set[str] = set()
    for part, name, level in _parts(levels):
        hierarchy = names.get(folded(name))
        if not level:
            faults.append(Fault("--levels", f"'{part}' names no level", "write COLUMN=LEVEL, such as age=2"))
        elif hierarchy is None:
            remedy = f"quasi-identifiers: {', '.join(h.column.name for h in census.hierarchies)}"
            faults.append(Fault("--levels", f"'{part}' names no quasi-identifier", remedy))
        elif folded(name) in named:
            faults.append(Fault("--levels", f"'{part}' names a column for the second time"))
        elif level not in map(str, hierarchy.allowed):
            what = f"'{part}' must be a level from {hierarchy.lowest} to {hierarchy.highest}"
            faults.append(Fault("--levels", what))
        else:
            chosen[folded(name)] = int(level)
            named.add(folded(name))
    if faults:
        raise UsageError(faults)
    return tuple(chosen.values())


def _parts(levels: Levels) -> Iterator[tuple[str, str, str]]:
    """Each part as it is written, its column and its level; a name with a comma stands in quotes."""
    if isinstance(levels, Mapping):
        yield from ((f"{name}={level}", name, str(level)) for name, level in levels.items())
        return
    for part in next(csv.reader([levels]), []) or [""]:
        name, _, level = part.rpartition("=")
        yield part, name.strip(), level.strip() if name else ""
