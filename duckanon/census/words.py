"""The codes of a census as bits of the words w0 …: those of all levels beside each other, so that a node of the lattice
is a choice of bits, and two cells are one at a node if the words agree in these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from duckanon.census.values import ValueTable
from duckanon.hierarchy import Hierarchy
from duckanon.query.expressions import column, sql
from duckanon.query.packing import Packing
from duckanon.query.steps import select

_NOTHING = "CAST(0 AS BIGINT)"


@dataclass(frozen=True)
class _Known:
    """What the values of a column of the rows add to the words."""

    name: str  # of the column
    query: exp.Select  # value, and the words
    lacking: dict[str, int]  # what no value adds to each
    none: str = "IS NULL"  # which is none

    def of_row(self, rows: str, word: str) -> str:
        return f"CASE WHEN {rows}.{self.name} {self.none} THEN {self.lacking[word]} ELSE {self.alias}.{word} END"

    @property
    def alias(self) -> str:
        return f"known_{self.name}"


class CensusWords:
    """The order of the words is that of the codes, of one hierarchy after the other, and of the sensitive values."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...], sensitive: Sequence[ValueTable]) -> None:
        self.hierarchies, self._sensitive = hierarchies, tuple(sensitive)
        bases = {h.code(level): h.levels[level].values + 1 for h in hierarchies for level in h.coded}
        # No value comes after all values, as where these are sorted.
        self._lacking = {f"s{values.index}": values.distinct + 1 for values in sensitive}
        bases |= {name: lacking + 1 for name, lacking in self._lacking.items()}
        packing = Packing(bases.values())
        self._slots = dict(zip(bases, packing.slots, strict=True))
        self.names = tuple(f"w{at}" for at in range(packing.words))

    @property
    def columns(self) -> list[exp.Column]:
        return [column(name) for name in self.names]

    @property
    def codes(self) -> list[str]:
        """All that is in the words, by name."""
        return [*self._slots]

    # -- from codes to words ---------------------------------------------------------------------------

    @property
    def whole(self) -> exp.Expr:
        """Whether all values of a row are known."""
        return exp.and_(*(sql(":word IS NOT NULL", word=word) for word in self.columns))

    def coded(self, rows: str, query: exp.Select, by_code: bool = False) -> exp.Select:
        """The `query` over the step `rows` (q0 …, s0 …) with their words; quasi-identifiers have values or, `by_code`,
        codes of the lowest level. A row with a value that is not known has none."""
        terms: dict[str, list[str]] = {word: [] for word in self.names}
        for known in (*self._known_codes(by_code), *self._known_values()):
            for word in known.lacking:
                terms[word].append(known.of_row(rows, word))
            on = exp.EQ(this=column(known.name, rows), expression=column("value", known.alias))
            query = query.join(known.query.subquery(known.alias), on=on, join_type="left")
        return query.select(*(sql(" + ".join(parts) or _NOTHING).as_(word) for word, parts in terms.items()))

    def _known_codes(self, by_code: bool) -> Iterator[_Known]:
        for h in (h for h in self.hierarchies if h.coded):
            added = self._added({h.code(level): f"code_{level}" for level in h.coded})
            value = column(f"code_{h.lowest}" if by_code else "value")
            query = select(value=value, **added).from_(h.mapping)
            name, lacking = f"q{h.index}", dict.fromkeys(added, 0)
            yield _Known(name, query.distinct(), lacking, "= 0") if by_code else _Known(name, query, lacking)

    def _known_values(self) -> Iterator[_Known]:
        for values in self._sensitive:
            name = f"s{values.index}"
            added = self._added({name: "code"})
            lacking = dict.fromkeys(added, self._lacking[name] * self._slots[name].stride)
            yield _Known(name, select(value="value", **added).from_(values.table), lacking)

    def _added(self, codes: dict[str, str]) -> dict[str, str]:
        """What these codes, which are in columns of another name, add to the words that they are in."""
        terms: dict[str, list[str]] = {}
        for name, code in codes.items():
            slot = self._slots[name]
            terms.setdefault(self.names[slot.word], []).append(f"CAST({code} AS BIGINT) * {slot.stride}")
        return {word: " + ".join(parts) for word, parts in terms.items()}

    def packed(self, names: Iterable[str]) -> dict[str, str]:
        """The SQL of the words of rows that have these codes, and no others; none of them is NULL."""
        return dict.fromkeys(self.names, _NOTHING) | self._added({name: name for name in names})

    # -- from words to codes ---------------------------------------------------------------------------

    def code(self, name: str, prefix: str = "w") -> str:
        """The SQL of a code in the words, or in those of another `prefix`. Of a sensitive value NULL, where there is
        none."""
        slot = self._slots[name]
        code = f"CAST({slot.of(f'{prefix}{slot.word}')} AS INTEGER)"
        return f"NULLIF({code}, {self._lacking[name]})" if name in self._lacking else code

    def unpacked(self, rows: exp.Expr, names: Iterable[str], *others: exp.Expr) -> exp.Select:
        """The rows with these codes, under their names, and `others`."""
        return exp.select(*(sql(self.code(name)).as_(name) for name in names), *others).from_(rows)

    # -- nodes -----------------------------------------------------------------------------------------

    def masked(self, names: Iterable[str], rows: str | None = None) -> dict[str, str]:
        """The SQL of the words of `rows` with the bits of these codes alone."""
        of = f"{rows}." if rows else ""
        masks = dict.fromkeys(self.names, 0)
        for slot in map(self._slots.__getitem__, names):
            masks[self.names[slot.word]] |= slot.mask
        return {word: f"{of}{word} & {mask}" if mask else _NOTHING for word, mask in masks.items()}

    def rolled_up(self, rows: exp.Table, names: Iterable[str], *others: exp.Expr) -> exp.Select:
        """How many there are by these codes, and by `others`."""
        words = self.masked(names)
        told_by = [*map(sql, words.values()), *others]
        return select(*others, **words, n="CAST(SUM(n) AS BIGINT)").from_(rows).group_by(*told_by)
