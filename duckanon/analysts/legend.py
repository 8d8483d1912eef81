"""What the short names in a printed script stand for."""

from __future__ import annotations

from collections.abc import Iterator

from duckanon.census.counting import Census
from duckanon.search.measure import Measurer


def legend(measurer: Measurer) -> Iterator[str]:
    """A line on the columns of the census, one on what is counted, and one on the figures of the classes."""
    census = measurer.census
    yield f"columns: {', '.join(f'{short} {name}' for short, name in _columns(census).items())}"
    coded = [h for h in census.hierarchies if h.coded]
    codes = "".join(f"{h.code(h.lowest)} is the code of {h.column.name} at level {h.lowest}; " for h in coded[:1])
    people = "; people: of a class; e: a person, p: those in one cell only" if census.people is not None else ""
    people += (
        "; m: rows of the population in a cell, population: below the label of a class" if census.population else ""
    )
    yield f"{codes}n: rows of a cell, x: of a class, y: of a class with one value{people}"
    if measurer.judged:
        figures = {name: rule.constraint for part in measurer.judged for name, rule in part.figures.items()}
        told = (f"{name} of {c.column}{f' {c.value}' if c.value else ''}" for name, c in figures.items())
        yield f"figures: {', '.join(told)}"


def _columns(census: Census) -> dict[str, str]:
    named = {f"q{hierarchy.index}": hierarchy.column.name for hierarchy in census.hierarchies}
    named |= {f"s{values.index}": values.column.name for values in census.sensitive}
    return named | {short: kept.name for short, kept in zip(census.kept_columns, census.keep, strict=True)}
