"""What is known of each column, from a few statements over the whole table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.census.peek import Peek, first_look, is_texts
from duckanon.clues.names import meanings_of
from duckanon.engine import Column, Relation, Warehouse
from duckanon.engine.scratch import Scratch
from duckanon.hierarchy.computed.units import Units
from duckanon.proposal.frequencies import Counts, Frequencies, count_values
from duckanon.proposal.ready_made import ReadyMade, match_ready_made
from duckanon.proposal.spread import Form, Spread, form_of, measure_spread
from duckanon.query.expressions import column, sql
from duckanon.query.steps import select

FEW = 5  # values that need no hierarchy
Values = list[tuple[str, int]]  # with the rows that have them; the most frequent first


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its counts, what its values look like and, if they are few, those that at least k rows share."""

    index: int
    column: Column
    rows: int
    counts: Counts
    peek: Peek
    meanings: frozenset[str]
    form: Form | None = None
    spread: Spread | None = None
    strange: int = 0  # rows whose value is no number or day, in a column of those
    listed: bool = False  # whether its values were counted one by one
    shared: tuple[tuple[str, int], ...] = ()  # values that at least k rows have
    ready_made: ReadyMade | None = None  # the hierarchy of ours that knows most of them

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def distinct(self) -> int:
        return min(self.rows, self.counts.distinct)

    @property
    def alone_share(self) -> float:
        return min(1.0, self.counts.alone / self.rows)

    @property
    def distinct_share(self) -> float:
        return min(1.0, self.distinct / self.rows)

    @property
    def is_text(self) -> bool:
        return is_texts(self.column)

    @property
    def rare(self) -> int:
        """How many values fewer than k rows share."""
        return self.distinct - len(self.shared)


def profile_columns(
    relation: Relation, columns: list[Column], k: int, warehouse: Warehouse, scratch: Scratch
) -> tuple[int, list[ColumnProfile]]:
    """How many rows there are, and what is known of the columns: all of a kind that can be compared."""
    ((rows,),) = warehouse.fetch(exp.select("COUNT(*)").from_(relation.table), "how many rows there are")
    if not rows or not columns:
        return rows, []
    peeks = first_look(relation, columns, warehouse)
    forms = {i: form for i, c in enumerate(columns) if (form := form_of(c, peeks[i])) is not None}
    counted = count_values(relation, columns, peeks, set(forms), rows, k, warehouse, scratch)
    spreads = measure_spread(counted.table, forms, scratch.workbench)
    strange = _strange(relation, columns, forms, counted, warehouse)
    shared = _shared(counted, k, scratch)
    words = {i: c.name for i, c in enumerate(columns) if i not in spreads and i not in counted.sampled}
    words = {i: name for i, name in words.items() if counted.counts[i].distinct > FEW}
    ready_made = match_ready_made(counted.table, words, k, scratch)
    profiles = [
        ColumnProfile(i, c, rows, counted.counts[i], peeks[i], meanings_of(c.name)) for i, c in enumerate(columns)
    ]
    return rows, [
        replace(
            profile,
            form=forms.get(i) if i in spreads else None,
            spread=spreads.get(i),
            strange=strange.get(i, spreads[i].strange if i in spreads else 0),
            listed=i not in counted.sampled,
            shared=tuple(shared.get(i, ())),
            ready_made=ready_made.get(i),
        )
        for i, profile in enumerate(profiles)
    ]


def _shared(counted: Frequencies, k: int, scratch: Scratch) -> dict[int, Values]:
    """The values that at least k rows have, and no others: these may be written and shown."""
    query = exp.select("g", "v", "n").from_(counted.table).where(f"n >= {k:d}").order_by("g", "n DESC", "v")
    found: dict[int, Values] = {}
    for g, value, n in scratch.workbench.fetch(query, "values that at least k rows share"):
        if g not in counted.sampled:
            found.setdefault(g, []).append((value, n))
    return found


def _strange(
    relation: Relation, columns: list[Column], forms: dict[int, Form], counted: Frequencies, warehouse: Warehouse
) -> dict[int, int]:
    """Of columns that a sample was taken of: how many fields no range can be computed of."""
    sampled = [i for i in sorted(counted.sampled) if i in forms and forms[i] is not Form.PARTED_DAY]
    kinds = {i: units for i in sampled if (units := _units(columns[i], forms[i]))}
    fields = {f"c{i}": _unknown(columns[i], units) for i, units in kinds.items()}
    if not fields:
        return {}
    (found,) = warehouse.fetch(select(**fields).from_(relation.table), "what is no number or day")
    return dict(zip(kinds, map(int, found), strict=True))


def _units(c: Column, form: Form) -> Units | None:
    """How a hierarchy would count the values, where a type does not make sure that it can."""
    if form is Form.NUMBER and not c.type.is_float:
        return None
    counted = "float" if form in (Form.NUMBER, Form.TEXT_NUMBER) else "date"
    return Units(counted, from_text=form in (Form.TEXT_NUMBER, Form.TEXT_DAY))


def _unknown(c: Column, units: Units) -> exp.Expr:
    value = column(c.name)
    some = sql(":value IS NOT NULL AND (:unknown)", value=value, unknown=units.unmapped(value))
    return sql("COUNT(CASE WHEN :some THEN 1 END)", some=some)
