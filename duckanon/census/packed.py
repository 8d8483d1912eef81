"""A source on the workbench, counted by codes that are packed into few words: these are grouped in a fraction of the
time that it takes to group values, and are all that the census is made of."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.source import BoundSource, is_at_hand
from duckanon.census.tuples import BOUNDS, released_columns
from duckanon.census.words import CensusWords
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.domains import domains_of
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import as_tops, is_unknown
from duckanon.policy import Policy
from duckanon.query.expressions import column, sql, table
from duckanon.query.packed import value_counts
from duckanon.query.steps import select, with_steps


def can_be_packed(policy: Policy, source: BoundSource) -> bool:
    """Where the source is at hand, to be read twice: for its values, and for its tuples. Who is counted is asked once
    more, for every sensitive column: that is cheap only where single columns are read."""
    by_column = source.relation.kind == "table" or str(policy.source.file).endswith(".parquet")
    return is_at_hand(policy, source) and (by_column or source.entity is None)


class SourceValues:
    """The values of the source itself, those of all quasi-identifiers and sensitive columns in one scan."""

    def __init__(self, source: BoundSource, scratch: Scratch) -> None:
        self._scratch = scratch
        self.columns = {name: value for value, name in released_columns(source)}
        self._source = exp.select(*(value.as_(name) for name, value in self.columns.items())).from_(source.table)
        self._names = [f"q{index}" for index in range(len(source.quasi_identifiers))]
        names = [*self._names, *(f"s{index}" for index in range(len(source.sensitive)))]
        self.table = scratch.table("values", self._counts(names), "values of the source, in one scan")
        self.everybody = exp.select("*", sql("1").as_("n")).from_(self.rows.subquery("source")).subquery("everybody")
        self._known: exp.Table | None = None  # of rows that are not left out

    @property
    def rows(self) -> exp.Select:
        """The rows that are counted: q0 …, s0 …, k0 …, with the top where it is shown in place of a value."""
        return self._source.copy()

    def _counts(self, names: list[str]) -> exp.Select:
        return value_counts(self.rows.subquery("source"), names, "COUNT(*)")

    def count(self) -> list[exp.Expr]:
        return domains_of(self._known or self.table, self._names)

    def leave_out(self, schemes: list[Scheme]) -> None:
        unknown = is_unknown(schemes)
        self._source = exp.select("*").from_(self.rows.subquery("source")).where(exp.not_(exp.paren(unknown)))
        note = "values of the source, without the rows that a hierarchy does not know"
        self._known = self._scratch.table("known_values", self._counts(self._names), note)

    def show_tops(self, schemes: list[Scheme]) -> None:
        shown = as_tops(schemes)
        columns = [shown.get(name, column(name)).as_(name) for name in self.columns]
        self._source = exp.select(*columns).from_(self.rows.subquery("source"))

    def forget(self) -> None:
        pass  # it is asked for the sensitive columns, too

    def clear(self) -> None:
        for made in (self.table, self._known):
            if made is not None:
                self._scratch.drop(made)


class PackedRows:
    """The rows of the source by their words, each with what no code tells of it: kept columns, the person where people
    are counted, and what the bounds of `spans` are made of.

    A row with a value that was not there when these were counted has no word, and is left out: the number of rows
    tells.
    """

    def __init__(
        self, values: SourceValues, words: CensusWords, kept: int, spans: tuple[int, ...], people: bool
    ) -> None:
        self.values, self.words, self._spans = values, words, spans
        self._others = [*(f"k{at}" for at in range(kept)), *(["e"] if people else [])]

    @property
    def figures(self) -> list[str]:
        """The columns of their counts beside the words."""
        bounds = [f"{name}{index}" for index in self._spans for _, name in BOUNDS]
        return [*self._others, *bounds, "n"]

    def rows(self) -> exp.Select:
        """One by one."""
        beside = exp.select(*(column(name, "source_rows") for name in (*self._others, *(f"q{i}" for i in self._spans))))
        coded = self.words.coded("source_rows", beside.from_(table("source_rows")))
        steps = {"source_rows": self.values.rows, "coded_rows": coded}
        return with_steps(exp.select("*").from_(table("coded_rows")).where(self.words.whole), **steps)

    def counts(self, rows: exp.Expr) -> exp.Select:
        """The `rows` counted. At the top all values are alike, and only no value is no number."""
        bounds = {f"{name}{index}": sql(f"{least}(q{index})") for index in self._spans for least, name in BOUNDS}
        tells = [*self.words.columns, *map(column, self._others)]
        numbers = [sql(":value IS NULL", value=column(f"q{index}")) for index in self._spans]
        return select(*tells, **bounds, n="COUNT(*)").from_(rows).group_by(*tells, *numbers)
