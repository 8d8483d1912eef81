"""What a relation is asked, wherever it lies: by rows, or by the people that the rows are of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from sqlglot import exp

from duckanon.engine import Engine, Relation
from duckanon.engine.scratch import Scratch
from duckanon.models.k_anonymity import class_sizes
from duckanon.models.leakage import leakage
from duckanon.query.counts import ClassedTable, RowCounts, ValueCounts
from duckanon.query.expressions import column, sql, table


class Rows:
    """A relation with its quasi-identifiers, of which every row counts."""

    def __init__(self, relation: Relation, qi: Sequence[str], scratch: Scratch) -> None:
        self.relation, self.qi, self.scratch = relation, qi, scratch
        self.classed = ClassedTable(relation.parts, qi)

    @property
    def engine(self) -> Engine:
        """Where the relation lies."""
        return self.scratch.engine

    def ask(self, query: exp.Query, note: str) -> list[tuple[Any, ...]]:
        return self.engine.fetch(query, note)

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """The sizes of classes, and how many have it; n rows have at most √(2n) different ones."""
        found = self.ask(class_sizes(self.classed), "verify: class_sizes")
        return [(size, classes) for size, classes, _ in found]

    def counted(self, thing: str, value: exp.Expr) -> tuple[exp.Table, ValueCounts]:
        """Who has which value, counted once: the table that holds it, and how it is asked."""
        numbered = self.engine.temporary_tables and len(self.qi) > 1
        counts = self.classed.counts(value).sized_once(numbered)
        kept = self.scratch.table(thing, counts.steps["counts"], "verify: who has which value")
        return kept, counts.kept(kept)

    def leakage(self, counts: ValueCounts, value: exp.Expr) -> exp.Select:
        """value, row_count, alp, highest_lp, dif."""
        return leakage(counts)


class DistinctRows(Rows):
    """A relation that is read once: all is asked of its different rows, as they were counted."""

    def __init__(self, counts: RowCounts, qi: Sequence[str], scratch: Scratch) -> None:
        numbered = counts.numbered
        held, keys = (numbered.table, numbered.classes) if numbered else (counts.table, qi)
        super().__init__(Relation((held.name,), "table"), keys, scratch)
        self.counts, self._names = counts, qi
        others = [name for name in counts.names if name not in qi]
        self.classed = ClassedTable(self.relation.parts, keys, copies=counts.copies, others=others)

    def sizes_by(self, *columns: str, whole: bool = False) -> exp.Select:
        """How many rows x have the same in these columns; `whole`: and in all quasi-identifiers."""
        counts, keys, held = self.counts, self.qi, cast(exp.Expr, self.relation.table)
        number = sql("SUM(:copies)", copies=column(counts.copies))
        if counts.relation is not None and any(name not in counts.names for name in columns):
            number = sql("COUNT(*)")
            rows = counts.numbered.relation if counts.numbered else None
            held, keys = (rows.subquery("rows"), keys) if rows is not None else (counts.relation, self._names)
        grouped = [column(name) for name in (*(keys if whole else ()), *columns)]
        return exp.select(number.as_("x")).from_(held).group_by(*grouped)


class People(Rows):
    """A relation in which a person may have several rows, and counts once. `entity` names the person of a row. Where it
    is `copies` of rows, only those who are several times in a class are named there, and `everyone` has the rows."""

    def __init__(
        self,
        relation: Relation,
        qi: Sequence[str],
        scratch: Scratch,
        entity: str,
        copies: str | None = None,
        everyone: Relation | None = None,
    ) -> None:
        super().__init__(relation, qi, scratch)
        self.classed = ClassedTable(relation.parts, qi, entity, copies)
        self._everyone = ClassedTable((everyone or relation).parts, qi, entity)

    def everybody(self) -> int:
        """How many people there are."""
        person = column(self._everyone.person or "")
        query = exp.select(sql("COUNT(DISTINCT :person)", person=person)).from_(table(*self._everyone.source))
        ((people,),) = self.ask(query, "verify: people")
        return int(people)

    def leakage(self, counts: ValueCounts, value: exp.Expr) -> exp.Select:
        """Who has a value in two classes is one of those who have it."""
        figures = [column(name, "l") for name in ("alp", "highest_lp", "dif")]
        query = exp.select(column("value", "l"), column("n", "t").as_("row_count"), *figures)
        query = query.from_(leakage(counts).subquery("l"))
        return query.join(self._everyone.totals(value).subquery("t"), on=sql("l.value = t.v"))
