"""Hierarchies, models, searches and utility in plain Python, slow and direct: what a whole run is compared with.

Nothing here knows of DuckDB or of the package. A table is a list of rows, a row a mapping from column to value; a
class is the list of the rows that share their labels. The figures of a class are those of metrics_reference.py.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property, partial
from itertools import product
from typing import Any, Protocol

from tests.support import metrics_reference as metrics

Value = str | int | float | Decimal | date | None
Row = Mapping[str, Value]
Label = tuple[Value, ...]
Node = tuple[int, ...]

TOLERANCE = 1e-9
EPOCH = date(1970, 1, 1)


def text(value: Value) -> str:
    """The text form by which policies and hierarchy files name a value."""
    return str(value)


# -- hierarchies (§2) ---------------------------------------------------------------------------------


class Kind(Protocol):
    """How a value that is not NULL looks at a level strictly between 0 and the top."""

    @property
    def height(self) -> int: ...
    def knows(self, value: Value) -> bool: ...
    def label(self, value: Value, level: int) -> str: ...
    def top(self, values: Sequence[Value]) -> str: ...


@dataclass(frozen=True)
class Flat:
    """The value, then the top."""

    height: int = 1

    def knows(self, value: Value) -> bool:
        return True

    def label(self, value: Value, level: int) -> str:
        raise AssertionError("nothing lies between the value and the top")

    def top(self, values: Sequence[Value]) -> str:
        return "*"


@dataclass(frozen=True)
class Listed:
    """Each listed text with its parents, the last of which is the top."""

    parents: Mapping[str, tuple[str, ...]]

    @property
    def height(self) -> int:
        return len(next(iter(self.parents.values())))

    def knows(self, value: Value) -> bool:
        return text(value) in self.parents

    def label(self, value: Value, level: int) -> str:
        return self.parents[text(value)][level - 1]

    def top(self, values: Sequence[Value]) -> str:
        return next(iter(self.parents.values()))[-1]


@dataclass(frozen=True)
class Mask:
    """The first characters, the others starred; a last level that keeps nothing is the top."""

    kept: tuple[int, ...]

    @property
    def height(self) -> int:
        return len(self.kept) + (self.kept[-1] > 0)

    def knows(self, value: Value) -> bool:
        return True

    def label(self, value: Value, level: int) -> str:
        kept = text(value)[: self.kept[level - 1]]
        return kept.ljust(len(text(value)), "*")

    def top(self, values: Sequence[Value]) -> str:
        if self.kept[-1] > 0:
            return "*"
        return "*" * max(1, *(len(text(value)) for value in values if value is not None))


@dataclass(frozen=True)
class Dates:
    """Calendar units."""

    units: tuple[str, ...]

    @property
    def height(self) -> int:
        return len(self.units) + 1

    def knows(self, value: Value) -> bool:
        with suppress(ValueError):
            return bool(self._date(value))
        return False

    def label(self, value: Value, level: int) -> str:
        return CALENDAR[self.units[level - 1]](self._date(value))

    @staticmethod
    def _date(value: Value) -> date:
        return value if isinstance(value, date) else date.fromisoformat(text(value))

    def top(self, values: Sequence[Value]) -> str:
        return "*"


CALENDAR: dict[str, Callable[[date], str]] = {
    "day": lambda day: f"{day:%Y-%m-%d}",
    "week": lambda day: f"{day.isocalendar().year}-W{day.isocalendar().week:02}",
    "month": lambda day: f"{day.year}-{day.month:02}",
    "quarter": lambda day: f"{day.year}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year}",
    "decade": lambda day: f"{day.year // 10 * 10}s",
    "century": lambda day: f"{day.year // 100 * 100}-{day.year // 100 * 100 + 99}",
}


@dataclass(frozen=True)
class Intervals:
    """Half-open ranges counted from the origin; of dates, in days from 1970-01-01."""

    widths: tuple[Decimal, ...]
    origin: Decimal = Decimal(0)

    @property
    def height(self) -> int:
        return len(self.widths) + 1

    def knows(self, value: Value) -> bool:
        return isinstance(value, date) or number(value).is_finite()

    def label(self, value: Value, level: int) -> str:
        width = self.widths[level - 1]
        lower = self.origin + math.floor((number(value) - self.origin) / width) * width
        return f"[{self._written(lower, value)}, {self._written(lower + width, value)})"

    def top(self, values: Sequence[Value]) -> str:
        return "*"

    def _written(self, bound: Decimal, value: Value) -> str:
        if isinstance(value, date):
            return (EPOCH + timedelta(days=int(bound))).isoformat()
        return f"{bound:.{max(map(decimals, (*self.widths, self.origin)))}f}"


@dataclass(frozen=True)
class Cuts:
    """Below the first point, from each to the next, from the last on. `last`: a range is written with its last value,
    which is so much below its end."""

    points: tuple[tuple[Value, ...], ...]
    last: int | timedelta | None = None

    @property
    def height(self) -> int:
        return len(self.points) + 1

    def knows(self, value: Value) -> bool:
        return isinstance(value, date) or number(value).is_finite()

    def label(self, value: Value, level: int) -> str:
        points = self.points[level - 1]
        below = [point for point in points if number(point) <= number(value)]
        above = [point for point in points if number(point) > number(value)]
        if not below:
            return f"< {points[0]}"
        return f"≥ {points[-1]}" if not above else self._between(below[-1], above[0])

    def _between(self, first: Any, end: Any) -> str:
        if self.last is None:
            return f"{first} – < {end}"
        return f"{first}" if first == end - self.last else f"{first} – {end - self.last}"

    def top(self, values: Sequence[Value]) -> str:
        return "*"


def number(value: Value) -> Decimal:
    """A number, exactly; a float stands for what it prints as, a date for its days since 1970-01-01."""
    return Decimal((value - EPOCH).days) if isinstance(value, date) else Decimal(text(value))


def decimals(bound: Decimal) -> int:
    exponent = bound.normalize().as_tuple().exponent
    return max(0, -int(exponent))


@dataclass(frozen=True)
class Hierarchy:
    """A kind over the values of one source column. NULL is a value of its own until the top."""

    column: str
    kind: Kind
    importance: float
    values: tuple[Value, ...]  # of every source row
    lowest: int = 0  # the levels that are allowed
    cap: int | None = None

    @property
    def height(self) -> int:
        return self.kind.height

    @property
    def highest(self) -> int:
        return self.height if self.cap is None else self.cap

    def label(self, value: Value, level: int) -> Value:
        if level == self.height:
            return self.top
        return value if value is None or level == 0 else self.kind.label(value, level)

    def knows(self, value: Value) -> bool:
        """Whether a value can be placed: a source may later hold some that cannot."""
        return value is None or self.kind.knows(value)

    @cached_property
    def top(self) -> str:
        return self.kind.top(self.values if self.lowest < self.height else [""])

    @cached_property
    def domain(self) -> tuple[Value, ...]:
        """The level-0 values: those listed, or else those of the source; and NULL where the source has it."""
        present = [value for value in set(self.values) if value is not None]
        known = list(self.kind.parents) if isinstance(self.kind, Listed) else present
        return (*known, *([None] if None in self.values else []))

    @property
    def num(self) -> int:
        return len(self.domain)

    @cached_property
    def contained(self) -> tuple[Counter[Value], ...]:
        """ContainNum of every label, per level."""
        return tuple(Counter(self.label(value, level) for value in self.domain) for level in range(self.height + 1))

    def contain_num(self, value: Value, level: int) -> int:
        return self.contained[level][self.label(value, level)] if level else 1

    def distinct(self, level: int) -> int:
        """How many different labels the source has at a level."""
        return len({self.label(value, level) for value in self.values})

    def loss(self, level: int) -> float:
        """Σ over the source rows of (ContainNum − 1) / NUM."""
        return sum(self.contain_num(value, level) - 1 for value in self.values) / self.num

    @cached_property
    def span(self) -> Decimal:
        numbers = [number(value) for value in self.values if value is not None]
        return max(numbers) - min(numbers)

    def ncp(self, value: Value, level: int) -> float:
        """The cost of one cell, 0 to 1."""
        if level == 0 or self.num == 1:
            return 0.0
        if level == self.height:
            return 1.0
        if isinstance(self.kind, Intervals):
            return 0.0 if value is None else self._width_share(self.kind.widths[level - 1])
        contained = self.contain_num(value, level)
        return 0.0 if contained == 1 else contained / self.num

    def _width_share(self, width: Decimal) -> float:
        return min(1.0, float(width / self.span)) if self.span else 1.0


# -- what is asked for --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delta:
    threshold: float
    present_only: bool = False


@dataclass(frozen=True)
class OfValue:
    """Thresholds of one sensitive value, over those of its column."""

    alpha: float | None = None
    alp: float | None = None
    dif: float | None = None
    l: int | None = None  # noqa: E741 - the papers' letter
    beta: float | None = None
    enhanced_beta: float | None = None
    delta: Delta | None = None


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column and its thresholds."""

    column: str
    l: int | None = None  # noqa: E741
    entropy_l: float | None = None
    recursive: tuple[float, int] | None = None  # c, l
    t: float | None = None
    alpha: float | None = None
    alp: float | None = None
    dif: float | None = None
    beta: float | None = None
    enhanced_beta: float | None = None
    delta: Delta | None = None
    ground: Kind | None = None  # by which t is measured
    proximity: tuple[float, int] | None = None  # epsilon, m
    publish: str = "value"
    levels: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    level_alpha: Mapping[int, float] = field(default_factory=dict)
    level_l: int | None = None
    level_weight: float | None = None
    values: Mapping[str, OfValue] = field(default_factory=dict)

    def level(self, value: Value) -> int | None:
        """The sensitivity level of a value of the source."""
        homes = [level for level, members in self.levels.items() if value is not None and text(value) in members]
        return homes[0] if homes else None

    def may_be_shown(self, value: Value) -> bool:
        """A value that needs a level has one; a run refuses others, a view hides their classes."""
        asked = self.level_l is not None or self.level_weight is not None or bool(self.level_alpha)
        needed = asked or self.publish == "level"
        placed = self.ground is None or self.ground.height == 1 or self.ground.knows(value)
        return value is None or (placed and (not needed or self.level(value) is not None))

    def shown(self, value: Value) -> Value:
        """A value as the release shows it: itself, or its level (-1: it has none)."""
        if self.publish == "value" or value is None:
            return value
        level = self.level(value)
        return -1 if level is None else level

    def level_shown(self, shown: Value) -> int | None:
        """The level of what the release shows."""
        if self.publish == "value":
            return self.level(shown)
        return shown if isinstance(shown, int) and shown >= 0 else None

    def own(self, name: str) -> dict[str, Any]:
        """The values that have a threshold of that name for themselves."""
        found = {value: getattr(thresholds, name) for value, thresholds in self.values.items()}
        return {value: threshold for value, threshold in found.items() if threshold is not None}


@dataclass(frozen=True)
class QuasiIdentifier:
    column: str
    kind: Kind
    importance: float = 1.0
    at_least: int = 0
    at_most: int | None = None


@dataclass(frozen=True)
class Sizes:
    """What is asked of the sizes of classes beside k."""

    k_map: int | None = None
    presence: tuple[float, float] | None = None  # least, most
    average_risk: float | None = None
    rows_at_risk: tuple[float, float] | None = None  # share, risk


@dataclass(frozen=True)
class Policy:
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[Sensitive, ...]
    keep: tuple[str, ...]
    k: int
    suppression: Decimal | int
    method: str = "greedy"
    weighting: str = "importance"
    sizes: Sizes = Sizes()

    def budget(self, rows: int) -> int:
        if isinstance(self.suppression, int):
            return min(self.suppression, rows)
        return math.floor(self.suppression * rows)


# -- constraints: models with thresholds (§1) ---------------------------------------------------------

Table = Sequence[Row]
ONE_CLASS: tuple[str, ...] = ()  # quasi-identifiers of rows that are one class already


@dataclass(frozen=True)
class Bound:
    """What is asked of a figure: at `least`, at `most`, or strictly `below` the threshold. No figure: it holds."""

    name: str
    column: str | None
    value: str | None
    kind: str
    threshold: float

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        return self.name, self.column, self.value

    def holds(self, figure: float | None) -> bool:
        if figure is None:
            return True
        if self.kind == "least":
            return figure >= self.threshold - TOLERANCE
        if self.kind == "most":
            return figure <= self.threshold + TOLERANCE
        return figure < self.threshold - TOLERANCE

    def worst(self, figures: Sequence[float | None]) -> float | None:
        found = [figure for figure in figures if figure is not None]
        return (min if self.kind == "least" else max)(found, default=None)


Figure = Callable[[Table], float | None]  # of the rows of one class, as they are released
Rule = tuple[Bound, Figure]
Bounds = Callable[..., Bound]


def class_rules(wanted: Sensitive, source: Table) -> Iterator[Rule]:
    """Every class-level constraint of a sensitive column; `source`: its rows, sensitive values as released."""

    def bound(name: str, kind: str, threshold: float, value: str | None = None) -> Bound:
        return Bound(name, wanted.column, value, kind, threshold)

    yield from _diversity_rules(wanted, bound)
    yield from _alpha_rules(wanted, bound)
    yield from _level_rules(wanted, bound)
    yield from _distance_rules(wanted, bound, source)
    yield from _likeness_rules(wanted, bound, source)


def _diversity_rules(wanted: Sensitive, bound: Bounds) -> Iterator[Rule]:
    column = wanted.column
    if wanted.l is not None:
        yield bound("distinct_l", "least", wanted.l), lambda rows: metrics.distinct_l(rows, ONE_CLASS, column)
    if wanted.entropy_l is not None:
        yield bound("entropy_l", "least", wanted.entropy_l), lambda rows: metrics.class_entropy_l(rows, column)
    if wanted.recursive is not None:
        c, l = wanted.recursive  # noqa: E741
        yield bound("recursive", "below", c), lambda rows: recursive_c(rows, column, l)
    for value, least in wanted.own("l").items():
        yield bound("value_l", "least", least, value), partial(value_l, column=column, named=value)


def _alpha_rules(wanted: Sensitive, bound: Bounds) -> Iterator[Rule]:
    own = wanted.own("alpha")
    for value, most in own.items():
        yield bound("alpha", "most", most, value), partial(alpha, column=wanted.column, only=value)
    if wanted.alpha is not None:
        yield bound("alpha", "most", wanted.alpha), partial(alpha, column=wanted.column, but=own)


def _level_rules(wanted: Sensitive, bound: Bounds) -> Iterator[Rule]:
    column = wanted.column

    def levels(rows: Table) -> Table:
        return [{column: wanted.level_shown(row[column])} for row in rows]

    def weight(rows: Table) -> float:
        return sum(level_weights(wanted)[level] for level in metrics.values(levels(rows), column))

    def share(rows: Table, level: int) -> float:
        return alpha(levels(rows), column, only=text(level))

    if wanted.level_l is not None:
        yield bound("level_l", "least", wanted.level_l), lambda rows: metrics.distinct_l(levels(rows), (), column)
    for level, most in wanted.level_alpha.items():
        yield bound("level_alpha", "most", most, text(level)), partial(share, level=level)
    if wanted.level_weight is not None:
        yield bound("level_weight", "least", wanted.level_weight), weight


def _distance_rules(wanted: Sensitive, bound: Bounds, source: Table) -> Iterator[Rule]:
    if wanted.t is not None:
        figure = partial(closeness, column=wanted.column, source=source, ground=wanted.ground)
        yield bound("t", "most", wanted.t), figure
    if wanted.proximity is not None:
        epsilon, m = wanted.proximity
        near = lambda rows: metrics.proximity(rows, ONE_CLASS, wanted.column, epsilon) or 0.0  # noqa: E731
        yield bound("proximity", "most", 1 / m), near


def _likeness_rules(wanted: Sensitive, bound: Bounds, source: Table) -> Iterator[Rule]:
    for name in ("beta", "enhanced_beta", "delta"):
        own, of_column = wanted.own(name), getattr(wanted, name)
        for value, threshold in own.items():
            yield _likeness_rule(name, threshold, wanted, bound, source, value)
        if of_column is not None:
            yield _likeness_rule(name, of_column, wanted, bound, source)


def _likeness_rule(
    name: str, threshold: Any, wanted: Sensitive, bound: Bounds, source: Table, named: str | None = None
) -> Rule:
    """A class without any value lacks every value, whatever is asked of it."""
    own = wanted.own(name)
    present_only = isinstance(threshold, Delta) and threshold.present_only

    def figure(rows: Table) -> float:
        found = metrics.likeness(rows, ONE_CLASS, wanted.column, source)
        shares = [
            share
            for value, shares in found.items()
            for share in shares
            if (text(value) not in own if named is None else text(value) == named)
        ]
        if name != "delta":
            return metrics.beta(shares, enhanced=name == "enhanced_beta")
        bare = not metrics.values(rows, wanted.column) and not present_only
        return math.inf if bare else metrics.delta(shares, present_only)

    kind, most = ("below", threshold.threshold) if isinstance(threshold, Delta) else ("most", threshold)
    return bound(name, kind, most, named), figure


def recursive_c(rows: Table, column: str, l: int) -> float:  # noqa: E741
    """The c that a class's r_1 / (r_l + … + r_m) must lie below; with fewer than l values none will do."""
    c = metrics.recursive_c(rows, ONE_CLASS, column, l)
    return math.inf if c is None else c


def value_l(rows: Table, column: str, named: str) -> int | None:
    """yang's l: asked only of the classes that have the value."""
    found = metrics.value_diversity(rows, ONE_CLASS, column)
    return next((l for value, l in found.items() if text(value) == named), None)  # noqa: E741


def alpha(rows: Table, column: str, only: str | None = None, but: Container[str] = ()) -> float:
    """The frequency of a class's most frequent value: of one value only, or of all but some."""
    found = metrics.alpha(rows, ONE_CLASS, column)
    asked = (share for value, share in found.items() if only in (None, text(value)) and text(value) not in but)
    return max(asked, default=0.0)


def closeness(rows: Table, column: str, source: Table, ground: Kind | None = None) -> float:
    """t against the source's distribution: that of a hierarchy, or ordered distance for numbers; a class without a
    value is 0 away. What a hierarchy does not know is below one node of its own."""
    part, whole = metrics.values(rows, column), metrics.values(source, column)
    if ground is not None:
        levels = range(1, ground.height)
        known = {v: [ground.label(v, at) for at in levels] if ground.knows(v) else [None] * len(levels) for v in whole}
        return metrics.hierarchical_distance(part, whole, {v: [*known[v], "*"] for v in known}) if part else 0.0
    ordered = all(isinstance(value, (int, float, Decimal)) for value in metrics.values(source, column))
    return metrics.t(rows, ONE_CLASS, column, ordered=ordered, reference=source) or 0.0


def level_weights(wanted: Sensitive) -> dict[int, float]:
    """pan eq. 2: the i-th of k levels weighs (i − 1)/(k − 1)."""
    steps = max(1, len(wanted.levels) - 1)
    return {level: place / steps for place, level in enumerate(sorted(wanted.levels))}


def table_rules(wanted: Sensitive, released: Table, qi: Sequence[str]) -> Iterator[tuple[Bound, float | None]]:
    """ALP and DIF: the highest over the values that each threshold is for."""
    leaks = metrics.leakage(released, qi, wanted.column)
    for name in ("alp", "dif"):
        figures = {text(value): getattr(leak, name) for value, leak in leaks.items()}
        own, column_wide = wanted.own(name), getattr(wanted, name)
        for named, most in own.items():
            yield Bound(name, wanted.column, named, "most", most), figures.get(named)
        if column_wide is not None:
            others = [figure for value, figure in figures.items() if value not in own]
            yield Bound(name, wanted.column, None, "most", column_wide), max(others, default=None)


def size_rules(sizes: Sizes) -> Iterator[tuple[Bound, Callable[[int, int], float]]]:
    """What is asked of every class, by its rows and those of the population that its label covers."""
    if sizes.k_map is not None:
        yield Bound("k_map", None, None, "least", sizes.k_map), lambda rows, population: population
    if sizes.presence is not None:
        most = Bound("presence_most", None, None, "most", sizes.presence[1])
        yield most, lambda rows, population: rows / max(1, population)


def total_rules(
    sizes: Sizes, classes: Sequence[tuple[int, int]], population: int
) -> Iterator[tuple[Bound, float | None]]:
    """What is asked of all classes that are released, each with its rows and those of the population below it."""
    rows = sum(size for size, _ in classes)
    if sizes.presence is not None:
        everybody = sum(below for _, below in classes) == population
        least = min((size / max(1, below) for size, below in classes), default=0.0) if everybody else 0.0
        yield Bound("presence_least", None, None, "least", sizes.presence[0]), least
    if sizes.average_risk is not None:
        yield Bound("average_risk", None, None, "most", sizes.average_risk), len(classes) / rows if rows else None
    if sizes.rows_at_risk is not None:
        share, risk = sizes.rows_at_risk
        above = sum(size for size, _ in classes if 1 / size > risk + TOLERANCE)
        yield Bound("rows_at_risk", None, None, "most", share), above / rows if rows else None


# -- a node of the lattice ----------------------------------------------------------------------------

Findings = dict[Bound, float | None]


@dataclass(frozen=True)
class SensitiveRules:
    """What a node is like before and after its failing classes are suppressed."""

    node: Node
    good: Mapping[Label, list[Row]]  # source rows
    failing: Mapping[Label, list[Row]]
    released: Table
    class_findings: Findings  # over all classes
    good_findings: Findings  # over the good ones
    table_findings: Findings  # over the good ones

    @property
    def failing_rows(self) -> int:
        return sum(map(len, self.failing.values()))

    def holds(self, budget: int) -> bool:
        """A node at which every row fails is never an answer."""
        if not self.good or self.failing_rows > budget:
            return False
        return all_hold(self.table_findings)


@dataclass(frozen=True)
class Problem:
    """A table and what is asked of it. `current`: the rows to look at, when they are not those it began with."""

    policy: Policy
    source: tuple[Row, ...]
    current: tuple[Row, ...] | None = None
    population: tuple[Row, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.source if self.current is None else self.current

    @property
    def qi(self) -> list[str]:
        return [q.column for q in self.policy.quasi_identifiers]

    @cached_property
    def budget(self) -> int:
        return self.policy.budget(len(self.source))

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        return tuple(
            Hierarchy(
                q.column, q.kind, q.importance, tuple(row[q.column] for row in self.source), q.at_least, q.at_most
            )
            for q in self.policy.quasi_identifiers
        )

    @property
    def bottom(self) -> Node:
        return tuple(h.lowest for h in self.hierarchies)

    @property
    def top(self) -> Node:
        return tuple(h.highest for h in self.hierarchies)

    def at(self, node: Node) -> list[tuple[Hierarchy, int]]:
        return list(zip(self.hierarchies, node, strict=True))

    def classes(self, node: Node) -> dict[Label, list[Row]]:
        found: dict[Label, list[Row]] = defaultdict(list)
        for row in self.rows:
            if all(h.knows(row[h.column]) for h in self.hierarchies):
                found[tuple(h.label(row[h.column], level) for h, level in self.at(node))].append(row)
        return dict(found)

    def shown(self, row: Row) -> dict[str, Value]:
        """What is released of a row beside its quasi-identifiers."""
        secret = {s.column: s.shown(row[s.column]) for s in self.policy.sensitive}
        return secret | {name: row[name] for name in self.policy.keep}

    def may_be_shown(self, rows: list[Row]) -> bool:
        return all(s.may_be_shown(row[s.column]) for s in self.policy.sensitive for row in rows)

    @cached_property
    def rules(self) -> list[Rule]:
        """Every class-level constraint."""
        source = [self.shown(row) for row in self.rows]
        size: Rule = Bound("k", None, None, "least", self.policy.k), len
        return [size, *(rule for wanted in self.policy.sensitive for rule in class_rules(wanted, source))]

    def figures(self, rows: Table) -> Findings:
        """What every class-level constraint measures in one class, whose rows are given as released."""
        return {bound: figure(rows) for bound, figure in self.rules}

    def covered(self, node: Node) -> Counter[Label]:
        """How many rows of the population each label covers. What a hierarchy does not know only the top does."""
        found: Counter[Label] = Counter()
        for row in self.population:
            if all(level in (0, h.height) or h.knows(row[h.column]) for h, level in self.at(node)):
                found[tuple(h.label(row[h.column], level) for h, level in self.at(node))] += 1
        return found

    def judge(self, node: Node) -> SensitiveRules:
        classes, covered = self.classes(node), self.covered(node)
        figures = {label: self.figures([self.shown(row) for row in rows]) for label, rows in classes.items()}
        for bound, figure in size_rules(self.policy.sizes):
            for label, rows in classes.items():
                figures[label][bound] = figure(len(rows), covered[label])
        good = {label: rows for label, rows in classes.items() if all_hold(figures[label]) and self.may_be_shown(rows)}
        released = [
            dict(zip(self.qi, label, strict=True)) | self.shown(row) for label, rows in good.items() for row in rows
        ]
        together = [(len(rows), covered[label]) for label, rows in good.items()]
        of_table = dict(total_rules(self.policy.sizes, together, len(self.population)))
        for s in self.policy.sensitive:
            of_table |= dict(table_rules(s, released, self.qi))
        return SensitiveRules(
            node,
            good,
            {label: rows for label, rows in classes.items() if label not in good},
            released,
            self._worst(list(figures.values())),
            self._worst([figures[label] for label in good]),
            of_table,
        )

    def _worst(self, figures: list[Findings]) -> Findings:
        bounds = [bound for bound, _ in (*self.rules, *size_rules(self.policy.sizes))]
        return {bound: bound.worst([of_class[bound] for of_class in figures]) for bound in bounds}


def all_hold(findings: Findings) -> bool:
    return all(bound.holds(figure) for bound, figure in findings.items())


# -- searches (§5) ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    path: tuple[SensitiveRules, ...]
    answer: SensitiveRules | None


def walk(problem: Problem) -> Walk:
    """From the bottom upwards until a node holds or the top fails."""
    path: list[SensitiveRules] = []
    node = problem.bottom
    while True:
        path.append(problem.judge(node))
        if path[-1].holds(problem.budget):
            return Walk(tuple(path), path[-1])
        if node == problem.top:
            return Walk(tuple(path), None)
        chosen = (most_values if problem.policy.method == "datafly" else least_cost)(problem, node)
        node = (*node[:chosen], node[chosen] + 1, *node[chosen + 1 :])


def raisable(problem: Problem, node: Node) -> list[int]:
    return [place for place, level in enumerate(node) if level < problem.top[place]]


def weight(problem: Problem, hierarchy: Hierarchy) -> float:
    printed = problem.policy.weighting == "printed"
    return 1 - hierarchy.importance if printed else hierarchy.importance


def least_cost(problem: Problem, node: Node) -> int:
    """The attribute with the least edge cost; ties: the lower importance, then policy order."""
    costs = {}
    for place in raisable(problem, node):
        hierarchy = problem.hierarchies[place]
        costs[place] = weight(problem, hierarchy) * hierarchy.loss(node[place] + 1)
    least = min(costs.values())
    tied = [place for place, cost in costs.items() if cost - least <= TOLERANCE * cost]
    return min(tied, key=lambda place: (problem.hierarchies[place].importance, place))


def most_values(problem: Problem, node: Node) -> int:
    """DataFly: the attribute with the most distinct values; ties: policy order."""
    return max(raisable(problem, node), key=lambda place: (problem.hierarchies[place].distinct(node[place]), -place))


def lattice(problem: Problem) -> Iterator[Node]:
    return product(*(range(low, high + 1) for low, high in zip(problem.bottom, problem.top, strict=True)))


# -- utility (§3): a suppressed row counts as generalized to the top ----------------------------------


def precision(problem: Problem, judged: SensitiveRules) -> float:
    per_row = sum(level / h.height for h, level in problem.at(judged.node))
    generalized = len(judged.released) * per_row + judged.failing_rows * len(problem.qi)
    return 1 - generalized / (len(problem.source) * len(problem.qi))


def ncp(problem: Problem, judged: SensitiveRules) -> float:
    rows = [row for members in judged.good.values() for row in members]
    cells = sum(h.ncp(row[h.column], level) for row in rows for h, level in problem.at(judged.node))
    return (cells + judged.failing_rows * len(problem.qi)) / (len(problem.source) * len(problem.qi))


def loss(problem: Problem, node: Node) -> float:
    return sum(weight(problem, h) * h.loss(level) for h, level in problem.at(node))


def utility(problem: Problem, judged: SensitiveRules) -> dict[str, float]:
    average = len(judged.released) / len(judged.good)
    return {
        "precision": precision(problem, judged),
        "ncp": ncp(problem, judged),
        "discernibility": metrics.discernibility(judged.released, problem.qi, judged.failing_rows),
        "average_class_size": average,
        "normalized_class_size": average / problem.policy.k,
        "loss": loss(problem, judged.node),
    }


# -- privacy figures of a release (§4) ----------------------------------------------------------------


def privacy(problem: Problem, judged: SensitiveRules) -> dict[str, Any]:
    risk = metrics.risk(judged.released, problem.qi, problem.policy.k)
    source = [problem.shown(row) for row in problem.rows]
    return {
        "k": metrics.k(judged.released, problem.qi),
        "highest_risk": risk.highest,
        "average_risk": risk.average,
        "rows_at_risk": risk.rows_at_risk,
        "unique_rows": risk.unique_rows,
        "sensitive": {
            s.column: sensitive_privacy(judged.released, problem.qi, s, source) for s in problem.policy.sensitive
        },
    }


def sensitive_privacy(rows: Table, qi: Sequence[str], wanted: Sensitive, source: Table) -> dict[str, Any]:
    column = wanted.column
    counts, highest = metrics.values(rows, column), metrics.alpha(rows, qi, column)
    leaks = metrics.leakage(rows, qi, column)
    values = {
        text(value): {"rows": count, "alpha": highest[value], "alp": leaks[value].alp, "dif": leaks[value].dif}
        for value, count in counts.items()
    }
    distances = [closeness(members, column, source, wanted.ground) for members in metrics.classes(rows, qi).values()]
    return {
        **metrics.likeness_figures(rows, qi, column, source),
        "distinct_l": metrics.distinct_l(rows, qi, column),
        "entropy_l": metrics.entropy_l(rows, qi, column),
        "homogeneous_rows": metrics.homogeneity(rows, qi, column).rows,
        "t": max(distances) if counts else None,
        "values": values,
    }
