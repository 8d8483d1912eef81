"""The people of whom the source is a sample."""

from __future__ import annotations

from pathlib import Path

from duckanon.errors import Fault
from duckanon.policy import Population
from duckanon.toml import Section
from duckanon.toml.checks import share, text, whole

_WAYS = ("table", "query", "file", "size", "sampling_fraction")


def read_population(section: Section, folder: Path) -> Population:
    given = [key for key in _WAYS if key in section.data]
    if len(given) != 1:
        found = f"found {', '.join(given)}" if given else "found none"
        section.faults.append(Fault("population", f"must have exactly one of {', '.join(_WAYS)}; {found}"))
    file = section.get("file", text)
    fraction = section.get("sampling_fraction", share)
    population = Population(
        table=section.get("table", text),
        query=section.get("query", text),
        file=str(folder / file) if file else None,
        size=section.get("size", whole(1)),
        sampling_fraction=None if fraction is None else float(fraction),
    )
    section.finish()
    return population
