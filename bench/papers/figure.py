"""A figure of a paper: what is released for it, what is drawn of that, and what the paper claims of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from bench.papers.release import Outcome, Release

Measured = Mapping[Release, list[Outcome]]  # of every sample
Lines = Mapping[str, Sequence[tuple[float, Release | float]]]  # a number: nothing is released for it
# A share of a figure: what differs by less does not.
_NOISE = 0.005
_TOLD = 3  # exceptions


@dataclass(frozen=True)
class Point:
    """The average of all samples, the least and the largest of them."""

    x: float
    mean: float
    low: float
    high: float


Drawn = dict[str, list[Point]]
Exceptions = Callable[[Drawn], Iterator[str]]


@dataclass(frozen=True)
class Claim:
    """What a paper says of its figure, and where that is not so here."""

    words: str
    exceptions: Exceptions

    def told(self, drawn: Drawn) -> str:
        found = list(self.exceptions(drawn))
        found = [*found[:_TOLD], f"and {len(found) - _TOLD} more"] if len(found) > _TOLD + 1 else found
        return f"The paper: {self.words}. " + (f"Here not: {'; '.join(found)}." if found else "Here, too.")


@dataclass(frozen=True)
class Figure:
    file: str
    title: str
    x: str
    y: str
    measure: str  # a figure of an outcome
    lines: Lines
    claims: tuple[Claim, ...]
    digits: int = 0
    notes: tuple[str, ...] = ()
    measures: Mapping[str, str] | None = None  # of a line, where it is another

    @property
    def releases(self) -> Iterator[Release]:
        return (asked for line in self.lines.values() for _, asked in line if isinstance(asked, Release))

    def drawn(self, measured: Measured) -> Drawn:
        return {name: [self._point(name, x, part, measured) for x, part in line] for name, line in self.lines.items()}

    def _point(self, name: str, x: float, asked: Release | float, measured: Measured) -> Point:
        if not isinstance(asked, Release):
            return Point(x, asked, asked, asked)
        figures = [getattr(found, (self.measures or {}).get(name, self.measure)) for found in measured[asked]]
        return Point(x, fmean(figures), min(figures), max(figures))


# -- what papers claim --------------------------------------------------------------------------------


def rising(drawn: Drawn) -> Iterator[str]:
    yield from _steps(drawn, 1)


def falling(drawn: Drawn) -> Iterator[str]:
    yield from _steps(drawn, -1)


def _steps(drawn: Drawn, way: int) -> Iterator[str]:
    """Where a line goes the other way, by more than noise."""
    word = "falls" if way > 0 else "rises"
    for name, line in drawn.items():
        for one, other in pairwise(line):
            if way * (one.mean - other.mean) > _NOISE * max(abs(one.mean), abs(other.mean)):
                yield f"{name} {word} from {one.mean:.4g} at {one.x:g} to {other.mean:.4g} at {other.x:g}"


def in_order(*names: str) -> Exceptions:
    """Each of these lines lies nowhere above the next."""

    def exceptions(drawn: Drawn) -> Iterator[str]:
        for lower, upper in pairwise(names):
            for one, other in zip(drawn[lower], drawn[upper], strict=True):
                if one.mean - other.mean > _NOISE * abs(other.mean):
                    yield f"at {one.x:g}, {lower} has {one.mean:.4g}, {upper} {other.mean:.4g}"

    return exceptions


def none_of(name: str) -> Exceptions:
    """A line is zero everywhere, in every sample."""

    def exceptions(drawn: Drawn) -> Iterator[str]:
        yield from (f"at {part.x:g} up to {part.high:g}" for part in drawn[name] if part.high > 0)

    return exceptions


def accelerating(drawn: Drawn) -> Iterator[str]:
    """Every step is larger than the one before."""
    for name, line in drawn.items():
        steps = [other.mean - one.mean for one, other in pairwise(line)]
        if any(later < earlier for earlier, later in pairwise(steps)):
            yield f"{name} grows by {', '.join(f'{step:.3g}' for step in steps)} from one to the next"
