"""The steps from cells to the figures of one sensitive column: of every class, for every rule on it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from duckanon.models import ClassRule
from duckanon.models.closeness import with_crossings
from duckanon.models.rules import Over
from duckanon.models.unit import ROWS, CountingUnit
from duckanon.query.expressions import column, same, sql, table
from duckanon.query.steps import select

# What is asked of a value beside its count.
KNOWN = ("code", "named", "level", "number", "share", "cumulated", "prefix", "values_", "whole")
MOST_OWN = 40  # thresholds of single values, each of which is a figure of every class, and asked how many rows last


@dataclass(frozen=True)
class SensitiveRules:
    """A sensitive column whose classes are judged: how its values are reached, and by which rules."""

    index: int
    values: exp.Expr  # relation of describe_values
    key: str  # the column of `values` that the cells hold
    rules: tuple[ClassRule, ...]

    @property
    def figures(self) -> dict[str, ClassRule]:
        """The rules by the column of a class that has their figure."""
        return {f"{rule.constraint.name}_{self.index}_{at}": rule for at, rule in enumerate(self.rules)}


def lasting_of(figure: str) -> str:
    """The column of the rows that last where a figure fails."""
    return f"lasting_{figure}"


@dataclass(frozen=True)
class ColumnSteps:
    """The steps from the cells to the classes with the figures of one sensitive column."""

    cells: exp.Expr
    names: list[str]  # of the keys
    rules: SensitiveRules
    nulls: bool
    unit: CountingUnit
    numbered: bool  # there are steps of other columns beside these
    asked: bool  # how many rows last, too
    population: bool = False  # some cells are of it, and have no value

    @property
    def lasting(self) -> dict[str, exp.Expr]:
        """By the column of a figure, how many rows last where it fails. Where hundreds of values have thresholds of
        their own, that is not asked of each: one row does."""
        figures = self.rules.figures if self.asked else {}
        own = sum(rule.constraint.value is not None for rule in figures.values())
        return {
            name: rule.lasting
            for name, rule in figures.items()
            if rule.lasting is not None and (own <= MOST_OWN or rule.constraint.value is None)
        }

    def step(self, word: str) -> str:
        return f"{word}_{self.rules.index}" if self.numbered else word

    @property
    def class_figures(self) -> str:
        return self.step("class_figures")

    def home(self, rule: ClassRule) -> str:
        """Where the figure of a rule is: who has a level is no sum over its values, where people are counted."""
        return self.step("level_figures") if rule.of_levels and self.unit is not ROWS else self.class_figures

    @property
    def keys(self) -> list[exp.Column]:
        return [column(name) for name in self.names]

    def steps(self) -> dict[str, exp.Select]:
        homes = {self.home(rule) for rule in self.rules.rules}
        steps: dict[str, exp.Select] = {}
        if self.unit is ROWS or self.class_figures in homes:
            steps |= self._of_values()
            *_, last = steps
            steps[self.class_figures] = self._figures(self.class_figures, last)
        if (home := self.step("level_figures")) in homes:
            counts = self.step("level_counts")
            steps |= {counts: self._level_counts(), home: self._figures(home, counts)}
        return steps

    def _of_values(self) -> dict[str, exp.Select]:
        """How many of a class have a value; then, as far as the rules ask for it: all that is known of the value, how
        it stands among those of its class, and where the source's distribution passes that of the class."""
        counts, described = self.step("value_counts"), self.step("described_values")
        steps, last = {counts: self._value_counts()}, counts
        if self._own:
            steps[self.step("own_bounds")] = self._own_bounds()
        if self.unit is not ROWS or any(rule.describes_values for rule in self.rules.rules):
            steps[described], last = self._described_values(counts), described
        windows: dict[str, exp.Expr] = {}
        for rule in self.rules.rules:
            windows.update(rule.windows(_over(self.keys)) if rule.windows else {})
        if windows:
            compared = exp.select("*", *(window.as_(name) for name, window in windows.items())).from_(table(last))
            last = self.step("compared_values")
            steps[last] = compared
        if any(rule.crossing for rule in self.rules.rules):
            steps[self.step("crossed_values")] = with_crossings(table(last), self.rules.values)
        return steps

    def _value_counts(self) -> exp.Select:
        value = column(f"s{self.rules.index}")
        counts = exp.select(*self.keys, value.as_("value"), sql(self.unit.number).as_("y")).from_(self.cells)
        counts = counts.where("n > 0") if self.population else counts
        return counts.group_by(*self.keys, value)

    def _described_values(self, counts: str) -> exp.Select:
        rows = exp.select(_all_of(counts)).from_(table(counts))
        if self.unit is not ROWS:
            # A person may have several values, so the sum of the y is no number of people.
            rows = self._with_size(rows, counts)
        if any(rule.describes_values for rule in self.rules.rules):
            on = exp.EQ(this=column("value", counts), expression=column(self.rules.key, "known"))
            rows = rows.select(*(column(name, "known") for name in (*KNOWN, *self._more_known)))
            rows = rows.join(self._known(), on=on, join_type="left")
        if self._own:
            bounds = self.step("own_bounds")
            on = exp.EQ(this=column("named", "known"), expression=column("named", bounds))
            rows = rows.select(*(column(rule.bound, bounds) for rule in self._own))
            rows = rows.join(table(bounds), on=on, join_type="left")
        return rows

    @property
    def _own(self) -> list[ClassRule]:
        """The rules that look up the bounds of single values."""
        return [rule for rule in self.rules.rules if rule.own]

    def _own_bounds(self) -> exp.Select:
        """By the ordinals of values, the bounds that they have for themselves."""
        names = [rule.bound for rule in self._own]
        ordinals = sorted({ordinal for rule in self._own for ordinal in rule.own})
        rows = [(ordinal, *(rule.own.get(ordinal) for rule in self._own)) for ordinal in ordinals]
        bounds = {name: exp.cast(column(name, "own"), "DOUBLE") for name in names}
        return select(column("named", "own"), **bounds).from_(exp.values(rows, alias="own", columns=["named", *names]))

    def _with_size(self, rows: exp.Select, of: str) -> exp.Select:
        on = same(self.names, of, "class_sizes", self.nulls)
        return rows.select(column(self.unit.size, "class_sizes")).join(table("class_sizes"), on=on)

    @property
    def _more_known(self) -> dict[str, exp.Expr]:
        return {name: known for rule in self.rules.rules for name, known in rule.known.items()}

    def _known(self) -> exp.Expr:
        if not self._more_known:
            return exp.alias_(self.rules.values.copy(), "known", table=True)
        more = [known.as_(name) for name, known in self._more_known.items()]
        return exp.select("*", *more).from_(self.rules.values.copy()).subquery("known")

    def _level_counts(self) -> exp.Select:
        """How many of a class have a value of each level; no level stands for no value."""
        on = exp.EQ(this=column(f"s{self.rules.index}"), expression=column(self.rules.key, "known"))
        level = column("level", "known")
        levels = exp.select(*self.keys, level, sql(self.unit.number).as_("y")).from_(self.cells)
        levels = levels.join(self._known(), on=on, join_type="left").group_by(*self.keys, level)
        rows = exp.select(_all_of("levels"), column("level", "levels").as_("value")).from_(levels.subquery("levels"))
        return self._with_size(rows, "levels")

    def _figures(self, home: str, source: str) -> exp.Select:
        """The classes with the figures that are at home there."""
        figures = [
            _figure(rule, self.unit).as_(name) for name, rule in self.rules.figures.items() if self.home(rule) == home
        ]
        size = sql("SUM(y)")
        lasting = self.lasting.items()
        figures += [exp.replace_placeholders(rows, size=size).as_(lasting_of(name)) for name, rows in lasting]
        rows_of_class = [size.as_("x")] if self.unit is ROWS else []
        classes = exp.select(*self.keys, *rows_of_class, *figures).from_(table(source))
        return classes.group_by(*self.keys) if self.names else classes


def _all_of(step: str) -> exp.Expr:
    return exp.column(exp.Star(), table=step, quoted=True)


def _figure(rule: ClassRule, unit: CountingUnit) -> exp.Expr:
    """The figure of a rule, which calls the size of the class `:size`. Among people, several values in a class do not
    yet mean that nobody's is known: one of them may be everybody's."""
    size = sql("SUM(y)" if unit is ROWS else f"MAX({unit.size})")
    figure = exp.replace_placeholders(rule.figure, size=size)
    if unit is ROWS or rule.homogeneous is None:
        return figure
    everybody = "MAX(CASE WHEN value IS NOT NULL THEN y END) >= :size"
    judged = f"CASE WHEN :figure IS NOT NULL AND {everybody} THEN :known ELSE :figure END"
    return sql(judged, size=size, known=rule.homogeneous, figure=figure)


def _over(keys: list[exp.Column]) -> Over:
    def over(aggregate: str, order: str | None = None, within: str | None = None) -> exp.Expr:
        suffix = f"ORDER BY {order}" if order else ""
        window = sql(f"{aggregate} OVER ({suffix})")
        window.set("partition_by", [key.copy() for key in [*keys, *([column(within)] if within else [])]])
        return window

    return over
