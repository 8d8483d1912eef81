"""What a privacy model is: everything that the other rooms ask of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from sqlglot import exp

from duckanon.models.keys import Key, ThresholdKey
from duckanon.models.questions import CountedColumn, CountedSizes, ReleasedColumn, ReleasedSizes
from duckanon.models.rules import ClassRule, Constraint, SizeRule, TableRule, TotalRule
from duckanon.models.wanted import Wanted
from duckanon.query.expressions import double, sql
from duckanon.query.metrics import Metric, MetricRequest
from duckanon.toml import Section


class Numbers(Enum):
    """What a model makes of numbers."""

    UNUSED = auto()
    WEIGHED = auto()  # it weighs amounts where the column has them
    NEEDED = auto()  # it means nothing without


class Model(ABC):
    """A privacy model. One module of this package defines it, whole, and names it as `MODEL` (or several as `MODELS`):
    the registry finds it there."""

    name: str  # of its constraints
    order: int  # among the models, as their keys are read and their constraints told


class SizeModel(Model):
    """A model of the sizes of classes, whatever their values. A threshold of the policy itself becomes rules; what they
    bound an audit measures from the sizes that a release has."""

    key: ThresholdKey  # privacy.…
    needs_population = False  # whether it counts the rows of the population below a label, too
    local_methods: tuple[str, ...] = ()  # that release classes at their own levels, and see to it
    counts_people = False  # whether it can, where the policy names an entity
    stands_alone = False  # whether a policy that asks for it may go without k

    @abstractmethod
    def rules(self, threshold: Any) -> Iterator[SizeRule | TotalRule]:
        """How a search judges."""

    def constraints(self, threshold: Any) -> Iterator[Constraint]:
        """What a threshold asks for."""
        return (rule.constraint for rule in self.rules(threshold))

    @abstractmethod
    def measured(self, constraint: Constraint, threshold: Any, released: ReleasedSizes) -> float | int | None:
        """The figure of a release, by other ways than those of the rule; None: there is nothing to bound."""

    def must_fit(self, threshold: Any, section: Section) -> None:
        """Reports what is wrong with a threshold by itself."""

    def out_of_reach(self, threshold: Any, counted: CountedSizes) -> Iterator[str]:
        """Why no release of the source can hold."""
        return iter(())

    def metrics(self, request: MetricRequest) -> Iterator[Metric]:
        """The same for analysts, as plain SELECTs for any warehouse."""
        return iter(())


class ColumnModel(Model):
    """A model of a sensitive column. A threshold of the column, or of a single value, becomes constraints; by each of
    these a search judges with a rule, and an audit by a question to the release."""

    key: ThresholdKey | None = None  # sensitive.COLUMN.…
    value_key: Key | None = None  # sensitive.COLUMN.values.VALUE.…
    needs_levels = False  # whether every value must have a level of sensitivity
    numbers = Numbers.UNUSED
    counts_people = True  # whether it can, where the policy names an entity

    @property
    def written(self) -> str:
        """The key by which a policy asks for it."""
        key = self.key or self.value_key
        assert key is not None
        return key.name

    def thresholds(self, wanted: Wanted) -> Iterator[tuple[str | None, Any]]:
        """Its thresholds there, each with the value that it is of; None: the column's."""
        if self.value_key is not None:
            for value, own in wanted.values.items():
                if self.value_key.name in own.thresholds:
                    yield value, own.thresholds[self.value_key.name]
        if self.key is not None and self.key.name in wanted.thresholds:
            yield None, wanted.thresholds[self.key.name]

    def constraints(self, column: str, value: str | None, threshold: Any) -> Iterator[Constraint]:
        """What a threshold asks for."""
        key = self.key if value is None else self.value_key
        at_least = isinstance(key, Key) and key.larger_is_stricter
        yield Constraint(self.name, column, value, threshold, at_least=at_least)

    @abstractmethod
    def measured(self, constraint: Constraint, released: ReleasedColumn) -> float | int | None:
        """The figure of a release, asked in other words than those of the rule; None: there is nothing to bound."""

    def must_fit(self, wanted: Wanted, section: Section) -> None:
        """Reports what in a policy does not go with its threshold."""

    def out_of_reach(self, counted: CountedColumn) -> Iterator[str]:
        """Why no release can have as much as the thresholds ask for: the source has not."""
        return iter(())

    def too_frequent(self, counted: CountedColumn) -> Iterator[str]:
        """Why no release of rows can keep to a bound on shares: the source's are above it, whatever is suppressed."""
        return iter(())

    def metrics(self, request: MetricRequest, sensitive: str, ordered: bool) -> Iterator[Metric]:
        """The same for analysts, as plain SELECTs for any warehouse."""
        return iter(())


class ClassModel(ColumnModel):
    """A model that every class holds or fails by itself. Nothing is concluded from one class for another unless the
    model says that it may be."""

    monotone = False  # whether two classes that hold, merged, give one that holds
    closed_under_growing = False  # whether a class that holds keeps holding, whatever rows join it

    @abstractmethod
    def rule(self, constraint: Constraint, wanted: Wanted, numeric: bool) -> ClassRule:
        """How a class is judged by SQL; `numeric`: the column has numbers."""

    def holds_merged(self, wanted: Wanted) -> bool:
        """Whether it is monotone with these thresholds."""
        return self.monotone

    def lasting(self, rule: ClassRule, wanted: Wanted) -> exp.Expr | None:
        """How many rows of a failing class fail at the least, at every node at which it is parted; as the figure is
        written. The parts that hold, merged, hold: so what fails among the parts is no less than what has to be taken
        away for the class to hold. Where no row that joins can break a class, no part of one that fails holds."""
        if self.closed_under_growing:
            return sql(":size")
        return double(1) if self.monotone else None

    def together(self, column: str, own: Mapping[int, float]) -> ClassRule | None:
        """One rule for the thresholds of many single values, by their ordinals; None: each has one of its own."""
        return None

    def least_size(self, wanted: Wanted) -> int:
        """Rows without which no class holds, whatever their values."""
        return 1


class TableModel(ColumnModel):
    """A model of the released table as a whole."""

    best_at_top = False  # whether no node holds if all rows as one class do not

    @abstractmethod
    def rule(self, constraint: Constraint, wanted: Wanted) -> TableRule:
        """How the classes that are released are judged together."""
