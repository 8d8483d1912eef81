"""The definitions of models, hierarchies and searches in plain Python, slow and direct: what the SQL must agree with.

Nothing here knows of DuckDB or of the package. Rows are dicts; a class is the list of rows that share their labels.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import product
from typing import Protocol

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
    "day": lambda day: day.isoformat(),
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

    @property
    def height(self) -> int:
        return self.kind.height

    def label(self, value: Value, level: int) -> Value:
        if level == self.height:
            return self.top
        return value if value is None or level == 0 else self.kind.label(value, level)

    def knows(self, value: Value, level: int) -> bool:
        """Whether a value can be shown at a level: a source may later hold values that the kind cannot place."""
        return value is None or level in (0, self.height) or self.kind.knows(value)

    @cached_property
    def top(self) -> str:
        return self.kind.top(self.values)

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
            width = self.kind.widths[level - 1]
            return 0.0 if value is None else float(min(Decimal(1), width / self.span)) if self.span else 1.0
        contained = self.contain_num(value, level)
        return 0.0 if contained == 1 else contained / self.num


# -- what is asked for --------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfValue:
    """Thresholds of one sensitive value, over those of its column."""

    alpha: float | None = None
    alp: float | None = None
    dif: float | None = None
    l: int | None = None  # noqa: E741 - the papers' letter


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

    def own(self, name: str) -> dict[str, float]:
        """The values that have a threshold of that name for themselves."""
        found = {value: getattr(thresholds, name) for value, thresholds in self.values.items()}
        return {value: threshold for value, threshold in found.items() if threshold is not None}


@dataclass(frozen=True)
class QuasiIdentifier:
    column: str
    kind: Kind
    importance: float = 1.0


@dataclass(frozen=True)
class Policy:
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[Sensitive, ...]
    keep: tuple[str, ...]
    k: int
    suppression: Decimal | int
    method: str = "greedy"
    weighting: str = "importance"

    def budget(self, rows: int) -> int:
        if isinstance(self.suppression, int):
            return min(self.suppression, rows)
        return math.floor(self.suppression * rows)


# -- privacy models (§1) ------------------------------------------------------------------------------

Members = Sequence[Value]  # the sensitive values of one class's rows, as released


def known(members: Members) -> list[Value]:
    """NULL needs no protection and is no value."""
    return [value for value in members if value is not None]


def distinct_l(members: Members) -> int:
    return len(set(known(members)))


def entropy_l(members: Members) -> float:
    counts = Counter(known(members)).values()
    return math.exp(-sum(y / sum(counts) * math.log(y / sum(counts)) for y in counts)) if counts else 0.0


def recursive_c(members: Members, l: int) -> float:  # noqa: E741
    """The c that r_1 < c (r_l + … + r_m) must exceed."""
    counts = sorted(Counter(known(members)).values(), reverse=True)
    rest = sum(counts[l - 1 :])
    return counts[0] / rest if rest else math.inf


def highest_share(members: Members, counts: Callable[[Value], bool]) -> float:
    """The frequency of the most frequent value of those that count."""
    found = Counter(value for value in known(members) if counts(value))
    return max(found.values(), default=0) / len(members)


def shares(members: Members, values: Members) -> list[float]:
    counts = Counter(members)
    return [counts[value] / len(members) for value in values]


def closeness(members: Members, source: Members) -> float:
    """Distance from the source's distribution: ordered for numbers, equal otherwise."""
    here, there = known(members), known(source)
    if not here:
        return 0.0
    ordered = all(isinstance(value, (int, float, Decimal)) for value in there)
    values = sorted(set(there), key=number) if ordered else list(set(there))
    gaps = [p - q for p, q in zip(shares(here, values), shares(there, values), strict=True)]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    steps = max(1, len(values) - 1)
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / steps


def nearness(members: Members, epsilon: float) -> float:
    """The largest share of a class that lies within epsilon of one of its numbers."""
    numbers = [float(number(value)) for value in known(members)]
    near = [sum(abs(a - b) <= epsilon + TOLERANCE for b in numbers) for a in numbers]
    return max(near, default=0) / len(members)


def leakage(classes: Sequence[Members], value: Value) -> tuple[float, float]:
    """ALP and DIF of a value that some class has."""
    pairs = [(sum(member == value for member in members), len(members)) for members in classes]
    alp = sum(y * y / x for y, x in pairs) / sum(y for y, _ in pairs)
    return alp, max(y / x for y, x in pairs) - alp


def level_weights(wanted: Sensitive) -> dict[int, float]:
    """pan eq. 2: the i-th of k levels weighs (i − 1)/(k − 1)."""
    steps = max(1, len(wanted.levels) - 1)
    return {level: place / steps for place, level in enumerate(sorted(wanted.levels))}


# -- constraints: models with thresholds --------------------------------------------------------------


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


Figure = Callable[[Members], float | None]
Rule = tuple[Bound, Figure]


def class_rules(wanted: Sensitive, source: Members) -> Iterator[Rule]:
    """Every class-level constraint of a sensitive column whose source rows show `source`."""

    def bound(name: str, kind: str, threshold: float, value: str | None = None) -> Bound:
        return Bound(name, wanted.column, value, kind, threshold)

    if wanted.l is not None:
        yield bound("distinct_l", "least", wanted.l), distinct_l
    if wanted.entropy_l is not None:
        yield bound("entropy_l", "least", wanted.entropy_l), entropy_l
    if wanted.recursive is not None:
        c, l = wanted.recursive  # noqa: E741
        yield bound("recursive", "below", c), lambda members: recursive_c(members, l)
    if wanted.t is not None:
        yield bound("t", "most", wanted.t), lambda members: closeness(members, source)
    if wanted.proximity is not None:
        epsilon, m = wanted.proximity
        yield bound("proximity", "most", 1 / m), lambda members: nearness(members, epsilon)
    yield from _alpha_rules(wanted, bound)
    yield from _level_rules(wanted, bound)
    for value, least in wanted.own("l").items():
        yield bound("value_l", "least", least, value), _where_present(value)


Bounds = Callable[..., Bound]


def _alpha_rules(wanted: Sensitive, bound: Bounds) -> Iterator[Rule]:
    own = wanted.own("alpha")
    for value, most in own.items():
        yield bound("alpha", "most", most, value), _share_of(value)
    if wanted.alpha is not None:
        yield (
            bound("alpha", "most", wanted.alpha),
            lambda members: highest_share(members, lambda value: text(value) not in own),
        )


def _share_of(named: str) -> Figure:
    return lambda members: highest_share(members, lambda value: text(value) == named)


def _where_present(named: str) -> Figure:
    """yang's l: asked only of the classes that have the value."""
    return lambda members: distinct_l(members) if named in map(text, known(members)) else None


def _level_rules(wanted: Sensitive, bound: Bounds) -> Iterator[Rule]:
    def levels(members: Members) -> list[int | None]:
        return [wanted.level_shown(value) for value in members]

    def weight(members: Members) -> float:
        return sum(weight for level, weight in level_weights(wanted).items() if level in levels(members))

    if wanted.level_l is not None:
        yield bound("level_l", "least", wanted.level_l), lambda members: distinct_l(levels(members))
    for level, most in wanted.level_alpha.items():
        yield bound("level_alpha", "most", most, str(level)), _share_of_level(levels, level)
    if wanted.level_weight is not None:
        yield bound("level_weight", "least", wanted.level_weight), weight


def _share_of_level(levels: Callable[[Members], list[int | None]], level: int) -> Figure:
    return lambda members: levels(members).count(level) / len(members)


def table_findings(wanted: Sensitive, classes: Sequence[Members]) -> Iterator[tuple[Bound, float | None]]:
    """ALP and DIF: the highest over the values that each threshold is for."""
    leaks = {value: leakage(classes, value) for value in {v for members in classes for v in known(members)}}
    for place, name in enumerate(("alp", "dif")):
        own = wanted.own(name)
        for named, most in own.items():
            found = [leak[place] for value, leak in leaks.items() if text(value) == named]
            yield Bound(name, wanted.column, named, "most", most), max(found, default=None)
        column_wide = getattr(wanted, name)
        if column_wide is not None:
            found = [leak[place] for value, leak in leaks.items() if text(value) not in own]
            yield Bound(name, wanted.column, None, "most", column_wide), max(found, default=None)


# -- a node of the lattice ----------------------------------------------------------------------------

Findings = dict[Bound, float | None]


@dataclass(frozen=True)
class Judged:
    """What a node is like before and after its failing classes are suppressed."""

    node: Node
    good: Mapping[Label, list[Row]]
    failing: Mapping[Label, list[Row]]
    class_findings: Findings  # over all classes
    good_findings: Findings  # over the good ones
    table_findings: Findings  # over the good ones

    @property
    def released_rows(self) -> int:
        return sum(map(len, self.good.values()))

    @property
    def failing_rows(self) -> int:
        return sum(map(len, self.failing.values()))

    def holds(self, budget: int) -> bool:
        """A node at which every row fails is never an answer."""
        if not self.good or self.failing_rows > budget:
            return False
        return all(bound.holds(figure) for bound, figure in self.table_findings.items())


@dataclass(frozen=True)
class Problem:
    """A table and what is asked of it. `current`: the rows to look at, when they are not those it began with."""

    policy: Policy
    source: tuple[Row, ...]
    current: tuple[Row, ...] | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.source if self.current is None else self.current

    @cached_property
    def budget(self) -> int:
        return self.policy.budget(len(self.source))

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        return tuple(
            Hierarchy(q.column, q.kind, q.importance, tuple(row[q.column] for row in self.source))
            for q in self.policy.quasi_identifiers
        )

    @property
    def top(self) -> Node:
        return tuple(h.height for h in self.hierarchies)

    def label(self, row: Row, node: Node) -> Label:
        return tuple(h.label(row[h.column], level) for h, level in zip(self.hierarchies, node, strict=True))

    def classes(self, node: Node) -> dict[Label, list[Row]]:
        found: dict[Label, list[Row]] = defaultdict(list)
        pairs = list(zip(self.hierarchies, node, strict=True))
        for row in self.rows:
            if all(h.knows(row[h.column], level) for h, level in pairs):
                found[self.label(row, node)].append(row)
        return dict(found)

    @cached_property
    def rules(self) -> list[tuple[Sensitive | None, Rule]]:
        """Every class-level constraint, with the column it looks at."""
        size = Bound("k", None, None, "least", self.policy.k)
        found: list[tuple[Sensitive | None, Rule]] = [(None, (size, len))]
        for wanted in self.policy.sensitive:
            found += [(wanted, rule) for rule in class_rules(wanted, members(self.rows, wanted))]
        return found

    def figures(self, rows: Sequence[Row]) -> Findings:
        """What every class-level constraint measures in one class."""
        return {bound: figure(members(rows, wanted)) for wanted, (bound, figure) in self.rules}

    def judge(self, node: Node) -> Judged:
        classes = self.classes(node)
        figures = {label: self.figures(rows) for label, rows in classes.items()}
        good = {
            label: rows
            for label, rows in classes.items()
            if all(bound.holds(figure) for bound, figure in figures[label].items())
        }
        of_table = (
            finding
            for wanted in self.policy.sensitive
            for finding in table_findings(wanted, [members(rows, wanted) for rows in good.values()])
        )
        return Judged(
            node,
            good,
            {label: rows for label, rows in classes.items() if label not in good},
            self._worst(list(figures.values())),
            self._worst([figures[label] for label in good]),
            dict(of_table),
        )

    def _worst(self, figures: list[Findings]) -> Findings:
        return {bound: bound.worst([of_class[bound] for of_class in figures]) for _, (bound, _) in self.rules}

    def released(self, judged: Judged) -> Counter[tuple[Value, ...]]:
        """The released rows: labels, sensitive values as shown, kept columns."""
        wanted, keep = self.policy.sensitive, self.policy.keep
        return Counter(
            (*label, *(s.shown(row[s.column]) for s in wanted), *(row[name] for name in keep))
            for label, rows in judged.good.items()
            for row in rows
        )


def members(rows: Sequence[Row], wanted: Sensitive | None) -> Members:
    """What the rows show of a sensitive column; without one, something per row to count."""
    return [wanted.shown(row[wanted.column]) if wanted else None for row in rows]


# -- searches (§5) ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    path: tuple[Judged, ...]
    answer: Judged | None


def walk(problem: Problem) -> Walk:
    """From the bottom upwards until a node holds or the top fails."""
    path: list[Judged] = []
    node: Node = (0,) * len(problem.hierarchies)
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
    return product(*(range(height + 1) for height in problem.top))


# -- utility (§3): a suppressed row counts as generalized to the top ----------------------------------


def precision(problem: Problem, judged: Judged) -> float:
    pairs = list(zip(problem.hierarchies, judged.node, strict=True))
    per_row = sum(level / h.height for h, level in pairs)
    generalized = judged.released_rows * per_row + judged.failing_rows * len(pairs)
    return 1 - generalized / (len(problem.source) * len(pairs))


def ncp(problem: Problem, judged: Judged) -> float:
    pairs = list(zip(problem.hierarchies, judged.node, strict=True))
    cells = sum(h.ncp(row[h.column], level) for rows in judged.good.values() for row in rows for h, level in pairs)
    return (cells + judged.failing_rows * len(pairs)) / (len(problem.source) * len(pairs))


def discernibility(problem: Problem, judged: Judged) -> int:
    return sum(len(rows) ** 2 for rows in judged.good.values()) + judged.failing_rows * len(problem.source)


def loss(problem: Problem, node: Node) -> float:
    return sum(weight(problem, h) * h.loss(level) for h, level in zip(problem.hierarchies, node, strict=True))


def utility(problem: Problem, judged: Judged) -> dict[str, float]:
    average = judged.released_rows / len(judged.good)
    return {
        "precision": precision(problem, judged),
        "ncp": ncp(problem, judged),
        "discernibility": discernibility(problem, judged),
        "average_class_size": average,
        "normalized_class_size": average / problem.policy.k,
        "loss": loss(problem, judged.node),
    }
