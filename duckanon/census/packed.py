"""A source on the workbench, counted by codes that are packed into few words: these are grouped in a fraction of the
time that it takes to group values, and are all that the census is made of."""

from __future__ import annotations

from sqlglot import exp

from duckanon.census.levels import with_levels_above
from duckanon.census.source import BoundSource, is_at_hand
from duckanon.census.tuples import BOUNDS, released_columns
from duckanon.census.values import ValueTable
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy import Hierarchy
from duckanon.hierarchy.build import Built
from duckanon.hierarchy.domains import domains_of
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import as_tops, is_unknown
from duckanon.policy import Policy
from duckanon.query.expressions import column, literal, sql, table
from duckanon.query.packed import Digit, Words, value_counts
from duckanon.query.steps import select, united, with_steps


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

    def digits(self, known: dict[str, exp.Select]) -> list[Digit]:
        """By the columns of the rows, of which the values (value, code) are known."""
        asked = [
            select(at=literal(at), base="COALESCE(MAX(code), 0) + 1").from_(codes.subquery("known"))
            for at, codes in enumerate(known.values())
        ]
        bases = sorted(self._scratch.workbench.fetch(united(asked))) if asked else []
        return [Digit(name, codes, base) for (name, codes), (_, base) in zip(known.items(), bases, strict=True)]

    def clear(self) -> None:
        for made in (self.table, self._known):
            if made is not None:
                self._scratch.drop(made)


def packed_census(
    values: SourceValues, built: Built, sensitive: list[ValueTable], kept: int, spans: tuple[int, ...], people: bool
) -> exp.Select:
    """The census of the rows as one SELECT: codes of every level, s0 …, k0 …, n; of `spans`, the bounds; where `people`
    are counted, e and p.

    A row with a value that was not there when these were counted has no word, and is left out: the number of rows
    tells.
    """
    words = Words(values.digits(_coded(built.hierarchies, sensitive, spans)))
    others = [column(name) for name in (*(f"k{at}" for at in range(kept)), *(["e"] if people else []))]
    bounds = {f"{name}{index}": sql(f"{least}(q{index})") for index in spans for least, name in BOUNDS}
    more = exp.select(*(column(name, "source_rows") for name in (*(k.name for k in others), *(f"q{i}" for i in spans))))
    counts = select(*words.columns, *others, **bounds, n="COUNT(*)").from_(table("coded_rows"))
    figures = [*others, *map(column, (*bounds, "n"))]
    steps = {
        "source_rows": values.rows,
        "coded_rows": words.coded("source_rows", more.from_(table("source_rows"))),
        "packed_tuples": counts.group_by(*words.columns, *others),
        "tuples": exp.select(*words.unpacked, *figures).from_(table("packed_tuples")).where(words.whole),
    }
    census = _levels(built.hierarchies, sensitive, figures)
    return with_steps(census.select(sql("0").as_("p")) if people else census, **steps)


def _coded(
    hierarchies: tuple[Hierarchy, ...], sensitive: list[ValueTable], spans: tuple[int, ...]
) -> dict[str, exp.Select]:
    """The values (value, code) of the columns that tell tuples apart. At the top all values are alike; where its bounds
    are asked for, only no value is not a number."""
    known = {}
    for h in hierarchies:
        if h.lowest < h.height or h.index in spans:
            code = column(f"code_{h.lowest}") if h.lowest < h.height else literal(1)
            known[f"q{h.index}"] = select(value="value", code=code).from_(h.mapping)
    return known | {f"s{v.index}": exp.select("value", "code").from_(v.table) for v in sensitive}


def _levels(hierarchies: tuple[Hierarchy, ...], sensitive: list[ValueTable], figures: list[exp.Column]) -> exp.Select:
    """The tuples with their codes at the levels above the lowest."""
    known = [(h, h.lowest, f"q{h.index}") for h in hierarchies if h.coded]
    query = with_levels_above(exp.select().from_(table("tuples")), "tuples", known)
    values = [sql("NULLIF(:code, 0)", code=column(f"s{v.index}", "tuples")).as_(f"s{v.index}") for v in sensitive]
    return query.select(*values, *(column(figure.name, "tuples") for figure in figures))
