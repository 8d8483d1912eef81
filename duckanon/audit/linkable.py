"""Whom a release shows by what it does not generalize: kept columns and exact numbers, beside the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from duckanon.audit.questions import DistinctRows
from duckanon.query.expressions import column, literal, sql

# A column of numbers tells people apart, if more rows than this have a number that fewer than k rows share.
_TELLING_NUMBERS = 0.01
# Worth a warning: more rows than this alone, or so many in classes below k.
_MANY_ALONE, _MANY_BELOW = 0.01, 0.2


@dataclass(frozen=True)
class Linkable:
    """The classes over all that is released of a person, pseudonyms aside."""

    rows: int  # alone with all of it
    columns: tuple[str, ...]  # beside the quasi-identifiers, without which there would be fewer
    smallest: int | None
    below: int  # rows in classes of fewer than k
    released: int

    def as_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "columns": list(self.columns), "smallest": self.smallest}

    def warnings(self, k: int, known: tuple[str, ...]) -> Iterator[str]:
        """`known`: columns that a warning names already, each for itself."""
        if not self.columns or set(self.columns) <= set(known):
            return
        if self.rows > _MANY_ALONE * self.released:
            said = f"{self.rows:,} rows ({self.rows / self.released:.0%}) are alone"
        elif self.below > _MANY_BELOW * self.released:
            said = f"{self.below:,} rows ({self.below / self.released:.0%}) are in classes below {k}"
        else:
            return
        names = ", ".join(self.columns)
        yield f"columns: with {names}, released as they are, and the quasi-identifiers, {said}; may others know them?"


def linkable(released: DistinctRows, kept: list[str], numbers: list[str], k: int) -> Linkable:
    """Measure the classes over the quasi-identifiers, the `kept` columns, and those of the `numbers` that are rarely
    shared, in the released rows themselves."""
    sizes = released.sizes
    everybody = sum(size * classes for size, classes in sizes)
    columns = [*kept, *(name for name in numbers if _is_rarely_shared(name, released, k, everybody))]
    smallest = min((size for size, _ in sizes), default=None)
    if not columns:
        below = sum(size * classes for size, classes in sizes if size < k)
        alone = sum(classes for size, classes in sizes if size == 1)
        return Linkable(alone, (), smallest, below, everybody)
    alone, below, smallest = _alone(released, columns, k)
    needed = list(columns) if below else []
    for name in list(needed):
        others = [other for other in needed if other != name]
        found = _alone(released, others, k)
        needed = others if found[:2] == (alone, below) else needed
    return Linkable(alone, tuple(needed), smallest, below, everybody)


def _alone(released: DistinctRows, names: list[str], k: int) -> tuple[int, int, int | None]:
    """Rows alone, rows in classes below k, and the smallest class, of the quasi-identifiers with these columns."""
    classes = released.sizes_by(*names, whole=True)
    figures = ("COUNT(CASE WHEN x = 1 THEN 1 END)", "COALESCE(SUM(CASE WHEN x < :k THEN x END), 0)", "MIN(x)")
    asked = exp.select(*(sql(f"CAST({figure} AS BIGINT)", k=literal(k)) for figure in figures))
    ((alone, below, smallest),) = released.ask(asked.from_(classes.subquery("c")), "verify: who is alone")
    return alone, below, smallest


def _is_rarely_shared(name: str, released: DistinctRows, k: int, everybody: int) -> bool:
    value = column(name)
    counts = released.sizes_by(name).where(sql(":value IS NOT NULL", value=value))
    rare = exp.select(sql("CAST(COALESCE(SUM(x), 0) AS BIGINT)")).from_(counts.subquery("c"))
    ((rows,),) = released.ask(rare.where(sql("x < :k", k=literal(k))), "verify: are numbers shared?")
    return bool(rows > _TELLING_NUMBERS * everybody)
